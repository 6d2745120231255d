"""What is a checkpoint, seen from outside Program?

Owns the five kinds (OWN-4) and the summary that crosses to the catalog: an immutable, complete
state at one frontier. Does not know where its StateImage and pages lie.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ninfer_lab.contract.ids import CheckpointRef


class CheckpointKind(Enum):
    """What a checkpoint was kept for (OWN-4)."""

    SESSION_ENDPOINT = "session_endpoint"
    """The latest continuable state of a finished request: the tokens its state has consumed."""
    TURN_CLOSURE = "turn_closure"
    """Before this turn's assistant suffix, which the next request may rewrite."""
    RESPONSE_REPLAY = "response_replay"
    """Before the generation opener: the response can be generated again."""
    LONG_ANCHOR = "long_anchor"
    """An earlier point of a long context, kept by retention policy."""
    SHARED_STABLE_PREFIX = "shared_stable_prefix"
    """Common to several histories."""

    @property
    def is_rewrite(self) -> bool:
        """TurnClosure and ResponseReplay share one place in a continuation."""
        return self in (CheckpointKind.TURN_CLOSURE, CheckpointKind.RESPONSE_REPLAY)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSummary:
    """What the catalog may know of a checkpoint: never a placement.

    Attributes:
        ref: Names it to Program.
        kind: Why it is kept.
        frontier_tokens: Tokens its state has consumed.
        prefix_digest: Digest of exactly those tokens: narrows a search, proves nothing (IDN-4).
    """

    ref: CheckpointRef
    kind: CheckpointKind
    frontier_tokens: int
    prefix_digest: bytes

    def __str__(self) -> str:
        return f"{self.kind.value}@{self.frontier_tokens}"
