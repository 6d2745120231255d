"""What does an event say, in one sentence?

Owns the wording of events for people, and the small value that shows a run of them in a notebook.
Reads events only.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

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


def sentence(event: Event) -> str:
    """One event in words."""
    match event:
        case RequestSubmitted():
            boundaries = ", ".join(
                f"{b.kind.value} at {b.frontier_tokens}" for b in event.rewrite_boundaries
            )
            named = (
                f"; the next request may rewrite what follows {boundaries}" if boundaries else ""
            )
            return (
                f"request {event.request} joins the queue: {event.prompt_tokens} prompt tokens,"
                f" at most {event.max_output_tokens} to generate{named}"
            )
        case RequestBlocked():
            return (
                f"request {event.request} stays at the head of the queue: {event.reason}"
                f" (looked at again after revision {event.revision})"
            )
        case TransitionStarted():
            return (
                f"request {event.request} waits for copies, to start from {event.path.value}"
                f" {event.reuse_tokens} tokens in: {_copies(event.work)}"
            )
        case TransitionEnded():
            return _transition_ended(event)
        case RequestAdmitted():
            return _admitted(event)
        case ForwardRan():
            rows = "; ".join(map(_row, event.rows))
            return f"{event.phase.value} forward: {rows}. Now {event.occupancy}"
        case CaptureTried():
            return _captured(event)
        case SharedCaptureEnded():
            return f"request {event.request}: {_shared(event.told)}"
        case OwnerPublished():
            kept = ", ".join(map(str, event.checkpoints))
            if event.request is None:
                return f"a saved session is restored as owner {event.owner}: {kept}"
            return f"request {event.request} leaves owner {event.owner} behind: {kept}"
        case RequestFinished():
            return (
                f"request {event.request} ends by {event.finish_reason.value}:"
                f" {event.prefix_cache_hit_tokens} prompt tokens reused,"
                f" {event.computed_prefill_tokens} computed, {event.completion_tokens} generated"
            )
        case LedgerChanged():
            return f"the ledger is now at revision {event.change.resource_revision}"
        case _:
            assert_never(event)


def _admitted(event: RequestAdmitted) -> str:
    gone = f", releasing {len(event.evicted)} owners" if event.evicted else ""
    winner = event.report.winner
    if winner is not None and winner.degraded:
        gone += f", degrading {len(winner.degraded)} owners"
    copied = f", copying {event.cow_pages} partial page" if event.cow_pages else ""
    start = (
        "from the root"
        if event.path.is_root
        else f"from {event.path.value}, {event.reuse_tokens} tokens in, by {event.state.value}"
    )
    return f"request {event.request} becomes active in lane {event.lane} {start}{copied}{gone}"


def _transition_ended(event: TransitionEnded) -> str:
    took = f"after {(event.at_ns - event.started_ns) / 1e6:,.3f} ms"
    if event.ending is TransitionEnding.COMMITTED:
        return f"the copies for request {event.request} have ended {took}"
    said = f" ({event.detail})" if event.detail else ""
    kept = f", {len(event.evicted)} owners stay released" if event.evicted else ""
    return (
        f"the transition for request {event.request} ends {took} without it, in phase"
        f" “{event.phase.value}”: {event.ending.value}{said}{kept}"
    )


def _copies(work: MachineWork) -> str:
    batches = (
        f"{batch.payload_bytes:,} bytes {batch.direction.value} in {batch.operation_count} copies"
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
    return f"request {row.request} consumes [{row.start_tokens}, {row.end_tokens}) {access}{drawn}"


def _captured(event: CaptureTried) -> str:
    result = event.result
    said = []
    if result.checkpoint is not None:
        instead = "" if result.replaced is None else f" in place of checkpoint {result.replaced.id}"
        said.append(f"captures {result.checkpoint}{instead}")
    elif result.outcome is not CaptureOutcome.NOT_WANTED:
        said.append(
            f"wanted a checkpoint at {result.frontier_tokens} and skipped it:"
            f" {result.outcome.value}"
        )
    if result.shared is not None:
        said.append(_shared(result.shared))
    return f"request {event.request} {'; '.join(said)}"


def _shared(told: SharedCaptureTold) -> str:
    """What came of a chance to write a shared prefix, with the terms of the best scenario."""
    where = f"shared prefix at {told.frontier_tokens}: {told.outcome.value}"
    gains = [scenario for scenario in told.scenarios if scenario.gain is not None]
    shown = told.scenario or next(iter(gains), None)
    gone = f", releasing {len(told.evicted)} owners" if told.evicted else ""
    return f"{where}{gone}" + ("" if shown is None else f" ({shown})")


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
