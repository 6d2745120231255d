"""How does an active sequence leave a checkpoint behind and go on?

Owns active capture (KV-4): the written image is frozen where it lies and the next forward writes
elsewhere (Freeze, then Fork, with no copy of the state); full pages gain a reference; an unaligned
tail stays with the checkpoint and the writer gets a copy. A capture is optional: it takes only what
nobody holds or is promised (INV-8) and is skipped otherwise. Where no Device slot is to be had for
an anchor at a sequence's start, the image it starts from is saved to the Host instead (ANC-3).
Does not know which checkpoints are worth keeping: the terms say what gives way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import (
    CheckpointId,
    CheckpointRef,
    OwnerId,
    PageId,
    StateImageId,
)
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import ResolvedOptions
from ninfer_lab.contract.planned_capture import CaptureTerms, PlannedCapture
from ninfer_lab.contract.result import CaptureOutcome, CaptureResult
from ninfer_lab.contract.work import PageCopy
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.address_space import SnapshotShape, snapshot_shape
from ninfer_lab.program.storage.checkpoint_record import CheckpointRecord
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.storage.replica_layout import Holdings


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureOrder:
    """One capture as it is to be taken. Build it with `of`, which derives the shapes.

    Attributes:
        checkpoint: Names it, once it stands.
        shapes: Of the pages that it keeps in each pool.
    """

    planned: PlannedCapture
    terms: CaptureTerms
    checkpoint: CheckpointId
    shapes: tuple[tuple[KvPool, SnapshotShape], ...]

    @classmethod
    def of(
        cls,
        options: ResolvedOptions,
        planned: PlannedCapture,
        terms: CaptureTerms,
        checkpoint: CheckpointId,
    ) -> CaptureOrder:
        """The order of a capture planned at a frontier."""
        frontier = planned.frontier_tokens
        shapes = tuple(
            (pool, snapshot_shape(options.coverage_tokens(pool, frontier)))
            for pool in options.capacity.pools
        )
        return cls(planned=planned, terms=terms, checkpoint=checkpoint, shapes=shapes)


def capture(
    ledger: Ledger, machine: MachineApi, sequence: ActiveSequence, order: CaptureOrder
) -> CaptureResult:
    """Captures the committed state of a sequence at its frontier, if there is room.

    What gives way counts as room: nothing is copied into its places before the new checkpoint
    stands.

    Effects:
        Reference topology changes when the outcome is CAPTURED, nothing otherwise.
    """
    assert sequence.frontier_tokens == order.planned.frontier_tokens
    assert not sequence.pinned_read
    frozen = sequence.read_image
    assert frozen is not None
    assert frozen == sequence.write_image
    outcome = _room(ledger, sequence, order)
    if outcome is not CaptureOutcome.CAPTURED:
        return CaptureResult(outcome=outcome, frontier_tokens=sequence.frontier_tokens)
    result = _stand(ledger, machine, sequence, order, frozen)
    if result.outcome is CaptureOutcome.CAPTURED:
        sequence.pinned_read = True
        sequence.write_image = ledger.states.create(ledger.states.device_places.take(1)[0])
    return result


def capture_on_host(
    ledger: Ledger,
    machine: MachineApi,
    sequence: ActiveSequence,
    order: CaptureOrder,
    saved: StateImageId,
) -> CaptureResult:
    """The same at a sequence's start, with the image saved to the Host: the writer goes on in its
    own. What nobody refers to afterwards, the saved image among it, is released.
    """
    outcome = _tail_room(ledger, _given_up(ledger, sequence, order), order)
    if outcome is CaptureOutcome.CAPTURED:
        result = _stand(ledger, machine, sequence, order, saved)
    else:
        result = CaptureResult(outcome=outcome, frontier_tokens=sequence.frontier_tokens)
    ledger.release_unreferenced(Holdings(images=1 << saved))
    return result


def _stand(
    ledger: Ledger,
    machine: MachineApi,
    sequence: ActiveSequence,
    order: CaptureOrder,
    image: StateImageId,
) -> CaptureResult:
    """There is room: what gives way goes, tails are parted, the checkpoint joins the lineage."""
    frontier, shapes = sequence.frontier_tokens, dict(order.shapes)
    replaced = _giving_way(sequence, order.terms)
    if replaced is not None:
        sequence.checkpoints = tuple(c for c in sequence.checkpoints if c is not replaced)
        ledger.release_unreferenced(replaced.holdings)
    covered = {
        space.pool: space.prefix(shapes[space.pool].coverage_tokens) for space in sequence.spaces
    }
    tails = {
        pool: ledger.kv[pool].device_places.take(shape.copied_pages) for pool, shape in order.shapes
    }
    if not copy_tails(ledger, machine, sequence, shapes, tails):
        for pool, places in tails.items():
            ledger.kv[pool].device_places.give_back(places)
        return CaptureResult(
            outcome=CaptureOutcome.COPY_FAILED,
            frontier_tokens=frontier,
            replaced=order.terms.gives_way,
        )
    summary = CheckpointSummary(
        ref=CheckpointRef(id=order.checkpoint, owner=_lineage_owner(sequence)),
        kind=order.planned.kind,
        frontier_tokens=frontier,
        prefix_digest=sequence.consumed(frontier).prefix_digest(frontier),
    )
    captured = CheckpointRecord.of(summary, image, covered)
    sequence.checkpoints = (*sequence.checkpoints, captured)
    return CaptureResult(
        outcome=CaptureOutcome.CAPTURED,
        frontier_tokens=frontier,
        checkpoint=summary,
        replaced=order.terms.gives_way,
    )


def _giving_way(sequence: ActiveSequence, terms: CaptureTerms) -> CheckpointRecord | None:
    if terms.gives_way is None:
        return None
    return next(c for c in sequence.checkpoints if c.summary.ref == terms.gives_way)


def _room(ledger: Ledger, sequence: ActiveSequence, order: CaptureOrder) -> CaptureOutcome:
    """Whether the writer can have a slot and its tails' copies, and others keep theirs."""
    gone = _given_up(ledger, sequence, order)
    freed_slots = (gone.images & ledger.states.on_device).bit_count()
    held_slots = (ledger.lineage_images & ledger.states.on_device).bit_count()
    spare = ledger.spare_device_slots(held_slots, ledger.free_lanes)
    if spare + freed_slots < 1 + order.terms.leaves_slots_count:
        return CaptureOutcome.NO_STATE_SLOT
    return _tail_room(ledger, gone, order)


