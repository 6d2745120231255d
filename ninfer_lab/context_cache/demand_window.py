"""What have the last requests wanted to reuse? (VAL-1)

Owns the window of the last materializations: for each its reuse domain and the keys of the prefixes
that it matched, selected or could have created. No prompt, no text and no session name is kept.
Does not know what a prefix is worth.
"""

from __future__ import annotations

import hashlib
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.ids import RequestId, SessionKey

DEMAND_WINDOW_REQUESTS = 32
"""Fixed, no option (CFG-3)."""


class PrefixKey(NamedTuple):
    """A frontier and the digest of exactly the tokens before it: narrows, proves nothing."""

    frontier_tokens: int
    digest: bytes

    @classmethod
    def of(cls, checkpoint: CheckpointSummary) -> PrefixKey:
        """The key under which a checkpoint is wanted again."""
        return cls(checkpoint.frontier_tokens, checkpoint.prefix_digest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """One request that became Active."""

    domain: bytes
    keys: frozenset[PrefixKey]


class DemandWindow:
    """The last demands, oldest first."""

    def __init__(self) -> None:
        self._demands: deque[Demand] = deque(maxlen=DEMAND_WINDOW_REQUESTS)

    @property
    def demands(self) -> tuple[Demand, ...]:
        return tuple(self._demands)

    def with_provisional(self, demand: Demand) -> tuple[Demand, ...]:
        """As the window will be once this one has become Active: a full one has lost its oldest."""
        return (*self._demands, demand)[-DEMAND_WINDOW_REQUESTS:]

    def observe(self, demand: Demand) -> None:
        """One more; a full window loses its oldest."""
        self._demands.append(demand)


def reuse_domain(session_key: SessionKey | None, request: RequestId) -> bytes:
    """Who wants it: a session, by its digest, or a request that belongs to none, by itself.

    Two demands of one domain are no evidence that anybody else wants a prefix.
    """
    name = f"request {request}" if session_key is None else f"session {session_key}"
    return hashlib.blake2b(name.encode(), digest_size=16).digest()
