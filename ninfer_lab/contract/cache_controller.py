"""What is a cache design, to the Engine?

Owns the one protocol behind which every design stands: ResourceManager with Program is one, each
policy another. The step loop, scheduler, frontend and machine are the same for all. Does not know
how any design works.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ninfer_lab.contract.candidate import AdmissionRequest, ReusePath
from ninfer_lab.contract.capacity import Occupancy
from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.ids import OwnerId, SequenceHandle
from ninfer_lab.contract.placement import LedgerSnapshot
from ninfer_lab.contract.result import CaptureResult, SequenceEnd, Settlement
from ninfer_lab.contract.search_report import SearchReport
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.contract.work import Cut


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The request is Active: it will finish, whatever else happens (ACT-1).

    Attributes:
        handle: Names the sequence and the lane the design chose.
        reuse_tokens: Prompt tokens that need no forward.
        report: Every target the design looked at.
        capture: What was captured at the very frontier the request starts from.
    """

    handle: SequenceHandle
    path: ReusePath
    state: StateTransition
    reuse_tokens: int
    cow_pages: int
    evicted: tuple[OwnerId, ...]
    report: SearchReport
    capture: CaptureResult | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporarilyBlocked:
    """Feasible alone, blocked now (RES-1); worth another look once `revision` has passed."""

    revision: int
    reason: str
    report: SearchReport


@dataclass(frozen=True, slots=True, kw_only=True)
class PermanentlyInfeasible:
    """Even alone it does not fit the engine's contract (RES-1)."""

    reason: str


Admission = Admitted | TemporarilyBlocked | PermanentlyInfeasible


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

    def next_cut(self, handle: SequenceHandle) -> Cut:
        """The next forward: one token after the prompt, else at most one chunk and never across a
        frontier where execution must be cut (IDN-3). Maps the pages the cut needs.
        """
        ...

    def on_forward(self, handle: SequenceHandle) -> CaptureResult:
        """The cut last given out has run; captures a checkpoint where one was planned."""
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
