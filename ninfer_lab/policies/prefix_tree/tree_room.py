"""How much room is there in a tree design, now and at the most?

Owns the sums over the ledger's free places and the tree's idle ones. Reads only.
"""

from __future__ import annotations

from ninfer_lab.policies.prefix_tree.blocks import PrefixTree
from ninfer_lab.policies.prefix_tree.pool import Room, UnifiedPool
from ninfer_lab.policies.prefix_tree.running import Entry
from ninfer_lab.policies.row_ledger import RowLedger


class TreeRoom:
    """Of one design.

    Args:
        ledger: Whose places are shared out.
        tree: What lies on them without a reader could go.
        block_pages: Pages of one block.

    Attributes:
        pool: One budget for pages and states; without one each has its own.
    """

    def __init__(
        self, ledger: RowLedger, tree: PrefixTree, *, block_pages: int, pool: UnifiedPool | None
    ) -> None:
        self.pool = pool
        self._ledger = ledger
        self._tree = tree
        self._block_pages = block_pages

    @property
    def everything(self) -> Room:
        """As many places as there are."""
        capacity = self._ledger.options.capacity
        return Room(pages=capacity.device_kv_pages, slots=capacity.device_state_slots)

    @property
    def free(self) -> Room:
        """Places that are nobody's and promised to nobody."""
        return Room(pages=self._ledger.unpromised_pages, slots=self._ledger.slots.free_count)

    def within_reach(self, entry: Entry | None = None) -> Room:
        """What is free, and what would be if everything went that nobody reads.

        Args:
            entry: Whose blocks and source are to stay.
        """
        tree, spared = self._tree, () if entry is None else entry.path
        blocks_count = len(tree.idle_blocks) - sum(b.readers_count == 0 for b in spared)
        states = [s for s in tree.idle_states if entry is None or s is not entry.source]
        tails_pages = sum(len(state.tail_pages) for state in states)
        idle = Room(pages=blocks_count * self._block_pages + tails_pages, slots=len(states))
        return self.free + idle

    def fits(self, wanted: Room, there: Room) -> bool:
        """Whether so much would fit if so much were there."""
        if wanted.pages > there.pages or wanted.slots > there.slots:
            return False
        if self.pool is None:
            return True
        held_pages = self.pool.cost_pages(self.everything) - self.pool.cost_pages(there)
        return held_pages + self.pool.cost_pages(wanted) <= self.pool.pages_count
