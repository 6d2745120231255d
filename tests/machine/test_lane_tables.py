"""Law: in each pool a lane reads exactly the pages that were bound to it, and a call that cannot be
meant is refused.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import LaneId, PageId
from ninfer_lab.machine.lane_tables import LaneTables

LANE, OTHER = LaneId(0), LaneId(1)
MAIN, BACKEND = KvPool.MAIN, KvPool.BACKEND


def bound() -> LaneTables:
    """Lane 0 in both pools, lane 1 in Main alone and with no page yet."""
    tables = LaneTables()
    tables.bind(LANE, MAIN, (PageId(3),))
    tables.bind(LANE, BACKEND, (PageId(3), PageId(8)))
    tables.bind(OTHER, MAIN, ())
    return tables


def test_a_table_is_what_was_bound_pool_by_pool() -> None:  # spec: KV-1
    tables = bound()
    tables.extend(LANE, MAIN, (PageId(4), PageId(5)))
    tables.replace_tail(LANE, MAIN, PageId(9))
    assert tables.row_table(LANE, MAIN) == (3, 4, 9)
    assert tables.row_table(LANE, BACKEND) == (3, 8)
    tables.replace_tail(LANE, BACKEND, PageId(1))
    tables.extend(LANE, BACKEND, (PageId(6),))
    assert tables.row_table(LANE, BACKEND) == (3, 1, 6)
    assert tables.row_table(LANE, MAIN) == (3, 4, 9)
    assert tables.row_table(OTHER, MAIN) == ()
    assert tables.row_table(OTHER, BACKEND) is None


def test_unbinding_forgets_every_pool_of_one_lane() -> None:
    tables = bound()
    tables.unbind(LANE)
    assert [tables.row_table(LANE, pool) for pool in KvPool] == [None, None]
    assert tables.row_table(OTHER, MAIN) == ()
    tables.bind(LANE, BACKEND, (PageId(7),))
    assert [tables.row_table(LANE, pool) for pool in KvPool] == [None, (7,)]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda tables: tables.bind(LANE, BACKEND, ()), "lane 0 is bound already in the backend"),
        (lambda tables: tables.extend(OTHER, BACKEND, ()), "lane 1 is not bound in the backend"),
        (
            lambda tables: tables.replace_tail(LaneId(5), MAIN, PageId(1)),
            "lane 5 is not bound in the main",
        ),
        (lambda tables: tables.replace_tail(OTHER, MAIN, PageId(1)), "lane 1 has no tail in the m"),
        (lambda tables: tables.unbind(LaneId(5)), "lane 5 is bound in no pool"),
    ],
)
def test_a_call_that_cannot_be_meant_is_refused(
    call: Callable[[LaneTables], None], said: str
) -> None:
    with pytest.raises(InvariantBroken, match=said):
        call(bound())
