"""What if it had gone otherwise from here on? (W-4)

Owns *fork here*: the same world told again to a fresh engine, the real one, with something changed
from an event on, and the first difference of the two recordings. In virtual time a run follows from
its world, so that everything before the event comes out again, which is checked; so a recording
that was loaded is forked like its run, once it has been told again (`retelling`). Another capacity
or design cannot begin in the middle: it is a whole run beside the old one, aligned by what was
decided for each request, and the fork says which of the two it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import polars as pl

from ninfer_lab.contract.errors import InvariantBroken, OptionsError
from ninfer_lab.contract.events import Event, RequestFinished, RequestSubmitted
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.lab import worlds
from ninfer_lab.lab.changes import (
    Change,
    Faults,
    OtherDesign,
    OtherOptions,
    Switch,
    TakenBack,
    meddling_with,
    world_with,
)
from ninfer_lab.lab.first_difference import Difference, first_decision, first_difference
from ninfer_lab.lab.machines import Machine
from ninfer_lab.lab.named_lines import NamedLines
from ninfer_lab.lab.recording.recording import Recording
from ninfer_lab.lab.retelling import run_again
from ninfer_lab.lab.world import Run


class ForkKind(Enum):
    """From where on a fork may differ."""

    FROM_HERE = "the same up to here"
    WHOLE_RUN = "a whole run beside it: another capacity or design begins with the first event"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Fork(NamedLines):
    """Two recordings of one world.

    Attributes:
        asked_event: Where it was asked for.
        first_event: The first event that could differ: the changes take effect between two steps of
            the engine, at or after the one that was asked for.
        difference: The first, event by event for a fork from here, decision by decision for a whole
            run; `None` if there is none.
    """

    kind: ForkKind
    changes: tuple[Change, ...]
    asked_event: int
    first_event: int
    original: Recording
    forked: Recording
    difference: Difference | None

    @property
    def beside(self) -> pl.DataFrame:
        """One row per request: how each of the two served it."""
        columns = ("prefix_reuse_path", "prefix_cache_hit_tokens", "ttft_ms", "finish_reason")
        mine, theirs = (
            each.requests.select("request", *columns) for each in (self.original, self.forked)
        )
        joined = mine.join(theirs, on="request", how="full", coalesce=True, suffix=" forked")
        order = [name for column in columns for name in (column, f"{column} forked")]
        return joined.sort("request").select("request", *order)

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """Names and words, in reading order."""
        rows = [
            ("fork", f"{self.original.facts.world}, at event {self.asked_event:,}"),
            ("kind", self.kind.value),
            ("changed", "; ".join(map(str, self.changes)) or "nothing"),
            ("may differ", f"from event {self.first_event:,} on"),
        ]
        if self.difference is None:
            return (*rows, ("first difference", "none"))
        differs = self.beside.filter(
            pl.col("prefix_cache_hit_tokens").ne_missing(pl.col("prefix_cache_hit_tokens forked"))
        )
        return (
            *rows,
            ("first difference", str(self.difference)),
            ("requests", f"{len(differs)} reuse another number of tokens"),
        )


def fork_here(subject: Run | Recording, event: int, *changes: Change) -> Fork:
    """Runs a world again, otherwise from an event on.

    Args:
        subject: A run in virtual time, or the recording of one, which is told again first
            (`retelling`); with all its events retained.
        event: Ordinal in its recording: events before it stand.
        changes: What is otherwise; with none the run comes out again.

    Raises:
        OptionsError: No such event; a run on real tensors, or with lost events, which cannot be
            told again; changes that contradict each other; options that cannot hold one request.
        RecordingError: A recording whose world is not there, or comes out otherwise.
        InvariantBroken: What stands before the event did not come out again.
    """
    _require(subject, event, changes)
    run = run_again(subject) if isinstance(subject, Recording) else subject
    whole = any(isinstance(change, OtherOptions | OtherDesign) for change in changes)
    told_before = run.events[:event]
    switch = Switch(at=0, at_ns=0)
    if told_before and not whole:
        switch = Switch(at=event, at_ns=told_before[-1].at_ns)
    designs = [change.design for change in changes if isinstance(change, OtherDesign)]
    again = worlds.run(
        world_with(run.world, changes, switch),
        design=designs[-1] if designs else run.design,
        recording=run.recorded,
        meddling=meddling_with(changes, switch),
    )
    first_event = 0 if whole else _first_event(switch, again)
    original = subject if isinstance(subject, Recording) else subject.recording
    forked = again.recording
    if original.events[:first_event] != forked.events[:first_event]:
        raise InvariantBroken("RCD-2", f"events before {first_event} did not come out again")
    return Fork(
        kind=ForkKind.WHOLE_RUN if whole else ForkKind.FROM_HERE,
        changes=changes,
        asked_event=event,
        first_event=first_event,
        original=original,
        forked=forked,
        difference=(first_decision if whole else first_difference)(original, forked),
    )


def _first_event(switch: Switch, again: Run) -> int:
    """An event so late that no step came after it changes nothing."""
    return len(again.events) if switch.turned_at is None else switch.turned_at


def _require(subject: Run | Recording, event: int, changes: tuple[Change, ...]) -> None:
    if isinstance(subject, Run) and subject.machine is not Machine.SIMULATED:
        legal = f"{Machine.SIMULATED.value}, where a run follows from its world"
        raise OptionsError("machine", found=subject.machine.value, legal=legal)
    if subject.lost_events_count:
        found = f"{subject.lost_events_count:,} events lost"
        raise OptionsError("recording", found=found, legal="a run with all its events retained")
    if not 0 <= event < len(subject.events):
        raise OptionsError("event", found=event, legal=f"0 <= event < {len(subject.events)}")
    for change in changes:
        if not isinstance(change, Faults | TakenBack) and _alike(change, changes) > 1:
            found = f"{_alike(change, changes)} of {type(change).__name__}"
            raise OptionsError("changes", found=found, legal="one, for two contradict each other")
        if isinstance(change, TakenBack):
            there = _there(subject.events[:event])
            if change.request not in there:
                legal = ", ".join(map(str, there)) or "one that waits or runs there; none does"
                raise OptionsError("request to take back", found=change.request, legal=legal)


def _alike(change: Change, changes: Sequence[Change]) -> int:
    return sum(type(each) is type(change) for each in changes)


def _there(events: Sequence[Event]) -> tuple[RequestId, ...]:
    """Requests that wait or run, in the order in which they came."""
    came = [event.request for event in events if isinstance(event, RequestSubmitted)]
    gone = {event.request for event in events if isinstance(event, RequestFinished)}
    return tuple(each for each in came if each not in gone)
