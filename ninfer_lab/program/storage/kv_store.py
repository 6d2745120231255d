"""Where are the replicas of every logical page of one typed pool?

Owns the pool's Device pages; its Host replicas lie in the arena that all pools share. A page exists
as long as it has a replica. Does not know address spaces, owners or what a page holds.
"""

from __future__ import annotations

from collections.abc import Iterable

from ninfer_lab.contract.ids import HostGranuleId, KvPageId, PageId
from ninfer_lab.contract.placement import PageReplicas
from ninfer_lab.program.storage.bitset import ordinals_of, run_mask
from ninfer_lab.program.storage.host_arena import HostArena
from ninfer_lab.program.storage.place_pool import PlacePool
from ninfer_lab.program.storage.two_tiers import TwoTiers


class KvStore(TwoTiers[KvPageId, PageId, HostGranuleId]):
    """One typed pool in two tiers; a Host replica lies from its granule on.

    Args:
        device_pages: Device pages of this pool.
        host_pages: Most Host replicas that the arena could hold for it.
        page_granules: What one Host replica takes.
        arena: Shared by all pools.
    """

    def __init__(
        self, device_pages: int, host_pages: int, page_granules: int, arena: HostArena
    ) -> None:
        pages = PlacePool("device KV pages", device_pages, PageId)
        super().__init__(KvPageId, device_pages + host_pages, pages)
        self.page_granules = page_granules
        self._arena = arena
        self._host_changes_count = 0

    @property
    def host_changes_count(self) -> int:
        """Grows whenever a Host replica comes or goes: until then `granules_of` stays true."""
        return self._host_changes_count

    def create(self, places: Iterable[PageId]) -> tuple[KvPageId, ...]:
        """New logical pages at held Device pages."""
        return self._create(places)

    def publish_host(self, content: KvPageId, place: HostGranuleId) -> None:
        """The page has been copied to held granules of the arena."""
        super().publish_host(content, place)
        self._host_changes_count += 1

    def drop(self, *, device_pages: int, host_pages: int) -> None:
        """Gives replicas up; a logical page without any is no more."""
        granules = self.page_granules
        self._drop(device_pages, host_pages, lambda first: self._arena.give_back(first, granules))
        self._host_changes_count += host_pages.bit_count()

    def device_page(self, page: KvPageId) -> PageId | None:
        return self._device.get(page)

    def host_granule(self, page: KvPageId) -> HostGranuleId | None:
        return self._host.get(page)

    def device_pages(self, pages: Iterable[KvPageId]) -> tuple[PageId, ...]:
        """Where an address space lies; every page must be on the Device."""
        return tuple(self._device[page] for page in pages)

    def granules_of(self, pages: int) -> int:
        """The arena's granules under the Host replicas of a set of pages."""
        taken = 0
        for page in ordinals_of(pages):
            taken |= run_mask(self._host[KvPageId(page)], self.page_granules)
        return taken

    def replicas(self) -> tuple[PageReplicas, ...]:
        """Every logical page there is, by id."""
        return tuple(map(PageReplicas._make, self._each()))
