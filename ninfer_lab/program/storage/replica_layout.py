"""Which bit of a `ReplicaSet` stands for which replica?

Owns the layout: one field per kind of replica, side by side in one integer, so that joining two
sets is one operation and counting an axis is one mask and one population count. A Host page has two
marks: its own, which says that a replica is kept, and the granules it lies on, which are what the
arena has lost. A replica that is still to be made has only the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ninfer_lab.contract.capacity import Capacity, KvPool
from ninfer_lab.contract.replicas import ReplicaSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """Bits `[offset, offset + width)` of every set."""

    offset: int
    width: int
    mask: int

    def put(self, ordinals: int) -> ReplicaSet:
        """The set with just these ordinals of this kind."""
        return ReplicaSet(ordinals << self.offset)

    def of(self, replicas: int) -> int:
        """The ordinals of this kind in a set."""
        return (replicas & self.mask) >> self.offset

    def count(self, replicas: int) -> int:
        """How many of this kind."""
        return (replicas & self.mask).bit_count()


class Holdings(NamedTuple):
    """Which contents a holder refers to, wherever their replicas are."""

    images: int = 0
    pages: int = 0
    backend_pages: int = 0

    def joined(self, other: Holdings) -> Holdings:
        """What either refers to."""
        return Holdings(
            self.images | other.images,
            self.pages | other.pages,
            self.backend_pages | other.backend_pages,
        )

    def common(self, other: Holdings) -> Holdings:
        """What both refer to."""
        return Holdings(
            self.images & other.images,
            self.pages & other.pages,
            self.backend_pages & other.backend_pages,
        )

    def of_pool(self, pool: KvPool) -> int:
        """The logical pages of one pool."""
        return self.pages if pool is KvPool.MAIN else self.backend_pages


class ReplicaLayout:
    """Fixed with the capacity.

    Attributes:
        device_images: StateImages with a Device replica.
        host_images: StateImages with a Host replica.
        device_pages: Logical pages with a Device replica, by pool.
        host_pages: Logical pages with a Host replica, by pool.
        granules: Granules of the Host arena.
        axis_masks: The marks that are counted on each axis, in the order of `Axis`.
        everything: The set of all marks: `everything ^ kept` is what nobody keeps. Python has no
            cheaper complement, and a set is met with one so often that it counts.
    """

    def __init__(self, capacity: Capacity) -> None:
        self._end = 0
        images = capacity.device_state_slots + capacity.host_state_slots
        self.images_count = images
        self.device_images = self._field(images)
        self.host_images = self._field(images)
        self.pages_count = {
            pool: capacity.device_pages(pool) + capacity.host_pages(pool) for pool in KvPool
        }
        # What is counted stands low: masking a large set with a small one is cheap.
        self.granules = self._field(capacity.host_kv.granules_count)
        self.device_pages = {pool: self._field(self.pages_count[pool]) for pool in KvPool}
        self.host_pages = {pool: self._field(self.pages_count[pool]) for pool in KvPool}
        self.everything = (1 << self._end) - 1
        self.axis_masks = (
            self.device_images.mask,
            self.host_images.mask,
            self.device_pages[KvPool.MAIN].mask,
            self.device_pages[KvPool.BACKEND].mask,
            self.granules.mask,
        )
        # The fields of one tier lie as those of the other: a shift leads from each to its own.
        self._tier_images = images
        self._tier_pages = sum(self.pages_count.values())
        self._device_pages_mask = sum(field.mask for field in self.device_pages.values())
        self._device_offsets = self._offsets(self.device_images, self.device_pages)
        self._host_offsets = self._offsets(self.host_images, self.host_pages)

    def _offsets(self, images: Field, pages: dict[KvPool, Field]) -> tuple[int, int, int]:
        """Where the marks of `Holdings` begin, one after the other."""
        return images.offset, pages[KvPool.MAIN].offset, pages[KvPool.BACKEND].offset

    def _field(self, width: int) -> Field:
        field = Field(offset=self._end, width=width, mask=((1 << width) - 1) << self._end)
        self._end += width
        return field

    def on_device(self, holdings: Holdings) -> ReplicaSet:
        """A Device replica of every content."""
        (images, pages, backend_pages), (at, pages_at, backend_at) = holdings, self._device_offsets
        return ReplicaSet(images << at | pages << pages_at | backend_pages << backend_at)

    def on_host(self, holdings: Holdings) -> ReplicaSet:
        """A Host replica of every content, wherever it may lie."""
        (images, pages, backend_pages), (at, pages_at, backend_at) = holdings, self._host_offsets
        return ReplicaSet(images << at | pages << pages_at | backend_pages << backend_at)

    def anywhere(self, holdings: Holdings) -> ReplicaSet:
        """A replica of every content in both tiers."""
        return ReplicaSet(self.on_device(holdings) | self.on_host(holdings))

    def under_host(self, replicas: int) -> int:
        """A Device replica of every content with a Host replica in a set."""
        images = replicas >> self._tier_images & self.device_images.mask
        return images | replicas >> self._tier_pages & self._device_pages_mask

    def contents(self, replicas: int) -> Holdings:
        """Contents with any replica in a set."""
        main, backend = KvPool.MAIN, KvPool.BACKEND
        return Holdings(
            self.device_images.of(replicas) | self.host_images.of(replicas),
            self.device_pages[main].of(replicas) | self.host_pages[main].of(replicas),
            self.device_pages[backend].of(replicas) | self.host_pages[backend].of(replicas),
        )
