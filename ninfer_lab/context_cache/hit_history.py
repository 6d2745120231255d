"""How often was each kept checkpoint started from, and when last?

Owns the observed hits. A kind that an owner has one of is counted by its kind, so that what the
next turn publishes in its place inherits the history; the others by their own id. Orders ties
(SRCH-8) and recency (SRCH-4); proves nothing and is no value by itself.
"""

from __future__ import annotations

from ninfer_lab.contract.candidate import CheckpointSource
from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.ids import CheckpointId, OwnerId

Hits = tuple[int, int]
"""(count, publication order of the request that hit last)."""

NEVER: Hits = (0, 0)

_Place = CheckpointKind | CheckpointId


class HitHistory:
    """Hits by owner, and by place within it."""

    def __init__(self) -> None:
        self._hits: dict[OwnerId, dict[_Place, Hits]] = {}

    def hit(self, source: CheckpointSource, publication_order: int) -> None:
        """A request that started from it became Active."""
        of_owner = self._hits.setdefault(source.owner.id, {})
        place = _place(source.kind, source.checkpoint.id)
        count, last = of_owner.get(place, NEVER)
        of_owner[place] = count + 1, max(last, publication_order)

    def of(self, checkpoint: CheckpointSummary) -> Hits:
        """Of a checkpoint, or of what stood in its place before."""
        of_owner = self._hits.get(checkpoint.ref.owner)
        if of_owner is None:
            return NEVER
        return of_owner.get(_place(checkpoint.kind, checkpoint.ref.id), NEVER)

    def last_of(self, owner: OwnerId) -> int:
        """When anything of an owner was hit last; 0 for never."""
        return max((last for _, last in self._hits.get(owner, {}).values()), default=0)

    def forget(self, owner: OwnerId) -> None:
        """The owner is gone for good: its lineage does not go on."""
        self._hits.pop(owner, None)


def _place(kind: CheckpointKind, checkpoint: CheckpointId) -> _Place:
    return checkpoint if kind is CheckpointKind.LONG_ANCHOR else kind
