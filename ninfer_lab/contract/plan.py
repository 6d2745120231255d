"""What was decided, sealed? One value per plan, used once (TXN-1); and what is captured on the way.

Owns `ResourcePlan`, and the values by which a capture is wanted, offered and told its terms. A
plan's author, Program, remembers it and takes it back by identity: a copy, a forgery, a second use
and a stale revision are all refused before any effect.
"""

from __future__ import annotations

from dataclasses import dataclass

from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.ids import CheckpointRef, LaneId, OwnerRef, PlanId
from ninfer_lab.contract.target import Assessment


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCapture:
    """A checkpoint wanted at a frontier of the prompt, if there is room when it is reached
    (INV-17).
    """

    kind: CheckpointKind
    frontier_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureOffer:
    """A frontier has been reached where a capture was planned: Program asks for the terms.

    Attributes:
        is_at_start: The sequence has not run since it became active.
        lineage: What it carries now, ascending by frontier.
        later: Captures still planned above it, ascending.
    """

    planned: PlannedCapture
    is_at_start: bool
    lineage: tuple[CheckpointSummary, ...]
    later: tuple[PlannedCapture, ...]

    @property
    def older_rewrite(self) -> CheckpointRef | None:
        """The rewrite checkpoint that the lineage has: there is one place for it."""
        return next((c.ref for c in self.lineage if c.kind.is_rewrite), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureTerms:
    """What logical policy says to an offer.

    Attributes:
        gives_way: The checkpoint of the lineage whose place is taken, and whose places count as
            room; `None` where one more may stand beside the others.
        leaves_slots_count: Device slots that the capture must leave free for later ones.
    """

    gives_way: CheckpointRef | None = None
    leaves_slots_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivationIntent:
    """What logical policy wants of an admission beside the target itself.

    Attributes:
        lane: Where the sequence runs.
        destination: The owner it becomes at its end, minted by ResourceManager (SRCH-10); `None` if
            the request may leave nothing behind.
        captures: Ascending by frontier.
        terms_at_start: Of an anchor wanted where a consumed endpoint is left: without a Device slot
            for it the transition itself saves the image to the Host (ANC-3). `None` without one.
        offers_tokens: Frontiers at which execution is cut and a shared prefix is offered, ascending
            (CPT-4).
    """

    lane: LaneId
    destination: OwnerRef | None
    captures: tuple[PlannedCapture, ...]
    terms_at_start: CaptureTerms | None = None
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
