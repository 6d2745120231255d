"""What would writing a shared prefix here take, and what room must others make for it? (CPT-2)

Owns the projection of a capture target: a sequence at a frontier, an owner that keeps its state
there, and an outcome for every inactive owner. The same stages and the same evaluator as for an
admission; only the destinations differ: an image for the writer to go on in and a copy of its
partial tails (KV-4), or nothing where an exact checkpoint lends its contents (SHR-6). Reads only.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ninfer_lab.contract.candidate import AdmissionCandidate
from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.ids import OwnerId, OwnerRef
from ninfer_lab.contract.machine_work import MachineWork
from ninfer_lab.contract.planning import TargetHandle
from ninfer_lab.contract.target import Assessment, StateTransition, TargetSketch
from ninfer_lab.program.planning.planning_session import ProgramSession
from ninfer_lab.program.planning.resource_projection import (
    CandidateProjector,
    PoolShare,
    Projector,
)
from ninfer_lab.program.planning.stage_order import StageOrder
from ninfer_lab.program.planning.transfer_work import capture_work
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.address_space import snapshot_shape
from ninfer_lab.program.storage.ledger import Ledger
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

    def __init__(self, projector: Projector, sequence: ActiveSequence) -> None:
        self._sequence = sequence
        self._freezes = lending_checkpoint(projector.ledger, sequence) is None
        super().__init__(projector, capture_candidate(sequence))

    def _state(self, others: int, destined: int) -> StateTransition:
        """The writer goes on in another image, unless nothing is frozen here."""
        return StateTransition.FORK if self._freezes else StateTransition.MOVE

    def _share(self, candidate: AdmissionCandidate, pool: KvPool) -> PoolShare:
        """Full pages stay where they are; growth is the sequence's own already."""
        projector = self._projector
        shape = snapshot_shape(projector.options.coverage_tokens(pool, candidate.reuse_tokens))
        tail = 0
        if self._freezes and shape.tail_tokens:
            space = next(s for s in self._sequence.spaces if s.pool is pool)
            tail = 1 << space.pages[shape.full_pages]
        device, host = projector.layout.device_pages[pool], projector.layout.host_pages[pool]
        return PoolShare(
            pool=pool,
            device=device,
            host=host,
            page_granules=projector.ledger.capacity.host_kv.page_granules(pool),
            shape=shape,
            source_pages=0,
            tail_page=tail,
            tail_marks=device.put(tail) | host.put(tail),
            entitled_pages=shape.covered_pages,
        )


class CaptureSession(ProgramSession):
    """Implements `PlanningSession` for one capture.

    Args:
        owners: All inactive owners, ascending by id: what the protected ones are worth is asked,
            too.
        protected: Those that may not give way.
    """

    def __init__(
        self,
        projector: Projector,
        resource_revision: int,
        sequence: ActiveSequence,
        owners: Sequence[OwnerRef],
        protected: Collection[OwnerId],
    ) -> None:
        self._capture = CaptureProjector(projector, sequence)
        self._protected = frozenset(protected)

        def assess(target: TargetSketch) -> Assessment:
            return assessed_capture(self._capture, resource_revision, target)

        candidate = capture_candidate(sequence)
        super().__init__(projector, resource_revision, (candidate,), owners, assess)

    def is_eligible(self, candidate: int, owner: int) -> bool:
        return self.owners[owner].id not in self._protected

    def _candidate(self, ordinal: int) -> CandidateProjector:
        return self._capture

    def _work(self, target: TargetHandle, post: PostState) -> MachineWork:
        return capture_work(self._projector.ledger, self._projector.options, post)


def assessed_capture(
    capture: CaptureProjector, resource_revision: int, target: TargetSketch
) -> Assessment:
    """One capture target with every stage."""
    ledger: Ledger = capture.ledger
    post = capture.project(target.outcomes)
    order = StageOrder(ledger)
    uses = order.uses(post)
    return Assessment(
        target=target,
        resource_revision=resource_revision,
        state=post.state,
        cow_pages=post.copied_tail_pages,
        stages=order.stages(uses),
        work=capture_work(ledger, capture.options, post),
        violations=() if order.fits(uses, post) else order.violations(uses, post),
    )
