"""Which inactive continuations exist, and what exactly is each of them?

Owns the resident identity of every inactive owner: exact tokens, template identity, execution cuts,
and its immutable checkpoints (OWN-1, OWN-6). Does not know sessions, classes or worth: that is the
catalog's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import CheckpointRef, OwnerId, OwnerRef
from ninfer_lab.contract.placement import OwnerPlacement
from ninfer_lab.contract.prompt import PromptIdentity
from ninfer_lab.contract.result import OwnerState
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.program.storage.checkpoint_record import CheckpointRecord, holdings_of
from ninfer_lab.program.storage.replica_layout import Holdings


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation:
    """One inactive owner.

    Attributes:
        history: Every token up to its deepest checkpoint; each checkpoint covers a prefix of it
            (OWN-3).
        execution_frontiers_tokens: Where its prefill was cut because a rebuild must be (IDN-3),
            ascending.
        checkpoints: Ascending by frontier; never empty.
        holdings: What they refer to together.
    """

    ref: OwnerRef
    identity: PromptIdentity
    history: TokenSpan
    execution_frontiers_tokens: tuple[int, ...]
    checkpoints: tuple[CheckpointRecord, ...]
    holdings: Holdings

    @classmethod
    def of(
        cls,
        ref: OwnerRef,
        *,
        identity: PromptIdentity,
        history: TokenSpan,
        execution_frontiers_tokens: tuple[int, ...],
        checkpoints: tuple[CheckpointRecord, ...],
    ) -> Continuation:
        """An owner that knows no more than its deepest checkpoint needs."""
        deepest = checkpoints[-1].summary.frontier_tokens
        return cls(
            ref=ref,
            identity=identity,
            history=history[:deepest],
            execution_frontiers_tokens=tuple(f for f in execution_frontiers_tokens if f < deepest),
            checkpoints=checkpoints,
            holdings=holdings_of(checkpoints),
        )

    def less(self, deleted: frozenset[CheckpointRef]) -> Continuation:
        """What is left without some checkpoints, or with other replicas: the next generation."""
        return Continuation.of(
            OwnerRef(id=self.ref.id, generation=self.ref.generation + 1),
            identity=self.identity,
            history=self.history,
            execution_frontiers_tokens=self.execution_frontiers_tokens,
            checkpoints=tuple(c for c in self.checkpoints if c.summary.ref not in deleted),
        )

    @property
    def state(self) -> OwnerState:
        """What the catalog may know."""
        return OwnerState(ref=self.ref, checkpoints=tuple(c.summary for c in self.checkpoints))

    @property
    def checkpoint_refs(self) -> frozenset[CheckpointRef]:
        """All of its checkpoints."""
        return frozenset(c.summary.ref for c in self.checkpoints)

    @property
    def placement(self) -> OwnerPlacement:
        """What a picture shows."""
        return OwnerPlacement(
            owner=self.ref.id,
            history_tokens=len(self.history),
            checkpoints=tuple(c.placement for c in self.checkpoints),
        )

    def checkpoint(self, ref: CheckpointRef) -> CheckpointRecord | None:
        for checkpoint in self.checkpoints:
            if checkpoint.summary.ref == ref:
                return checkpoint
        return None


class ContinuationStore:
    """Inactive owners by id."""

    def __init__(self) -> None:
        self._by_owner: dict[OwnerId, Continuation] = {}

    def publish(self, continuation: Continuation) -> None:
        """Adds an owner that is not there."""
        if continuation.ref.id in self._by_owner:
            raise InvariantBroken("OWN publication", f"{continuation.ref} is already inactive")
        self._by_owner[continuation.ref.id] = continuation

    def replace(self, before: OwnerRef, after: Continuation) -> None:
        """An owner goes on at its next generation."""
        self.require(before)
        assert after.ref.id == before.id
        self._by_owner[before.id] = after

    def remove(self, ref: OwnerRef) -> Continuation:
        """Takes out an owner that is consumed or evicted; the caller settles what it refers to."""
        return self._by_owner.pop(self.require(ref).ref.id)

    def get(self, owner: OwnerId) -> Continuation | None:
        return self._by_owner.get(owner)

    def require(self, ref: OwnerRef) -> Continuation:
        """The owner at exactly this generation.

        Raises:
            InvariantBroken: A stale or unknown owner got past validation.
        """
        found = self._by_owner.get(ref.id)
        if found is None or found.ref != ref:
            raise InvariantBroken("OWN generation", f"{ref} is not inactive at this generation")
        return found

    def is_current(self, ref: OwnerRef) -> bool:
        found = self._by_owner.get(ref.id)
        return found is not None and found.ref == ref

    def all(self) -> tuple[Continuation, ...]:
        """Every owner, by id."""
        return tuple([self._by_owner[owner] for owner in sorted(self._by_owner)])

    def holdings(self) -> Iterator[Holdings]:
        """What each owner refers to, the one published last first."""
        return (each.holdings for each in reversed(self._by_owner.values()))
