"""What is a candidate's source, and what of its owner goes on with the new sequence?

Owns the one reading of a consumed lineage that projection and transaction share: below the source
every checkpoint goes on; a long anchor goes on itself, too; what lies above ends. Does not know
whether the target is worth it.
"""

from __future__ import annotations

from typing import NamedTuple

from ninfer_lab.contract.candidate import AdmissionCandidate, SourceDisposition
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.ids import CheckpointRef
from ninfer_lab.program.storage.checkpoint_record import CheckpointRecord
from ninfer_lab.program.storage.continuation_store import Continuation, ContinuationStore


class SourceLineage(NamedTuple):
    """Everything `None` and empty for root.

    Attributes:
        consumed: The source's owner where it becomes the active lineage; `None` where it stays.
        kept: Checkpoints of the consumed owner that go on with the sequence.
    """

    source: CheckpointRecord | None = None
    owner: Continuation | None = None
    consumed: Continuation | None = None
    kept: tuple[CheckpointRecord, ...] = ()

    @property
    def tail_end(self) -> frozenset[CheckpointRef]:
        """Checkpoints of the consumed owner that end before the sequence stands."""
        if self.consumed is None or self.source is None:
            return frozenset()
        goes_on = {checkpoint.summary.ref for checkpoint in (self.source, *self.kept)}
        return self.consumed.checkpoint_refs - goes_on

    @property
    def ended(self) -> frozenset[CheckpointRef]:
        """Checkpoints of the consumed owner that are none any more once the sequence stands."""
        if self.consumed is None:
            return frozenset()
        return self.consumed.checkpoint_refs - {c.summary.ref for c in self.kept}


def source_lineage(
    continuations: ContinuationStore, candidate: AdmissionCandidate
) -> SourceLineage:
    """Reads a candidate's source, which must be inactive at its generation."""
    if candidate.source is None:
        return SourceLineage()
    owner = continuations.require(candidate.source.owner)
    source = owner.checkpoint(candidate.source.checkpoint)
    assert source is not None, "the owner's generation proves its checkpoints"
    if candidate.source.disposition is SourceDisposition.RETAIN:
        return SourceLineage(source=source, owner=owner)
    frontier = source.summary.frontier_tokens
    goes_on = source.summary.kind is CheckpointKind.LONG_ANCHOR
    kept = tuple(
        c
        for c in owner.checkpoints
        if c.summary.frontier_tokens < frontier or (c is source and goes_on)
    )
    return SourceLineage(source=source, owner=owner, consumed=owner, kept=kept)
