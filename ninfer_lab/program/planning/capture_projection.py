"""What would writing a shared prefix here take, and what room must others make for it? (CPT-2)

Owns the projection of a capture target: a sequence at a frontier, an owner that keeps its state
there, and an outcome for every inactive owner. The same stages and the same evaluator as for an
admission; only the destinations differ: another image and a copy of the partial tails (KV-4), or
nothing where an exact checkpoint lends its contents (SHR-6). Reads only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import assert_never

from ninfer_lab.contract.candidate import AdmissionCandidate
from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.ids import OwnerId, OwnerRef
from ninfer_lab.contract.machine_work import MachineWork
from ninfer_lab.contract.planning import TargetHandle
from ninfer_lab.contract.shared_capture import NewRecoveries
from ninfer_lab.contract.shared_report import CaptureForm
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.program.planning.ledger_readied import LedgerReadied, Projected
from ninfer_lab.program.planning.planning_session import ProgramSession
from ninfer_lab.program.planning.readied_outcome import ReadiedOutcome
from ninfer_lab.program.planning.recovery_recipes import Copies
from ninfer_lab.program.planning.resource_projection import (
    CandidateProjector,
    PoolShare,
    Projector,
)
from ninfer_lab.program.planning.transfer_work import capture_work
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.address_space import snapshot_shape
from ninfer_lab.program.storage.post_state import PostState
from ninfer_lab.program.storage.shared_source import lending_checkpoint


def capture_candidate(sequence: ActiveSequence) -> AdmissionCandidate:
    """The sequence's own state at its frontier, as the one candidate of a session."""
    frontier = sequence.frontier_tokens
    return AdmissionCandidate(
        request=sequence.candidate.request, source=None, reuse_tokens=frontier, prefill_tokens=0
    )


class CaptureProjector(CandidateProjector):
    """One capture's share of every target."""

    def __init__(self, projector: Projector, sequence: ActiveSequence, form: CaptureForm) -> None:
        self.sequence = sequence
        self.form = form
        super().__init__(projector, capture_candidate(sequence))

    def post_state(self, survivors: int, makers: Iterable[ReadiedOutcome]) -> PostState:
        post = super().post_state(survivors, makers)
        snapshots = self.form is CaptureForm.SNAPSHOT
        return post._replace(snapshot_slots=1) if snapshots else post

    def _state(self, others: int, destined: int) -> StateTransition:
        """Only a frozen image leaves its writer in want of another."""
        return StateTransition.FORK if self.form is CaptureForm.FREEZE else StateTransition.MOVE

    def _share(self, candidate: AdmissionCandidate, pool: KvPool) -> PoolShare:
        """Full pages stay where they are; growth is the sequence's own already."""
        projector = self._projector
        shape = snapshot_shape(projector.options.coverage_tokens(pool, candidate.reuse_tokens))
        tail = 0
        if self.form is not CaptureForm.LEND and shape.tail_tokens:
            space = next(s for s in self.sequence.spaces if s.pool is pool)
            tail = 1 << space.pages[shape.full_pages]
        device, host = projector.layout.device_pages[pool], projector.layout.host_pages[pool]
        return PoolShare(
            pool=pool,
            device=device,
            host=host,
            shape=shape,
            source_pages=0,
            tail_page=tail,
            tail_marks=device.put(tail) | host.put(tail),
            entitled_pages=shape.covered_pages,
        )


def capture_forms(projector: Projector, sequence: ActiveSequence) -> tuple[CaptureForm, ...]:
    """How a shared prefix at the sequence's frontier could be had, the cheapest kind first.

    It never takes the slot of a rewrite checkpoint that is still to come: that one belongs to the
    private-only baseline (CPT-3), and it is what the next turn needs.
    """
    ledger = projector.ledger
    if lending_checkpoint(ledger, sequence) is not None:
        return (CaptureForm.LEND,)
    held_slots = (ledger.lineage_images & ledger.states.on_device).bit_count()
    spare_slots = ledger.spare_device_slots(held_slots, ledger.free_lanes)
    forms = []
    if spare_slots > 1 or not _needs_slot_later(sequence):
        forms.append(CaptureForm.FREEZE)
    if ledger.capacity.host_state_slots:
        forms.append(CaptureForm.SNAPSHOT)
    return tuple(forms)


def _needs_slot_later(sequence: ActiveSequence) -> bool:
    """Whether a rewrite checkpoint is planned further on that brings no slot of an older one."""
    if any(checkpoint.summary.kind.is_rewrite for checkpoint in sequence.checkpoints):
        return False
    frontier = sequence.frontier_tokens
    return any(c.kind.is_rewrite and c.frontier_tokens > frontier for c in sequence.captures)


class ProgramCaptureSession(ProgramSession):
    """Implements `CaptureSession`.

    Args:
        owners: All inactive owners, ascending by id: what the protected ones are worth is asked,
            too.
        protected: Those that may not give way.
    """

    def __init__(
        self,
        readied: LedgerReadied,
        sequence: ActiveSequence,
        owners: Sequence[OwnerRef],
        protected: Collection[OwnerId],
    ) -> None:
        projector = readied.projector
        self.forms = capture_forms(projector, sequence)
        self._captures = [CaptureProjector(projector, sequence, form) for form in self.forms]
        self._protected = frozenset(protected)
        super().__init__(readied, [capture_candidate(sequence) for _ in self.forms], owners)

    def is_eligible(self, candidate: int, owner: int) -> bool:
        return self.owners[owner].id not in self._protected

    def new_recoveries(self, candidate: int) -> NewRecoveries:
        capture, ledger = self._captures[candidate], self._ledger
        sequence = capture.sequence
        frontier = sequence.frontier_tokens
        restore: Copies = ()
        match capture.form:
            case CaptureForm.FREEZE:
                pass  # everything is on the Device
            case CaptureForm.SNAPSHOT:
                restore = self._recipes.image_copies
            case CaptureForm.LEND:
                lender = lending_checkpoint(ledger, sequence)
                assert lender is not None
                restore = self._recipes.copies_back(lender, ledger.present)
            case _:
                assert_never(capture.form)
        cuts = sequence.execution_frontiers(frontier)
        return NewRecoveries(*self._recipes.of_new(frontier, cuts, restore))

    def _candidate(self, ordinal: int) -> CandidateProjector:
        return self._captures[ordinal]

    def _work(self, target: TargetHandle, projected: Projected) -> MachineWork:
        return capture_work(self._ledger, self._readied.options, projected.post)
