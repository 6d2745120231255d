"""Which checkpoints have been started from, how often, and when last?

Owns the observations. An endpoint and a rewrite checkpoint are one of a kind in their owner: when a
request consumes the owner and publishes it again, what was observed of the kind stays true. Anchors
are remembered one by one. Does not know what a hit is worth.
"""

from __future__ import annotations

from typing import NamedTuple

from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.ids import CheckpointId, OwnerId


class Hits(NamedTuple):
    """What was observed of one checkpoint.

    Attributes:
        hits_count: Requests that started from it.
        last_order: Publication order of the last of them.
    """

    hits_count: int = 0
    last_order: int = 0


_SINGLETONS = (
    CheckpointKind.SESSION_ENDPOINT,
    CheckpointKind.TURN_CLOSURE,
    CheckpointKind.RESPONSE_REPLAY,
)


class HitHistory:
    """Hits by owner, and there by kind or by checkpoint."""

    def __init__(self) -> None:
        self._by_owner: dict[OwnerId, dict[CheckpointKind | CheckpointId, Hits]] = {}

    def observe(self, checkpoint: CheckpointSummary, publication_order: int) -> None:
        """A request has started from it."""
        hits = self._by_owner.setdefault(checkpoint.ref.owner, {})
        key = _key(checkpoint)
        hits[key] = Hits(hits.get(key, Hits()).hits_count + 1, publication_order)

    def of(self, checkpoint: CheckpointSummary) -> Hits:
        """What was observed of it; never hit is a count of 0."""
        return self._by_owner.get(checkpoint.ref.owner, {}).get(_key(checkpoint), Hits())

    def forget(self, owner: OwnerId) -> None:
        """The owner is no more."""
        self._by_owner.pop(owner, None)


def _key(checkpoint: CheckpointSummary) -> CheckpointKind | CheckpointId:
    return checkpoint.kind if checkpoint.kind in _SINGLETONS else checkpoint.ref.id
