"""Why was each frontier of a request kept for others, or why not?

Owns the words and the terms beside each proposed frontier of a run: what it was weighed with where
it was offered, and where it was not, which rule had left it out before. Reads runs only.
Source: spec EVD-1, SHR-6, CPT-1, VAL-7.
"""

from __future__ import annotations

from dataclasses import dataclass

from ninfer_lab.contract.shared_report import CaptureGain, CaptureScenario, SharedCaptureTold
from ninfer_lab.lab.eight_prefixes_study import Rules, Turn, Turns, TurnsRun

HEAD, END = "head", "end of the prompt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """One way to a slot, with the terms of its best target.

    Attributes:
        way: To the slot, in words.
        gain: Term by term; `None` where nothing fits.
    """

    way: str
    gain: CaptureGain | None
    is_taken: bool

    @property
    def terms(self) -> tuple[tuple[str, float], ...]:
        """(name, ms): what is added, what is taken off, and what is left."""
        if self.gain is None:
            return ()
        return (
            ("the public has then", self.gain.public_after_ns / 1e6),
            ("less: it had before", -self.gain.public_before_ns / 1e6),
            ("less: private owners lose", -self.gain.private_loss_ns / 1e6),
            ("less: copies, for all who wait", -self.gain.immediate_ns / 1e6),
            ("net gain", self.gain.net_ns / 1e6),
        )

    def __str__(self) -> str:
        if self.gain is None:
            return f"{self.way}: no target fits"
        after, *losses, net = (value for _, value in self.terms)
        lost = " ".join(f"- {abs(value):,.2f}" for value in losses)
        mark = ", taken" if self.is_taken else ""
        sum_ms = f"{after:,.2f} {lost} = {net:+,.2f} ms"
        return f"{self.way}: {sum_ms} (public then, before, private, copies){mark}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """What became of one proposed frontier.

    Attributes:
        place: What ends there.
        words: The outcome, or the rule that left it out.
        ways: What was weighed; none where it was not offered.
    """

    frontier_tokens: int
    place: str
    words: str
    ways: tuple[Weighed, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.place} at {self.frontier_tokens:,} tokens: {self.words}"]
        return "\n".join([*lines, *(f"  {each}" for each in self.ways)])


def reasons(run: TurnsRun, turn: Turn) -> tuple[Reason, Reason]:
    """Of the two frontiers that a request of a run proposes: its head's, and its own end's."""
    offered = {told.frontier_tokens: told for told in turn.chances}
    head_tokens = run.turns.preambles_tokens[turn.prefix_ordinal]
    end_tokens = turn.prompt_tokens - Turns.OPENER_TOKENS
    head, end = offered.get(head_tokens), offered.get(end_tokens)
    return (
        _offered(HEAD, head) if head else _left(HEAD, head_tokens, _why_no_head(turn, end)),
        _offered(END, end) if end else _left(END, end_tokens, _why_no_end(run, head)),
    )


def _offered(place: str, told: SharedCaptureTold) -> Reason:
    return Reason(
        frontier_tokens=told.frontier_tokens,
        place=place,
        words=told.outcome.value,
        ways=tuple(
            Weighed(way=_way(scenario), gain=scenario.gain, is_taken=ordinal == told.chosen)
            for ordinal, scenario in enumerate(told.scenarios)
        ),
    )


def _left(place: str, frontier_tokens: int, words: str) -> Reason:
    return Reason(
        frontier_tokens=frontier_tokens, place=place, words=f"not offered, because {words}"
    )


def _why_no_head(turn: Turn, end: SharedCaptureTold | None) -> str:
    if turn.hit_tokens:
        return "the request starts from it: it is kept already"
    if end is not None:
        return (
            "the end alone brings more: of nested prefixes a demand counts the larger saving once"
        )
    return "no slot may be had for it: none is vacant, and it does not gain enough to press"


def _why_no_end(run: TurnsRun, head: SharedCaptureTold | None) -> str:
    if run.rules is not Rules.BEFORE:
        return "nobody else has proposed the same tokens, and a protocol's marker must be repeated"
    if head is not None:
        return "it may take a vacant slot only, and none is left beside the head"
    return "it may take a vacant slot only, or would bring nothing beyond what is kept"


def _way(scenario: CaptureScenario) -> str:
    if scenario.entry is None:
        return f"a {scenario.slot.value} slot"
    return f"the {scenario.slot.value} slot of owner {scenario.entry}"
