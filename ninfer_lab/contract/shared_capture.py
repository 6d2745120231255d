"""What crosses between logical policy and Program when a shared prefix is to be written? (CPT)

Owns the offer's answer as values: what is wanted, the sealed plan, and its absolute ends. A capture
is optional: nobody waits for it but the sequence whose frontier it is. Does not know whether it is
worth it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ninfer_lab.contract.ids import OwnerRef, PlanId, SequenceHandle
from ninfer_lab.contract.machine_work import MachineWork
from ninfer_lab.contract.planning import PlanningSession
from ninfer_lab.contract.result import AbortCause, OwnerChange, OwnerEnd, OwnerState
from ninfer_lab.contract.shared_report import CaptureForm
from ninfer_lab.contract.target import Assessment
from ninfer_lab.contract.transaction import TransactionPhase


class NewRecoveries(NamedTuple):
    """How the frontier of a shared owner to come could be reached again.

    Attributes:
        rebuild: Canonical prefill from root.
        recipes: What its form leaves; the rebuild always among them (VAL-2).
    """

    rebuild: MachineWork
    recipes: tuple[MachineWork, ...]


class CaptureSession(PlanningSession, Protocol):
    """All targets of one capture at one revision: each form is a candidate. Reads only."""

    @property
    def forms(self) -> Sequence[CaptureForm]:
        """Of the candidates, in their order; the cheapest kind first."""
        ...

    def new_recoveries(self, candidate: int) -> NewRecoveries:
        """Of the owner that a form would publish."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureIntent:
    """A shared owner wanted of a sequence's committed state.

    Attributes:
        destination: Minted by ResourceManager (SRCH-10).
        form: Of the candidate that was assessed.
    """

    handle: SequenceHandle
    destination: OwnerRef
    form: CaptureForm


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturePlan:
    """A feasible assessment of a capture, made executable once (TXN-1)."""

    id: PlanId
    assessment: Assessment
    intent: CaptureIntent

    @property
    def resource_revision(self) -> int:
        """The revision at which the proof holds."""
        return self.assessment.resource_revision


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPublished:
    """A shared owner stands: absolute and stable.

    Attributes:
        handle: Whose state it was.
        published: The owner, one checkpoint.
        evicted: Owners released under pressure, a replaced entry among them.
        degraded: Owners that stay with fewer or other replicas.
        form: How it came by its image.
        resource_revision: After the commit.
    """

    handle: SequenceHandle
    published: OwnerState
    evicted: tuple[OwnerEnd, ...]
    degraded: tuple[OwnerChange, ...]
    form: CaptureForm
    resource_revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedAborted:
    """No shared owner stands; what was released or demoted before stays so (TXN-6).

    Attributes:
        detail: What the machine said, for COPY_FAILED.
        phase: How far it had come.
    """

    handle: SequenceHandle
    cause: AbortCause
    detail: str
    phase: TransactionPhase
    evicted: tuple[OwnerEnd, ...]
    degraded: tuple[OwnerChange, ...]
    resource_revision: int


SharedCaptureEnd = SharedPublished | SharedAborted
