"""How much is there, and how much is in use, axis by axis? (CAP, ACC)

Owns the fixed capacity vector and its counterpart, the occupancy of one state. The axes are
independent (CAP-2): there is no sum over them anywhere, so none is defined. What one owner alone
holds is another view with a type of its own (ACC-3). Does not know which object uses what.

An occupancy is told of every stage of every target and after every forward: a named tuple, which is
made fastest.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import NamedTuple


class KvPool(Enum):
    """A typed pool of KV pages, with its own address spaces, frontier and capacity (KV-1)."""

    MAIN = "main"
    """The model's own full-attention layers."""
    BACKEND = "backend"
    """A speculative backend's layers."""

    __hash__ = object.__hash__  # members are compared by identity, and an Enum hashes its name


class Axis(Enum):
    """One physical resource dimension, named with its unit."""

    DEVICE_STATE = "device state slots"
    HOST_STATE = "host state slots"
    DEVICE_KV = "device KV pages"
    DEVICE_BACKEND_KV = "device backend KV pages"
    HOST_KV = "host KV bytes"

    __hash__ = object.__hash__  # as of a pool

    @classmethod
    def of_device_pool(cls, pool: KvPool) -> Axis:
        """The axis that a pool's Device pages are counted on."""
        return cls.DEVICE_KV if pool is KvPool.MAIN else cls.DEVICE_BACKEND_KV


