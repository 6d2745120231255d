"""How does an active sequence end?

Owns terminal settlement (ACT-5): the active image becomes the endpoint where it lies, or goes; the
lineage's checkpoints go on in an inactive owner, or go; the guarantee is returned. No allocation,
no transfer (TXN-7), so it cannot fail for lack of room.
"""

from __future__ import annotations

from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import CheckpointId, CheckpointRef
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import ResolvedOptions
from ninfer_lab.contract.result import OwnerState, SequenceEnd
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.checkpoint_record import CheckpointRecord
from ninfer_lab.program.storage.continuation_store import Continuation
from ninfer_lab.program.storage.ledger import Ledger


def settle(
    ledger: Ledger,
    machine: MachineApi,
    options: ResolvedOptions,
    sequence: ActiveSequence,
    end: SequenceEnd,
    endpoint: CheckpointId,
) -> OwnerState | None:
    """Ends a sequence.

    Returns:
        The inactive owner left behind, if any checkpoint was.

    Effects:
        The handle is dead, the row unbound, the reservation gone.
    """
    machine.unbind(sequence.handle.lane)
    held = sequence.holdings
    del ledger.sequences[sequence.handle.id]
    kept = _kept_checkpoints(options, sequence, end, endpoint)
    published = _publish(ledger, sequence, kept) if kept else None
    ledger.release_unreferenced(held)
    return published


def _kept_checkpoints(
    options: ResolvedOptions, sequence: ActiveSequence, end: SequenceEnd, endpoint: CheckpointId
) -> tuple[CheckpointRecord, ...]:
    """What goes on without the sequence."""
    match end:
        case SequenceEnd.DISCARD:
            return ()
        case SequenceEnd.KEEP_CHECKPOINTS:
            return sequence.checkpoints
        case SequenceEnd.PUBLISH:
            if sequence.destination is None:
                raise InvariantBroken("MODE-2", f"{sequence.handle} may leave nothing behind")
            if sequence.read_image != sequence.write_image:
                return sequence.checkpoints
            # Who was restored from a checkpoint of its own and has not run stands there still: both
            # would be one state.
            frontier_tokens = sequence.frontier_tokens
            below = (c for c in sequence.checkpoints if c.summary.frontier_tokens < frontier_tokens)
            return (*below, _endpoint(options, sequence, endpoint))


def _endpoint(
    options: ResolvedOptions, sequence: ActiveSequence, endpoint: CheckpointId
) -> CheckpointRecord:
    """The tokens the state has consumed, no more: its image is frozen where it lies."""
    assert sequence.destination is not None
    frontier = sequence.frontier_tokens
    summary = CheckpointSummary(
        ref=CheckpointRef(id=endpoint, owner=sequence.destination.id),
        kind=CheckpointKind.SESSION_ENDPOINT,
        frontier_tokens=frontier,
        prefix_digest=sequence.consumed(frontier).prefix_digest(frontier),
    )
    pages = {
        space.pool: space.prefix(options.coverage_tokens(space.pool, frontier))
        for space in sequence.spaces
    }
    return CheckpointRecord.of(summary, sequence.write_image, pages)


def _publish(
    ledger: Ledger, sequence: ActiveSequence, kept: tuple[CheckpointRecord, ...]
) -> OwnerState:
    assert sequence.destination is not None
    deepest = kept[-1].summary.frontier_tokens
    continuation = Continuation.of(
        sequence.destination,
        identity=sequence.prompt.identity,
        history=sequence.consumed(deepest),
        execution_frontiers_tokens=sequence.execution_frontiers(deepest),
        checkpoints=kept,
    )
    ledger.continuations.publish(continuation)
    return continuation.state
