"""How much of its processor time does this process spend in some modules, or in parts of a work?

Owns the sampling: a timer that counts processor time interrupts the process again and again, and
each time the stack is looked at. What is looked at runs as it always runs; a profiler that is
called for every function would make short ones look long. Does not know what the modules do.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType, ModuleType
from typing import TypeVar

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

    def look(frame: FrameType | None) -> None:
        nonlocal inside_count, count
        count += 1
        while frame is not None:
            if frame.f_code.co_filename in files:
                inside_count += 1
                return
            frame = frame.f_back

    _run_looking(work, look)
    return CpuSamples(inside_count=inside_count, count=count)


Part = TypeVar("Part", bound=Hashable)


def sampled_parts(
    work: Callable[[], object],
    whole: Callable[..., object],
    entries: Mapping[Part, Sequence[Callable[..., object]]],
    rest: Part,
) -> Mapping[Part, CpuSamples]:
    """Runs the work and says how the time inside one of its functions is parted.

    A sample belongs to the part whose entry was called last: what a part calls is its own, up to
    where another part is entered. What runs outside the function is not counted at all.

    Args:
        whole: The function whose time is parted.
        entries: Functions by which each part is entered, as they are defined.
        rest: The part of everything else inside the function.

    Effects: as `sampled`.
    """
    part_of = {_code(each): part for part, functions in entries.items() for each in functions}
    inside, counts = _code(whole), dict.fromkeys((*entries, rest), 0)

    def look(frame: FrameType | None) -> None:
        found: Part | None = None
        while frame is not None:
            if found is None:
                found = part_of.get(frame.f_code)
            if frame.f_code is inside:
                counts[rest if found is None else found] += 1
                return
            frame = frame.f_back

    _run_looking(work, look)
    count = sum(counts.values())
    return {part: CpuSamples(inside_count=each, count=count) for part, each in counts.items()}


def _code(function: Callable[..., object]) -> CodeType:
    code = getattr(function, "__code__", None)
    assert isinstance(code, CodeType), f"{function} is no function that is written here"
    return code


def _run_looking(work: Callable[[], object], look: Callable[[FrameType | None], None]) -> None:
    before = signal.signal(signal.SIGPROF, lambda _, frame: look(frame))
    signal.setitimer(signal.ITIMER_PROF, INTERVAL_S, INTERVAL_S)
    try:
        work()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
