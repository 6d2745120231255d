"""How does an active sequence leave a checkpoint behind and go on?

Owns active capture (KV-4): the written image is frozen where it lies and the next forward writes
elsewhere (Freeze, then Fork, with no copy of the state); full pages gain a reference; an unaligned
tail stays with the checkpoint and the writer gets a copy. A capture is optional: it takes only what
nobody holds or is promised (INV-8) and is skipped otherwise.
"""

from __future__ import annotations

from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.ids import CheckpointId, CheckpointRef, OwnerId
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.placement import CheckpointPlacement
from ninfer_lab.contract.plan import PlannedCapture
from ninfer_lab.contract.result import CaptureOutcome, CaptureResult
from ninfer_lab.contract.work import PageCopy
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.kv_store import snapshot_shape
from ninfer_lab.program.storage.ledger import Ledger


def capture(
    ledger: Ledger,
    machine: MachineApi,
    sequence: ActiveSequence,
    planned: PlannedCapture,
    checkpoint: CheckpointId,
) -> CaptureResult:
    """Captures the committed state of a sequence at its frontier, if there is room.

    A rewrite checkpoint takes the place of the lineage's older one, whose slot counts as room:
    nothing is copied into it before the new checkpoint stands.

    Effects:
        Reference topology changes when the outcome is CAPTURED, nothing otherwise.
    """
    assert sequence.frontier_tokens == planned.frontier_tokens
    assert not sequence.pinned_read
    frozen_slot = sequence.state_read_slot
    assert frozen_slot is not None
    assert frozen_slot == sequence.state_write_slot
    shape = snapshot_shape(planned.frontier_tokens)
    replaced = _older_rewrite(sequence, planned)
    outcome = _room(ledger, replaced, shape.copied_pages)
    if outcome is not CaptureOutcome.CAPTURED:
        return CaptureResult(outcome=outcome, frontier_tokens=planned.frontier_tokens)

    if replaced is not None:
        ledger.release_checkpoints((replaced,))
    covered = sequence.space.prefix(planned.frontier_tokens)
    ledger.pages.retain(covered)
    tail_copy = None
    if shape.copied_pages:
        (tail_copy,) = ledger.pages.allocate(1)
        machine.copy_pages((PageCopy(source=covered[-1], destination=tail_copy),))
        machine.replace_tail(sequence.handle.lane, tail_copy)
        ledger.pages.release(covered[-1:])
    sequence.space.freeze(shape, tail_copy)

    summary = CheckpointSummary(
        ref=CheckpointRef(id=checkpoint, owner=_lineage_owner(sequence)),
        kind=planned.kind,
        frontier_tokens=planned.frontier_tokens,
        prefix_digest=sequence.consumed(planned.frontier_tokens).prefix_digest(
            planned.frontier_tokens
        ),
    )
    captured = CheckpointPlacement(summary=summary, state_slot=frozen_slot, pages=covered)
    sequence.checkpoints = (*(c for c in sequence.checkpoints if c is not replaced), captured)
    ledger.states.pin(frozen_slot)
    sequence.pinned_read = True
    sequence.state_write_slot = ledger.states.allocate()
    return CaptureResult(
        outcome=CaptureOutcome.CAPTURED,
        frontier_tokens=planned.frontier_tokens,
        checkpoint=summary,
        replaced=None if replaced is None else replaced.summary.ref,
    )


def _older_rewrite(sequence: ActiveSequence, planned: PlannedCapture) -> CheckpointPlacement | None:
    if not planned.kind.is_rewrite:
        return None
    return next((c for c in sequence.checkpoints if c.summary.kind.is_rewrite), None)


def _room(
    ledger: Ledger, replaced: CheckpointPlacement | None, copied_pages: int
) -> CaptureOutcome:
    """Whether the writer can have a slot and its tail's copy, and every free lane still its slot: a
    slot that a running lineage holds cannot be evicted for the next request (STATE-1).
    """
    slots, pages = ledger.free_states, ledger.free_pages
    spare_slots = ledger.capacity.device_state_slots - ledger.lineage_states - ledger.free_lanes
    if replaced is not None:
        freed_slots = 1 if ledger.states.holders_of(replaced.state_slot) == 1 else 0
        slots, spare_slots = slots + freed_slots, spare_slots + freed_slots
        pages += sum(1 for page in replaced.pages if ledger.pages.references_of(page) == 1)
    if min(slots, spare_slots) < 1:
        return CaptureOutcome.NO_STATE_SLOT
    return CaptureOutcome.NO_KV_PAGE if pages < copied_pages else CaptureOutcome.CAPTURED


def _lineage_owner(sequence: ActiveSequence) -> OwnerId:
    assert sequence.destination is not None, (
        "a sequence that leaves nothing behind plans no capture"
    )
    return sequence.destination.id
