"""Law: axes are told apart, a unit is allocated or promised, and what is too much is negative."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.capacity import Axis, AxisUse, Capacity, Occupancy


def use(axis: Axis, allocated: int, reserved: int, capacity: int) -> AxisUse:
    return AxisUse(
        axis=axis, allocated_count=allocated, reserved_count=reserved, capacity_count=capacity
    )


def test_every_axis_has_its_own_capacity() -> None:  # spec: CAP-1, CAP-2
    capacity = Capacity(device_state_slots=3, device_kv_pages=7)
    assert [capacity.of(axis) for axis in Axis] == [3, 7]


@pytest.mark.parametrize(
    ("state", "kv", "over"),
    [
        ((3, 0, 3), (4, 3, 7), []),
        ((4, 0, 3), (0, 0, 7), [Axis.DEVICE_STATE]),
        ((0, 0, 3), (4, 4, 7), [Axis.DEVICE_KV]),
        ((4, 0, 3), (8, 0, 7), [Axis.DEVICE_STATE, Axis.DEVICE_KV]),
    ],
)
def test_what_does_not_fit_is_named_axis_by_axis(  # spec: CAP-2
    state: tuple[int, int, int], kv: tuple[int, int, int], over: list[Axis]
) -> None:
    occupancy = Occupancy(
        device_state=use(Axis.DEVICE_STATE, *state), device_kv=use(Axis.DEVICE_KV, *kv)
    )
    assert [each.axis for each in occupancy.over_capacity] == over
    assert [each.axis for each in occupancy.axes] == list(Axis)
    for each in occupancy.axes:
        assert each.free_count == each.capacity_count - each.allocated_count - each.reserved_count
