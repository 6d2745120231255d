"""Is everything that is held held by somebody, is each place used once, and is all of it counted?

Owns the laws of contents, places and occupancy (ACC, INV-3). Does not know who may write.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise

from ninfer_lab.contract.cache_controller import ControllerSnapshot
from ninfer_lab.contract.capacity import Axis, KvPool
from ninfer_lab.contract.options import ResolvedOptions
from ninfer_lab.contract.placement import LedgerSnapshot
from ninfer_lab.lab.checkers.lineages import held_images, held_pages, spaces_of


class EverythingIsHeld:
    """An image or page exists exactly as long as some checkpoint or sequence refers to it."""

    rules = "INV-3 ACC-2"

    def violations(self, now: ControllerSnapshot, options: ResolvedOptions) -> Iterator[str]:
        ledger = now.ledger
        yield from _unaccounted("image", [i.image for i in ledger.images], held_images(ledger))
        for pool in KvPool:
            stored = [replicas.page for replicas in ledger.pages_of(pool)]
            yield from _unaccounted(f"{pool.value} page", stored, held_pages(ledger, pool))


class PlacesAreUsedOnce:
    """A slot, Host slot or Device page holds one replica, or is held for one, and is a real one."""

    rules = "ACC-2 CAP-1"

    def violations(self, now: ControllerSnapshot, options: ResolvedOptions) -> Iterator[str]:
        capacity = options.capacity
        for axis, places in _places(now.ledger).items():
            for place, uses in sorted(Counter(places).items()):
                if uses > 1:
                    yield f"{axis.value}: place {place} is used {uses} times"
                if not 0 <= place < capacity.of(axis):
                    yield f"{axis.value}: place {place} of {capacity.of(axis)}"


class HostPagesLieApart:
    """Pages in the Host arena, of whatever pool, lie inside it and overlap nowhere, nor what is
    held for pages to come.
    """

    rules = "CAP-2 ACC-2"

    def violations(self, now: ControllerSnapshot, options: ResolvedOptions) -> Iterator[str]:
        arena = options.capacity.host_kv
        extents = sorted([*_extents(now.ledger, options), *_held_granules(now.ledger)])
        for (start, end, name), (next_start, _, next_name) in pairwise(extents):
            if next_start < end:
                yield f"{name} at granules [{start}, {end}) reaches into {next_name}"
        for start, end, name in extents:
            if start < 0 or end > arena.granules_count:
                yield f"{name} at granules [{start}, {end}) of {arena.granules_count}"


class OccupancyIsCounted:
    """Occupancy is the recount of unique replicas, plus what is promised or held for a copy.

    A source that a Fork borrows stands in it once, whoever reads it (ACT-3).
    """

    rules = "INV-3 ACC-1 ACT-3"

    def violations(self, now: ControllerSnapshot, options: ResolvedOptions) -> Iterator[str]:
        ledger, transition = now.ledger, now.ledger.transition
        replicas, places, growth = _replica_places(ledger), _places(ledger), _growth_pages(ledger)
        recount = {
            axis: (len(found), len(places[axis]) - len(found) + growth.get(axis, 0))
            for axis, found in replicas.items()
        }
        stored = sum(end - start for start, end, _ in _extents(ledger, options))
        held = 0 if transition is None else len(transition.host_granules)
        granule_bytes = options.capacity.host_kv.granule_bytes
        recount[Axis.HOST_KV] = (stored * granule_bytes, held * granule_bytes)
        for use in ledger.occupancy.axes:
            said = (use.allocated_count, use.reserved_count)
            if said != recount[use.axis]:
                yield f"{use}, but a recount gives (allocated, reserved) {recount[use.axis]}"


class OccupancyFits:
    """No axis holds more than its capacity, which is as it was fixed at the start."""

    rules = "ACC-4 INV-5 CAP-1"

    def violations(self, now: ControllerSnapshot, options: ResolvedOptions) -> Iterator[str]:
        yield from map(str, now.ledger.occupancy.over_capacity)
        for use in now.ledger.occupancy.axes:
            fixed_count = options.capacity.of(use.axis)
            if use.capacity_count != fixed_count:
                yield f"{use}, but {fixed_count} were fixed"


def _unaccounted(what: str, stored: Iterable[int], held: Iterable[int]) -> Iterator[str]:
    counted, referred = Counter(stored), set(held)
    for key in sorted(counted.keys() | referred):
        if key not in referred:
            yield f"{what} {key} is kept and nobody refers to it"
        if counted[key] != 1 and key in referred:
            yield f"{what} {key} is referred to and stored {counted[key]} times"


def _replica_places(ledger: LedgerSnapshot) -> dict[Axis, list[int]]:
    """Where replicas are, axis by axis; in the arena a place is no unit, so it is left out."""
    places: dict[Axis, list[int]] = {
        Axis.DEVICE_STATE: [i.device_slot for i in ledger.images if i.device_slot is not None],
        Axis.HOST_STATE: [i.host_slot for i in ledger.images if i.host_slot is not None],
    }
    for pool in KvPool:
        places[Axis.of_device_pool(pool)] = [
            each.device_page for each in ledger.pages_of(pool) if each.device_page is not None
        ]
    return places


def _places(ledger: LedgerSnapshot) -> dict[Axis, list[int]]:
    """The same, with what the open transition holds for replicas that are not there yet."""
    places, transition = _replica_places(ledger), ledger.transition
    if transition is not None:
        places[Axis.DEVICE_STATE] += transition.device_slots
        places[Axis.HOST_STATE] += transition.host_slots
        for pool in KvPool:
            places[Axis.of_device_pool(pool)] += transition.held_pages(pool)
    return places


def _growth_pages(ledger: LedgerSnapshot) -> dict[Axis, int]:
    """Pages promised to sequences and to a candidate, which have no place yet."""
    growth = {}
    for pool in KvPool:
        promised = sum(space.reserved_pages for _, space in spaces_of(ledger, pool))
        promised += 0 if ledger.transition is None else ledger.transition.growth_of(pool)
        growth[Axis.of_device_pool(pool)] = promised
    return growth


def _held_granules(ledger: LedgerSnapshot) -> list[tuple[int, int, str]]:
    held = () if ledger.transition is None else ledger.transition.host_granules
    return [(granule, granule + 1, "what is held for a demotion") for granule in held]


def _extents(ledger: LedgerSnapshot, options: ResolvedOptions) -> list[tuple[int, int, str]]:
    """Every page's granules `[start, end)` in the Host arena and its name, by place."""
    arena = options.capacity.host_kv
    return sorted(
        (
            each.host_granule,
            each.host_granule + arena.page_granules(pool),
            f"{pool.value} page {each.page}",
        )
        for pool in KvPool
        for each in ledger.pages_of(pool)
        if each.host_granule is not None
    )
