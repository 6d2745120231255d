"""What does every ordered stage of a post-state use, and which inequality fails? (STG-1)

Owns the counting of stages: replicas that are there, places held for replicas to come, growth
promised. Pure. Does not know how the post-state came about.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import NamedTuple

from ninfer_lab.contract.capacity import Axis, Occupancy, OccupancyCounts
from ninfer_lab.contract.target import Stage, StageName, Violation
from ninfer_lab.program.storage.host_arena import FreeRuns
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.storage.post_state import PoolNeeds, PostState
from ninfer_lab.program.storage.replica_layout import Field

Counts = tuple[int, int, int, int, int]
"""One count for every axis, in the order of `Axis`."""

NONE: Counts = (0, 0, 0, 0, 0)


StageUse = tuple[StageName, Counts, Counts]
"""One stage, counted: what is allocated and what is reserved. A bare tuple, for a planner counts so
many that making them is felt.
"""


class StageCounts(NamedTuple):
    """What is allocated at the stages of a target, new extents and filled destinations included."""

    released: Counts
    demoted: Counts
    destined: Counts
    committed: Counts

    def joined(self, released: Counts, later: Counts) -> StageCounts:
        """With some more: what comes to RELEASED, and to all stages behind it. In most targets the
        first stages are one value, and so is what comes to them.
        """
        first, demoted, destined, committed = self
        joined = total(demoted, later)
        return _stages(
            (
                joined if first is demoted and released is later else total(first, released),
                joined,
                joined if destined is demoted else total(destined, later),
                total(committed, later),
            )
        )


_stages = partial(tuple.__new__, StageCounts)


class Destinations(NamedTuple):
    """What the candidate itself takes: the same as long as its source is left alone.

    Attributes:
        held: Reserved until it is filled.
        filled: What comes to the replicas at the commit.
        promised: Growth reserved from then on.
    """

    held: Counts
    filled: Counts
    promised: Counts


class StageOrder:
    """Counts the stages of targets at one revision."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        layout = ledger.layout
        self._layout = layout
        self._granule_bytes = ledger.capacity.host_kv.granule_bytes
        now = ledger.counts()
        (a0, r0), (a1, r1), (a2, r2), (a3, r3), (a4, r4) = now
        self._now = (StageName.NOW, (a0, a1, a2, a3, a4), (r0, r1, r2, r3, r4))
        self._growth_pages = r2, r3
        self._grown: Counts = (0, 0, r2, r3, 0)
        self._occupancies: dict[tuple[Counts, Counts], Occupancy] = {}
        self._limits = ledger.limits
        self._masks = layout.axis_masks

    @cached_property
    def _host_pages(self) -> tuple[tuple[Field, int], ...]:
        """Of every pool there is: the marks of its Host pages, and what one of them takes."""
        host_kv, host_pages = self._ledger.capacity.host_kv, self._layout.host_pages
        return tuple(
            (host_pages[pool], host_kv.page_granules(pool) * self._granule_bytes)
            for pool in self._ledger.capacity.pools
        )

    def uses(self, post: PostState) -> tuple[StageUse, ...]:
        """Every stage from now to the commit; those of demotion only where something is demoted."""
        destinations, copies = self.destinations(post), self.copies(post.pending)
        return self.staged(self.allocated(post, destinations, copies), destinations, copies)

    def allocated(self, post: PostState, destinations: Destinations, copies: Counts) -> StageCounts:
        """What is there at each stage; many of them differ in nothing.

        Args:
            copies: Reserved for what is to be made.
        """
        released = demoted = self.units(post.demoted)
        if post.pending:
            _, images, _, _, extent_bytes = copies
            demoted = total(demoted, (0, 0, 0, 0, extent_bytes))
            released = difference(total(released, self.units(post.copied)), (0, images, 0, 0, 0))
        destined = demoted
        if post.leaving:
            destined = difference(demoted, self.units(post.leaving))
        committed = destined
        if post.stale:
            committed = difference(destined, self.units(post.stale))
        return StageCounts(released, demoted, destined, total(committed, destinations.filled))

    def copies(self, pending: int) -> Counts:
        """Reserved while copies are made: their places, beside growth."""
        return total(self.places(pending), self._grown)

    def places(self, made: int) -> Counts:
        """What Host replicas that are to be made will take, wherever that lies."""
        if not made:
            return NONE
        extent_bytes = 0
        for field, page_bytes in self._host_pages:
            extent_bytes += field.count(made) * page_bytes
        return 0, self._layout.host_images.count(made), 0, 0, extent_bytes

    def destinations(self, post: PostState) -> Destinations:
        """What a candidate's own places come to."""
        main_growth, backend_growth = self._growth_pages
        slots, (main, backend) = post.destination_slots, _pool_needs(post)
        pages, backend_pages = main.destination_pages, backend.destination_pages
        return Destinations(
            held=(
                slots,
                post.snapshot_slots,
                main_growth + pages,
                backend_growth + backend_pages,
                0,
            ),
            filled=(
                slots,
                post.snapshot_slots,
                pages - main.growth_pages,
                backend_pages - backend.growth_pages,
                0,
            ),
            promised=(
                0,
                0,
                main_growth + main.growth_pages,
                backend_growth + backend.growth_pages,
                0,
            ),
        )

    def staged(
        self, allocated: StageCounts, destinations: Destinations, copies: Counts
    ) -> tuple[StageUse, ...]:
        """The stages.

        Args:
            allocated: What is there at each.
            copies: Reserved while they are made.
        """
        released, demoted, destined, committed = allocated
        held, _, promised = destinations
        grown = self._grown
        release = (StageName.RELEASED, released, grown)
        destine = (StageName.DESTINATIONS_RESERVED, destined, held)
        commit = (StageName.COMMITTED, committed, promised)
        if copies == grown:
            return self._now, release, destine, commit
        reserve = (StageName.DEMOTION_RESERVED, released, copies)
        demote = (StageName.DEMOTED, demoted, grown)
        return self._now, release, reserve, demote, destine, commit

    def count(self, replicas: int) -> Counts:
        """Units of some replicas, there or yet to be made: a Host page counts by its own mark, for
        where it is to lie is not known before it is placed.
        """
        device, host, pages, backend_pages, _ = self.units(replicas)
        return device, host, pages, backend_pages, self.places(replicas)[4]

    def fits(self, uses: tuple[StageUse, ...], post: PostState) -> bool:
        """Whether every stage fits every capacity, and every extent has found its place."""
        return self.is_within(uses) and post.is_placed

    def units(self, replicas: int) -> Counts:
        """Units of every axis under some replicas; granules of new extents are no marks yet."""
        device, host, pages, backend_pages, granules = self._masks
        return (
            (replicas & device).bit_count(),
            (replicas & host).bit_count(),
            (replicas & pages).bit_count(),
            (replicas & backend_pages).bit_count() if backend_pages else 0,
            (replicas & granules).bit_count() * self._granule_bytes,
        )

    def is_within(self, uses: tuple[StageUse, ...]) -> bool:
        """Whether every stage fits every capacity; of geometry it says nothing."""
        l0, l1, l2, l3, l4 = self._limits
        # What does not fit mostly lacks room for the destinations: the last stages tell it first.
        for _, (a0, a1, a2, a3, a4), (r0, r1, r2, r3, r4) in reversed(uses):
            if a0 + r0 > l0 or a1 + r1 > l1 or a2 + r2 > l2 or a3 + r3 > l3 or a4 + r4 > l4:
                return False
        return True

    def balance(self, uses: tuple[StageUse, ...]) -> Counts:
        """What every axis has used at its fullest stage, less its capacity."""
        return difference(self.peaks(uses), self._limits)

    def peaks(self, uses: tuple[StageUse, ...]) -> Counts:
        """What every axis has used at its fullest stage."""
        p0 = p1 = p2 = p3 = p4 = 0
        for _, (a0, a1, a2, a3, a4), (r0, r1, r2, r3, r4) in uses:
            p0 = a0 + r0 if a0 + r0 > p0 else p0
            p1 = a1 + r1 if a1 + r1 > p1 else p1
            p2 = a2 + r2 if a2 + r2 > p2 else p2
            p3 = a3 + r3 if a3 + r3 > p3 else p3
            p4 = a4 + r4 if a4 + r4 > p4 else p4
        return p0, p1, p2, p3, p4

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
            Violation(stage=name, axis=axis, used_count=sum(count), capacity_count=limit)
            for name, allocated, reserved in uses
            for axis, count, limit in zip(
                Axis, _pairs(allocated, reserved), self._limits, strict=True
            )
            if sum(count) > limit
        ]
        return (*failing, *self._unplaced(uses, post))

    def _unplaced(self, uses: tuple[StageUse, ...], post: PostState) -> tuple[Violation, ...]:
        """Extents that find no hole in the arena as it is after the ones before them."""
        geometry = self._ledger.capacity.host_kv
        taken = self._layout.granules.of(post.released)
        runs = FreeRuns(taken, geometry.granules_count)
        unplaced: list[Violation] = []
        for extent in post.extents:
            if runs.first_fit(extent.run_granules) is not None:
                continue
            used_bytes = next(
                allocated[4] + reserved[4]
                for name, allocated, reserved in uses
                if name is StageName.DEMOTION_RESERVED
            )
            unplaced.append(
                Violation(
                    stage=StageName.DEMOTION_RESERVED,
                    axis=Axis.HOST_KV,
                    used_count=used_bytes,
                    capacity_count=geometry.capacity_bytes,
                    run_bytes=extent.run_granules * geometry.granule_bytes,
                    largest_hole_bytes=runs.longest_granules * geometry.granule_bytes,
                )
            )
        return tuple(unplaced)


_NO_NEEDS = PoolNeeds(0, 0, 0, 0)


def _pool_needs(post: PostState) -> tuple[PoolNeeds, PoolNeeds]:
    return post.needs[0], post.needs[1] if len(post.needs) > 1 else _NO_NEEDS


def _pairs(allocated: Counts, reserved: Counts) -> OccupancyCounts:
    (a0, a1, a2, a3, a4), (r0, r1, r2, r3, r4) = allocated, reserved
    return (a0, r0), (a1, r1), (a2, r2), (a3, r3), (a4, r4)


def total(one: Counts, other: Counts) -> Counts:
    """Both, on every axis."""
    (a0, a1, a2, a3, a4), (b0, b1, b2, b3, b4) = one, other
    return a0 + b0, a1 + b1, a2 + b2, a3 + b3, a4 + b4


def difference(one: Counts, other: Counts) -> Counts:
    """What the one has more than the other, on every axis."""
    (a0, a1, a2, a3, a4), (b0, b1, b2, b3, b4) = one, other
    return a0 - b0, a1 - b1, a2 - b2, a3 - b3, a4 - b4
