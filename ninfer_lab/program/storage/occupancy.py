"""Used_r of the state as it is, or of one with given differences (ACC-1)?

Owns the one place where allocations and reservations are put side by side. Pure functions over
counts; they read no store.
"""

from __future__ import annotations

from ninfer_lab.contract.capacity import Axis, AxisUse, Capacity, Occupancy


def occupancy_of(
    capacity: Capacity, *, state_slots: int, kv_pages: int, reserved_kv_pages: int
) -> Occupancy:
    """Puts unique allocations and concrete reservations of every axis against the capacity.

    Args:
        state_slots: Unique Device StateImages.
        kv_pages: Unique Device pages.
        reserved_kv_pages: Guaranteed growth of active sequences not yet mapped (ACT-2).
    """
    return Occupancy(
        device_state=AxisUse(
            axis=Axis.DEVICE_STATE,
            allocated_count=state_slots,
            reserved_count=0,
            capacity_count=capacity.device_state_slots,
        ),
        device_kv=AxisUse(
            axis=Axis.DEVICE_KV,
            allocated_count=kv_pages,
            reserved_count=reserved_kv_pages,
            capacity_count=capacity.device_kv_pages,
        ),
    )
