"""Which checkpoints does a picture show, and who holds what?

Owns the few readings of a snapshot that several laws share. Judges nothing.
"""

from __future__ import annotations

from ninfer_lab.contract.ids import StateSlotId
from ninfer_lab.contract.placement import CheckpointPlacement, LedgerSnapshot, SequencePlacement


def checkpoints_of(ledger: LedgerSnapshot) -> tuple[CheckpointPlacement, ...]:
    """Every checkpoint there is: of inactive owners, then of active lineages."""
    inactive = (checkpoint for owner in ledger.owners for checkpoint in owner.checkpoints)
    active = (checkpoint for sequence in ledger.sequences for checkpoint in sequence.checkpoints)
    return (*inactive, *active)


def slots_of(sequence: SequencePlacement) -> set[StateSlotId]:
    """The slots a sequence reads and writes."""
    slots = {sequence.state_read_slot, sequence.state_write_slot}
    return {slot for slot in slots if slot is not None}


def name_of(sequence: SequencePlacement) -> str:
    """How a violation names an active sequence."""
    return f"sequence {sequence.sequence} in lane {sequence.lane}"
