"""What was decided, sealed? One value per plan, used once (TXN-1); and what is captured on the way.

Owns `ResourcePlan` with the schedule that is final with it, and the offer of a capture. A
plan's author, Program, remembers it and takes it back by identity: a copy, a forgery, a second use
and a stale revision are all refused before any effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.ids import CheckpointRef, LaneId, OwnerRef, PlanId
from ninfer_lab.contract.machine_work import PrefillWork
from ninfer_lab.contract.planned_capture import CaptureTerms, PlannedCapture
from ninfer_lab.contract.target import Assessment


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
class FinalScheduleIntent:
    """Where the prefill of the selected candidate is to be cut, the last word on it (CPT-4).

    Attributes:
        captures: The candidate's own, or none of them where nothing may be left behind.
        terms_at_start: Of an anchor wanted where a consumed endpoint is left: without a Device slot
            for it the transition itself saves the image to the Host (ANC-3). `None` without one.
        offers_tokens: Frontiers at which a shared prefix is offered, ascending.
    """

    captures: tuple[PlannedCapture, ...] = ()
    terms_at_start: CaptureTerms | None = None
    offers_tokens: tuple[int, ...] = ()


class FinalSchedule(NamedTuple):
    """How the prompt is computed, once and for all: Program's word, given with the seal (CPT-4).

    Attributes:
        cuts_tokens: Frontiers inside the part to compute at which a forward must end, ascending.
        prefill: That part, with as many forwards as they make of it.
    """

    cuts_tokens: tuple[int, ...]
    prefill: PrefillWork


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivationIntent:
    """What logical policy wants of an admission beside the target itself.

    Attributes:
        lane: Where the sequence runs.
        destination: The owner it becomes at its end, minted by ResourceManager (SRCH-10); `None` if
            the request may leave nothing behind.
        schedule: Where its prefill is cut.
    """

    lane: LaneId
    destination: OwnerRef | None
    schedule: FinalScheduleIntent = FinalScheduleIntent()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcePlan:
    """A feasible assessment, made executable once.

    Attributes:
        assessment: What Program proved; its revision is the plan's.
        intent: Fixed with it: a sealed plan cannot be changed (CPT-4).
        schedule: What Program made of the intent's; final.
    """

    id: PlanId
    assessment: Assessment
    intent: ActivationIntent
    schedule: FinalSchedule

    @property
    def resource_revision(self) -> int:
        """The revision at which the proof holds."""
        return self.assessment.resource_revision
