"""Where are the replicas of every logical page of one typed pool?

Owns the pool's Device pages and the map from a logical page to its places; its Host replicas lie in
the arena that all pools share. A page exists as long as it has a replica. Does not know address
spaces, owners or what a page holds.
"""

from __future__ import annotations

from collections.abc import Iterable

from ninfer_lab.contract.ids import HostGranuleId, KvPageId, PageId
from ninfer_lab.contract.placement import PageReplicas
from ninfer_lab.program.storage.bitset import mask_of, ordinals_of, run_mask
from ninfer_lab.program.storage.host_arena import HostArena
from ninfer_lab.program.storage.place_pool import PlacePool


class KvStore:
    """One typed pool in two tiers.

    Args:
        device_pages: Device pages of this pool.
        host_pages: Most Host replicas that the arena could hold for it.
        page_granules: What one Host replica takes.
        arena: Shared by all pools.

    Attributes:
        device_places: Pages; one that is taken and filled by no logical page is held for one.
    """

    def __init__(
        self, device_pages: int, host_pages: int, page_granules: int, arena: HostArena
    ) -> None:
        self.device_places = PlacePool("device KV pages", device_pages, PageId)
        self.page_granules = page_granules
        self._arena = arena
        self._free_ids = [KvPageId(i) for i in reversed(range(device_pages + host_pages))]
        self._device: dict[KvPageId, PageId] = {}
        self._host: dict[KvPageId, HostGranuleId] = {}
        self._on_device = 0
        self._on_host = 0
        self._host_changes_count = 0

    @property
    def on_device(self) -> int:
        """Logical pages with a Device replica, as a set."""
        return self._on_device

    @property
    def on_host(self) -> int:
        """Logical pages with a Host replica, as a set."""
        return self._on_host

    @property
    def device_count(self) -> int:
        """Logical pages with a Device replica."""
        return len(self._device)

    @property
    def host_count(self) -> int:
        """Logical pages with a Host replica."""
        return len(self._host)

    @property
    def host_changes_count(self) -> int:
        """Grows whenever a Host replica comes or goes: until then `granules_of` stays true."""
        return self._host_changes_count

    def create(self, places: Iterable[PageId]) -> tuple[KvPageId, ...]:
        """New logical pages at held Device pages."""
        created = []
        for place in places:
            page = self._free_ids.pop()
            self._device[page] = place
            created.append(page)
        self._on_device |= mask_of(created)
        return tuple(created)

    def publish_device(self, page: KvPageId, place: PageId) -> None:
        """The page has been copied to a held Device page."""
        assert page in self._host
        assert page not in self._device
        self._device[page] = place
        self._on_device |= 1 << page

    def publish_host(self, page: KvPageId, granule: HostGranuleId) -> None:
        """The page has been copied to held granules of the arena."""
        assert page in self._device
        assert page not in self._host
        self._host[page] = granule
        self._on_host |= 1 << page
        self._host_changes_count += 1

    def drop(self, *, device_pages: int, host_pages: int) -> None:
        """Gives replicas up; a logical page without any is no more."""
        if not device_pages | host_pages:
            return
        for page in map(KvPageId, ordinals_of(device_pages)):
            self.device_places.give_back((self._device.pop(page),))
        for page in map(KvPageId, ordinals_of(host_pages)):
            self._arena.give_back(self._host.pop(page), self.page_granules)
        self._on_device &= ~device_pages
        self._on_host &= ~host_pages
        self._host_changes_count += host_pages.bit_count()
        gone = (device_pages | host_pages) & ~(self._on_device | self._on_host)
        self._free_ids.extend(map(KvPageId, ordinals_of(gone)))

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
        return tuple(
            PageReplicas(page, self._device.get(page), self._host.get(page))
            for page in sorted(self._device.keys() | self._host.keys())
        )
