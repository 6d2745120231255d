"""What has the engine said so far?

Owns the in-memory sequence of events, bounded. Does not interpret them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from ninfer_lab.contract.events import Event

RETAINED_EVENTS = 200_000
"""Oldest events go first: a long session must not grow without end. About 100 MB of decode
steps.
"""


class Recorder:
    """Events in order of emission."""

    def __init__(self, retained_events: int = RETAINED_EVENTS) -> None:
        self._events: deque[Event] = deque(maxlen=retained_events)
        self._emitted_count = 0

    @property
    def emitted_count(self) -> int:
        """Events ever emitted; larger than `len(self)` once old ones have gone."""
        return self._emitted_count

    def emit(self, event: Event) -> None:
        """Appends one event."""
        self._events.append(event)
        self._emitted_count += 1

    def since(self, emitted_count: int) -> tuple[Event, ...]:
        """The events emitted after the count was `emitted_count`, as far as they are retained."""
        wanted = min(self._emitted_count - emitted_count, len(self._events))
        if wanted == 0:
            return ()
        return tuple(self._events[i] for i in range(-wanted, 0))

    def __iter__(self) -> Iterator[Event]:
        return iter(tuple(self._events))

    def __len__(self) -> int:
        return len(self._events)
