"""Which pages does each lane's row read?

Owns the block tables of a machine, a derived copy of what Program bound; a law compares the two.
What both machines share, so that neither can drift from the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import LaneId, PageId


class LaneTables:
    """The row-table half of `MachineApi`; machines derive from it."""

    def __init__(self) -> None:
        self._tables: dict[LaneId, tuple[PageId, ...]] = {}

    def bind(self, lane: LaneId, pages: Sequence[PageId]) -> None:
        """Gives an unbound lane its block table."""
        if lane in self._tables:
            raise InvariantBroken("MACHINE row table", f"lane {lane} is bound already")
        self._tables[lane] = tuple(pages)

    def extend(self, lane: LaneId, pages: Sequence[PageId]) -> None:
        """Appends pages to a bound lane's table."""
        self._tables[lane] = (*self._tables[lane], *pages)

    def replace_tail(self, lane: LaneId, page: PageId) -> None:
        """The last page of a bound lane becomes `page`."""
        self._tables[lane] = (*self._tables[lane][:-1], page)

    def unbind(self, lane: LaneId) -> None:
        """Forgets a bound lane's table."""
        del self._tables[lane]

    def row_table(self, lane: LaneId) -> tuple[PageId, ...] | None:
        """What a lane is bound to; `None` if it is not."""
        return self._tables.get(lane)
