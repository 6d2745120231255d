"""Which pages does each lane's row read, pool by pool?

Owns the block tables of a machine, a derived copy of what Program bound; a law compares the two.
What both machines share, so that neither can drift from the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import LaneId, PageId


class LaneTables:
    """The row-table half of `MachineApi`; machines derive from it."""

    def __init__(self) -> None:
        self._tables: dict[tuple[LaneId, KvPool], tuple[PageId, ...]] = {}

    def bind(self, lane: LaneId, pool: KvPool, pages: Sequence[PageId]) -> None:
        """Gives a lane its block table in one pool."""
        if (lane, pool) in self._tables:
            raise InvariantBroken(
                "MACHINE row table", f"lane {lane} is bound already in the {pool.value} pool"
            )
        self._tables[lane, pool] = tuple(pages)

    def extend(self, lane: LaneId, pool: KvPool, pages: Sequence[PageId]) -> None:
        """Appends pages to a bound table."""
        self._tables[lane, pool] = (*self._bound(lane, pool), *pages)

    def replace_tail(self, lane: LaneId, pool: KvPool, page: PageId) -> None:
        """The last page of a bound table becomes `page`."""
        table = self._bound(lane, pool)
        if not table:
            raise InvariantBroken(
                "MACHINE row table", f"lane {lane} has no tail in the {pool.value} pool"
            )
        self._tables[lane, pool] = (*table[:-1], page)

    def unbind(self, lane: LaneId) -> None:
        """Forgets a bound lane's tables in every pool."""
        bound = [key for key in self._tables if key[0] == lane]
        if not bound:
            raise InvariantBroken("MACHINE row table", f"lane {lane} is bound in no pool")
        for key in bound:
            del self._tables[key]

    def row_table(self, lane: LaneId, pool: KvPool) -> tuple[PageId, ...] | None:
        """What a lane is bound to in one pool; `None` if it is not."""
        return self._tables.get((lane, pool))

    def _bound(self, lane: LaneId, pool: KvPool) -> tuple[PageId, ...]:
        table = self._tables.get((lane, pool))
        if table is None:
            raise InvariantBroken(
                "MACHINE row table", f"lane {lane} is not bound in the {pool.value} pool"
            )
        return table
