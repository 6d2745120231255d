"""Which published tables and figures are there, and how does each come out again? (FIG-1)

Owns the list: a name, a title, and how to reproduce it here as a text table, published beside
reproduced, with its pictures. Every entry gathers what a study and its figures already do; none
fits anything. Does not know where files go (`figures_command`).
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.lab.community_side_requests import community_side_requests
from ninfer_lab.lab.community_side_requests import picture as community_picture
from ninfer_lab.lab.eight_prefixes_figures import reuse, turn_by_turn
from ninfer_lab.lab.eight_prefixes_study import (
    PUBLISHED_PERCENT,
    ROOMY,
    Rules,
    Turns,
    TurnsRun,
    eight_prefixes,
    run_turns,
)
from ninfer_lab.lab.picture import Picture
from ninfer_lab.lab.raw_prompt_anchor import raw_prompt_anchor
from ninfer_lab.lab.raw_prompt_figures import raw_prompt_anchor as anchor_picture
from ninfer_lab.lab.side_request_figures import decisions, side_requests, ways_out
from ninfer_lab.lab.side_request_ways import decision_table, sweep
from ninfer_lab.lab.side_requests import published_table, text_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduced:
    """A published table or figure, made again here.

    Attributes:
        table: Published beside reproduced, as text.
        pictures: By the part of the file name that is theirs; one alone has an empty part.
    """

    title: str
    table: str
    pictures: dict[str, Picture] = field(repr=False)

    def __str__(self) -> str:
        return f"{self.title}\n\n{self.table}"

    def _repr_html_(self) -> str:
        return f"<p><b>{html.escape(self.title)}</b></p><pre>{html.escape(self.table)}</pre>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """One entry of the list.

    Attributes:
        name: As one asks for it, and as its files are called.
        make: Runs what it takes, some seconds at most.
    """

    name: str
    title: str
    make: Callable[[str], Reproduced]

    def reproduce(self) -> Reproduced:
        """Runs it and draws it."""
        return self.make(self.title)


# ── eight prefixes ──────────────────────────────────────────────────────────────────────────────

PUBLISHED_ROUNDS = {
    (Rules.BEFORE, 16): "the first full hits in round 4",
    (Rules.AFTER, 8): "full hits from round 2 on",
    (Rules.AFTER, 16): "full hits from round 2 on",
}
"""What was said of single rounds; of the others only the sum."""

DRAW_SEED = 2
"""Of the lengths of one more run of four slots."""

_SLOTS = (4, 8, 16)
_REUSE_HEAD = ("rules", "slots", "published %", "reproduced %")
_ROUNDS_HEAD = ("rules", "slots", "round 1", "round 2", "round 3", "round 4", "published")

FOUR_SLOTS = (
    "Of four slots it was not published under which rules 8.4 % were measured, nor how long the\n"
    "instructions were. Lengths that differ by a few tokens decide who is kept: the drawn are one\n"
    "draw of many (`lab.reuse_by_draw`), and equal ones cannot give the published figure."
)


def _reuse_by_slots(title: str) -> Reproduced:
    runs = eight_prefixes(_SLOTS)
    rows = [
        (
            run.rules.value,
            str(run.slots_count),
            _percent(PUBLISHED_PERCENT.get((run.rules, run.slots_count))),
            _percent(run.reuse_percent),
        )
        for run in runs
    ]
    drawn = run_turns(4, Rules.BEFORE, turns=Turns.drawn(DRAW_SEED), options=ROOMY)
    published = _percent(PUBLISHED_PERCENT[Rules.BEFORE, 4])
    rows.insert(1, ("before, lengths drawn", "4", published, _percent(drawn.reuse_percent)))
    table = f"{text_table(_REUSE_HEAD, rows)}\n\n{FOUR_SLOTS}"
    return Reproduced(title=title, table=table, pictures={"": reuse(runs, title=title)})


def _hits_by_round(title: str) -> Reproduced:
    runs = [
        run
        for run in eight_prefixes((8, 16), (Rules.BEFORE, Rules.AFTER))
        if (run.rules, run.slots_count) in PUBLISHED_PERCENT
    ]
    rows = [_rounds_row(run) for run in runs]
    return Reproduced(
        title=title,
        table=text_table(_ROUNDS_HEAD, rows),
        pictures={"": turn_by_turn(runs, title=title)},
    )


def _rounds_row(run: TurnsRun) -> tuple[str, ...]:
    wanted = len(run.turns.preambles_tokens)
    hits = (run.hits_in_round(each + 1) for each in range(run.turns.rounds_count))
    said = PUBLISHED_ROUNDS.get((run.rules, run.slots_count), "not said")
    return run.rules.value, str(run.slots_count), *(f"{n} of {wanted}" for n in hits), said


def _percent(share: float | None) -> str:
    return "not published" if share is None else f"{share:.1f}"


# ── side requests, raw prompts ──────────────────────────────────────────────────────────────────


def _side_requests(title: str) -> Reproduced:
    table = published_table()
    text = f"published | reproduced\n\n{table}"
    return Reproduced(title=title, table=text, pictures={"": side_requests(table, title=title)})


def _four_ways(title: str) -> Reproduced:
    table = decision_table()
    pictures = {
        "": decisions(table, title=title),
        "combinations": ways_out(sweep(), title="every combination of the four ways out"),
    }
    return Reproduced(title=title, table=str(table), pictures=pictures)


def _anchor(title: str) -> Reproduced:
    table = raw_prompt_anchor()
    return Reproduced(
        title=title, table=str(table), pictures={"": anchor_picture(table, title=title)}
    )


def _community(title: str) -> Reproduced:
    table = community_side_requests()
    return Reproduced(
        title=title, table=str(table), pictures={"": community_picture(table, title=title)}
    )


PUBLISHED: tuple[Published, ...] = (
    Published(
        name="eight-prefixes-by-slots",
        title="Eight instructions in turns: prompt tokens reused in rounds 2-4, by shared slots",
        make=_reuse_by_slots,
    ),
    Published(
        name="eight-prefixes-by-round",
        title="Eight instructions in turns: who began with its shared head, round by round",
        make=_hits_by_round,
    ),
    Published(
        name="side-requests",
        title="A side request between two turns: prompt and cached tokens of groups A, B and C",
        make=_side_requests,
    ),
    Published(
        name="four-ways",
        title="The four ways out: published advice, and what turn 2 reuses if it is followed",
        make=_four_ways,
    ),
    Published(
        name="community",
        title="A side request in other engines: what was said, and what models of them reuse",
        make=_community,
    ),
    Published(
        name="raw-prompt-anchor",
        title="A raw prompt of 1,602 tokens again, with an anchor before its last token",
        make=_anchor,
    ),
)
"""In the order in which they are written."""


def names() -> tuple[str, ...]:
    """Names of all of them."""
    return tuple(each.name for each in PUBLISHED)


def select(wanted: Sequence[str] = ()) -> tuple[Published, ...]:
    """Those of these names, in the list's order; all for none.

    Raises:
        OptionsError: A name that is not on the list.
    """
    for name in wanted:
        if name not in names():
            raise OptionsError("figure", found=name, legal=", ".join(names()))
    return tuple(each for each in PUBLISHED if not wanted or each.name in wanted)


def reproduce(name: str) -> Reproduced:
    """One of them by its name.

    Raises:
        OptionsError: No such name.
    """
    return select((name,))[0].reproduce()
