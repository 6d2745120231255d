"""What does a llama.cpp slot hold, and what its pool in main memory?

Owns contents (the tokens a sequence has consumed, its pages, its state and its context
checkpoints), the references by which a slot and the pool may hold the same places, and the pool
with its limit in bytes. Does not know requests. Source: as `llama_slots`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.ids import (
    CheckpointId,
    CheckpointRef,
    OwnerId,
    PageId,
    StateSlotId,
)
from ninfer_lab.contract.options import pages_of_tokens
from ninfer_lab.contract.placement import OwnerPlacement
from ninfer_lab.contract.prompt import PromptIdentity
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.policies.row_ledger import RowLedger, checkpoint_placement

CLEARLY_KEPT = 0.25
"""Of an entry of the pool, so much must be of use before it is looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedAt:
    """A state, under the name that its present holder gives it."""

    slot: StateSlotId
    summary: CheckpointSummary

    @property
    def frontier_tokens(self) -> int:
        """Tokens it has consumed."""
        return self.summary.frontier_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What one sequence has left.

    Attributes:
        pages: As many as the deepest state needs.
        states: Checkpoints by frontier ascending, then the state at the end, if that is whole.
        has_end: Whether the last of them is that.
    """

    owner: OwnerId
    identity: PromptIdentity
    tokens: TokenSpan
    pages: tuple[PageId, ...]
    states: tuple[SavedAt, ...]
    has_end: bool

    @property
    def checkpoints(self) -> tuple[SavedAt, ...]:
        """All but the state at the end."""
        return self.states[:-1] if self.has_end else self.states

    @property
    def placement(self) -> OwnerPlacement:
        """As a picture shows it."""
        return OwnerPlacement(
            owner=self.owner,
            history_tokens=self.states[-1].frontier_tokens,
            checkpoints=tuple(
                checkpoint_placement(at.summary, at.slot, self.pages) for at in self.states
            ),
        )

    def common_tokens(self, identity: PromptIdentity, tokens: TokenSpan) -> int:
        """How much of a prompt it begins with."""
        return self.tokens.common_prefix_tokens(tokens) if identity == self.identity else 0


class Contents:
    """Makes, shares and releases contents.

    Args:
        ledger: Whose places they lie on.
    """

    def __init__(self, ledger: RowLedger) -> None:
        self._ledger = ledger
        self._more: Counter[PageId] = Counter()
        self._more_slots: Counter[StateSlotId] = Counter()
        self._owner_ids = count(1)
        self._checkpoint_ids = count(1)

    def named(
        self,
        tokens: TokenSpan,
        states: Sequence[tuple[int, StateSlotId]],
        *,
        has_end: bool,
        owner: OwnerId | None = None,
    ) -> tuple[SavedAt, ...]:
        """States under names of their own.

        Args:
            tokens: As far as the deepest, at least.
            states: (frontier, slot), ascending.
            has_end: Whether the last is the state at the end.
            owner: `None` is a new one.
        """
        owner = OwnerId(next(self._owner_ids)) if owner is None else owner
        digests = tokens.prefix_digests(frontier for frontier, _ in states)
        kinds = [CheckpointKind.TURN_CLOSURE] * len(states)
        if has_end:
            kinds[-1] = CheckpointKind.SESSION_ENDPOINT
        return tuple(
            SavedAt(
                slot=slot,
                summary=CheckpointSummary(
                    ref=CheckpointRef(id=CheckpointId(next(self._checkpoint_ids)), owner=owner),
                    kind=kind,
                    frontier_tokens=frontier,
                    prefix_digest=digest,
                ),
            )
            for (frontier, slot), kind, digest in zip(states, kinds, digests, strict=True)
        )

    def made(
        self,
        identity: PromptIdentity,
        tokens: TokenSpan,
        pages: Sequence[PageId],
        states: Sequence[tuple[int, StateSlotId]],
        *,
        has_end: bool,
    ) -> Content:
        """A content of places that the caller hands over; at least one state."""
        covered_tokens, _ = states[-1]
        named = self.named(tokens, states, has_end=has_end)
        return Content(
            owner=named[0].summary.ref.owner,
            identity=identity,
            tokens=tokens[:covered_tokens],
            pages=tuple(pages[: pages_of_tokens(covered_tokens)]),
            states=named,
            has_end=has_end,
        )

    def copied(self, content: Content) -> Content:
        """Another holder of the same places."""
        self._more.update(content.pages)
        self._more_slots.update(at.slot for at in content.states)
        return self.made(
            content.identity,
            content.tokens,
            content.pages,
            [(at.frontier_tokens, at.slot) for at in content.states],
            has_end=content.has_end,
        )

    def is_shared(self, place: PageId) -> bool:
        """Whether somebody else holds a page, too."""
        return self._more[place] > 0

    def is_shared_slot(self, place: StateSlotId) -> bool:
        """Whether somebody else holds a state, too."""
        return self._more_slots[place] > 0

    def release(self, content: Content) -> None:
        """One holder less of everything."""
        self.release_pages(content.pages)
        self.release_slots(at.slot for at in content.states)

    def release_pages(self, pages: Iterable[PageId]) -> None:
        """One holder less of each."""
        for page in pages:
            if self._more[page] > 0:
                self._more[page] -= 1
            else:
                self._ledger.pages.give_back((page,))

    def release_slots(self, slots: Iterable[StateSlotId]) -> None:
        """One holder less of each."""
        for slot in slots:
            if self._more_slots[slot] > 0:
                self._more_slots[slot] -= 1
            else:
                self._ledger.slots.give_back((slot,))


class RamPool:
    """Contents in main memory, the oldest first.

    Args:
        contents: Releases what goes.
        limit_bytes: Of all; one entry is kept whatever its size. 0 is no pool.
        page_bytes: Of a page.
        state_bytes: Of a state.

    Attributes:
        entries: What there is.
    """

    def __init__(
        self, contents: Contents, *, limit_bytes: int, page_bytes: int, state_bytes: int
    ) -> None:
        self.entries: list[Content] = []
        self._contents = contents
        self._limit_bytes = limit_bytes
        self._page_bytes = page_bytes
        self._state_bytes = state_bytes

    def save(self, content: Content) -> None:
        """A copy of a slot's content, in place of whatever begins it; the oldest go."""
        if self._limit_bytes == 0:
            return
        for each in tuple(self.entries):
            common_tokens = each.common_tokens(content.identity, content.tokens)
            if common_tokens == len(content.tokens):
                return
            if common_tokens == len(each.tokens):
                self._drop(each)
        self.entries.append(self._contents.copied(content))
        while len(self.entries) > 1 and sum(map(self._bytes, self.entries)) > self._limit_bytes:
            self._drop(self.entries[0])

    def better_than(
        self, content: Content | None, identity: PromptIdentity, tokens: TokenSpan
    ) -> Content | None:
        """Takes out what serves a prompt better than a slot's content, both in what is kept of it
        and in what it covers; `None` if nothing does.
        """
        best, best_kept, best_covered = None, 0.0, 0.0
        if content is not None:
            common_tokens = content.common_tokens(identity, tokens)
            best_kept = common_tokens / len(content.tokens)
            best_covered = common_tokens / len(tokens)
        for each in self.entries:
            common_tokens = each.common_tokens(identity, tokens)
            kept, covered = common_tokens / len(each.tokens), common_tokens / len(tokens)
            if kept >= CLEARLY_KEPT and kept > best_kept and covered > best_covered:
                best, best_kept, best_covered = each, kept, covered
        if best is not None:
            self.entries.remove(best)
        return best

    def drop_oldest(self) -> bool:
        """Whether there was one."""
        if self.entries:
            self._drop(self.entries[0])
            return True
        return False

    def _drop(self, content: Content) -> None:
        self.entries.remove(content)
        self._contents.release(content)

    def _bytes(self, content: Content) -> int:
        return len(content.pages) * self._page_bytes + len(content.states) * self._state_bytes
