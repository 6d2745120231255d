"""Where in a run are we, and how does one step through it? (W-4)

Owns `Timeline`: the places of a recording at which a step halts, by request, worker cycle,
transaction phase and stage, and what stood at any event. A jump reads one keyframe and the few
events after it, however long the run was. Reads a recording only; running it again from somewhere
is `fork`'s.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from ninfer_lab.contract.events import (
    CaptureTried,
    Event,
    ForwardRan,
    LedgerChanged,
    OwnerPublished,
    RequestAdmitted,
    RequestFinished,
    SharedCaptureEnded,
    TransitionEnded,
    TransitionStarted,
)
from ninfer_lab.contract.placement import LedgerSnapshot
from ninfer_lab.contract.target import Stage
from ninfer_lab.lab.moment import Following, Moment
from ninfer_lab.lab.passed_stages import PassedStage, passed_stages
from ninfer_lab.lab.recording.rebuilt import ledger_from
from ninfer_lab.lab.recording.recording import Recording

FOLLOWED_EVERY_EVENTS = 256
"""Every so many events it is kept who waits and runs, so that a jump reads no more than these."""


class Unit(Enum):
    """By what one steps."""

    EVENT = "event"
    REQUEST = "request"
    """To where the next request is admitted, or refused."""
    CYCLE = "worker cycle"
    """What is decided, then one forward and what comes of it; or a wait for copies."""
    PHASE = "transaction phase"
    """To where a transition begins, goes on to its next phase, or ends."""
    STAGE = "stage"
    """To the next stage that a transition reached, with its peak; where ledgers were not recorded,
    through the stages of each plan that was carried out.
    """


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a run.

    Attributes:
        event: Ordinal in the recording.
        stage: Of the plan of which this event shows stages; 0 takes the first that it shows.
    """

    event: int
    stage: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A recording that one can step through.

    Attributes:
        stops: Ordinals of events, ascending, at which each unit halts.
        changes: Ordinals of the ledger's changes.
        keyframes: Those that are told from an empty ledger.
        passed: What an event shows of a transition, by ordinal.
        followed: Who waited and ran, every `FOLLOWED_EVERY_EVENTS` events.
    """

    recording: Recording
    stops: Mapping[Unit, tuple[int, ...]] = field(repr=False)
    changes: tuple[int, ...] = field(repr=False)
    keyframes: tuple[int, ...] = field(repr=False)
    passed: Mapping[int, PassedStage] = field(repr=False)
    followed: tuple[Following, ...] = field(repr=False)

    @classmethod
    def of(cls, recording: Recording) -> Timeline:
        """Reads the whole recording once."""
        events = recording.events
        changes = tuple(i for i, e in enumerate(events) if isinstance(e, LedgerChanged))
        passed = passed_stages(events)
        return cls(
            recording=recording,
            stops=_stops(events, passed),
            passed=passed,
            changes=changes,
            keyframes=tuple(i for i in changes if _is_keyframe(events[i])),
            followed=tuple(_followed(events)),
        )

    def __len__(self) -> int:
        return len(self.recording.events)

    # ── stepping ────────────────────────────────────────────────────────────────────────────────

    def next(self, at: Position, unit: Unit) -> Position:
        """One step on; where there is none, the place stays."""
        shown = self.shown_at(at.event)
        if unit is Unit.STAGE and at.stage + 1 in shown:
            return Position(at.event, at.stage + 1)
        stops = self.stops[unit]
        place = bisect_right(stops, at.event)
        return at if place == len(stops) else self._arrived(stops[place])

    def previous(self, at: Position, unit: Unit) -> Position:
        """One step back; where there is none, the place stays."""
        if unit is Unit.STAGE and at.stage - 1 in self.shown_at(at.event):
            return Position(at.event, at.stage - 1)
        stops = self.stops[unit]
        place = bisect_left(stops, at.event) - 1
        if place < 0:
            return at
        shown = self.shown_at(stops[place]) if unit is Unit.STAGE else range(0)
        return Position(stops[place], shown[-1]) if shown else self._arrived(stops[place])

    def _arrived(self, event: int) -> Position:
        shown = self.shown_at(event)
        return Position(event, shown[0] if shown else 0)

    def stages_at(self, event: int) -> tuple[Stage, ...]:
        """All stages of the plan of which an event shows one; none elsewhere."""
        passed = self.passed.get(event)
        return () if passed is None else passed.stages

    def shown_at(self, event: int) -> range:
        """Ordinals of the stages that an event shows."""
        passed = self.passed.get(event)
        if passed is None or passed.first is None or passed.last is None:
            return range(0)
        return range(passed.first, passed.last + 1)

    # ── jumping ─────────────────────────────────────────────────────────────────────────────────

    def moment(self, at: Position | int) -> Moment:
        """Everything that stood when an event had happened.

        Raises:
            IndexError: No such event, or no such stage of it.
        """
        ordinal = at if isinstance(at, int) else at.event
        if not 0 <= ordinal < len(self):
            raise IndexError(f"event {ordinal} of {len(self)}")
        place = self._arrived(ordinal) if isinstance(at, int) or not at.stage else at
        stages, shown = self.stages_at(ordinal), self.shown_at(ordinal)
        if place.stage and place.stage not in shown:
            raise IndexError(f"stage {place.stage} of those at {shown}")
        start = place.event // FOLLOWED_EVERY_EVENTS
        following = self.followed[start]
        first = start * FOLLOWED_EVERY_EVENTS
        for event in self.recording.events[first : place.event + 1]:
            following = following.after(event)
        ledger, read_count = self._ledger_at(place.event)
        return Moment(
            event=place.event,
            stage_ordinal=place.stage if shown else None,
            stages=stages,
            told=self.recording.events[place.event],
            following=following,
            ledger=ledger,
            read_count=read_count + place.event + 1 - first,
        )

    def _ledger_at(self, event: int) -> tuple[LedgerSnapshot | None, int]:
        """The ledger as it stood, and how many changes were read for it."""
        last = bisect_right(self.changes, event)
        keyframe = bisect_right(self.keyframes, event)
        if not keyframe:
            return None, 0
        first = bisect_left(self.changes, self.keyframes[keyframe - 1])
        told = [self.recording.events[i] for i in self.changes[first:last]]
        return ledger_from(told), len(told)

    def __str__(self) -> str:
        steps = ", ".join(f"{len(self.stops[unit]):,} by {unit.value}" for unit in Unit)
        return f"{self.recording.facts.world}: {len(self):,} events; halts: {steps}"


# ── where a step halts ──────────────────────────────────────────────────────────────────────────


def _stops(
    events: Sequence[Event], passed: Mapping[int, PassedStage]
) -> dict[Unit, tuple[int, ...]]:
    return {
        Unit.EVENT: tuple(i for i, e in enumerate(events) if not isinstance(e, LedgerChanged)),
        Unit.REQUEST: tuple(_requests(events)),
        Unit.CYCLE: tuple(_cycles(events)),
        Unit.PHASE: tuple(_phases(events)),
        Unit.STAGE: tuple(i for i in sorted(passed) if passed[i].is_new and passed[i].stages),
    }


def _requests(events: Iterable[Event]) -> Iterator[int]:
    for i, event in enumerate(events):
        if isinstance(event, RequestAdmitted) or (
            isinstance(event, RequestFinished) and event.prefix_reuse_path is None
        ):
            yield i


_SETTLES = (CaptureTried, SharedCaptureEnded, OwnerPublished, RequestFinished)
"""What a forward brings about in its own cycle."""


def _cycles(events: Iterable[Event]) -> Iterator[int]:
    """A cycle begins with the first event after a forward that is none of its consequences, and
    wherever time has passed without a forward.
    """
    forward: ForwardRan | None = None
    last_ns = -1
    for i, event in enumerate(events):
        if isinstance(event, LedgerChanged):
            continue
        is_waited = event.at_ns > last_ns and not isinstance(event, ForwardRan)
        settles = forward is not None and isinstance(event, _SETTLES)
        is_over = forward is not None and not (settles and event.at_ns == forward.at_ns)
        if last_ns < 0 or is_waited or is_over:
            yield i
            forward = None
        if isinstance(event, ForwardRan):
            forward = event
        last_ns = event.at_ns


def _phases(events: Iterable[Event]) -> Iterator[int]:
    phase = None
    for i, event in enumerate(events):
        match event:
            case LedgerChanged(change=change):
                now = None if change.transition is None else change.transition.phase
                if now is not None and now is not phase:
                    yield i
                phase = now
            case TransitionStarted() | TransitionEnded() | RequestAdmitted():
                yield i
            case _:
                continue


# ── who waits and who runs ──────────────────────────────────────────────────────────────────────


def _followed(events: Iterable[Event]) -> Iterator[Following]:
    following = Following()
    for i, event in enumerate(events):
        if i % FOLLOWED_EVERY_EVENTS == 0:
            yield following
        following = following.after(event)


def _is_keyframe(event: Event) -> bool:
    return isinstance(event, LedgerChanged) and event.is_keyframe