def _tail_room(ledger: Ledger, gone: Holdings, order: CaptureOrder) -> CaptureOutcome:
    """Whether the writer can have its copies of partial tails."""
    for pool, shape in order.shapes:
        freed_pages = (gone.of_pool(pool) & ledger.kv[pool].on_device).bit_count()
        if ledger.free_pages(pool) + freed_pages < shape.copied_pages:
            return CaptureOutcome.NO_KV_PAGE
    return CaptureOutcome.CAPTURED


def _given_up(ledger: Ledger, sequence: ActiveSequence, order: CaptureOrder) -> Holdings:
    """What nobody would refer to without the one that gives way."""
    replaced = _giving_way(sequence, order.terms)
    if replaced is None:
        return Holdings()
    before = sequence.checkpoints
    sequence.checkpoints = tuple(c for c in before if c is not replaced)
    gone = ledger.unreferenced(replaced.holdings)
    sequence.checkpoints = before
    return gone


def copy_tails(
    ledger: Ledger,
    machine: MachineApi,
    sequence: ActiveSequence,
    shapes: Mapping[KvPool, SnapshotShape],
    taken: Mapping[KvPool, tuple[PageId, ...]],
) -> bool:
    """Gives the writer its own partial tails and freezes the rest.

    Args:
        taken: Device pages for the copies.

    Returns:
        Whether the machine has copied them; if not, everything is as before.
    """
    try:
        tails = _tail_copies(ledger, sequence, taken)
        if tails:
            machine.copy_pages(tails)
    except (InvariantBroken, AssertionError):
        raise
    except Exception:  # the machine's own: a capture is optional and is skipped (INV-15)
        return False
    for space in sequence.spaces:
        tail_copy = None
        if taken[space.pool]:
            (tail_copy,) = ledger.kv[space.pool].create(taken[space.pool])
            machine.replace_tail(sequence.handle.lane, space.pool, taken[space.pool][0])
        space.freeze(shapes[space.pool], tail_copy)
    return True


def _tail_copies(
    ledger: Ledger, sequence: ActiveSequence, taken: Mapping[KvPool, tuple[PageId, ...]]
) -> tuple[PageCopy, ...]:
    copied = []
    for space in sequence.spaces:
        for place in taken[space.pool]:
            lies_at = ledger.kv[space.pool].device_page(space.pages[-1])
            assert lies_at is not None, "an active space lies on the Device"
            copied.append(PageCopy(source=lies_at, destination=place, pool=space.pool))
    return tuple(copied)


def _lineage_owner(sequence: ActiveSequence) -> OwnerId:
    assert sequence.destination is not None, (
        "a sequence that leaves nothing behind plans no capture"
    )
    return sequence.destination.id
