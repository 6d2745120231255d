"""Law: the share of a module is the part of the processor time in which it, or what it called, was
at work; timer and signal are left as they were.
"""

from __future__ import annotations

import signal
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ninfer_lab.lab.bench.cpu_samples import CpuSamples, sampled, sampled_parts

TICKS = 60
"""Samples that a test waits for: it ends by what was counted, not by a clock."""


def module(folder: Path, name: str) -> types.ModuleType:
    """A module that calls what it is given."""
    path = folder / f"{name}.py"
    path.write_text("def call(work):\n    work()\n")
    made = types.ModuleType(name)
    made.__file__ = str(path)
    exec(compile(path.read_text(), str(path), "exec"), made.__dict__)  # noqa: S102  (written above)
    return made


@contextmanager
def ticking() -> Iterator[Callable[[int], None]]:
    """A function that works until so many more samples were taken."""
    taken = 0
    real = signal.signal

    def counting(number: int, handler: object) -> object:
        def count(signal_number: int, frame: types.FrameType | None) -> None:
            nonlocal taken
            taken += 1
            assert callable(handler)
            handler(signal_number, frame)

        return real(number, count if callable(handler) else handler)  # type: ignore[arg-type]

    def work(ticks: int) -> None:
        end = taken + ticks
        while taken < end:
            sum(range(200))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signal, "signal", counting)
        yield work


def test_work_is_counted_where_it_was_called_from(tmp_path: Path) -> None:
    wanted, other = module(tmp_path, "wanted"), module(tmp_path, "other")
    with ticking() as work:

        def both() -> None:
            wanted.call(lambda: work(TICKS))
            other.call(lambda: work(3 * TICKS))

        found = sampled(both, (wanted,))
    assert found.count >= 4 * TICKS
    assert TICKS - 2 <= found.inside_count <= TICKS + 2  # at the edges a sample may fall outside
    assert found.share == found.inside_count / found.count


def test_work_too_short_for_a_sample_has_no_share() -> None:
    assert CpuSamples(inside_count=0, count=0).share == 0.0


def test_timer_and_signal_are_left_as_they_were_also_by_an_error() -> None:
    before = signal.getsignal(signal.SIGPROF)

    def fail() -> None:
        raise KeyError("the work")

    with pytest.raises(KeyError):
        sampled(fail, (sys.modules[__name__],))
    assert signal.getsignal(signal.SIGPROF) is before
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_time_inside_a_function_is_parted_by_what_was_entered_last() -> None:
    """As many samples in a part as in what it enters of another and in neither; what runs before
    the function counts for nothing.
    """
    with ticking() as work:

        def inner(ticks: int) -> None:
            work(ticks)

        def outer(ticks: int) -> None:
            work(ticks)
            inner(ticks)

        def whole() -> None:
            outer(TICKS)
            work(TICKS)

        def run() -> None:
            work(TICKS)
            whole()

        found = sampled_parts(run, whole, {"outer": (outer,), "inner": (inner,)}, "rest")
    assert list(found) == ["outer", "inner", "rest"]
    # A sample that is taken between two of them belongs to the one it has left.
    assert all(abs(each.inside_count - TICKS) <= 2 for each in found.values())
    assert all(each.count == sum(f.inside_count for f in found.values()) for each in found.values())
