"""Where is everything, and who refers to it? A complete picture of Program's ledger at one moment.

Owns the snapshot values: for laws, recordings and pictures. The engine never decides from them;
they are a copy and go stale at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ninfer_lab.contract.capacity import KvPool, Occupancy
from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.ids import (
    HostGranuleId,
    HostSlotId,
    KvPageId,
    LaneId,
    OwnerId,
    PageId,
    SequenceId,
    StateImageId,
    StateSlotId,
    TransactionId,
)
from ninfer_lab.contract.target import StageName
from ninfer_lab.contract.transaction import TransactionPhase


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPlacement:
    """One checkpoint: its StateImage and the logical pages that cover `[0, frontier_tokens)`.

    Attributes:
        backend_pages: Those of the backend pool, which may cover less (KV-1).
    """

    summary: CheckpointSummary
    image: StateImageId
    pages: tuple[KvPageId, ...]
    backend_pages: tuple[KvPageId, ...] = ()

    def pages_of(self, pool: KvPool) -> tuple[KvPageId, ...]:
        """Its logical pages in one pool."""
        return self.pages if pool is KvPool.MAIN else self.backend_pages


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerPlacement:
    """An inactive continuation."""

    owner: OwnerId
    history_tokens: int
    checkpoints: tuple[CheckpointPlacement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpacePlacement:
    """An active sequence's address space in one pool.

    Attributes:
        pages: In order; `[0, immutable_pages)` are frozen, the rest it alone may write (KV-3).
        reserved_pages: Guaranteed growth not yet mapped (ACT-2).
        entitled_pages: What mapped and reserved come to together: prompt and longest output
            (ACT-1), or the lease so far (ACT-4).
    """

    pool: KvPool
    pages: tuple[KvPageId, ...]
    immutable_pages: int
    reserved_pages: int
    entitled_pages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SequencePlacement:
    """An active sequence.

    Attributes:
        frontier_tokens: Tokens its committed state has consumed.
        spaces: One per pool, Main first.
        read_image: `None` before the first forward of a root.
        borrowed_read: Whether the read image is another owner's, kept by a pin (STATE-4).
        checkpoints: Optional checkpoints of its own lineage (ACT-3).
    """

    sequence: SequenceId
    lane: LaneId
    history_tokens: int
    frontier_tokens: int
    spaces: tuple[SpacePlacement, ...]
    read_image: StateImageId | None
    write_image: StateImageId
    borrowed_read: bool
    checkpoints: tuple[CheckpointPlacement, ...]

    @property
    def pages(self) -> tuple[KvPageId, ...]:
        """The Main address space."""
        return self.spaces[0].pages


class ImageReplicas(NamedTuple):
    """Where one StateImage is."""

    image: StateImageId
    device_slot: StateSlotId | None
    host_slot: HostSlotId | None


class PageReplicas(NamedTuple):
    """Where one logical page is."""

    page: KvPageId
    device_page: PageId | None
    host_granule: HostGranuleId | None


class RowTable(NamedTuple):
    """What the machine says a lane is bound to in one pool."""

    lane: LaneId
    pool: KvPool
    pages: tuple[PageId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTransition:
    """The one transition in flight, and the places it holds for replicas that are not there yet.

    Attributes:
        stage: The last one of its plan that it has reached.
        claimed: Inactive owners it has claimed, source and victims, from its start to its end: an
            owner that it has already released stays claimed until its result is adopted (TXN-3).
        growth_pages: Main pages promised to the candidate's growth: a number, no places yet.
        backend_growth_pages: The same in the backend pool.
        host_granules: Of extents whose copies have not been published.
    """

    transaction: TransactionId
    phase: TransactionPhase
    stage: StageName
    claimed: tuple[OwnerId, ...]
    device_slots: tuple[StateSlotId, ...]
    host_slots: tuple[HostSlotId, ...]
    device_pages: tuple[PageId, ...]
    device_backend_pages: tuple[PageId, ...]
    host_granules: tuple[HostGranuleId, ...]
    growth_pages: int = 0
    backend_growth_pages: int = 0

    def held_pages(self, pool: KvPool) -> tuple[PageId, ...]:
        """The Device pages it holds in one pool."""
        return self.device_pages if pool is KvPool.MAIN else self.device_backend_pages

    def growth_of(self, pool: KvPool) -> int:
        """The pages promised to the candidate's growth in one pool."""
        return self.growth_pages if pool is KvPool.MAIN else self.backend_growth_pages


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerSnapshot:
    """Everything Program holds.

    Attributes:
        images: Every StateImage there is, by id.
        pages: Every Main logical page there is, by id.
        backend_pages: Every backend logical page there is, by id.
        row_tables: By lane, then pool.
        transition: What is in flight, if something is.
    """

    resource_revision: int
    occupancy: Occupancy
    owners: tuple[OwnerPlacement, ...]
    sequences: tuple[SequencePlacement, ...]
    images: tuple[ImageReplicas, ...]
    pages: tuple[PageReplicas, ...]
    backend_pages: tuple[PageReplicas, ...]
    row_tables: tuple[RowTable, ...]
    transition: OpenTransition | None = None

    def pages_of(self, pool: KvPool) -> tuple[PageReplicas, ...]:
        """Every logical page of one pool."""
        return self.pages if pool is KvPool.MAIN else self.backend_pages
