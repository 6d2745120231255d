"""Law: used is what is allocated plus what is promised, and no axis pays for another."""

from __future__ import annotations

from ninfer_lab.contract.capacity import Axis, Capacity
from ninfer_lab.program.storage.occupancy import occupancy_of

CAPACITY = Capacity(device_state_slots=3, device_kv_pages=5)


def test_promised_pages_count_as_used() -> None:  # spec: ACC-1
    occupancy = occupancy_of(CAPACITY, state_slots=2, kv_pages=3, reserved_kv_pages=2)
    assert (occupancy.device_kv.used_count, occupancy.device_kv.free_count) == (5, 0)
    assert (occupancy.device_state.used_count, occupancy.device_state.free_count) == (2, 1)
    assert occupancy.over_capacity == ()


def test_a_free_slot_does_not_pay_for_a_missing_page() -> None:  # spec: CAP-2, ACC-4
    occupancy = occupancy_of(CAPACITY, state_slots=0, kv_pages=4, reserved_kv_pages=2)
    assert [use.axis for use in occupancy.over_capacity] == [Axis.DEVICE_KV]
    assert str(occupancy.over_capacity[0]) == "device KV pages: 4 allocated + 2 reserved of 5"
