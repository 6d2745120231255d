"""How does an active sequence leave a checkpoint behind and go on?

Owns active capture (KV-4): the written image is frozen where it lies and the next forward writes
elsewhere (Freeze, then Fork, with no copy of the state); full pages gain a reference; an unaligned
tail stays with the checkpoint and the writer gets a copy. A capture is optional: it takes only what
nobody holds or is promised (INV-8) and is skipped otherwise.
"""

from __future__ import annotations

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import CheckpointId, CheckpointRef, OwnerId, PageId
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import ResolvedOptions
from ninfer_lab.contract.plan import PlannedCapture
from ninfer_lab.contract.result import CaptureOutcome, CaptureResult
from ninfer_lab.contract.work import PageCopy
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.address_space import SnapshotShape, snapshot_shape
from ninfer_lab.program.storage.checkpoint_record import CheckpointRecord
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.storage.replica_layout import Holdings


def capture(
    ledger: Ledger,
    machine: MachineApi,
    options: ResolvedOptions,
    sequence: ActiveSequence,
    planned: PlannedCapture,
    checkpoint: CheckpointId,
) -> CaptureResult:
    """Captures the committed state of a sequence at its frontier, if there is room.

    A rewrite checkpoint takes the place of the lineage's older one, whose places count as room:
    nothing is copied into them before the new checkpoint stands.

    Effects:
        Reference topology changes when the outcome is CAPTURED, nothing otherwise.
    """
    assert sequence.frontier_tokens == planned.frontier_tokens
    assert not sequence.pinned_read
    frozen = sequence.read_image
    assert frozen is not None
    assert frozen == sequence.write_image
    shapes = {
        pool: snapshot_shape(options.coverage_tokens(pool, planned.frontier_tokens))
        for pool in ledger.kv
    }
    replaced = _older_rewrite(sequence, planned)
    outcome = _room(ledger, sequence, replaced, shapes)
    if outcome is not CaptureOutcome.CAPTURED:
        return CaptureResult(outcome=outcome, frontier_tokens=planned.frontier_tokens)
    if replaced is not None:
        sequence.checkpoints = tuple(c for c in sequence.checkpoints if c is not replaced)
        ledger.release_unreferenced(replaced.holdings)
    given_up = None if replaced is None else replaced.summary.ref
    covered = {
        space.pool: space.prefix(shapes[space.pool].coverage_tokens) for space in sequence.spaces
    }
    if not copy_tails(ledger, machine, sequence, shapes):
        return CaptureResult(
            outcome=CaptureOutcome.COPY_FAILED,
            frontier_tokens=planned.frontier_tokens,
            replaced=given_up,
        )
    frontier = planned.frontier_tokens
    summary = CheckpointSummary(
        ref=CheckpointRef(id=checkpoint, owner=_lineage_owner(sequence)),
        kind=planned.kind,
        frontier_tokens=frontier,
        prefix_digest=sequence.consumed(frontier).prefix_digest(frontier),
    )
    captured = CheckpointRecord.of(summary, frozen, covered)
    sequence.checkpoints = (*sequence.checkpoints, captured)
    sequence.pinned_read = True
    sequence.write_image = ledger.states.create(ledger.states.device_places.take(1)[0])
    return CaptureResult(
        outcome=CaptureOutcome.CAPTURED,
        frontier_tokens=frontier,
        checkpoint=summary,
        replaced=given_up,
    )


def _older_rewrite(sequence: ActiveSequence, planned: PlannedCapture) -> CheckpointRecord | None:
    if not planned.kind.is_rewrite:
        return None
    return next((c for c in sequence.checkpoints if c.summary.kind.is_rewrite), None)


def _room(
    ledger: Ledger,
    sequence: ActiveSequence,
    replaced: CheckpointRecord | None,
    shapes: dict[KvPool, SnapshotShape],
) -> CaptureOutcome:
    """Whether the writer can have a slot and its tails' copies, and every free lane still its slot:
    a slot that a running lineage holds cannot be evicted for the next request (STATE-1).
    """
    gone = Holdings()
    if replaced is not None:
        before = sequence.checkpoints
        sequence.checkpoints = tuple(c for c in before if c is not replaced)
        gone = ledger.unreferenced(replaced.holdings)
        sequence.checkpoints = before
    freed_slots = (gone.images & ledger.states.on_device).bit_count()
    held = (ledger.lineage_images & ledger.states.on_device).bit_count()
    spare = ledger.capacity.device_state_slots - held - ledger.free_lanes
    if min(ledger.states.device_places.free_count, spare) + freed_slots < 1:
        return CaptureOutcome.NO_STATE_SLOT
    for pool, shape in shapes.items():
        freed_pages = (gone.of_pool(pool) & ledger.kv[pool].on_device).bit_count()
        if ledger.free_pages(pool) + freed_pages < shape.copied_pages:
            return CaptureOutcome.NO_KV_PAGE
    return CaptureOutcome.CAPTURED


def copy_tails(
    ledger: Ledger,
    machine: MachineApi,
    sequence: ActiveSequence,
    shapes: dict[KvPool, SnapshotShape],
) -> bool:
    """Gives the writer its own partial tails and freezes the rest.

    Returns:
        Whether the machine has copied them; if not, everything is as before.
    """
    taken: dict[KvPool, tuple[PageId, ...]] = {
        pool: ledger.kv[pool].device_places.take(shape.copied_pages)
        for pool, shape in shapes.items()
    }
    try:
        tails = _tail_copies(ledger, sequence, taken)
        if tails:
            machine.copy_pages(tails)
    except (InvariantBroken, AssertionError):
        raise
    except Exception:  # the machine's own: a capture is optional and is skipped (INV-15)
        for pool, places in taken.items():
            ledger.kv[pool].device_places.give_back(places)
        return False
    for space in sequence.spaces:
        tail_copy = None
        if taken[space.pool]:
            (tail_copy,) = ledger.kv[space.pool].create(taken[space.pool])
            machine.replace_tail(sequence.handle.lane, space.pool, taken[space.pool][0])
        space.freeze(shapes[space.pool], tail_copy)
    return True


def _tail_copies(
    ledger: Ledger, sequence: ActiveSequence, taken: dict[KvPool, tuple[PageId, ...]]
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
