"""Law: axes are told apart, a unit is allocated or promised, and what is too much is negative."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ninfer_lab.contract.capacity import (
    NO_HOST_ARENA,
    Axis,
    Capacity,
    HostArenaGeometry,
    KvPool,
    Occupancy,
    OccupancyCounts,
)

ARENA = HostArenaGeometry.divide(1_000, main_page_bytes=160, backend_page_bytes=10)
CAPACITY = Capacity(
    device_state_slots=3,
    device_kv_pages=7,
    host_state_slots=2,
    device_backend_kv_pages=5,
    host_kv=ARENA,
)


def test_every_axis_has_its_own_capacity() -> None:  # spec: CAP-1, CAP-2
    assert [CAPACITY.of(axis) for axis in Axis] == [3, 2, 7, 5, 1_000]
    assert [CAPACITY.device_pages(pool) for pool in CAPACITY.pools] == [7, 5]
    assert [CAPACITY.host_pages(pool) for pool in CAPACITY.pools] == [6, 100]


def test_what_was_not_asked_for_is_not_there() -> None:  # spec: CAP-1
    plain = Capacity(device_state_slots=3, device_kv_pages=7)
    assert [plain.of(axis) for axis in Axis] == [3, 0, 7, 0, 0]
    assert plain.pools == (KvPool.MAIN,)
    assert plain.host_kv is NO_HOST_ARENA
    assert [plain.host_pages(pool) for pool in KvPool] == [0, 0]


@given(
    capacity_bytes=st.integers(0, 10_000),
    main=st.integers(1, 300),
    backend=st.none() | st.integers(1, 300),
)
def test_pages_of_both_pools_fit_their_granules(  # spec: CAP-1
    capacity_bytes: int, main: int, backend: int | None
) -> None:
    arena = HostArenaGeometry.divide(
        capacity_bytes, main_page_bytes=main, backend_page_bytes=backend
    )
    assert arena.capacity_bytes <= capacity_bytes < arena.capacity_bytes + arena.granule_bytes
    sizes = {KvPool.MAIN: main, KvPool.BACKEND: backend or 0}
    for pool, size in sizes.items():
        padded = arena.page_granules(pool) * arena.granule_bytes
        assert size <= padded < size + arena.granule_bytes
    assert min(arena.page_granules(pool) for pool, size in sizes.items() if size) == 1


@pytest.mark.parametrize(
    ("counts", "over"),
    [
        (((3, 0), (2, 0), (4, 3), (0, 5), (900, 100)), []),
        (((4, 0), (0, 0), (0, 0), (0, 0), (0, 0)), [Axis.DEVICE_STATE]),
        (((0, 0), (1, 2), (0, 0), (0, 0), (0, 0)), [Axis.HOST_STATE]),
        (((0, 0), (0, 0), (4, 4), (0, 0), (0, 0)), [Axis.DEVICE_KV]),
        (((0, 0), (0, 0), (0, 0), (6, 0), (0, 0)), [Axis.DEVICE_BACKEND_KV]),
        (((0, 0), (0, 0), (0, 0), (0, 0), (991, 10)), [Axis.HOST_KV]),
        (((4, 0), (0, 0), (8, 0), (0, 0), (0, 0)), [Axis.DEVICE_STATE, Axis.DEVICE_KV]),
    ],
)
def test_what_does_not_fit_is_named_axis_by_axis(  # spec: CAP-2
    counts: OccupancyCounts, over: list[Axis]
) -> None:
    occupancy = Occupancy.of(CAPACITY, counts)
    assert [each.axis for each in occupancy.over_capacity] == over
    assert [each.axis for each in occupancy.axes] == list(Axis)
    for each in occupancy.axes:
        assert occupancy.on(each.axis) is each
        assert each.free_count == each.capacity_count - each.allocated_count - each.reserved_count


def test_an_axis_that_is_not_there_is_not_spoken_of() -> None:
    plain = Capacity(device_state_slots=3, device_kv_pages=7)
    occupancy = Occupancy.of(plain, ((1, 0), (0, 0), (2, 1), (0, 0), (0, 0)))
    assert str(occupancy) == (
        "device state slots: 1 allocated + 0 reserved of 3;"
        " device KV pages: 2 allocated + 1 reserved of 7"
    )
