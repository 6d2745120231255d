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
from ninfer_lab.contract.options import pages_of_tokens
from ninfer_lab.contract.placement import CheckpointPlacement
from ninfer_lab.contract.result import OwnerState, SequenceEnd
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.continuation_store import Continuation
from ninfer_lab.program.storage.ledger import Ledger


def settle(
    ledger: Ledger,
    machine: MachineApi,
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
    del ledger.sequences[sequence.handle.id]
    kept = _kept_checkpoints(ledger, sequence, end, endpoint)
    ledger.pages.release(sequence.space.pages)
    if sequence.pinned_read:
        assert sequence.state_read_slot is not None
        ledger.states.unpin(sequence.state_read_slot)
    ledger.states.release(sequence.state_write_slot)
    return _publish(ledger, sequence, kept) if kept else None


def _kept_checkpoints(
    ledger: Ledger, sequence: ActiveSequence, end: SequenceEnd, endpoint: CheckpointId
) -> tuple[CheckpointPlacement, ...]:
    """What survives, with references of its own; what does not is released."""
    match end:
        case SequenceEnd.DISCARD:
            ledger.release_checkpoints(sequence.checkpoints)
            return ()
        case SequenceEnd.KEEP_CHECKPOINTS:
            return sequence.checkpoints
        case SequenceEnd.PUBLISH:
            if sequence.destination is None:
                raise InvariantBroken("MODE-2", f"{sequence.handle} may leave nothing behind")
            own_state = sequence.state_read_slot == sequence.state_write_slot
            if not own_state:
                return sequence.checkpoints
            return (*sequence.checkpoints, _endpoint(ledger, sequence, endpoint))


def _endpoint(
    ledger: Ledger, sequence: ActiveSequence, endpoint: CheckpointId
) -> CheckpointPlacement:
    """The tokens the state has consumed, no more: its image is frozen where it lies."""
    assert sequence.destination is not None
    frontier = sequence.frontier_tokens
    pages = sequence.space.pages[: pages_of_tokens(frontier)]
    ledger.pages.retain(pages)
    ledger.states.retain(sequence.state_write_slot)
    summary = CheckpointSummary(
        ref=CheckpointRef(id=endpoint, owner=sequence.destination.id),
        kind=CheckpointKind.SESSION_ENDPOINT,
        frontier_tokens=frontier,
        prefix_digest=sequence.consumed(frontier).prefix_digest(frontier),
    )
    return CheckpointPlacement(summary=summary, state_slot=sequence.state_write_slot, pages=pages)


def _publish(
    ledger: Ledger, sequence: ActiveSequence, kept: tuple[CheckpointPlacement, ...]
) -> OwnerState:
    assert sequence.destination is not None
    deepest = kept[-1].summary.frontier_tokens
    continuation = Continuation(
        ref=sequence.destination,
        identity=sequence.prompt.identity,
        history=sequence.consumed(deepest),
        execution_frontiers_tokens=sequence.execution_frontiers(deepest),
        checkpoints=kept,
    )
    ledger.continuations.publish(continuation)
    return continuation.state
