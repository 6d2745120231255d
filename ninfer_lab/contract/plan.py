"""What was decided, sealed? One value per plan, used once (TXN-1).

Owns `ResourcePlan`. Its author, Program, remembers it and takes it back by identity: a copy, a
forgery, a second use and a stale revision are all refused before any effect.
"""

from __future__ import annotations

from dataclasses import dataclass

from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.ids import LaneId, OwnerRef, PlanId
from ninfer_lab.contract.target import Assessment


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCapture:
    """A checkpoint wanted at a frontier of the prompt, if there is room when it is reached
    (INV-17).
    """

    kind: CheckpointKind
    frontier_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivationIntent:
    """What logical policy wants of an admission beside the target itself.

    Attributes:
        lane: Where the sequence runs.
        destination: The owner it becomes at its end, minted by ResourceManager (SRCH-10); `None` if
            the request may leave nothing behind.
        captures: Ascending by frontier.
        offers_tokens: Frontiers at which execution is cut and a shared prefix is offered, ascending
            (CPT-4).
    """

    lane: LaneId
    destination: OwnerRef | None
    captures: tuple[PlannedCapture, ...]
    offers_tokens: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcePlan:
    """A feasible assessment, made executable once.

    Attributes:
        assessment: What Program proved; its revision is the plan's.
        intent: Fixed with it: a sealed plan cannot be changed (CPT-4).
    """

    id: PlanId
    assessment: Assessment
    intent: ActivationIntent

    @property
    def resource_revision(self) -> int:
        """The revision at which the proof holds."""
        return self.assessment.resource_revision
