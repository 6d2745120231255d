"""What is a cache design, to the Engine?

Owns the one protocol behind which every design stands: ResourceManager with Program is one, each
policy another. The step loop, scheduler, frontend and machine are the same for all. Does not know
how any design works.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from ninfer_lab.contract.candidate import AdmissionRequest, ReusePath
from ninfer_lab.contract.capacity import Occupancy
from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.demand_report import DemandTold
from ninfer_lab.contract.ids import CheckpointId, OwnerId, RequestId, SequenceHandle
from ninfer_lab.contract.placement import LedgerSnapshot
from ninfer_lab.contract.plan import FinalSchedule
from ninfer_lab.contract.result import CaptureResult, SequenceEnd, Settlement
from ninfer_lab.contract.search_report import SearchReport
from ninfer_lab.contract.shared_report import SharedCaptureTold
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.contract.transaction import TransactionPhase
from ninfer_lab.contract.work import Cut


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The request is Active: it will finish, whatever else happens (ACT-1).

    Attributes:
        handle: Names the sequence and the lane the design chose.
        reuse_tokens: Prompt tokens that need no forward.
        report: Every target the design looked at.
        capture: What was captured at the very frontier the request starts from.
        schedule: How the prompt is computed from there, fixed by now (CPT-4); `None` for a design
            that fixes it as it goes.
        demand: What joined the window of demands; `None` of a design that keeps none.
    """

    handle: SequenceHandle
    path: ReusePath
    state: StateTransition
    reuse_tokens: int
    cow_pages: int
    evicted: tuple[OwnerId, ...]
    report: SearchReport
    capture: CaptureResult | None
    schedule: FinalSchedule | None = None
    demand: DemandTold | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporarilyBlocked:
    """Feasible alone, blocked now (RES-1); worth another look once `revision` has passed."""

    revision: int
    reason: str
    report: SearchReport


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedsTransfer:
    """Feasible, and under way: copies between Device and Host are in flight (RES-1).

    `CacheController.poll` tells how it ended.
    """

    report: SearchReport


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionAborted:
    """The transition ended without the request becoming Active (TXN-6).

    Attributes:
        was_cancelled: Taken back on request; otherwise a copy failed, and `detail` says how.
        phase: How far it had come.
        evicted: Owners that had been released before.
        deleted: Checkpoints that had ended before, of owners that stay.
    """

    was_cancelled: bool
    detail: str
    phase: TransactionPhase
    evicted: tuple[OwnerId, ...]
    deleted: tuple[CheckpointId, ...]
    report: SearchReport


@dataclass(frozen=True, slots=True, kw_only=True)
class PermanentlyInfeasible:
    """Even alone it does not fit the engine's contract (RES-1)."""

    reason: str


Admission = Admitted | NeedsTransfer | AdmissionAborted | TemporarilyBlocked | PermanentlyInfeasible


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSnapshot:
    """What the design holds, for recordings, laws and pictures; never read by the engine's
    decisions.
    """

    ledger: LedgerSnapshot
    catalog: tuple[CatalogEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEntry:
    """One inactive owner, as logical policy sees it."""

    owner: OwnerId
    session_key: str | None
    publication_order: int
    checkpoints: tuple[CheckpointSummary, ...]


class CacheController(Protocol):
    """Bind a request to a source, let it run, settle it."""

    @property
    def revision(self) -> int:
        """A blocked request is looked at again only after this has changed (RES-1)."""
        ...

    def admit(self, request: AdmissionRequest) -> Admission:
        """Chooses source and lane, makes room, and guarantees completion."""
        ...

    def poll(self) -> Admitted | AdmissionAborted | SharedCaptureTold | None:
        """How the transition under way has ended, once it has; `None` before.

        A `SharedCaptureTold` ends a capture that `on_forward` has told to be under way.
        """
        ...

    def cancel_admission(self) -> None:
        """Takes back whatever is under way, admission or capture; `poll` tells the end."""
        ...

    def may_backfill(
        self,
        head: AdmissionRequest,
        borrower: AdmissionRequest,
        donors: Mapping[RequestId, SequenceHandle],
    ) -> bool:
        """Whether a later request may run now without the head being delayed by it (BKF-1).

        Args:
            head: The blocked head of the queue.
            borrower: A request behind it.
            donors: Active requests that the head waits for: those that ran when it became
                blocked, no earlier borrower among them.
        """
        ...

    def can_run(self, handle: SequenceHandle) -> bool:
        """Whether the sequence's next forward may run beside the transition under way (TXN-7)."""
        ...

    def grow_lease(self, handle: SequenceHandle) -> bool:
        """Makes sure that the next forward has pages (ACT-4); asked before every forward.

        Returns:
            Whether it has; if not, the answer must end here.
        """
        ...

    def next_cut(self, handle: SequenceHandle) -> Cut:
        """The next forward: one token after the prompt, else at most one chunk and never across a
        frontier where execution must be cut (IDN-3). Maps the pages the cut needs.
        """
        ...

    def on_forward(self, handle: SequenceHandle) -> CaptureResult:
        """The cut last given out has run; captures a checkpoint where one was planned.

        Returns:
            What was captured. Where `shared` is under way the sequence rests until it has ended.
        """
        ...

    def on_accept(self, handle: SequenceHandle, token_id: int) -> None:
        """A drawn token joined the exact history."""
        ...

    def finish(self, handle: SequenceHandle, end: SequenceEnd) -> Settlement:
        """Terminal settlement: after it the handle is dead and its guarantee returned (ACT-5)."""
        ...

    def occupancy(self) -> Occupancy:
        """Used_r of every axis now. Reads only."""
        ...

    def describe(self) -> ControllerSnapshot:
        """A complete picture of what is held. Reads only."""
        ...
