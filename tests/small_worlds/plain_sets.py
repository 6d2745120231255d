"""What does a picture hold, and what is asked of it, as plain sets?

Owns the words that the brute force and what it is compared with share: contents, their replicas, a
target spelt out, and what a play of it comes to. Imports the contract alone. Sets of these are
joined by the million, so what they are made of hashes as an integer does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from ninfer_lab.contract.capacity import Axis, Capacity, HostArenaGeometry, KvPool
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.placement import CheckpointPlacement, LedgerSnapshot, SpacePlacement
from ninfer_lab.contract.target import StageName, StateTransition


class Tier(IntEnum):
    """Where a replica is."""

    DEVICE = 0
    HOST = 1


class Kind(IntEnum):
    """What a content is: a StateImage, or a logical page of a pool."""

    IMAGE = 0
    MAIN = 1
    BACKEND = 2

    @classmethod
    def of_pool(cls, pool: KvPool) -> Kind:
        """The pages of a pool."""
        return cls.MAIN if pool is KvPool.MAIN else cls.BACKEND

    @property
    def pool(self) -> KvPool:
        """Of a page."""
        assert self is not Kind.IMAGE
        return KvPool.MAIN if self is Kind.MAIN else KvPool.BACKEND


class Content(NamedTuple):
    """One image or page, wherever its replicas are."""

    kind: Kind
    id: int

    def __str__(self) -> str:
        return f"{self.kind.name.lower()}{self.id}"


class Replica(NamedTuple):
    """One content in one tier."""

    content: Content
    tier: Tier

    def __str__(self) -> str:
        return f"{self.content}.{self.tier.name[0]}"


NEW = -1
"""The id of what an admission makes: the image it writes, the copy of a tail."""

NEW_IMAGE = Content(Kind.IMAGE, NEW)

AXES = tuple(Axis)
AXIS_OF = (
    (AXES.index(Axis.DEVICE_STATE), AXES.index(Axis.HOST_STATE)),
    (AXES.index(Axis.DEVICE_KV), AXES.index(Axis.HOST_KV)),
    (AXES.index(Axis.DEVICE_BACKEND_KV), AXES.index(Axis.HOST_KV)),
)
"""What a replica is counted on, by kind and tier: the axis's ordinal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A target, spelt out.

    Attributes:
        source: `None` is the root.
        owner: The source's.
        outcomes: What each owner that does not stay keeps or gets; nothing is an eviction.
        entitled_tokens: Prompt and longest output.
    """

    source: CheckpointPlacement | None
    owner: OwnerId | None
    is_consumed: bool
    outcomes: Mapping[OwnerId, frozenset[Replica]]
    entitled_tokens: int

    @property
    def frontier_tokens(self) -> int:
        """Tokens the source has consumed."""
        return 0 if self.source is None else self.source.summary.frontier_tokens


Uses = tuple[tuple[int, int], ...]
"""(allocated, reserved) of every axis, in the order of `Axis`."""


@dataclass(slots=True, kw_only=True)
class Played:
    """What came of it.

    Attributes:
        cow_pages: Tails copied, over all pools.
        unplaced_count: Extents that found no hole.
        arena_end: Behind the last granule that was ever taken.
        there: Replicas at the end.
        granules: Where the Host pages begin.
        spaces: The new sequence's pages before any growth.
        read_image: What it will read first; `None` for the root.
        write_image: What it will write.
    """

    state: StateTransition = StateTransition.ROOT
    cow_pages: int = 0
    unplaced_count: int = 0
    arena_end: int = 0
    stages: dict[StageName, Uses] = field(default_factory=dict)
    there: frozenset[Replica] = frozenset()
    granules: dict[Content, int] = field(default_factory=dict)
    spaces: dict[KvPool, list[Content]] = field(default_factory=dict)
    read_image: Content | None = None
    write_image: Content = NEW_IMAGE

    def needs(self, axis: Axis) -> int:
        """Units of one axis at its worst stage."""
        ordinal = AXES.index(axis)
        return max(sum(uses[ordinal]) for uses in self.stages.values())

    def fits(self, capacity: Capacity) -> bool:
        """Whether every stage and every extent has its room, in an arena like the one played in."""
        return not self.unplaced_count and all(self.needs(a) <= capacity.of(a) for a in Axis)


def lineage_of(picture: LedgerSnapshot, move: Move) -> tuple[CheckpointPlacement, ...]:
    """Checkpoints of a consumed owner that go on with the sequence: those below its source, and a
    long anchor itself (ANC-4).
    """
    if not move.is_consumed or move.source is None:
        return ()
    (owner,) = (owner for owner in picture.owners if owner.owner == move.owner)
    goes_on = move.source.summary.kind is CheckpointKind.LONG_ANCHOR
    return tuple(
        checkpoint
        for checkpoint in owner.checkpoints
        if checkpoint.summary.frontier_tokens < move.frontier_tokens
        or (goes_on and checkpoint == move.source)
    )


def image_of(checkpoint: CheckpointPlacement) -> Content:
    """The StateImage of a checkpoint."""
    return Content(Kind.IMAGE, checkpoint.image)


def pages_of(holder: CheckpointPlacement | SpacePlacement, pool: KvPool) -> list[Content]:
    """The pages of one pool, in order."""
    kind = Kind.of_pool(pool)
    if isinstance(holder, SpacePlacement):
        return [Content(kind, page) for page in holder.pages if holder.pool is pool]
    return [Content(kind, page) for page in holder.pages_of(pool)]


def contents_of(checkpoint: CheckpointPlacement) -> set[Content]:
    """What a checkpoint refers to."""
    pages = (page for pool in KvPool for page in pages_of(checkpoint, pool))
    return {image_of(checkpoint), *pages}


def replicas_in(picture: LedgerSnapshot) -> tuple[set[Replica], dict[Content, int]]:
    """Every replica there is, and where the Host pages begin."""
    there: set[Replica] = set()
    granules: dict[Content, int] = {}
    for content, (device, host) in places_in(picture).items():
        if device is not None:
            there.add(Replica(content, Tier.DEVICE))
        if host is not None:
            there.add(Replica(content, Tier.HOST))
            if content.kind is not Kind.IMAGE:
                granules[content] = host
    return there, granules


def places_in(picture: LedgerSnapshot) -> dict[Content, tuple[int | None, int | None]]:
    """(Device place, Host place) of every content."""
    places: dict[Content, tuple[int | None, int | None]] = {
        Content(Kind.IMAGE, image): (slot, host_slot) for image, slot, host_slot in picture.images
    }
    for pool in KvPool:
        for page, device_page, granule in picture.pages_of(pool):
            places[Content(Kind.of_pool(pool), page)] = (device_page, granule)
    return places


def units_of(replicas: Iterable[Replica], geometry: HostArenaGeometry) -> list[int]:
    """What they take of every axis, in the order of `Axis`."""
    units = [0] * len(AXES)
    for (kind, _), tier in replicas:
        if kind is Kind.IMAGE or tier is Tier.DEVICE:
            units[AXIS_OF[kind][tier]] += 1
        else:
            units[AXIS_OF[kind][tier]] += geometry.page_granules(kind.pool) * geometry.granule_bytes
    return units
