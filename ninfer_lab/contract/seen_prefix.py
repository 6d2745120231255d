"""How much of this prompt had been computed before, and which checkpoint ever lay on it?

Owns the evidence from which the cause of every computed prompt token is told. It is about the past:
nothing decides from it. Does not know what became of a checkpoint; the events tell.
"""

from __future__ import annotations

from typing import NamedTuple

from ninfer_lab.contract.ids import CheckpointRef


class SeenCheckpoint(NamedTuple):
    """A checkpoint that once stood at a frontier of this very prefix."""

    ref: CheckpointRef
    frontier_tokens: int


class SeenPrefix(NamedTuple):
    """What a prompt shares with everything remembered.

    Attributes:
        tokens: Longest prefix that some ended request had consumed.
        diverges: Whether a history that shares so much goes on differently.
        deepest: The deepest checkpoint that ever stood on that prefix, beyond what the request
            reused; of equals the latest.
    """

    tokens: int
    diverges: bool
    deepest: SeenCheckpoint | None
