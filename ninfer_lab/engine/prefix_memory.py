"""What does a prompt share with everything that was computed before?

Owns a bounded memory of consumed histories and of the checkpoints that ever lay on them, so that a
recording can tell for every computed prompt token whether it was new, or why an earlier computation
of it was of no use. An observer: no decision reads it. Does not know what became of a checkpoint.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable

from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.seen_prefix import SeenCheckpoint, SeenPrefix
from ninfer_lab.contract.token_span import TOKEN_BYTES, TokenSpan

CHECKPOINTS_PER_HISTORY = 64
"""The deepest are remembered: a conversation of more turns than that has long lost the others."""

NEIGHBOURS_EACH_WAY = 4
"""Histories beside the nearest that are asked for checkpoints; branches of one prompt rarely are
more.
"""

NOTHING_SEEN = SeenPrefix(tokens=0, diverges=False, deepest=None)
"""Of a prompt whose first token is new."""

_Checkpoints = tuple[SeenCheckpoint, ...]


class PrefixMemory:
    """Histories in the order of their bytes: the one that shares most with a prompt is always a
    neighbour of the place where the prompt would stand.

    Args:
        capacity_tokens: Tokens of all histories; the longest untouched go first.
    """

    def __init__(self, capacity_tokens: int) -> None:
        self._capacity_tokens = capacity_tokens
        self._sorted: list[bytes] = []
        self._checkpoints: OrderedDict[bytes, _Checkpoints] = OrderedDict()
        self._spans: dict[bytes, TokenSpan] = {}
        self._tokens_count = 0

    @property
    def tokens_count(self) -> int:
        """Tokens of all histories remembered now."""
        return self._tokens_count

    def look(self, prompt: TokenSpan, *, reused_tokens: int) -> SeenPrefix:
        """What the prompt shares with the memory. Reads only.

        Args:
            prompt: All its tokens.
            reused_tokens: Checkpoints up to here need no explanation.
        """
        place = bisect_left(self._sorted, prompt.to_bytes())
        shared_tokens, diverges = 0, False
        deepest: SeenCheckpoint | None = None
        for side in (range(place, len(self._sorted)), range(place - 1, -1, -1)):
            if not side:
                continue
            nearest = self._sorted[side[0]]
            common_tokens = prompt.common_prefix_tokens(self._spans[nearest])
            if common_tokens >= shared_tokens:
                goes_on = common_tokens < min(len(nearest) // TOKEN_BYTES, len(prompt))
                diverges = goes_on or (diverges and common_tokens == shared_tokens)
                shared_tokens = common_tokens
            if common_tokens > reused_tokens:
                deepest = self._deepest(prompt, side, common_tokens, (reused_tokens, deepest))
        if shared_tokens == 0:
            return NOTHING_SEEN
        return SeenPrefix(tokens=shared_tokens, diverges=diverges, deepest=deepest)

    def remember(self, history: TokenSpan, checkpoints: Iterable[CheckpointSummary]) -> None:
        """A request has ended: its state consumed `history` and it left these checkpoints.

        A history that another one goes on from is that other one.
        """
        key = history.to_bytes()
        found = {
            each.ref.id: SeenCheckpoint(each.ref, each.frontier_tokens) for each in checkpoints
        }
        place = bisect_left(self._sorted, key)
        if place < len(self._sorted) and self._sorted[place].startswith(key):
            key = self._sorted[place]
        else:
            while place > 0 and key.startswith(self._sorted[place - 1]):
                place -= 1
                for seen in self._forget(place):
                    found[seen.ref.id] = seen
            self._sorted.insert(place, key)
            self._spans[key] = history
            self._tokens_count += len(history)
        for seen in self._checkpoints.get(key, ()):
            found[seen.ref.id] = seen
        self._checkpoints[key] = _ascending(found.values())[-CHECKPOINTS_PER_HISTORY:]
        self._checkpoints.move_to_end(key)
        while self._tokens_count > self._capacity_tokens:
            self._forget(bisect_left(self._sorted, next(iter(self._checkpoints))))

    def _deepest(
        self,
        prompt: TokenSpan,
        side: range,
        common_tokens: int,
        beyond: tuple[int, SeenCheckpoint | None],
    ) -> SeenCheckpoint | None:
        """Walks away from the prompt on one side, as long as what is shared could hold a deeper
        checkpoint: farther histories share no more than nearer ones.

        Args:
            prompt: All its tokens.
            side: Ordinals of the histories, the nearest first.
            common_tokens: What the nearest shares; more than was reused.
            beyond: What was reused, and the deepest checkpoint so far.
        """
        reused_tokens, deepest = beyond
        packed = prompt.to_bytes()
        for ordinal in side[:NEIGHBOURS_EACH_WAY]:
            key = self._sorted[ordinal]
            floor_tokens = reused_tokens + 1 if deepest is None else deepest.frontier_tokens
            found = self._checkpoints[key]
            if not found or found[-1].frontier_tokens < floor_tokens:
                continue
            if not key.startswith(packed[: floor_tokens * TOKEN_BYTES]):
                break
            for seen in reversed(found):
                if seen.frontier_tokens < floor_tokens:
                    break
                if seen.frontier_tokens > common_tokens or not key.startswith(
                    packed[: seen.frontier_tokens * TOKEN_BYTES]
                ):
                    continue
                if deepest is None or _depth(seen) > _depth(deepest):
                    deepest = seen
                break
        return deepest

    def _forget(self, place: int) -> _Checkpoints:
        key = self._sorted.pop(place)
        self._tokens_count -= len(key) // TOKEN_BYTES
        del self._spans[key]
        return self._checkpoints.pop(key)


def _ascending(checkpoints: Iterable[SeenCheckpoint]) -> _Checkpoints:
    listed = tuple(checkpoints)
    return tuple(sorted(listed, key=_depth)) if len(listed) > 1 else listed


def _depth(seen: SeenCheckpoint) -> tuple[int, int]:
    return seen.frontier_tokens, seen.ref.id
