"""How does a sequence's committed state become a shared owner beside it? (OWN-2, KV-4)

Owns the moment of publication: an exact checkpoint lends its contents to another owner, at no cost;
or the written image is frozen where it lies and the writer goes on in another one; or a copy of it
stands on the Host. Partial tails stay with the prefix and the writer gets its own. The owner is
inactive from the start: nobody's lineage, forked by whoever matches it. Does not know why it is
wanted.
"""

from __future__ import annotations

from typing import assert_never

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.ids import CheckpointRef, KvPageId
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import ResolvedOptions
from ninfer_lab.contract.result import OwnerState
from ninfer_lab.contract.shared_report import CaptureForm
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.address_space import snapshot_shape
from ninfer_lab.program.storage.checkpoint_record import CheckpointRecord
from ninfer_lab.program.storage.continuation_store import Continuation
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.storage.shared_source import lending_checkpoint
from ninfer_lab.program.transactions.capture import copy_tails
from ninfer_lab.program.transactions.held_places import HeldPlaces
from ninfer_lab.program.transactions.proven_plan import ProvenCapture


class TailsNotCopied(Exception):
    """The machine could not copy the writer's partial tails; nothing has changed."""


def publish_shared(
    ledger: Ledger,
    machine: MachineApi,
    options: ResolvedOptions,
    proven: ProvenCapture,
    held: HeldPlaces,
) -> OwnerState:
    """Publishes the state at the sequence's frontier, in places that are held for it.

    Raises:
        TailsNotCopied: The machine's own failure; no owner stands.
    """
    sequence, intent = proven.sequence, proven.plan.intent
    match intent.form:
        case CaptureForm.LEND:
            lender = lending_checkpoint(ledger, sequence)
            assert lender is not None, "its owner is leant on until the sequence ends"
            image, pages = lender.image, {pool: lender.pages_of(pool) for pool in ledger.kv}
        case CaptureForm.FREEZE:
            pages = _parted(ledger, machine, options, sequence, held)
            image = sequence.write_image
            sequence.pinned_read = True
            sequence.write_image = ledger.states.create(held.device_slots[0])
        case CaptureForm.SNAPSHOT:
            pages = _parted(ledger, machine, options, sequence, held)
            image = ledger.states.create_on_host(held.snapshot_slots[0])
        case _:
            assert_never(intent.form)
    held.device_is_filled()
    held.snapshot_is_filled()
    frontier = sequence.frontier_tokens
    summary = CheckpointSummary(
        ref=CheckpointRef(id=proven.checkpoint, owner=intent.destination.id),
        kind=CheckpointKind.SHARED_STABLE_PREFIX,
        frontier_tokens=frontier,
        prefix_digest=sequence.consumed(frontier).prefix_digest(frontier),
    )
    owner = Continuation.of(
        intent.destination,
        identity=sequence.prompt.identity,
        history=sequence.consumed(frontier),
        execution_frontiers_tokens=sequence.execution_frontiers(frontier),
        checkpoints=(CheckpointRecord.of(summary, image, pages),),
    )
    ledger.continuations.publish(owner)
    return owner.state


def _parted(
    ledger: Ledger,
    machine: MachineApi,
    options: ResolvedOptions,
    sequence: ActiveSequence,
    held: HeldPlaces,
) -> dict[KvPool, tuple[KvPageId, ...]]:
    """The pages of the prefix, frozen; an unaligned tail stays with it and the writer gets a copy
    (KV-4).
    """
    assert sequence.read_image == sequence.write_image
    shapes = {
        pool: snapshot_shape(options.coverage_tokens(pool, sequence.frontier_tokens))
        for pool in ledger.kv
    }
    covered = {
        space.pool: space.prefix(shapes[space.pool].coverage_tokens) for space in sequence.spaces
    }
    if not copy_tails(ledger, machine, sequence, shapes, held.device_pages):
        raise TailsNotCopied
    return covered
