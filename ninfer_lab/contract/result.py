"""What is the case now? The absolute results that Program hands back and ResourceManager adopts
(TXN-5).

Owns result values: complete states of owners, never deltas. Does not know how they came about.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from ninfer_lab.contract.candidate import AdmissionCandidate
from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.ids import CheckpointRef, OwnerRef, SequenceHandle
from ninfer_lab.contract.plan import FinalSchedule
from ninfer_lab.contract.shared_report import SharedCaptureTold
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.contract.transaction import TransactionPhase


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerState:
    """One inactive owner as it now is, with all its checkpoints."""

    ref: OwnerRef
    checkpoints: tuple[CheckpointSummary, ...]

    def __str__(self) -> str:
        return f"{self.ref}: " + (", ".join(map(str, self.checkpoints)) or "no checkpoint")


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerEnd:
    """An inactive owner that is no more, and exactly which checkpoints went with it (TXN-5)."""

    ref: OwnerRef
    deleted: frozenset[CheckpointRef]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerChange:
    """An inactive owner that is still there, otherwise than before.

    Attributes:
        state: Complete, at its new generation.
        deleted: Exactly the checkpoints it lost; what it had less these is what `state` has
            (TXN-5).
    """

    before: OwnerRef
    state: OwnerState
    deleted: frozenset[CheckpointRef]


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """An admission that has happened: absolute and stable.

    Attributes:
        handle: The active sequence, its completion guaranteed.
        consumed: The source's owner when it became the active lineage.
        evicted: Owners released under pressure.
        degraded: Owners that stay with fewer or other replicas.
        resource_revision: After the commit.
        schedule: How its prompt is computed, as it was sealed (CPT-4).
    """

    handle: SequenceHandle
    candidate: AdmissionCandidate
    state: StateTransition
    cow_pages: int
    consumed: OwnerEnd | None
    evicted: tuple[OwnerEnd, ...]
    degraded: tuple[OwnerChange, ...]
    resource_revision: int
    schedule: FinalSchedule


class AbortCause(Enum):
    """Why a transition came to its other stable end (TXN-6)."""

    CANCELLED = "cancelled"
    COPY_FAILED = "a copy failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Aborted:
    """An admission that has not happened: absolute and stable all the same.

    What was published before the abort stays published: nothing is copied back.

    Attributes:
        detail: What the machine said, for COPY_FAILED.
        phase: How far it had come.
        evicted: Owners that had been released already.
        degraded: Owners that had been degraded already; the source's among them if checkpoints
            above the source were gone.
        resource_revision: After the abort.
    """

    candidate: AdmissionCandidate
    cause: AbortCause
    detail: str
    phase: TransactionPhase
    evicted: tuple[OwnerEnd, ...]
    degraded: tuple[OwnerChange, ...]
    resource_revision: int


ResourceResult = Committed | Aborted


class CaptureOutcome(Enum):
    """What happened at a frontier where a checkpoint was wanted. Skipping is never a failure
    (INV-15).
    """

    CAPTURED = "captured"
    NO_STATE_SLOT = "no Device state slot to spare"
    NO_KV_PAGE = "no free Device page for the writer's copy of the tail"
    COPY_FAILED = "the machine could not copy the tail"
    NOT_WANTED = "nothing is captured at this frontier"


class CaptureResult(NamedTuple):
    """One wanted checkpoint.

    Attributes:
        checkpoint: What was captured, if it was.
        replaced: The older checkpoint of the lineage that it took the place of.
        shared: What came of the chance to write a shared prefix at the same frontier, if there was
            one.
    """

    outcome: CaptureOutcome
    frontier_tokens: int
    checkpoint: CheckpointSummary | None = None
    replaced: CheckpointRef | None = None
    shared: SharedCaptureTold | None = None

    @property
    def is_telling(self) -> bool:
        """Whether anything was wanted here."""
        return self.outcome is not CaptureOutcome.NOT_WANTED or self.shared is not None


class SequenceEnd(Enum):
    """How an active sequence settles (ACT-5)."""

    PUBLISH = "publish"
    """Its state becomes the endpoint; older checkpoints of the lineage stay."""
    KEEP_CHECKPOINTS = "keep_checkpoints"
    """Its state is not to be continued; checkpoints of the lineage stay, if there are any."""
    DISCARD = "discard"
    """Everything goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """The end of an active sequence.

    Attributes:
        published: The inactive owner left behind, `None` if nothing was kept.
        frontier_tokens: Tokens the state had consumed.
        resource_revision: After the settlement.
    """

    published: OwnerState | None
    frontier_tokens: int
    resource_revision: int
