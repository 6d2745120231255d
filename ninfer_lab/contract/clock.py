"""What time is it? All time in the project comes from here, in nanoseconds.

Owns the `Clock` protocol and its two implementations: wall time, and virtual time that moves only
where somebody waits. Does not know what anyone waits for.
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """A source of nanoseconds that never runs backwards."""

    def now_ns(self) -> int:
        """The present, in ns since an arbitrary start."""
        ...

    def wait_until(self, moment_ns: int) -> None:
        """Returns once `now_ns() >= moment_ns`; at once if that is past."""
        ...


class MonotonicClock:
    """Wall time."""

    def now_ns(self) -> int:
        return time.monotonic_ns()  # noqa: TID251  (the one place that reads the wall clock)

    def wait_until(self, moment_ns: int) -> None:
        remaining_ns = moment_ns - self.now_ns()
        if remaining_ns > 0:
            time.sleep(remaining_ns / 1e9)


class VirtualClock:
    """Time that stands still until somebody waits, then jumps: the same run gives the same
    times.
    """

    def __init__(self, start_ns: int = 0) -> None:
        self._now_ns = start_ns

    def now_ns(self) -> int:
        return self._now_ns

    def wait_until(self, moment_ns: int) -> None:
        self._now_ns = max(self._now_ns, moment_ns)
