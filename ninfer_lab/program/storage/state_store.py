"""Which StateImage slots are in use, by whom, and which are pinned?

Owns the Device StateImage slots: C + H of them, one pool, no fixed pairing of slot and lane
(STATE-1). A slot is referred to by its one writer, by checkpoints, and by pins: a Fork source stays
pinned until the destination's first commit (STATE-3), so dropping its checkpoint meanwhile does not
free it (STATE-4). Does not know contents or frontiers.
"""

from __future__ import annotations

from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import StateSlotId


class StateStore:
    """Reference-counted whole images `[0, capacity_slots)`."""

    def __init__(self, capacity_slots: int) -> None:
        self._capacity_slots = capacity_slots
        self._free = [StateSlotId(slot) for slot in reversed(range(capacity_slots))]
        self._references = [0] * capacity_slots
        self._pins = [0] * capacity_slots

    @property
    def capacity_slots(self) -> int:
        return self._capacity_slots

    @property
    def allocated_slots(self) -> int:
        """Unique images with a reference or a pin (ACC-2)."""
        return self._capacity_slots - len(self._free)

    def allocate(self) -> StateSlotId:
        """Takes a free slot with one reference.

        Raises:
            InvariantBroken: None is free. Callers prove room first, so this is a bug.
        """
        if not self._free:
            raise InvariantBroken("ACC-4 occupancy", "a state slot is wanted and none is free")
        slot = self._free.pop()
        self._references[slot] = 1
        return slot

    def retain(self, slot: StateSlotId) -> None:
        """A checkpoint refers to an image its writer will let go of (Freeze)."""
        self._require(slot, self._references, "reference")
        self._references[slot] += 1

    def release(self, slot: StateSlotId) -> None:
        """The writer or the checkpoint lets go."""
        self._require(slot, self._references, "reference")
        self._references[slot] -= 1
        self._free_if_unused(slot)

    def pin(self, slot: StateSlotId) -> None:
        """A Fork will read this allocated slot."""
        if self.holders_of(slot) == 0:
            raise InvariantBroken("STATE-3 fork pin", f"slot {slot} is free and cannot be pinned")
        self._pins[slot] += 1

    def unpin(self, slot: StateSlotId) -> None:
        """The Fork has been written, or given up."""
        self._require(slot, self._pins, "pin")
        self._pins[slot] -= 1
        self._free_if_unused(slot)

    def holders_of(self, slot: StateSlotId) -> int:
        """References and pins together; 0 is free."""
        return self._references[slot] + self._pins[slot]

    def references(self) -> tuple[tuple[StateSlotId, int], ...]:
        """Every referenced slot and its references, in slot order."""
        return tuple((StateSlotId(i), count) for i, count in enumerate(self._references) if count)

    def pins(self) -> tuple[tuple[StateSlotId, int], ...]:
        """Every pinned slot and its pins, in slot order."""
        return tuple((StateSlotId(i), count) for i, count in enumerate(self._pins) if count)

    def _free_if_unused(self, slot: StateSlotId) -> None:
        if self.holders_of(slot) == 0:
            self._free.append(slot)

    def _require(self, slot: StateSlotId, counts: list[int], noun: str) -> None:
        if counts[slot] == 0:
            raise InvariantBroken(f"STATE {noun}", f"slot {slot} has no {noun} to give back")
