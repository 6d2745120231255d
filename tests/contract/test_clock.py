"""Law: all time comes from a clock; a virtual one moves where somebody waits, and never back."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.clock import MonotonicClock, VirtualClock


@pytest.mark.parametrize(("moment_ns", "then_ns"), [(9, 9), (5, 5), (3, 5), (-1, 5)])
def test_virtual_time_jumps_forward_and_never_back(moment_ns: int, then_ns: int) -> None:
    clock = VirtualClock(start_ns=5)
    assert clock.now_ns() == clock.now_ns() == 5
    clock.wait_until(moment_ns)
    assert clock.now_ns() == then_ns


def test_wall_time_has_passed_once_the_wait_returns() -> None:
    clock = MonotonicClock()
    moment_ns = clock.now_ns() + 2_000_000
    clock.wait_until(moment_ns)
    assert clock.now_ns() >= moment_ns
    clock.wait_until(moment_ns - 10**12)
