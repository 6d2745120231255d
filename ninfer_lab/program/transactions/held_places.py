"""Which places does a transition hold for replicas that are not there yet?

Owns them from the moment they are taken until each is filled or given back: while they are held
they count as reserved (ACC-1). Does not know what will fill them.
"""

from __future__ import annotations

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.ids import HostGranuleId, HostSlotId, PageId, StateSlotId
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.storage.post_state import Extent, PostState


class HeldPlaces:
    """Held for one transition.

    Attributes:
        host_slots: For images to be demoted.
        snapshot_slots: For a copy of an active image; at most one.
        extents: For pages to be demoted.
        device_slots: For the active image; at most one.
        device_pages: For restored pages and copied tails, by pool.
        growth_pages: Promised to the sequence to come, by pool.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.host_slots: tuple[HostSlotId, ...] = ()
        self.snapshot_slots: tuple[HostSlotId, ...] = ()
        self.extents: tuple[Extent, ...] = ()
        self.device_slots: tuple[StateSlotId, ...] = ()
        self.device_pages: dict[KvPool, tuple[PageId, ...]] = {}

    @property
    def host_granules(self) -> tuple[HostGranuleId, ...]:
        """Of the extents."""
        granules: list[HostGranuleId] = []
        for extent in self.extents:
            assert extent.first is not None
            run = range(extent.first, extent.first + extent.run_granules)
            granules += map(HostGranuleId, run)
        return tuple(granules)

    def hold_host(self, post: PostState) -> None:
        """Takes the destinations of every demotion, where projection has placed them."""
        ledger = self._ledger
        images = ledger.layout.host_images.count(post.pending)
        self.host_slots = ledger.states.host_places.take(images)
        for extent in post.extents:
            assert extent.first is not None, "a plan without a place for an extent is never sealed"
            ledger.arena.take(extent.first, extent.run_granules)
        self.extents = post.extents

    def hold_device(self, post: PostState) -> None:
        """Takes the destinations of the candidate."""
        ledger = self._ledger
        self.device_slots = ledger.states.device_places.take(post.destination_slots)
        for (pool, store), needs in zip(ledger.kv.items(), post.needs, strict=True):
            wanted = needs.destination_pages - needs.growth_pages
            self.device_pages[pool] = store.device_places.take(wanted)
            ledger.held_growth_pages[pool] = needs.growth_pages

    def hold_snapshot(self, slots_count: int) -> None:
        """Takes the destination of a copy of an active image, or none."""
        self.snapshot_slots = self._ledger.states.host_places.take(slots_count)

    def snapshot_is_filled(self) -> None:
        """An image lies there."""
        self.snapshot_slots = ()

    def host_is_filled(self) -> None:
        """Replicas lie where the Host places were held."""
        self.host_slots, self.extents = (), ()

    def device_is_filled(self) -> None:
        """Replicas lie where the Device places were held, and growth is the sequence's own."""
        self.device_slots, self.device_pages = (), {}
        self._ledger.held_growth_pages = dict.fromkeys(self._ledger.kv, 0)

    def give_back_snapshot(self) -> None:
        """The copy has not arrived."""
        self._ledger.states.host_places.give_back(self.snapshot_slots)
        self.snapshot_slots = ()

    def give_back(self) -> None:
        """Nothing will fill what is still held."""
        ledger = self._ledger
        ledger.states.host_places.give_back((*self.host_slots, *self.snapshot_slots))
        for extent in self.extents:
            assert extent.first is not None
            ledger.arena.give_back(extent.first, extent.run_granules)
        ledger.states.device_places.give_back(self.device_slots)
        for pool, pages in self.device_pages.items():
            ledger.kv[pool].device_places.give_back(pages)
        self.host_is_filled()
        self.snapshot_is_filled()
        self.device_is_filled()
