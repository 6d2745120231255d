"""How much of its processor time does this process spend in some modules?

Owns the sampling: a timer that counts processor time interrupts the process again and again, and
each time the stack is looked at. What is looked at runs as it always runs; a profiler that is
called for every function would make short ones look long. Does not know what the modules do.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType, ModuleType

INTERVAL_S = 0.001
"""Of processor time. A kernel may tick more coarsely: there are then fewer samples, none wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuSamples:
    """What was seen.

    Attributes:
        inside_count: Samples in a module that was asked for, or in something it called.
        count: All of them.
    """

    inside_count: int
    count: int

    @property
    def share(self) -> float:
        """Part of the processor time; 0 of a time too short for a sample."""
        return self.inside_count / self.count if self.count else 0.0


def sampled(work: Callable[[], object], modules: Sequence[ModuleType]) -> CpuSamples:
    """Runs the work and says how often it was met in one of the modules.

    Must be called from the main thread, which alone can take signals.

    Effects: uses the timer and signal of processor time meanwhile; leaves them as they were.
    """
    files = frozenset(module.__file__ for module in modules)
    inside_count = count = 0

    def look(_: int, frame: FrameType | None) -> None:
        nonlocal inside_count, count
        count += 1
        while frame is not None:
            if frame.f_code.co_filename in files:
                inside_count += 1
                return
            frame = frame.f_back

    before = signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, INTERVAL_S, INTERVAL_S)
    try:
        work()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
    return CpuSamples(inside_count=inside_count, count=count)
