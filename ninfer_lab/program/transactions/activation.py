"""How does a proven target become an active sequence?

Owns the one short moment of publication: contents are given the places that were held and filled,
the sequence takes its references, the lane is bound. Everything was proved and copied before;
nothing here can fail. Does not know why this target was chosen.
"""

from __future__ import annotations

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.ids import KvPageId, StateImageId
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.address_space import AddressSpace
from ninfer_lab.program.storage.bitset import ordinals_of
from ninfer_lab.program.storage.checkpoint_record import CheckpointRecord
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.storage.post_state import PoolNeeds, PostState
from ninfer_lab.program.transactions.held_places import HeldPlaces
from ninfer_lab.program.transactions.proven_plan import ProvenPlan


def activate(
    ledger: Ledger, machine: MachineApi, proven: ProvenPlan, held: HeldPlaces
) -> ActiveSequence:
    """Publishes the sequence.

    Effects:
        Held Device places become replicas; the sequence refers to what it reads, writes and maps;
        its lane is bound in every pool.
    """
    post, lineage, plan = proven.post, proven.lineage, proven.plan
    candidate = plan.assessment.target.candidate
    spaces = tuple(
        _space(ledger, pool, lineage.source, needs, held)
        for pool, needs in zip(ledger.kv, post.needs, strict=True)
    )
    read_image, write_image = _images(ledger, lineage.source, post, held)
    sequence = ActiveSequence(
        handle=proven.handle,
        candidate=candidate,
        destination=plan.intent.destination,
        spaces=spaces,
        read_image=read_image,
        write_image=write_image,
        pinned_read=post.state is StateTransition.FORK,
        captures=plan.intent.schedule.captures,
        offers_tokens=plan.intent.schedule.offers_tokens,
        checkpoints=lineage.kept,
        frontier_tokens=candidate.reuse_tokens,
    )
    ledger.sequences[proven.handle.id] = sequence
    for space in spaces:
        places = ledger.kv[space.pool].device_pages(space.pages)
        machine.bind(proven.handle.lane, space.pool, places)
    return sequence


def _images(
    ledger: Ledger, source: CheckpointRecord | None, post: PostState, held: HeldPlaces
) -> tuple[StateImageId | None, StateImageId]:
    """(read, write). A Move writes the source's own image; a Fork reads what it leaves alone."""
    if post.state is StateTransition.MOVE:
        assert source is not None
        return source.image, source.image
    written = ledger.states.create(held.device_slots[0])
    match post.state:
        case StateTransition.ROOT:
            return None, written
        case StateTransition.FORK:
            assert source is not None
            return source.image, written
        case StateTransition.RESTORE:
            return written, written


def _space(
    ledger: Ledger,
    pool: KvPool,
    source: CheckpointRecord | None,
    needs: PoolNeeds,
    held: HeldPlaces,
) -> AddressSpace:
    """The source's pages, all on the Device now; a copied tail stands for the one left behind."""
    store, places = ledger.kv[pool], held.device_pages[pool]
    restored = [KvPageId(page) for page in ordinals_of(needs.restored)]
    for page, place in zip(restored, places, strict=False):
        store.publish_device(page, place)
    pages = () if source is None else source.pages_of(pool)
    if needs.copied_tail_pages:
        pages = (*pages[:-1], *store.create(places[-1:]))
    return AddressSpace(
        pool,
        pages,
        immutable_pages=needs.immutable_pages,
        reserved_pages=needs.growth_pages,
    )
