"""How does a sequence's committed state become a shared owner beside it? (OWN-2, KV-4)

Owns the moment of publication: an exact checkpoint lends its contents to another owner, at no cost;
or the written image is frozen where it lies and the writer goes on in another one, with copies of
its partial tails. The owner is inactive from the start: nobody's lineage, forked by whoever matches
it. Does not know why it is wanted.
"""

from __future__ import annotations

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.ids import CheckpointId, CheckpointRef, KvPageId, OwnerRef, StateImageId
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import ResolvedOptions
from ninfer_lab.contract.result import OwnerState
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.address_space import snapshot_shape
from ninfer_lab.program.storage.checkpoint_record import CheckpointRecord
from ninfer_lab.program.storage.continuation_store import Continuation
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.storage.shared_source import lending_checkpoint
from ninfer_lab.program.transactions.capture import copy_tails


class TailsNotCopied(Exception):
    """The machine could not copy the writer's partial tails; nothing has changed."""


def publish_shared(
    ledger: Ledger,
    machine: MachineApi,
    options: ResolvedOptions,
    sequence: ActiveSequence,
    destination: OwnerRef,
    checkpoint: CheckpointId,
) -> tuple[OwnerState, bool]:
    """Publishes the state at the sequence's frontier. There is room: it was proved and made.

    Returns:
        The owner, and whether a checkpoint that was there lent its contents.

    Raises:
        TailsNotCopied: The machine's own failure; no owner stands.
    """
    lender = lending_checkpoint(ledger, sequence)
    if lender is None:
        image, pages = _frozen(ledger, machine, options, sequence)
    else:
        image, pages = lender.image, {pool: lender.pages_of(pool) for pool in ledger.kv}
    frontier = sequence.frontier_tokens
    summary = CheckpointSummary(
        ref=CheckpointRef(id=checkpoint, owner=destination.id),
        kind=CheckpointKind.SHARED_STABLE_PREFIX,
        frontier_tokens=frontier,
        prefix_digest=sequence.consumed(frontier).prefix_digest(frontier),
    )
    owner = Continuation.of(
        destination,
        identity=sequence.prompt.identity,
        history=sequence.consumed(frontier),
        execution_frontiers_tokens=sequence.execution_frontiers(frontier),
        checkpoints=(CheckpointRecord.of(summary, image, pages),),
    )
    ledger.continuations.publish(owner)
    return owner.state, lender is not None


def _frozen(
    ledger: Ledger, machine: MachineApi, options: ResolvedOptions, sequence: ActiveSequence
) -> tuple[StateImageId, dict[KvPool, tuple[KvPageId, ...]]]:
    """Freeze, then Fork: the image stays, pinned until the writer's next commit (STATE-3)."""
    frozen = sequence.read_image
    assert frozen is not None
    assert frozen == sequence.write_image
    shapes = {
        pool: snapshot_shape(options.coverage_tokens(pool, sequence.frontier_tokens))
        for pool in ledger.kv
    }
    covered = {
        space.pool: space.prefix(shapes[space.pool].coverage_tokens) for space in sequence.spaces
    }
    if not copy_tails(ledger, machine, sequence, shapes):
        raise TailsNotCopied
    sequence.pinned_read = True
    sequence.write_image = ledger.states.create(ledger.states.device_places.take(1)[0])
    return frozen, covered
