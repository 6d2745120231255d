"""What lies in every place of a ledger, and who refers to it? (W-3)

Owns the places that there are, panel by panel, and the reading of one ledger place by place, with a
number for every holder and for every kind of content that stays the same over a run. Does not know
what happened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ninfer_lab.contract.capacity import Axis, HostArenaGeometry, KvPool, Occupancy
from ninfer_lab.contract.ids import KvPageId, OwnerId, StateImageId
from ninfer_lab.contract.placement import CheckpointPlacement, LedgerSnapshot, OpenTransition
from ninfer_lab.lab import palette

_POOLS = {KvPool.MAIN: "KV pages", KvPool.BACKEND: "backend KV pages"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """The places of one kind; place p of it is cell `first + p` of the map.

    Attributes:
        noun: One place.
        axis: What its use is counted on.
        place_bytes: Of one place of the arena; elsewhere a place is counted as one.
    """

    title: str
    noun: str
    axis: Axis
    first: int
    places_count: int
    place_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Mark:
    """What lies in a place.

    Attributes:
        holders: Who refers to it, by ordinal; of a place that a transition holds, nobody yet.
        words: What it is; empty for a page.
        is_pinned: An active request is about to read it, and is not its owner.
    """

    holders: tuple[int, ...]
    words: str = ""
    is_held: bool = False
    is_pinned: bool = False


FREE = Mark(())
"""Nothing."""

HELD = Mark((), is_held=True)
"""For a replica that is not there yet."""


def panels_of(occupancy: Occupancy, arena: HostArenaGeometry) -> tuple[Panel, ...]:
    """Those that an engine has, Device first.

    Args:
        occupancy: At any moment: capacities stay.
        arena: How its Host arena is divided.
    """
    wanted = [
        ("Device StateImage slots", "slot", Axis.DEVICE_STATE),
        *(
            (f"Device {_POOLS[pool]}, 64 tokens each", "page", Axis.of_device_pool(pool))
            for pool in KvPool
        ),
        ("Host StateImage slots", "Host slot", Axis.HOST_STATE),
        ("Host KV arena, to scale", "granule", Axis.HOST_KV),
    ]
    panels: list[Panel] = []
    first = 0
    for title, noun, axis in wanted:
        is_arena = axis is Axis.HOST_KV
        count = arena.granules_count if is_arena else occupancy.on(axis).capacity_count
        if count:
            panels.append(
                Panel(
                    title=title,
                    noun=noun,
                    axis=axis,
                    first=first,
                    places_count=count,
                    place_bytes=arena.granule_bytes if is_arena else 0,
                )
            )
            first += count
    return tuple(panels)


# ── one ledger, place by place ──────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class PlaceReader:
    """Gives every holder and every mark a number that stays.

    Attributes:
        sessions: What an owner is named by beside its number, where somebody knows.
    """

    panels: tuple[Panel, ...]
    arena: HostArenaGeometry
    sessions: Mapping[OwnerId, str] = field(default_factory=dict)
    holders: list[tuple[str, str]] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=lambda: [FREE])
    _holders: dict[str, int] = field(default_factory=dict)
    _marks: dict[Mark, int] = field(default_factory=lambda: {FREE: 0})

    def ordinal(self, mark: Mark) -> int:
        """A mark's number."""
        found = self._marks.get(mark)
        if found is None:
            found = self._marks[mark] = len(self.marks)
            self.marks.append(mark)
        return found

    def places(self, ledger: LedgerSnapshot) -> Iterator[tuple[int, Mark]]:
        """Every place that is not free, by its cell."""
        firsts = {panel.axis: panel.first for panel in self.panels}
        return (
            (firsts[axis] + place, mark)
            for axis, place, mark in self._placed(ledger)
            if axis in firsts
        )

    def _placed(self, ledger: LedgerSnapshot) -> Iterator[tuple[Axis, int, Mark]]:
        images, pages = self._references(ledger)
        pinned = {s.read_image for s in ledger.sequences if s.borrowed_read}
        words = _image_words(ledger)
        for image in ledger.images:
            mark = Mark(
                tuple(images.get(image.image, ())),
                words.get(image.image, ""),
                is_pinned=image.image in pinned,
            )
            if image.device_slot is not None:
                yield Axis.DEVICE_STATE, image.device_slot, mark
            if image.host_slot is not None:
                yield Axis.HOST_STATE, image.host_slot, mark
        for pool in KvPool:
            for page in ledger.pages_of(pool):
                mark = Mark(tuple(pages.get((pool, page.page), ())))
                if page.device_page is not None:
                    yield Axis.of_device_pool(pool), page.device_page, mark
                if page.host_granule is not None:
                    for granule in range(self.arena.page_granules(pool)):
                        yield Axis.HOST_KV, page.host_granule + granule, mark
        if ledger.transition is not None:
            for axis, place in _held(ledger.transition):
                yield axis, place, HELD

    def _references(
        self, ledger: LedgerSnapshot
    ) -> tuple[dict[StateImageId, list[int]], dict[tuple[KvPool, KvPageId], list[int]]]:
        """Who refers to each image and to each page, in order of appearance."""
        images: dict[StateImageId, list[int]] = {}
        pages: dict[tuple[KvPool, KvPageId], list[int]] = {}

        def refer(holder: int, checkpoints: tuple[CheckpointPlacement, ...]) -> None:
            for placed in checkpoints:
                _add(images.setdefault(placed.image, []), holder)
                for pool in KvPool:
                    for page in placed.pages_of(pool):
                        _add(pages.setdefault((pool, page), []), holder)

        for owner in ledger.owners:
            colour = palette.owner_colour(owner.owner - 1)
            session = self.sessions.get(owner.owner)
            name = f"owner {owner.owner}" + ("" if session is None else f" (session {session})")
            refer(self._holder(name, colour), owner.checkpoints)
        for sequence in ledger.sequences:
            holder = self._holder(f"running in lane {sequence.lane}", palette.RUNNING_COLOUR)
            for image in (sequence.write_image, sequence.read_image):
                if image is not None:
                    _add(images.setdefault(image, []), holder)
            for space in sequence.spaces:
                for page in space.pages:
                    _add(pages.setdefault((space.pool, page), []), holder)
            refer(holder, sequence.checkpoints)
        return images, pages

    def _holder(self, name: str, colour: str) -> int:
        if name not in self._holders:
            self._holders[name] = len(self.holders)
            self.holders.append((name, colour))
        return self._holders[name]


def _add(holders: list[int], holder: int) -> None:
    if holder not in holders:
        holders.append(holder)


def _held(transition: OpenTransition) -> Iterator[tuple[Axis, int]]:
    """Places that a transition has taken for replicas that are not there yet."""
    yield from ((Axis.DEVICE_STATE, slot) for slot in transition.device_slots)
    yield from ((Axis.HOST_STATE, slot) for slot in transition.host_slots)
    for pool in KvPool:
        yield from ((Axis.of_device_pool(pool), page) for page in transition.held_pages(pool))
    yield from ((Axis.HOST_KV, granule) for granule in transition.host_granules)


def _image_words(ledger: LedgerSnapshot) -> dict[StateImageId, str]:
    """What each image is a state of."""
    words = {}
    placed = [c for owner in ledger.owners for c in owner.checkpoints]
    for sequence in ledger.sequences:
        words[sequence.write_image] = "being written"
        placed += sequence.checkpoints
    for checkpoint in placed:
        kind = checkpoint.summary.kind.value.replace("_", " ")
        words[checkpoint.image] = f"{kind} at {checkpoint.summary.frontier_tokens:,}"
    return words
