"""What does Program hold, all in all?

Owns the stores side by side: pages, states, inactive continuations, active sequences. Everything
that counts or pictures the whole reads it here; what changes it are the transactions. Does not know
plans.
"""

from __future__ import annotations

from collections.abc import Iterable

from ninfer_lab.contract.capacity import Capacity, Occupancy
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import LaneId, PageId, SequenceHandle, SequenceId
from ninfer_lab.contract.placement import CheckpointPlacement, LedgerSnapshot
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.continuation_store import ContinuationStore
from ninfer_lab.program.storage.occupancy import occupancy_of
from ninfer_lab.program.storage.page_pool import PagePool
from ninfer_lab.program.storage.state_store import StateStore


class Ledger:
    """The stores and their sum."""

    def __init__(self, capacity: Capacity, lanes_count: int) -> None:
        self.capacity = capacity
        self.lanes_count = lanes_count
        self.pages = PagePool(capacity.device_kv_pages)
        self.states = StateStore(capacity.device_state_slots)
        self.continuations = ContinuationStore()
        self.sequences: dict[SequenceId, ActiveSequence] = {}
        self._counted: tuple[tuple[int, int, int], Occupancy] | None = None

    @property
    def reserved_pages(self) -> int:
        """Guaranteed growth of all active sequences: counted, never kept (ACC-1)."""
        return sum([sequence.reserved_pages for sequence in self.sequences.values()])

    @property
    def free_pages(self) -> int:
        """Neither allocated nor reserved: what anybody may have (INV-8)."""
        return self.pages.capacity_pages - self.pages.allocated_pages - self.reserved_pages

    @property
    def free_states(self) -> int:
        return self.states.capacity_slots - self.states.allocated_slots

    @property
    def free_lanes(self) -> int:
        return self.lanes_count - len(self.sequences)

    @property
    def lineage_states(self) -> int:
        """Slots that no eviction can free: what active sequences read, write and have captured."""
        held = {sequence.state_write_slot for sequence in self.sequences.values()}
        for sequence in self.sequences.values():
            held.update(checkpoint.state_slot for checkpoint in sequence.checkpoints)
            if sequence.state_read_slot is not None:
                held.add(sequence.state_read_slot)
        return len(held)

    def occupancy(self) -> Occupancy:
        """Used_r now (ACC-1). Made anew only where a count has moved: every forward tells it."""
        counts = (
            self.states.allocated_slots,
            self.pages.allocated_pages,
            self.reserved_pages,
        )
        if self._counted is None or self._counted[0] != counts:
            state_slots, kv_pages, reserved_kv_pages = counts
            occupancy = occupancy_of(
                self.capacity,
                state_slots=state_slots,
                kv_pages=kv_pages,
                reserved_kv_pages=reserved_kv_pages,
            )
            self._counted = (counts, occupancy)
        return self._counted[1]

    def sequence(self, handle: SequenceHandle) -> ActiveSequence:
        """The live sequence behind a handle.

        Raises:
            InvariantBroken: It has settled, or never was.
        """
        found = self.sequences.get(handle.id)
        # The handle itself comes back nearly always; comparing fields costs more than the rest.
        if found is None or (found.handle is not handle and found.handle != handle):
            raise InvariantBroken("ACT handle", f"{handle} is not active")
        return found

    def lane_is_taken(self, lane: LaneId) -> bool:
        return any(sequence.handle.lane == lane for sequence in self.sequences.values())

    def release_checkpoints(self, checkpoints: Iterable[CheckpointPlacement]) -> None:
        """Lets go of their images and pages; the last reference frees."""
        for checkpoint in checkpoints:
            self.states.release(checkpoint.state_slot)
            self.pages.release(checkpoint.pages)

    def snapshot(
        self, resource_revision: int, row_tables: tuple[tuple[LaneId, tuple[PageId, ...]], ...]
    ) -> LedgerSnapshot:
        """A complete picture (for laws, recordings, views)."""
        return LedgerSnapshot(
            resource_revision=resource_revision,
            occupancy=self.occupancy(),
            owners=tuple(c.placement for c in self.continuations.all()),
            sequences=tuple(self.sequences[i].placement for i in sorted(self.sequences)),
            state_references=self.states.references(),
            state_pins=self.states.pins(),
            page_references=self.pages.references(),
            row_tables=row_tables,
        )
