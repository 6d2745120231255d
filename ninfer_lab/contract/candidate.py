"""From where could a request start? (CAND)

Owns the admission request and the candidates: root, or a checkpoint that Program has verified token
by token. A candidate fixes source, disposition and work; it reserves nothing (INV-17) and leaves
Move, Fork and victims to the target. Does not know which candidate is best.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.ids import CheckpointRef, LaneId, OwnerRef, RequestId, SessionKey
from ninfer_lab.contract.options import CacheMode
from ninfer_lab.contract.planned_capture import PlannedCapture
from ninfer_lab.contract.prompt import PreparedPrompt
from ninfer_lab.contract.request_purpose import RequestPurpose


class AdmissionMoment(NamedTuple):
    """The moment between forwards at which requests are looked at (SRCH-7).

    Attributes:
        ordinal: Tells it from every other: head and borrowers of one moment share an allowance.
        others_runnable_count: Requests that a long look keeps waiting.
    """

    ordinal: int
    others_runnable_count: int


FIRST_MOMENT = AdmissionMoment(0, 0)
"""Before any request has been looked at; nobody else could run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionRequest:
    """What the Scheduler picked, as a cache design sees it.

    Attributes:
        max_output_tokens: Effective maximum: never `None`, and prompt plus output fit the context.
        publication_order: Grows with every submitted request; decides which result updates a
            session.
        free_lanes: Lanes without an active request, ascending. The design chooses (LANE-4).
        tells_targets: Whether every target that is looked at is to be told; changes no decision.
        purpose: What the client says it is for; a design may heed it.
    """

    request: RequestId
    prompt: PreparedPrompt
    max_output_tokens: int
    mode: CacheMode
    session_key: SessionKey | None
    publication_order: int
    free_lanes: tuple[LaneId, ...]
    moment: AdmissionMoment = FIRST_MOMENT
    tells_targets: bool = False
    purpose: RequestPurpose = RequestPurpose.CONVERSATION


class SourceDisposition(Enum):
    """What becomes of the source's owner (ANC-4 for the rule)."""

    RETAIN = "retain"
    """The owner stays as it is; the request gets a Fork."""
    CONSUME = "consume"
    """The owner's lineage becomes the active sequence."""


class ReusePath(Enum):
    """How a request started, in the original engine's log words (RCD-3)."""

    ROOT = "root"
    PRIVATE_ENDPOINT = "private_endpoint"
    PRIVATE_TURN_CLOSURE = "private_turn_closure"
    PRIVATE_RESPONSE_REPLAY = "private_response_replay"
    PRIVATE_LONG_ANCHOR = "private_long_anchor"
    SHARED_STABLE_PREFIX = "shared_stable_prefix"
    # What the lane-owned engine says of itself (LANE-2).
    FULL_RESET = "full_reset"
    APPEND_AT_FRONTIER = "append_at_frontier"
    RESTORE_TURN_CHECKPOINT = "restore_turn_checkpoint"
    RESTORE_RESPONSE_CHECKPOINT = "restore_response_checkpoint"

    @property
    def is_root(self) -> bool:
        """Nothing was reused."""
        return self in (ReusePath.ROOT, ReusePath.FULL_RESET)


_PATH_OF_KIND = {
    CheckpointKind.SESSION_ENDPOINT: ReusePath.PRIVATE_ENDPOINT,
    CheckpointKind.TURN_CLOSURE: ReusePath.PRIVATE_TURN_CLOSURE,
    CheckpointKind.RESPONSE_REPLAY: ReusePath.PRIVATE_RESPONSE_REPLAY,
    CheckpointKind.LONG_ANCHOR: ReusePath.PRIVATE_LONG_ANCHOR,
    CheckpointKind.SHARED_STABLE_PREFIX: ReusePath.SHARED_STABLE_PREFIX,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSource:
    """An exact checkpoint to start from.

    Attributes:
        owner: With its generation at verification: a snapshot for one planning (ROLE-5).
    """

    owner: OwnerRef
    checkpoint: CheckpointRef
    kind: CheckpointKind
    disposition: SourceDisposition


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionCandidate:
    """Root (`source is None`) or a verified checkpoint source.

    Attributes:
        reuse_tokens: Frontier of the source, 0 for root; always below the prompt's length, for the
            last prompt token must be computed to draw from.
        prefill_tokens: The rest of the prompt.
        captures: Checkpoints that its base plan leaves on the way, ascending: their cuts, and the
            image that one at the start may save to the Host, are part of its work (ANC-3).
    """

    request: AdmissionRequest
    source: CheckpointSource | None
    reuse_tokens: int
    prefill_tokens: int
    captures: tuple[PlannedCapture, ...] = ()

    @property
    def path(self) -> ReusePath:
        """The log word for it."""
        return ReusePath.ROOT if self.source is None else _PATH_OF_KIND[self.source.kind]

    @property
    def is_consuming(self) -> bool:
        """Whether the source's owner becomes the active lineage."""
        return self.source is not None and self.source.disposition is SourceDisposition.CONSUME

    @property
    def anchors_its_start(self) -> bool:
        """Whether the endpoint that it consumes is to stay as an anchor (ANC-3)."""
        source = self.source
        return (
            source is not None
            and source.kind is CheckpointKind.SESSION_ENDPOINT
            and source.disposition is SourceDisposition.CONSUME
            and any(
                capture.frontier_tokens == self.reuse_tokens
                and capture.kind is CheckpointKind.LONG_ANCHOR
                for capture in self.captures
            )
        )

    def __str__(self) -> str:
        return f"{self.path.value}: reuse {self.reuse_tokens}, prefill {self.prefill_tokens} tokens"


class NotReusable(Enum):
    """Why a shortlisted checkpoint is no candidate (IDN-1, IDN-3)."""

    STALE = "the checkpoint no longer exists"
    IDENTITY_DIFFERS = "template, runtime mode or modality differ"
    TOKENS_DIFFER = "the tokens differ below the frontier"
    FRONTIER_TOO_DEEP = "the frontier leaves no prompt token to compute"
    EXECUTION_CUTS_DIFFER = "the prefill would have been cut elsewhere"
