"""Which checkpoints does a picture show, and who holds what?

Owns the few readings of a snapshot that several laws share. Judges nothing.
"""

from __future__ import annotations

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.ids import KvPageId, StateImageId
from ninfer_lab.contract.placement import (
    CheckpointPlacement,
    LedgerSnapshot,
    SequencePlacement,
    SpacePlacement,
)


def checkpoints_of(ledger: LedgerSnapshot) -> tuple[CheckpointPlacement, ...]:
    """Every checkpoint there is: of inactive owners, then of active lineages."""
    inactive = (checkpoint for owner in ledger.owners for checkpoint in owner.checkpoints)
    active = (checkpoint for sequence in ledger.sequences for checkpoint in sequence.checkpoints)
    return (*inactive, *active)


def images_of(sequence: SequencePlacement) -> set[StateImageId]:
    """The images a sequence reads and writes."""
    images = {sequence.read_image, sequence.write_image}
    return {image for image in images if image is not None}


def spaces_of(
    ledger: LedgerSnapshot, pool: KvPool
) -> tuple[tuple[SequencePlacement, SpacePlacement], ...]:
    """Every active address space of one pool, with its sequence."""
    return tuple(
        (sequence, space)
        for sequence in ledger.sequences
        for space in sequence.spaces
        if space.pool is pool
    )


def held_images(ledger: LedgerSnapshot) -> set[StateImageId]:
    """Every image that some checkpoint or sequence refers to."""
    held = {checkpoint.image for checkpoint in checkpoints_of(ledger)}
    return held.union(*map(images_of, ledger.sequences))


def held_pages(ledger: LedgerSnapshot, pool: KvPool) -> set[KvPageId]:
    """Every logical page of one pool that some checkpoint or address space refers to."""
    held: set[KvPageId] = set()
    held.update(*(checkpoint.pages_of(pool) for checkpoint in checkpoints_of(ledger)))
    held.update(*(space.pages for _, space in spaces_of(ledger, pool)))
    return held


def name_of(sequence: SequencePlacement) -> str:
    """How a violation names an active sequence."""
    return f"sequence {sequence.sequence} in lane {sequence.lane}"
