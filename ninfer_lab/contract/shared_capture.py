"""What crosses between logical policy and Program when a shared prefix is to be written? (CPT)

Owns the offer's answer as values: what is wanted, the sealed plan, and its absolute ends. A capture
is optional: nobody waits for it but the sequence whose frontier it is. Does not know whether it is
worth it.
"""

from __future__ import annotations

from dataclasses import dataclass

from ninfer_lab.contract.ids import OwnerRef, PlanId, SequenceHandle
from ninfer_lab.contract.result import AbortCause, OwnerChange, OwnerEnd, OwnerState
from ninfer_lab.contract.target import Assessment
from ninfer_lab.contract.transaction import TransactionPhase


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureIntent:
    """A shared owner wanted of a sequence's committed state.

    Attributes:
        destination: Minted by ResourceManager (SRCH-10).
    """

    handle: SequenceHandle
    destination: OwnerRef


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
        is_promotion: Whether an exact checkpoint was there already and lent its contents (SHR-6).
        resource_revision: After the commit.
    """

    handle: SequenceHandle
    published: OwnerState
    evicted: tuple[OwnerEnd, ...]
    degraded: tuple[OwnerChange, ...]
    is_promotion: bool
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
