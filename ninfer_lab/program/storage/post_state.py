"""What will an admission have left behind, component by component?

Owns the value that projection derives and activation carries out, so that what was proved is what
is done.
"""

from __future__ import annotations

from dataclasses import dataclass

from ninfer_lab.contract.capacity import Occupancy
from ninfer_lab.contract.ids import PageId
from ninfer_lab.contract.placement import CheckpointPlacement
from ninfer_lab.contract.target import StateTransition


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionPostState:
    """The complete end state of one target.

    Attributes:
        state: Move, Fork or Root, by the references that survive (STATE-3).
        source: The checkpoint started from.
        kept: Checkpoints of a consumed lineage below the source: they go on with it.
        released: Checkpoints that end: those of evicted owners, and of the consumed lineage above
            the source.
        pages: The new address space before its tail is copied.
        immutable_pages: Leading pages somebody else refers to.
        copied_tail_pages: 1 if the partial tail needs a copy for the new writer.
        growth_pages: Reserved until completion (ACT-1).
        stages: Occupancy now; after the releases; with every destination in place.
    """

    state: StateTransition
    source: CheckpointPlacement | None
    kept: tuple[CheckpointPlacement, ...]
    released: tuple[CheckpointPlacement, ...]
    pages: tuple[PageId, ...]
    immutable_pages: int
    copied_tail_pages: int
    growth_pages: int
    stages: tuple[Occupancy, ...]
