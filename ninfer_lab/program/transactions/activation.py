"""How does a proven target become an active sequence?

Owns the one short method in which an admission happens: releases, then destinations, then the
binding of the row. Everything was proved before; nothing here can fail for lack of room. Does not
know why this target was chosen.
"""

from __future__ import annotations

from ninfer_lab.contract.candidate import CheckpointSource, SourceDisposition
from ninfer_lab.contract.ids import OwnerRef, SequenceHandle, StateSlotId
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.plan import ResourcePlan
from ninfer_lab.contract.result import OwnerEnd
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.contract.work import PageCopy
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.kv_store import AddressSpace
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.storage.post_state import AdmissionPostState


def activate(
    ledger: Ledger,
    machine: MachineApi,
    plan: ResourcePlan,
    post: AdmissionPostState,
    handle: SequenceHandle,
) -> tuple[OwnerEnd | None, tuple[OwnerEnd, ...]]:
    """Carries out one admission.

    Returns:
        What became of a consumed source's owner, and of every evicted owner.

    Effects:
        Moves references from the source to the sequence, releases what the target ends, binds the
        lane.
    """
    target = plan.assessment.target
    evicted = tuple(_end_owner(ledger, owner, survivors=0) for owner in target.evicted)
    consumed = _consume(ledger, target.candidate.source, post)
    ledger.release_checkpoints(post.released)
    read_slot, write_slot = _state_slots(ledger, target.candidate.source, post)
    ledger.sequences[handle.id] = ActiveSequence(
        handle=handle,
        candidate=target.candidate,
        destination=plan.intent.destination,
        space=_bind_pages(ledger, machine, plan, post),
        state_read_slot=read_slot,
        state_write_slot=write_slot,
        pinned_read=post.state is StateTransition.FORK,
        reserved_pages=post.growth_pages,
        captures=plan.intent.captures,
        checkpoints=post.kept,
        frontier_tokens=target.candidate.reuse_tokens,
    )
    return consumed, evicted


def _consume(
    ledger: Ledger, source: CheckpointSource | None, post: AdmissionPostState
) -> OwnerEnd | None:
    if source is None or source.disposition is SourceDisposition.RETAIN:
        return None
    return _end_owner(ledger, source.owner, survivors=len(post.kept))


def _end_owner(ledger: Ledger, owner: OwnerRef, *, survivors: int) -> OwnerEnd:
    """Takes the owner out of the store; its `survivors` shallowest checkpoints go on in a
    lineage.
    """
    continuation = ledger.continuations.remove(owner)
    ended = continuation.checkpoints[survivors:]
    return OwnerEnd(ref=owner, deleted=frozenset(c.summary.ref for c in ended))


def _state_slots(
    ledger: Ledger, source: CheckpointSource | None, post: AdmissionPostState
) -> tuple[StateSlotId | None, StateSlotId]:
    """(read, write). A Move takes over the source's reference; a Fork pins what it will read."""
    match post.state:
        case StateTransition.ROOT:
            return None, ledger.states.allocate()
        case StateTransition.MOVE:
            assert post.source is not None
            return post.source.state_slot, post.source.state_slot
        case StateTransition.FORK:
            assert source is not None
            assert post.source is not None
            ledger.states.pin(post.source.state_slot)
            if source.disposition is SourceDisposition.CONSUME:
                ledger.states.release(post.source.state_slot)
            return post.source.state_slot, ledger.states.allocate()


def _bind_pages(
    ledger: Ledger, machine: MachineApi, plan: ResourcePlan, post: AdmissionPostState
) -> AddressSpace:
    """A consumed source hands its page references over; a retained one shares them."""
    source, pages = plan.assessment.target.candidate.source, post.pages
    if source is not None and source.disposition is SourceDisposition.RETAIN:
        ledger.pages.retain(pages)
    machine.bind(plan.intent.lane, pages)
    if post.copied_tail_pages:
        (copy,) = ledger.pages.allocate(1)
        machine.copy_pages((PageCopy(source=pages[-1], destination=copy),))
        machine.replace_tail(plan.intent.lane, copy)
        ledger.pages.release(pages[-1:])
        pages = (*pages[:-1], copy)
    return AddressSpace(pages, post.immutable_pages)