@dataclass(frozen=True, slots=True, kw_only=True)
class HostArenaGeometry:
    """How the one packed Host KV arena is divided (CAP-1).

    Pages of every pool lie in it side by side, each in whole granules. The granule is the smallest
    page, so that with pages of one size nothing is lost, and the map of a large arena stays small.

    Attributes:
        main_page_granules: What the Host replica of one Main page takes.
        backend_page_granules: The same for the backend pool; 0 without one.
    """

    granule_bytes: int
    granules_count: int
    main_page_granules: int
    backend_page_granules: int = 0

    @classmethod
    def divide(
        cls, capacity_bytes: int, *, main_page_bytes: int, backend_page_bytes: int | None
    ) -> HostArenaGeometry:
        """Divides an arena for pages of one or two sizes; a rest below one granule is left over.

        Example:
            >>> HostArenaGeometry.divide(1000, main_page_bytes=160, backend_page_bytes=10)
            ... # doctest: +NORMALIZE_WHITESPACE
            HostArenaGeometry(granule_bytes=10, granules_count=100, main_page_granules=16,
                              backend_page_granules=1)
        """
        granule = min(main_page_bytes, backend_page_bytes or main_page_bytes)
        return cls(
            granule_bytes=granule,
            granules_count=capacity_bytes // granule,
            main_page_granules=-(-main_page_bytes // granule),
            backend_page_granules=-(-(backend_page_bytes or 0) // granule),
        )

    @property
    def capacity_bytes(self) -> int:
        return self.granule_bytes * self.granules_count

    def page_granules(self, pool: KvPool) -> int:
        """What one page of a pool takes."""
        return self.main_page_granules if pool is KvPool.MAIN else self.backend_page_granules


NO_HOST_ARENA = HostArenaGeometry(granule_bytes=1, granules_count=0, main_page_granules=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """Fixed at start (CAP-1).

    Attributes:
        device_state_slots: C + H whole StateImages, one pool (STATE-1).
        device_kv_pages: 64-token pages of the Main KV pool.
        host_state_slots: Whole StateImages on the Host.
        device_backend_kv_pages: 64-token pages of the backend pool; 0 without one.
        host_kv: The packed Host KV arena.
    """

    device_state_slots: int
    device_kv_pages: int
    host_state_slots: int = 0
    device_backend_kv_pages: int = 0
    host_kv: HostArenaGeometry = NO_HOST_ARENA

    def of(self, axis: Axis) -> int:
        """Units of one axis."""
        match axis:
            case Axis.DEVICE_STATE:
                return self.device_state_slots
            case Axis.HOST_STATE:
                return self.host_state_slots
            case Axis.DEVICE_KV:
                return self.device_kv_pages
            case Axis.DEVICE_BACKEND_KV:
                return self.device_backend_kv_pages
            case Axis.HOST_KV:
                return self.host_kv.capacity_bytes

    @property
    def pools(self) -> tuple[KvPool, ...]:
        """The typed pools there are; Main always."""
        return (KvPool.MAIN, KvPool.BACKEND) if self.device_backend_kv_pages else (KvPool.MAIN,)

    def device_pages(self, pool: KvPool) -> int:
        """Device pages of one pool."""
        return self.of(Axis.of_device_pool(pool))

    def host_pages(self, pool: KvPool) -> int:
        """How many pages of one pool the arena could hold if it held nothing else."""
        granules = self.host_kv.page_granules(pool)
        return self.host_kv.granules_count // granules if granules else 0


class AxisUse(NamedTuple):
    """One axis of one state. A unit is allocated or reserved, never both (ACC-2)."""

    axis: Axis
    allocated_count: int
    reserved_count: int
    capacity_count: int

    @property
    def used_count(self) -> int:
        """Used_r of ACC-1."""
        return self.allocated_count + self.reserved_count

    @property
    def free_count(self) -> int:
        """Negative when a projected state does not fit."""
        return self.capacity_count - self.used_count

    def __str__(self) -> str:
        return (
            f"{self.axis.value}: {self.allocated_count} allocated + {self.reserved_count} reserved"
            f" of {self.capacity_count}"
        )


class Occupancy(NamedTuple):
    """Used_r of every axis: global occupancy, never an owner's share (ACC-3)."""

    device_state: AxisUse
    host_state: AxisUse
    device_kv: AxisUse
    device_backend_kv: AxisUse
    host_kv: AxisUse

    @classmethod
    def of(cls, capacity: Capacity, counts: OccupancyCounts) -> Occupancy:
        """Puts what is allocated and reserved against the capacity."""
        state, host_state, pages, backend_pages, host_kv = counts
        return cls(
            _use(Axis.DEVICE_STATE, *state, capacity.device_state_slots),
            _use(Axis.HOST_STATE, *host_state, capacity.host_state_slots),
            _use(Axis.DEVICE_KV, *pages, capacity.device_kv_pages),
            _use(Axis.DEVICE_BACKEND_KV, *backend_pages, capacity.device_backend_kv_pages),
            _use(Axis.HOST_KV, *host_kv, capacity.host_kv.capacity_bytes),
        )

    @property
    def axes(self) -> tuple[AxisUse, ...]:
        """Every axis, in the order of `Axis`."""
        return tuple(self)

    def on(self, axis: Axis) -> AxisUse:
        """The use of one axis."""
        return next(use for use in self.axes if use.axis is axis)

    @property
    def over_capacity(self) -> tuple[AxisUse, ...]:
        """The axes that do not fit; empty for every real state (ACC-4)."""
        return tuple(use for use in self.axes if use.free_count < 0)

    def __str__(self) -> str:
        """Axes that this engine has; the others say nothing."""
        return "; ".join(str(use) for use in self.axes if use.capacity_count or use.used_count)


REMEMBERED_USES = 4_096
"""From one occupancy to the next most axes stand still, and equal uses may be one value."""

_use = lru_cache(REMEMBERED_USES)(AxisUse)

OccupancyCounts = tuple[
    tuple[int, int], tuple[int, int], tuple[int, int], tuple[int, int], tuple[int, int]
]
"""(allocated, reserved) of every axis, in the order of `Axis`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExclusiveResources:
    """What removing one owner alone would settle (ACC-3).

    No occupancy: an allocation that two owners share is in nobody's exclusive set, so these numbers
    of several owners do not add up to anything, and they never say whether a replica exists.
    """

    device_state_slots: int
    host_state_slots: int
    device_kv_pages: int
    device_backend_kv_pages: int
    host_kv_bytes: int
