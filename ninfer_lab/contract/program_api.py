"""What does ResourceManager hold of Program? (ROLE-4)

Owns the protocol alone: candidates and targets go in, verdicts, plans and absolute results come
out. No placement, refcount, free count or price crosses it (ROLE-2, COST-1).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from ninfer_lab.contract.backfill import BackfillQuestion
from ninfer_lab.contract.candidate import (
    AdmissionCandidate,
    AdmissionRequest,
    NotReusable,
    SourceDisposition,
)
from ninfer_lab.contract.ids import CheckpointRef, OwnerId, OwnerRef, SequenceHandle
from ninfer_lab.contract.machine_work import PrefillWork
from ninfer_lab.contract.plan import ActivationIntent, ResourcePlan
from ninfer_lab.contract.planning import PlanningSession
from ninfer_lab.contract.result import OwnerEnd, ResourceResult
from ninfer_lab.contract.shared_capture import (
    CaptureIntent,
    CapturePlan,
    CaptureSession,
    SharedCaptureEnd,
)
from ninfer_lab.contract.target import Assessment, TargetSketch
from ninfer_lab.contract.transaction import TransactionHandle


class ProgramApi(Protocol):
    """The physical authority, as logical policy sees it."""

    @property
    def resource_revision(self) -> int:
        """Grows whenever global facts change (REV-2)."""
        ...

    def root_candidate(self, request: AdmissionRequest) -> AdmissionCandidate:
        """The candidate that is always there (CAND-1)."""
        ...

    def verify(
        self, request: AdmissionRequest, checkpoint: CheckpointRef, disposition: SourceDisposition
    ) -> AdmissionCandidate | NotReusable:
        """Compares a shortlisted checkpoint with the prompt, exactly (IDN-1, IDN-3, CAND-2)."""
        ...

    def assess(self, target: TargetSketch) -> Assessment:
        """Projects the complete post-state and every stage towards it. Reads only.

        Raises:
            PlanRefused: A source or an outcome of another generation than its owner has, or an
                outcome of the source's own owner.
        """
        ...

    def can_ever_run(self, request: AdmissionRequest) -> bool:
        """Whether the isolated root fits the engine's contract at all (RES-1)."""
        ...

    def plan(
        self, candidates: Sequence[AdmissionCandidate], victims: Sequence[OwnerRef]
    ) -> PlanningSession:
        """Makes the current revision ready for many targets (SRCH-10).

        Args:
            candidates: Root first.
            victims: Inactive owners that nobody leans on, ascending by id.
        """
        ...

    def seal(self, assessment: Assessment, intent: ActivationIntent) -> ResourcePlan:
        """Turns a feasible, current assessment into a plan that Program remembers.

        Raises:
            PlanRefused: Infeasible, or assessed at another revision, or the lane is taken, or the
                destination is there already.
        """
        ...

    def start(self, plan: ResourcePlan) -> TransactionHandle:
        """Uses a sealed plan up and opens its transition.

        Raises:
            PlanRefused: Stale, forged or used before, or another transition is open; nothing has
                happened.
        """
        ...

    def advance(self, transaction: TransactionHandle) -> ResourceResult | None:
        """Carries the open transition as far as it goes now.

        Returns:
            Its stable end, or `None` while copies are in flight.
        """
        ...

    def cancel(self, transaction: TransactionHandle) -> None:
        """Asks for the other end; taken at the next stable phase boundary (TXN-4)."""
        ...

    def prefill_work(
        self,
        request: AdmissionRequest,
        start_tokens: int,
        end_tokens: int,
        offers_tokens: Collection[int] = (),
    ) -> PrefillWork:
        """The canonical prefill of a part of a prompt, exact (CPT-1).

        Args:
            offers_tokens: Frontiers at which it would be cut beside those where it must be.
        """
        ...

    def is_prefix_of(self, checkpoint: CheckpointRef, handle: SequenceHandle) -> bool:
        """Whether a checkpoint is exactly the sequence's state at the same frontier (IDN-1)."""
        ...

    def is_offered(self, handle: SequenceHandle) -> bool:
        """Whether the sequence stands where a shared prefix was to be offered, and it can be had of
        its state there.
        """
        ...

    def plan_capture(
        self, handle: SequenceHandle, owners: Sequence[OwnerRef], protected: Collection[OwnerId]
    ) -> CaptureSession:
        """Makes the current revision ready for the targets of one capture (CPT-2).

        Args:
            handle: At an offered frontier.
            owners: All inactive owners, ascending by id.
            protected: Those among them that may not give way.
        """
        ...

    def seal_capture(self, assessment: Assessment, intent: CaptureIntent) -> CapturePlan:
        """As `seal`, for a shared owner of a sequence's state.

        Raises:
            PlanRefused: Infeasible, or assessed at another revision, or the owner is there.
        """
        ...

    def start_capture(self, plan: CapturePlan) -> TransactionHandle:
        """As `start`.

        Raises:
            PlanRefused: Stale, forged or used before; nothing has happened.
        """
        ...

    def advance_capture(self, transaction: TransactionHandle) -> SharedCaptureEnd | None:
        """As `advance`."""
        ...

    def release(self, owner: OwnerRef) -> OwnerEnd:
        """Ends an inactive owner outside any admission (TXN-7).

        Raises:
            InvariantBroken: It is not inactive at this generation, or a transition is open.
        """
        ...

    def prove_backfill(self, proof: BackfillQuestion) -> bool:
        """Whether a borrower may run without delaying the head, at this revision (BKF-1)."""
        ...
