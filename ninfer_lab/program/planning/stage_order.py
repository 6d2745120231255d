"""What does every ordered stage of a post-state use, and which inequality fails? (STG-1)

Owns the counting of stages: replicas that are there, places held for replicas to come, growth
promised. Pure. Does not know how the post-state came about.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ninfer_lab.contract.capacity import Axis, KvPool, Occupancy, OccupancyCounts
from ninfer_lab.contract.target import Stage, StageName, Violation
from ninfer_lab.program.storage.host_arena import largest_hole
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.storage.post_state import Extent, PoolNeeds, PostState

Counts = tuple[int, int, int, int, int]
"""One count for every axis, in the order of `Axis`."""


class StageUse(NamedTuple):
    """One stage, counted."""

    name: StageName
    allocated: Counts
    reserved: Counts


class StageOrder:
    """Counts the stages of targets at one revision."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        layout = ledger.layout
        self._layout = layout
        self._granule_bytes = ledger.capacity.host_kv.granule_bytes
        now = ledger.counts()
        (a0, r0), (a1, r1), (a2, r2), (a3, r3), (a4, r4) = now
        self._now = StageUse(StageName.NOW, (a0, a1, a2, a3, a4), (r0, r1, r2, r3, r4))
        self._growth_pages = self._now.reserved[2], self._now.reserved[3]
        self._occupancies: dict[tuple[Counts, Counts], Occupancy] = {}
        self._limits = _counts([ledger.capacity.of(axis) for axis in Axis])
        self._host_pages = tuple(
            (
                layout.host_pages[pool],
                ledger.capacity.host_kv.page_granules(pool) * self._granule_bytes,
            )
            for pool in ledger.capacity.pools
        )
        self._masks = (
            layout.device_images.mask,
            layout.host_images.mask,
            layout.device_pages[KvPool.MAIN].mask,
            layout.device_pages[KvPool.BACKEND].mask,
            layout.granules.mask,
        )

    def uses(self, post: PostState) -> tuple[StageUse, ...]:
        """Every stage from now to the commit; those of demotion only where something is demoted."""
        main_growth, backend_growth = self._growth_pages
        grown = (0, 0, main_growth, backend_growth, 0)
        there = self._there(post.released, 0)
        stages = [self._now, StageUse(StageName.RELEASED, there, grown)]
        extent_bytes = 0
        if post.pending:
            held = self.held_for_demotion(post.pending, post.extents)
            extent_bytes = held[4]
            stages.append(StageUse(StageName.DEMOTION_RESERVED, there, held))
            there = self._there(post.demoted, extent_bytes)
            stages.append(StageUse(StageName.DEMOTED, there, grown))
        if post.destined != post.demoted:
            there = self._there(post.destined, extent_bytes)
        slots, (main, backend) = post.destination_slots, _pool_needs(post)
        held = (
            slots,
            post.snapshot_slots,
            main_growth + main.destination_pages,
            backend_growth + backend.destination_pages,
            0,
        )
        stages.append(StageUse(StageName.DESTINATIONS_RESERVED, there, held))
        if post.committed != post.destined:
            there = self._there(post.committed, extent_bytes)
        device, host, pages, backend_pages, host_bytes = there
        filled = (
            device + slots,
            host + post.snapshot_slots,
            pages + main.destination_pages - main.growth_pages,
            backend_pages + backend.destination_pages - backend.growth_pages,
            host_bytes,
        )
        promised = (
            0,
            0,
            main_growth + main.growth_pages,
            backend_growth + backend.growth_pages,
            0,
        )
        stages.append(StageUse(StageName.COMMITTED, filled, promised))
        return tuple(stages)

    def added(
        self,
        uses: tuple[StageUse, ...],
        released: Counts,
        later: Counts,
        held: Counts | None = None,
    ) -> tuple[StageUse, ...]:
        """The same stages with some replicas more at each but the first, which is now.

        Args:
            uses: Of a target; where it demotes nothing, what is demoted is what was released.
            released: What comes to RELEASED, and to DEMOTION_RESERVED behind it.
            later: What comes to all stages from DEMOTED on.
            held: What DEMOTION_RESERVED holds; `None` where that stage, there or not, stays as it
                is.
        """
        now, (_, before, grown), *behind = uses
        allocated = _sum(before, released)
        stages = [now, StageUse(StageName.RELEASED, allocated, grown)]
        if behind[0].name is StageName.DEMOTION_RESERVED:
            held = held or behind[0].reserved
            del behind[0]
        elif held is not None:
            behind.insert(0, StageUse(StageName.DEMOTED, before, grown))
        if held is not None:
            stages.append(StageUse(StageName.DEMOTION_RESERVED, allocated, held))
        stages += [StageUse(name, _sum(there, later), reserved) for name, there, reserved in behind]
        return tuple(stages)

    def held_for_demotion(self, pending: int, extents: Iterable[Extent]) -> Counts:
        """Growth promised, and the Host places of demotions that are not published."""
        main_growth, backend_growth = self._growth_pages
        images = self._layout.host_images.count(pending)
        extent_bytes = sum([extent.run_granules for extent in extents]) * self._granule_bytes
        return 0, images, main_growth, backend_growth, extent_bytes

    def count(self, replicas: int) -> Counts:
        """Units of some replicas, there or yet to be made: a Host page counts by its own mark, for
        where it is to lie is not known before it is placed.
        """
        host_bytes = 0
        for field, page_bytes in self._host_pages:
            host_bytes += field.count(replicas) * page_bytes
        device, host, pages, backend_pages, _ = self._there(replicas, 0)
        return device, host, pages, backend_pages, host_bytes

    def fits(self, uses: tuple[StageUse, ...], post: PostState) -> bool:
        """Whether every stage fits every capacity, and every extent has found its place."""
        return self.is_within(uses) and post.is_placed

    def units(self, replicas: int) -> Counts:
        """Units of every axis under some replicas."""
        return self._there(replicas, 0)

    def is_within(self, uses: tuple[StageUse, ...]) -> bool:
        """Whether every stage fits every capacity; of geometry it says nothing."""
        l0, l1, l2, l3, l4 = self._limits
        for _, (a0, a1, a2, a3, a4), (r0, r1, r2, r3, r4) in uses:
            if a0 + r0 > l0 or a1 + r1 > l1 or a2 + r2 > l2 or a3 + r3 > l3 or a4 + r4 > l4:
                return False
        return True

    def stages(self, uses: tuple[StageUse, ...]) -> tuple[Stage, ...]:
        """The same as values to look at."""
        return tuple([Stage(name, self._occupancy(used, held)) for name, used, held in uses])

    def _occupancy(self, allocated: Counts, reserved: Counts) -> Occupancy:
        """Most stages of most targets use what an earlier one has used."""
        key = (allocated, reserved)
        known = self._occupancies.get(key)
        if known is None:
            known = Occupancy.of(self._ledger.capacity, _pairs(allocated, reserved))
            self._occupancies[key] = known
        return known

    def violations(self, uses: tuple[StageUse, ...], post: PostState) -> tuple[Violation, ...]:
        """Every inequality that fails, in stage order; an extent without a place comes last."""
        failing = [
            Violation(stage=use.name, axis=axis, used_count=sum(count), capacity_count=limit)
            for use in uses
            for axis, count, limit in zip(
                Axis, _pairs(use.allocated, use.reserved), self._limits, strict=True
            )
            if sum(count) > limit
        ]
        return (*failing, *self._unplaced(uses, post))

    def _unplaced(self, uses: tuple[StageUse, ...], post: PostState) -> tuple[Violation, ...]:
        """Extents that find no hole in the arena as it is after the ones before them."""
        geometry = self._ledger.capacity.host_kv
        taken = self._layout.granules.of(post.released)
        unplaced: list[Violation] = []
        for extent in post.extents:
            if extent.first is not None:
                taken |= ((1 << extent.run_granules) - 1) << extent.first
                continue
            used = next(u for u in uses if u.name is StageName.DEMOTION_RESERVED)
            hole = largest_hole(taken, geometry.granules_count)
            unplaced.append(
                Violation(
                    stage=StageName.DEMOTION_RESERVED,
                    axis=Axis.HOST_KV,
                    used_count=used.allocated[4] + used.reserved[4],
                    capacity_count=geometry.capacity_bytes,
                    run_bytes=extent.run_granules * geometry.granule_bytes,
                    largest_hole_bytes=hole * geometry.granule_bytes,
                )
            )
        return tuple(unplaced)

    def _there(self, replicas: int, extent_bytes: int) -> Counts:
        """What is filled; the granules of new extents are no marks of the set yet."""
        device, host, pages, backend_pages, granules = self._masks
        return (
            (replicas & device).bit_count(),
            (replicas & host).bit_count(),
            (replicas & pages).bit_count(),
            (replicas & backend_pages).bit_count() if backend_pages else 0,
            (replicas & granules).bit_count() * self._granule_bytes + extent_bytes,
        )


_NO_NEEDS = PoolNeeds(0, 0, 0, 0)


def _pool_needs(post: PostState) -> tuple[PoolNeeds, PoolNeeds]:
    return post.needs[0], post.needs[1] if len(post.needs) > 1 else _NO_NEEDS


def _pairs(allocated: Counts, reserved: Counts) -> OccupancyCounts:
    (a0, a1, a2, a3, a4), (r0, r1, r2, r3, r4) = allocated, reserved
    return (a0, r0), (a1, r1), (a2, r2), (a3, r3), (a4, r4)


def _sum(one: Counts, other: Counts) -> Counts:
    (a0, a1, a2, a3, a4), (b0, b1, b2, b3, b4) = one, other
    return a0 + b0, a1 + b1, a2 + b2, a3 + b3, a4 + b4


def _counts(values: list[int]) -> Counts:
    one, two, three, four, five = values
    return one, two, three, four, five
