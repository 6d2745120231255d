"""Whose contents could a shared prefix at this frontier refer to, without anything being written?

Owns the look for an exact checkpoint at a sequence's frontier: one of its own lineage, or the one
it was started from where that is still kept (SHR-6: promotion). Reads only; whether a promotion is
wanted is logical policy's.
"""

from __future__ import annotations

from ninfer_lab.contract.candidate import SourceDisposition
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.checkpoint_record import CheckpointRecord
from ninfer_lab.program.storage.ledger import Ledger


def lending_checkpoint(ledger: Ledger, sequence: ActiveSequence) -> CheckpointRecord | None:
    """The checkpoint whose image and pages are the sequence's committed state, if one is kept."""
    frontier = sequence.frontier_tokens
    for checkpoint in sequence.checkpoints:
        if checkpoint.summary.frontier_tokens == frontier:
            return checkpoint
    source = sequence.candidate.source
    if (
        source is None
        or source.disposition is SourceDisposition.CONSUME
        or sequence.candidate.reuse_tokens != frontier
    ):
        return None
    owner = ledger.continuations.get(source.owner.id)
    return None if owner is None else owner.checkpoint(source.checkpoint)


def can_be_written(ledger: Ledger, sequence: ActiveSequence) -> bool:
    """Whether a shared prefix at the frontier could be had of it at all: lent, or frozen where it
    lies.
    """
    if lending_checkpoint(ledger, sequence) is not None:
        return True
    own = sequence.read_image is not None and sequence.read_image == sequence.write_image
    return own and not sequence.pinned_read
