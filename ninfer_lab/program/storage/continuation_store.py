"""Which inactive continuations exist, and what exactly is each of them?

Owns the resident identity of every inactive owner: exact tokens, template identity, execution cuts,
and its immutable checkpoints (OWN-1, OWN-6). Does not know sessions, classes or worth: that is the
catalog's.
"""

from __future__ import annotations

from dataclasses import dataclass

from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import CheckpointRef, OwnerId, OwnerRef
from ninfer_lab.contract.placement import CheckpointPlacement, OwnerPlacement
from ninfer_lab.contract.prompt import PromptIdentity
from ninfer_lab.contract.result import OwnerState
from ninfer_lab.contract.token_span import TokenSpan


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation:
    """One inactive owner.

    Attributes:
        history: Every token up to its deepest checkpoint; each checkpoint covers a prefix of it
            (OWN-3).
        execution_frontiers_tokens: Where its prefill was cut because a rebuild must be (IDN-3),
            ascending.
        checkpoints: Ascending by frontier; never empty.
    """

    ref: OwnerRef
    identity: PromptIdentity
    history: TokenSpan
    execution_frontiers_tokens: tuple[int, ...]
    checkpoints: tuple[CheckpointPlacement, ...]

    @property
    def state(self) -> OwnerState:
        """What the catalog may know."""
        return OwnerState(ref=self.ref, checkpoints=tuple(c.summary for c in self.checkpoints))

    @property
    def placement(self) -> OwnerPlacement:
        """What a picture shows."""
        return OwnerPlacement(
            owner=self.ref.id, history_tokens=len(self.history), checkpoints=self.checkpoints
        )

    def checkpoint(self, ref: CheckpointRef) -> CheckpointPlacement | None:
        return next((c for c in self.checkpoints if c.summary.ref == ref), None)


class ContinuationStore:
    """Inactive owners by id."""

    def __init__(self) -> None:
        self._by_owner: dict[OwnerId, Continuation] = {}

    def publish(self, continuation: Continuation) -> None:
        """Adds an owner that is not there."""
        if continuation.ref.id in self._by_owner:
            raise InvariantBroken("OWN publication", f"{continuation.ref} is already inactive")
        self._by_owner[continuation.ref.id] = continuation

    def remove(self, ref: OwnerRef) -> Continuation:
        """Takes an owner out: consumed or evicted. Its references are the caller's to settle."""
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
        return tuple(self._by_owner[owner] for owner in sorted(self._by_owner))
