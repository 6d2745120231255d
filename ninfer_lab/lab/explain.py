"""What does an event say, in a few words and in a whole sentence?

Owns the wording of events for people: what each kind is called, and how one event is told, once for
each kind: a headline, and what a sentence adds to it. Owns the small value that shows a run of
sentences in a notebook, too. Reads events only; does not know where they are shown.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never

from ninfer_lab.contract.candidate import ReusePath
from ninfer_lab.contract.events import (
    CaptureTried,
    Event,
    ForwardRan,
    LedgerChanged,
    OwnerPublished,
    RequestAdmitted,
    RequestBlocked,
    RequestFinished,
    RequestSubmitted,
    RowRan,
    SharedCaptureEnded,
    TransitionEnded,
    TransitionEnding,
    TransitionStarted,
)
from ninfer_lab.contract.machine_work import MachineWork
from ninfer_lab.contract.result import CaptureOutcome
from ninfer_lab.contract.shared_report import SharedCaptureTold
from ninfer_lab.contract.work import StateAccess

KINDS: Mapping[type, str] = {
    LedgerChanged: "the ledger changed",
    RequestSubmitted: "a request came",
    RequestBlocked: "it stays in the queue",
    TransitionStarted: "copies begin",
    TransitionEnded: "copies end",
    RequestAdmitted: "admitted",
    ForwardRan: "a forward",
    CaptureTried: "a checkpoint is wanted",
    SharedCaptureEnded: "a shared prefix is done",
    OwnerPublished: "an owner is left behind",
    RequestFinished: "a request ended",
}
"""What is called what, in the order in which it mostly happens."""


def headline(event: Event) -> str:
    """An event in a few words: who, and what became of it."""
    return next(_told(event))


def sentence(event: Event, *, tells_use: bool = True) -> str:
    """An event in one sentence: its headline, and the rest of what it tells.

    Args:
        tells_use: Whether it ends with what is in use after it, where the event says so.
    """
    pieces = _told(event)
    return "".join(p for p in pieces if tells_use or not p.startswith(_IN_USE))


@dataclass(frozen=True, slots=True, kw_only=True)
class Journey:
    """Events as numbered sentences, in text and in HTML."""

    sentences: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(f"{i:3}. {text}" for i, text in enumerate(self.sentences, 1))

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{html.escape(text)}</li>" for text in self.sentences)
        return f"<ol style='text-align:left'>{items}</ol>"


def journey(events: Iterable[Event]) -> Journey:
    """A run of events, told in order."""
    return Journey(sentences=tuple(sentence(event) for event in events))


_IN_USE = ". Now "
"""How the piece begins that tells what is in use."""


# ── kind by kind ────────────────────────────────────────────────────────────────────────────────


def _told(event: Event) -> Iterator[str]:
    """The headline, then what a sentence adds to it, each piece with the mark that joins it. Only
    the pieces that are asked for are made: a view says thousands of headlines at once.
    """
    match event:
        case RequestSubmitted():
            return _submitted(event)
        case RequestBlocked():
            return _blocked(event)
        case TransitionStarted():
            return _transition_started(event)
        case TransitionEnded():
            return _transition_ended(event)
        case RequestAdmitted():
            return _admitted(event)
        case ForwardRan():
            return _ran(event)
        case CaptureTried():
            return _captured(event)
        case SharedCaptureEnded():
            return _shared_ended(event)
        case OwnerPublished():
            return _published(event)
        case RequestFinished():
            return _finished(event)
        case LedgerChanged():
            return _ledger_changed(event)
        case _:
            assert_never(event)


def _submitted(event: RequestSubmitted) -> Iterator[str]:
    prompt = _counted(event.prompt_tokens, "prompt token")
    yield f"request {event.request} joins the queue: {prompt}"
    yield f", at most {event.max_output_tokens:,} to generate"
    if event.rewrite_boundaries:
        boundaries = ", ".join(
            f"{each.kind.value} at {each.frontier_tokens:,}" for each in event.rewrite_boundaries
        )
        yield f"; the next request may rewrite what follows {boundaries}"


def _blocked(event: RequestBlocked) -> Iterator[str]:
    yield f"request {event.request} stays at the head of the queue: {event.reason}"
    yield f" (looked at again after revision {event.revision})"


def _transition_started(event: TransitionStarted) -> Iterator[str]:
    start = _start(event.path, event.reuse_tokens)
    yield f"request {event.request} waits for copies, to start {start}"
    yield f": {_copies(event.work)}"


def _transition_ended(event: TransitionEnded) -> Iterator[str]:
    took = f"after {_ms(event.at_ns - event.started_ns)}"
    if event.ending is TransitionEnding.COMMITTED:
        yield f"the copies for request {event.request} have ended"
        yield f" {took}"
        return
    ending = event.ending.value
    yield f"the transition for request {event.request} ends without it: {ending}"
    if event.detail:
        yield f" ({event.detail})"
    yield f" {took}, in phase “{event.phase.value}”"
    if event.evicted:
        yield f"; {_named('owner', event.evicted)} will not come back"
    if event.deleted:
        yield f"; {_named('checkpoint', event.deleted)} will not come back"


def _admitted(event: RequestAdmitted) -> Iterator[str]:
    start = _start(event.path, event.reuse_tokens)
    by = "" if event.path.is_root else f", by {event.state.value}"
    gone = f", releasing {_named('owner', event.evicted)}" if event.evicted else ""
    yield f"request {event.request} becomes active in lane {event.lane} {start}{by}{gone}"
    if event.report.winner is not None and event.report.winner.degraded:
        yield f", degrading {_named('owner', event.report.winner.degraded)}"
    if event.cow_pages:
        yield f", copying {_counted(event.cow_pages, 'partial page')}"


def _ran(event: ForwardRan) -> Iterator[str]:
    tokens = sum(row.end_tokens - row.start_tokens for row in event.rows)
    who = _named("request", [row.request for row in event.rows])
    yield f"{event.phase.value} forward of {_counted(tokens, 'token')} for {who}"
    if len(event.rows) == 1:
        yield f": {_row(event.rows[0])}"
    else:
        yield ": " + "; ".join(f"request {row.request} {_row(row)}" for row in event.rows)
    yield f"{_IN_USE}{event.occupancy}"


def _captured(event: CaptureTried) -> Iterator[str]:
    result, shared = event.result, event.result.shared
    said = []
    if result.checkpoint is not None:
        instead = "" if result.replaced is None else f" in place of checkpoint {result.replaced.id}"
        said.append(f"captures {result.checkpoint}{instead}")
    elif result.outcome is not CaptureOutcome.NOT_WANTED or shared is None:
        where = f"at {result.frontier_tokens:,}"
        said.append(f"wanted a checkpoint {where} and skipped it: {result.outcome.value}")
    if shared is not None:
        said.append(_shared(shared))
    yield f"request {event.request} {'; '.join(said)}"
    if shared is not None:
        yield from _shared_terms(shared)


def _shared_ended(event: SharedCaptureEnded) -> Iterator[str]:
    yield f"request {event.request} {_shared(event.told)}"
    yield f" after {_ms(event.at_ns - event.started_ns)}"
    yield from _shared_terms(event.told)


def _published(event: OwnerPublished) -> Iterator[str]:
    kept = _counted(len(event.checkpoints), "checkpoint")
    if event.request is None:
        yield f"a saved session is restored as owner {event.owner} with {kept}"
    else:
        yield f"request {event.request} leaves owner {event.owner} behind with {kept}"
    if event.checkpoints:
        yield f": {', '.join(map(str, event.checkpoints))}"


def _finished(event: RequestFinished) -> Iterator[str]:
    prompt = _counted(event.prompt_tokens, "prompt token")
    hit = f"{event.prefix_cache_hit_tokens:,} of {prompt} reused"
    yield f"request {event.request} ends ({event.finish_reason.value}): {hit}"
    yield f", {event.computed_prefill_tokens:,} computed, {event.completion_tokens:,} generated"
    if event.error:
        yield f" ({event.error})"


def _ledger_changed(event: LedgerChanged) -> Iterator[str]:
    transition = event.change.transition
    what = "the ledger changes"
    if transition is not None:
        what = f"transaction {transition.transaction} has reached “{transition.stage.value}”"
    yield what + (" (told from nothing)" if event.is_keyframe else "")
    yield f", at revision {event.change.resource_revision}"


# ── parts of several ────────────────────────────────────────────────────────────────────────────


def _start(path: ReusePath, reuse_tokens: int) -> str:
    return "from the root" if path.is_root else f"from {path.value}, {reuse_tokens:,} tokens in"


def _copies(work: MachineWork) -> str:
    batches = (
        f"{batch.payload_bytes:,} bytes {batch.direction.value} in"
        f" {batch.operation_count:,} {'copy' if batch.operation_count == 1 else 'copies'}"
        for batch in work.transfers
    )
    return ", then ".join(batches)


def _row(row: RowRan) -> str:
    access = {
        StateAccess.ROOT: "from the zero state",
        StateAccess.IN_PLACE: "in place",
        StateAccess.FORK: "forked into a slot of its own",
    }[row.state_access]
    drawn = "" if row.drawn_token is None else f", draws token {row.drawn_token}"
    return f"consumes [{row.start_tokens:,}, {row.end_tokens:,}) {access}{drawn}"


def _shared(told: SharedCaptureTold) -> str:
    return f"wanted a shared prefix at {told.frontier_tokens:,}: {told.outcome.value}"


def _shared_terms(told: SharedCaptureTold) -> Iterator[str]:
    """Who goes for it, why it was given up, and the terms of what was done or would have been."""
    if told.evicted:
        yield f", releasing {_named('owner', told.evicted)}"
    if told.detail:
        yield f" ({told.detail})"
    gains = (scenario for scenario in told.scenarios if scenario.gain is not None)
    shown = told.scenario or next(gains, None)
    if shown is not None:
        yield f" ({shown})"


def _named(noun: str, ids: Iterable[int]) -> str:
    """`owner 3`, or `owners 3, 4`."""
    words = [str(each) for each in ids]
    return f"{noun}{'s' if len(words) > 1 else ''} {', '.join(words)}"


def _counted(count: int, noun: str) -> str:
    """`1 page`, or `2 pages`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _ms(duration_ns: int) -> str:
    return f"{duration_ns / 1e6:,.3f} ms"
