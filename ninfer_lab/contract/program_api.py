"""What does ResourceManager hold of Program? (ROLE-4)

Owns the protocol alone: candidates and targets go in, verdicts, plans and absolute results come
out. No placement, refcount, free count or price crosses it (ROLE-2, COST-1).
"""

from __future__ import annotations

from typing import Protocol

from ninfer_lab.contract.candidate import (
    AdmissionCandidate,
    AdmissionRequest,
    NotReusable,
    SourceDisposition,
)
from ninfer_lab.contract.ids import CheckpointRef
from ninfer_lab.contract.plan import ActivationIntent, ResourcePlan
from ninfer_lab.contract.result import ResourceResult
from ninfer_lab.contract.target import Assessment, TargetSketch


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
        """Projects the complete post-state and every stage towards it. Reads only."""
        ...

    def can_ever_run(self, request: AdmissionRequest) -> bool:
        """Whether the isolated root fits the engine's contract at all (RES-1)."""
        ...

    def seal(self, assessment: Assessment, intent: ActivationIntent) -> ResourcePlan:
        """Turns a feasible, current assessment into a plan that Program remembers.

        Raises:
            PlanRefused: Infeasible, or assessed at another revision, or the lane is taken.
        """
        ...

    def start(self, plan: ResourcePlan) -> ResourceResult:
        """Runs a sealed plan.

        Raises:
            PlanRefused: Stale, forged or used before; nothing has happened.
        """
        ...
