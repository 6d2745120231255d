"""Where is everything, and who refers to it? A complete picture of Program's ledger at one moment.

Owns the snapshot values: for laws, recordings and pictures. The engine never decides from them;
they are a copy and go stale at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from ninfer_lab.contract.capacity import Occupancy
from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.ids import LaneId, OwnerId, PageId, SequenceId, StateSlotId


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPlacement:
    """One checkpoint: its StateImage and the pages that cover `[0, frontier_tokens)`."""

    summary: CheckpointSummary
    state_slot: StateSlotId
    pages: tuple[PageId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerPlacement:
    """An inactive continuation."""

    owner: OwnerId
    history_tokens: int
    checkpoints: tuple[CheckpointPlacement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SequencePlacement:
    """An active sequence.

    Attributes:
        frontier_tokens: Tokens its committed state has consumed.
        pages: Its address space; `[0, immutable_pages)` are frozen, the rest it alone may write
            (KV-3).
        state_read_slot: `None` before the first forward of a root.
        borrowed_read: Whether the read slot is another owner's, kept by a pin (STATE-4).
        reserved_pages: Guaranteed growth not yet mapped (ACT-2).
        completion_pages: Pages of its whole prompt and its longest output: what it was promised
            (ACT-1).
        checkpoints: Optional checkpoints of its own lineage (ACT-3).
    """

    sequence: SequenceId
    lane: LaneId
    history_tokens: int
    frontier_tokens: int
    pages: tuple[PageId, ...]
    immutable_pages: int
    state_read_slot: StateSlotId | None
    state_write_slot: StateSlotId
    borrowed_read: bool
    reserved_pages: int
    completion_pages: int
    checkpoints: tuple[CheckpointPlacement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerSnapshot:
    """Everything Program holds.

    Attributes:
        state_references: References of every allocated state slot, in slot order.
        state_pins: Fork pins of every pinned slot (STATE-3).
        page_references: References of every allocated page, in page order.
        row_tables: What the machine says each lane is bound to.
    """

    resource_revision: int
    occupancy: Occupancy
    owners: tuple[OwnerPlacement, ...]
    sequences: tuple[SequencePlacement, ...]
    state_references: tuple[tuple[StateSlotId, int], ...]
    state_pins: tuple[tuple[StateSlotId, int], ...]
    page_references: tuple[tuple[PageId, int], ...]
    row_tables: tuple[tuple[LaneId, tuple[PageId, ...]], ...]
