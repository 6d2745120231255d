"""What has the engine said so far?

Owns the in-memory sequence of events, bounded, and what of an event is kept: all targets of a
search or its decision alone, and, where wanted, the change of the ledger before each event and at
each stage of a transition. Nothing in the engine reads it back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from ninfer_lab.contract.events import (
    Event,
    LedgerChanged,
    RequestAdmitted,
    RequestBlocked,
    TransitionEnded,
)
from ninfer_lab.contract.placement import LedgerSnapshot
from ninfer_lab.contract.placement_change import change, empty_ledger
from ninfer_lab.contract.recording_options import PlacementDetail, RecordingOptions

_WITH_REPORT = (RequestAdmitted, RequestBlocked, TransitionEnded)


class Recorder:
    """Events in order of emission.

    Args:
        options: What is kept.
        look: Takes a picture of the ledger; asked only where placements are recorded.
    """

    def __init__(self, options: RecordingOptions, look: Callable[[], LedgerSnapshot]) -> None:
        self._options = options
        self._events: deque[Event] = deque(maxlen=options.retained_events)
        self._emitted_count = 0
        self._placements = (
            None
            if options.placements is PlacementDetail.NONE
            else _Placements(look, options.keyframe_every_changes)
        )

    @property
    def emitted_count(self) -> int:
        """Events ever emitted; larger than `len(self)` once old ones have gone."""
        return self._emitted_count

    def emit(self, event: Event) -> None:
        """Appends one event, after the change of the ledger that it speaks of."""
        self.look(event.at_ns)
        if isinstance(event, _WITH_REPORT):
            event = self._kept(event)
        self._events.append(event)
        self._emitted_count += 1

    def look(self, at_ns: int) -> None:
        """Tells what of the ledger has changed, where that is recorded and something has."""
        if self._placements is None:
            return
        changed = self._placements.changed(at_ns)
        if changed is not None:
            self._events.append(changed)
            self._emitted_count += 1

    def since(self, emitted_count: int) -> tuple[Event, ...]:
        """The events emitted after the count was `emitted_count`, as far as they are retained."""
        events, wanted = self._events, self._emitted_count - emitted_count
        if wanted == 1:  # as after nearly every step
            return (events[-1],)
        return tuple([events[i] for i in range(-min(wanted, len(events)), 0)])

    def _kept(self, event: RequestAdmitted | RequestBlocked | TransitionEnded) -> Event:
        if event.report is None or self._options.keeps_targets_of(event.request):
            return event
        decision = event.report.decision()
        return event if decision is event.report else event._replace(report=decision)

    def __iter__(self) -> Iterator[Event]:
        return iter(tuple(self._events))

    def __len__(self) -> int:
        return len(self._events)


class _Placements:
    """The ledger as it was last told."""

    def __init__(self, look: Callable[[], LedgerSnapshot], keyframe_every_changes: int) -> None:
        self._look = look
        self._keyframe_every_changes = keyframe_every_changes
        self._told: LedgerSnapshot | None = None
        self._changes_count = 0

    def changed(self, at_ns: int) -> LedgerChanged | None:
        """What is new since the last call; `None` if nothing is."""
        now = self._look()
        if now == self._told:
            return None
        is_keyframe = self._told is None or self._changes_count % self._keyframe_every_changes == 0
        before = empty_ledger(now.occupancy) if is_keyframe or self._told is None else self._told
        self._told = now
        self._changes_count += 1
        return LedgerChanged(at_ns=at_ns, is_keyframe=is_keyframe, change=change(before, now))
