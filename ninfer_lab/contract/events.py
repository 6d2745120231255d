"""What happened, in order? One immutable value per arrow of the engine (RCD-1).

Owns the event types. They are facts about the past: nothing in the engine reads them back. Times
are on the engine's clock. Request fields follow the original engine's request log where it has them
(RCD-3). What is told of every forward or request is a named tuple, which is made fastest.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from ninfer_lab.contract.candidate import ReusePath
from ninfer_lab.contract.capacity import Occupancy
from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.demand_report import DemandTold
from ninfer_lab.contract.ids import CheckpointId, LaneId, OwnerId, RequestId, SessionKey
from ninfer_lab.contract.machine_work import MachineWork
from ninfer_lab.contract.options import CacheMode
from ninfer_lab.contract.output import FinishReason
from ninfer_lab.contract.placement_change import PlacementChange
from ninfer_lab.contract.plan import FinalSchedule
from ninfer_lab.contract.prompt import RewriteBoundary
from ninfer_lab.contract.result import CaptureResult
from ninfer_lab.contract.search_report import SearchReport
from ninfer_lab.contract.seen_prefix import SeenPrefix
from ninfer_lab.contract.shared_report import SharedCaptureTold
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.contract.transaction import TransactionPhase
from ninfer_lab.contract.work import ForwardPhase, StateAccess


class RequestSubmitted(NamedTuple):
    """A prompt was prepared and joined the queue."""

    at_ns: int
    request: RequestId
    prompt_tokens: int
    max_output_tokens: int
    mode: CacheMode
    session_key: SessionKey | None
    rewrite_boundaries: tuple[RewriteBoundary, ...]


class RequestBlocked(NamedTuple):
    """The head could not be admitted now; it is looked at again after `revision` (RES-1)."""

    at_ns: int
    request: RequestId
    revision: int
    reason: str
    report: SearchReport


class RequestAdmitted(NamedTuple):
    """A request became Active.

    Attributes:
        report: The targets that were looked at, and the one that was carried out.
        seen: What the prompt shares with earlier ones; `None` where nobody remembers.
        schedule: How the rest of the prompt is computed, as it was sealed (CPT-4); `None` where the
            design fixes it as it goes.
        demand: What it wanted of shared prefixes; `None` of a design that keeps no such window, or
            of a request that does without the cache.
    """

    at_ns: int
    request: RequestId
    lane: LaneId
    path: ReusePath
    state: StateTransition
    reuse_tokens: int
    cow_pages: int
    evicted: tuple[OwnerId, ...]
    report: SearchReport
    seen: SeenPrefix | None = None
    schedule: FinalSchedule | None = None
    demand: DemandTold | None = None


class TransitionEnding(Enum):
    """The stable ends of a transition (TXN-6)."""

    COMMITTED = "committed"
    CANCELLED = "cancelled"
    COPY_FAILED = "a copy failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransitionStarted:
    """Copies between Device and Host are under way for a request (RES-1).

    Attributes:
        work: Everything that is to be copied, batch by batch, and what is to be prefilled then.
    """

    at_ns: int
    request: RequestId
    path: ReusePath
    reuse_tokens: int
    work: MachineWork


class TransitionEnded(NamedTuple):
    """A transition reached a stable end; a commit's `RequestAdmitted` follows.

    Told of those that took time, after their `TransitionStarted`; and of those that were given up
    at once, since what they released stays released.

    Attributes:
        started_ns: When it began: the copies took no longer than from then to `at_ns`.
        phase: How far it came; COMMITTED for a commit.
        detail: What the machine said, for COPY_FAILED; else empty.
        evicted: For an abort, owners that had been released and stay released.
        deleted: For an abort, checkpoints that had ended, of owners that stay.
        work: Everything that was to be copied.
        report: For an abort, the search that chose it; a commit's stands in `RequestAdmitted`.
    """

    at_ns: int
    request: RequestId
    started_ns: int
    ending: TransitionEnding
    phase: TransactionPhase
    detail: str
    evicted: tuple[OwnerId, ...]
    deleted: tuple[CheckpointId, ...]
    work: MachineWork
    report: SearchReport | None


class RowRan(NamedTuple):
    """One sequence's part of a forward: tokens `[start_tokens, end_tokens)`.

    Attributes:
        drawn_token: What was drawn from its last logits, if a draw was asked.
    """

    request: RequestId
    lane: LaneId
    start_tokens: int
    end_tokens: int
    state_access: StateAccess
    drawn_token: int | None


class ForwardRan(NamedTuple):
    """One forward of the machine.

    Attributes:
        at_ns: When it ended.
        machine_ns: How long the machine took.
        occupancy: Of every axis, with the rows still active.
    """

    at_ns: int
    phase: ForwardPhase
    rows: tuple[RowRan, ...]
    machine_ns: int
    gathered_bytes: int
    occupancy: Occupancy


class CaptureTried(NamedTuple):
    """A frontier was reached where a checkpoint was wanted."""

    at_ns: int
    request: RequestId
    result: CaptureResult


class SharedCaptureEnded(NamedTuple):
    """A capture whose copies were in flight has come to its end.

    Attributes:
        started_ns: When its frontier was reached, told by a `CaptureTried`.
    """

    at_ns: int
    request: RequestId
    started_ns: int
    told: SharedCaptureTold


class OwnerPublished(NamedTuple):
    """An inactive owner is there.

    Attributes:
        request: Which has finished and left it behind; `None` for a session that was saved before
            and has been restored.
    """

    at_ns: int
    request: RequestId | None
    owner: OwnerId
    checkpoints: tuple[CheckpointSummary, ...]


class RequestFinished(NamedTuple):
    """The end of a request, whatever the end was, in the request log's words (RCD-3).

    Attributes:
        prefix_cache_hit_tokens: Prompt tokens that needed no forward.
        computed_prefill_tokens: Prompt tokens that had one.
        queue_wait_ns: Submit to admission; `None` if it never was admitted.
        ttft_ns: Submit to first drawn token.
        reconstruction_boundary_tokens: IDN-5, relative to the output; `None` if the history
            renderer will not bring the output back.
        occupancy: After the settlement.
        error: What the machine raised, for FAILED.
    """

    at_ns: int
    request: RequestId
    finish_reason: FinishReason
    prompt_tokens: int
    completion_tokens: int
    prefix_cache_hit_tokens: int
    computed_prefill_tokens: int
    prefix_reuse_path: ReusePath | None
    queue_wait_ns: int | None
    ttft_ns: int | None
    total_ns: int
    reconstruction_boundary_tokens: int | None
    occupancy: Occupancy
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerChanged:
    """The ledger as the next event finds it, or as it was where a transition reached a stage; told
    only where placements are recorded.

    Attributes:
        is_keyframe: Whether the change is told from an empty ledger, not from the one before.
    """

    at_ns: int
    is_keyframe: bool
    change: PlacementChange


Event = (
    RequestSubmitted
    | RequestBlocked
    | TransitionStarted
    | TransitionEnded
    | RequestAdmitted
    | ForwardRan
    | CaptureTried
    | SharedCaptureEnded
    | OwnerPublished
    | RequestFinished
    | LedgerChanged
)
