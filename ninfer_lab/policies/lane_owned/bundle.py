"""What does a lane keep when its request has ended?

Owns the retained bundle (LANE-1): pages, the state at the frontier, the token ids by which it is
recognised, and at most one rewrite checkpoint. One owner holds all of it, so nothing is counted
(LANE-6). Does not know lanes, nor what becomes of a bundle.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.ids import OwnerRef, PageId, StateSlotId
from ninfer_lab.contract.placement import OwnerPlacement
from ninfer_lab.contract.prompt import PreparedPrompt, PromptIdentity
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.policies.row_ledger import checkpoint_placement


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """By what a bundle is recognised.

    Attributes:
        ledger: Token ids, prompt and what was consumed of the answer.
        identity: What else decided the rendering (`prefix_identity`).
        cuts_tokens: Where prefills of the ledger are cut on purpose (IDN-3).
    """

    ledger: TokenSpan
    identity: PromptIdentity
    cuts_tokens: tuple[int, ...]

    @classmethod
    def of(cls, prompt: PreparedPrompt, consumed: TokenSpan) -> Fingerprint:
        """Of a request that has consumed so much of its prompt and answer."""
        cuts_tokens = tuple(c for c in prompt.rewrite_execution_frontiers if c < len(consumed))
        return cls(ledger=consumed, identity=prompt.identity, cuts_tokens=cuts_tokens)

    def agrees(self, prompt: PreparedPrompt, frontier_tokens: int) -> bool:
        """Whether a prompt is this ledger up to a frontier, and goes on after it."""
        return (
            frontier_tokens < len(prompt.tokens)
            and self.identity == prompt.identity
            and self.ledger.common_prefix_tokens(prompt.tokens) >= frontier_tokens
            and _below(self.cuts_tokens, frontier_tokens)
            == _below(prompt.rewrite_execution_frontiers, frontier_tokens)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedState:
    """A state in a slot, at the frontier that its summary names."""

    summary: CheckpointSummary
    slot: StateSlotId

    @property
    def frontier_tokens(self) -> int:
        """Tokens it has consumed."""
        return self.summary.frontier_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneBundle:
    """Everything that lives and dies with its lane.

    Attributes:
        pages: They hold the tokens up to the deepest state.
        frontier: The state after all of the ledger; `None` where nothing may go on from there.
        rewrite: The one rewrite checkpoint.
        publication_order: Of the request that left it.
    """

    owner: OwnerRef
    fingerprint: Fingerprint
    pages: tuple[PageId, ...]
    frontier: SavedState | None
    rewrite: SavedState | None
    publication_order: int

    @property
    def states(self) -> Iterator[SavedState]:
        """Every state it keeps, ascending by frontier."""
        kept = (state for state in (self.rewrite, self.frontier) if state is not None)
        return iter(sorted(kept, key=lambda state: state.frontier_tokens))

    @property
    def slots(self) -> tuple[StateSlotId, ...]:
        """Where they lie."""
        return tuple(state.slot for state in self.states)

    @property
    def reusable_prompt_tokens(self) -> int:
        """The most that a prompt could be spared by it."""
        return max((state.frontier_tokens for state in self.states), default=0)

    @property
    def placement(self) -> OwnerPlacement:
        """What a picture shows."""
        return OwnerPlacement(
            owner=self.owner.id,
            history_tokens=self.reusable_prompt_tokens,
            checkpoints=tuple(
                checkpoint_placement(state.summary, state.slot, self.pages) for state in self.states
            ),
        )


def _below(cuts_tokens: tuple[int, ...], frontier_tokens: int) -> tuple[int, ...]:
    return tuple(cut for cut in cuts_tokens if cut < frontier_tokens)
