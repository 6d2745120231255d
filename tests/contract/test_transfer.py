"""Law: pages that lie one behind the other on both sides are one copy call, an image is two."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.ids import HostGranuleId, HostSlotId, PageId, StateSlotId
from ninfer_lab.contract.machine_work import TransferDirection
from ninfer_lab.contract.transfer import PageTransfer, StateTransfer, Transfer, page_runs_count

MAIN, BACKEND = KvPool.MAIN, KvPool.BACKEND
GRANULES = {MAIN: 3, BACKEND: 1}


def of_places(*places: tuple[KvPool, int, int], states: int = 0) -> Transfer:
    return Transfer(
        direction=TransferDirection.D2H,
        states=tuple(
            StateTransfer(device_slot=StateSlotId(i), host_slot=HostSlotId(i))
            for i in range(states)
        ),
        pages=tuple(
            PageTransfer(pool=pool, device_page=PageId(page), host_granule=HostGranuleId(granule))
            for pool, page, granule in places
        ),
    )


@pytest.mark.parametrize(
    ("places", "runs"),
    [
        ((), []),
        (((MAIN, 4, 7),), [(MAIN, 4, 7, 1)]),
        (((MAIN, 4, 7), (MAIN, 5, 10), (MAIN, 6, 13)), [(MAIN, 4, 7, 3)]),
        (((MAIN, 4, 7), (MAIN, 5, 8)), [(MAIN, 4, 7, 1), (MAIN, 5, 8, 1)]),  # a backend's step
        (((MAIN, 4, 7), (MAIN, 6, 10)), [(MAIN, 4, 7, 1), (MAIN, 6, 10, 1)]),
        (((MAIN, 5, 10), (MAIN, 4, 7)), [(MAIN, 5, 10, 1), (MAIN, 4, 7, 1)]),
        (
            ((MAIN, 4, 7), (BACKEND, 5, 10), (BACKEND, 6, 11), (MAIN, 5, 12)),
            [(MAIN, 4, 7, 1), (BACKEND, 5, 10, 2), (MAIN, 5, 12, 1)],
        ),
    ],
)
def test_runs_by_hand(
    places: tuple[tuple[KvPool, int, int], ...], runs: list[tuple[KvPool, int, int, int]]
) -> None:  # spec: COST-3
    transfer = of_places(*places, states=2)
    assert list(transfer.page_runs(GRANULES)) == runs
    assert transfer.operation_count(GRANULES) == 2 * 2 + len(runs)


@given(
    st.lists(st.tuples(st.sampled_from(KvPool), st.integers(0, 4), st.integers(0, 8)), max_size=12)
)
def test_runs_carry_every_page_in_order_and_are_as_many_as_are_counted(
    places: list[tuple[KvPool, int, int]],
) -> None:
    runs = of_places(*places).page_runs(GRANULES)
    carried = [
        (pool, page + i, granule + i * GRANULES[pool])
        for pool, page, granule, pages_count in runs
        for i in range(pages_count)
    ]
    assert carried == places
    assert len(runs) == page_runs_count(tuple(places), GRANULES)


def test_nothing_is_no_call() -> None:
    assert of_places().is_empty
    assert of_places().operation_count(GRANULES) == 0
    assert not of_places(states=1).is_empty
    assert not of_places((MAIN, 0, 0)).is_empty
