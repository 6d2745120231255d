"""Which blocks of tokens are held, and at which of them does a state lie?

Owns the tree: blocks of equal length, each behind its parent, compared token for token; the pages
with their keys and values; and the states kept at their ends, or a few tokens further (the tail,
with pages of its own). A block whose pages are gone stays as long as a state lies on it, or below
it: the state is of no use then, until somebody computes the block again (PEER-1). What nobody reads
stands in order of its last release, and a path is released from its end, so that a child always
stands before its parent. Takes and returns no place: who calls gives places back.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.ids import PageId, StateSlotId
from ninfer_lab.contract.options import PAGE_TOKENS
from ninfer_lab.contract.prompt import PromptIdentity
from ninfer_lab.contract.token_span import TokenSpan


@dataclass(slots=True, eq=False, kw_only=True)
class Block:
    """So many tokens behind its parent's; mutable, and the tree's.

    Attributes:
        parent: `None` for a root, which holds no token and is always there.
        end_tokens: From the beginning of the prompt.
        pages: On the Device; none if its keys and values are gone.
        readers_count: Running rows whose content it is.
        states: Those kept at its end, by the tail that they have consumed beyond it.
        stamp: Grows with every release.
        priority: For a design that has such.
    """

    parent: Block | None
    tokens: TokenSpan
    end_tokens: int
    pages: tuple[PageId, ...] = ()
    readers_count: int = 0
    children: dict[TokenSpan, Block] = field(default_factory=dict)
    states: dict[TokenSpan, KeptState] = field(default_factory=dict)
    stamp: int = 0
    priority: int = 0

    @property
    def is_resident(self) -> bool:
        """Whether its keys and values are there."""
        return self.parent is None or bool(self.pages)

    @property
    def is_leaf(self) -> bool:
        """Whether no block behind it has keys and values."""
        return not any(child.pages for child in self.children.values())

    @property
    def lineage(self) -> tuple[Block, ...]:
        """The blocks from the beginning to this one, the root left out."""
        found, block = [], self
        while block.parent is not None:
            found.append(block)
            block = block.parent
        return tuple(reversed(found))


@dataclass(slots=True, eq=False, kw_only=True)
class KeptState:
    """A state that rows may go on from; mutable, and the tree's.

    Attributes:
        block: Behind whose end the tail lies.
        tail: What it has consumed beyond the block: fewer tokens than a block has.
        tail_pages: With the tail's keys and values.
        readers_count: Rows whose next forward reads it.
        hits_count: Rows that have started from it.
        stamp: Grows with every release.
    """

    block: Block
    tail: TokenSpan
    tail_pages: tuple[PageId, ...]
    slot: StateSlotId
    summary: CheckpointSummary
    readers_count: int = 0
    hits_count: int = 0
    stamp: int = 0

    @property
    def frontier_tokens(self) -> int:
        """Tokens it has consumed."""
        return self.summary.frontier_tokens

    @property
    def is_complete(self) -> bool:
        """Whether every page below it is there."""
        return all(block.is_resident for block in self.block.lineage)


class PrefixTree:
    """Blocks and states.

    Args:
        block_pages: Pages of one block.
        keeps_copies: Whether a block that is computed again, while nobody reads it and no state can
            be gone on from behind it, is held twice until the older copy's turn to go comes. (What
            a published state lies on is never moved: OWN-6.)

    Attributes:
        idle_blocks: With pages and without a reader, the one released longest ago first.
        idle_states: Without a reader, likewise.
    """

    def __init__(self, block_pages: int = 1, *, keeps_copies: bool = False) -> None:
        self.block_tokens = block_pages * PAGE_TOKENS
        self._keeps_copies = keeps_copies
        self._copies: dict[Block, None] = {}
        self.idle_blocks: OrderedDict[Block, None] = OrderedDict()
        self.idle_states: OrderedDict[KeptState, None] = OrderedDict()
        self._roots: dict[PromptIdentity, Block] = {}
        self._stamps = count(1)

    # ── looking ─────────────────────────────────────────────────────────────────────────────────

    def root(self, identity: PromptIdentity) -> Block:
        """Where prompts of one identity begin."""
        if identity not in self._roots:
            self._roots[identity] = Block(parent=None, tokens=TokenSpan(), end_tokens=0)
        return self._roots[identity]

    def match(self, identity: PromptIdentity, tokens: TokenSpan) -> tuple[Block, ...]:
        """The blocks with pages that the tokens begin with."""
        found: list[Block] = []
        block = self.root(identity)
        while block.end_tokens + self.block_tokens <= len(tokens):
            key = tokens[block.end_tokens : block.end_tokens + self.block_tokens]
            child = block.children.get(key)
            if child is None or not child.pages:
                break
            found.append(child)
            block = child
        return tuple(found)

    def states_on(
        self, root: Block, path: Sequence[Block], tokens: TokenSpan
    ) -> Iterator[KeptState]:
        """States that the tokens run through and leave at least one to compute, deepest first.

        Args:
            path: As `match` gave it.
        """
        for block in (*reversed(path), root):
            deep_first = sorted(block.states.values(), key=lambda each: -each.frontier_tokens)
            for state in deep_first:
                ahead = tokens[block.end_tokens : state.frontier_tokens]
                if state.frontier_tokens < len(tokens) and ahead == state.tail:
                    yield state

    def states_before(self, state: KeptState) -> Iterator[KeptState]:
        """Those that its own tokens run through before they come to it, deepest first."""
        block: Block | None = state.block
        while block is not None:
            for each in sorted(block.states.values(), key=lambda one: -one.frontier_tokens):
                is_on_way = block is not state.block or state.tail.starts_with(each.tail)
                on_path = block is state.block or not each.tail
                if each is not state and is_on_way and on_path:
                    yield each
            block = block.parent

    def blocks(self) -> Iterator[Block]:
        """All of them, roots and older copies included."""
        yield from self._copies
        waiting = list(self._roots.values())
        while waiting:
            block = waiting.pop()
            yield block
            waiting.extend(block.children.values())

    # ── readers ─────────────────────────────────────────────────────────────────────────────────

    def lock(self, block: Block) -> None:
        """One reader more."""
        block.readers_count += 1
        self.idle_blocks.pop(block, None)

    def unlock(self, path: Sequence[Block]) -> None:
        """One reader less of each, the last first."""
        for block in reversed(path):
            block.readers_count -= 1
            if block.readers_count == 0 and block.pages:
                self._release(block)

    def pin(self, state: KeptState) -> None:
        """A row's next forward will read it."""
        state.readers_count += 1
        self.idle_states.pop(state, None)

    def unpin(self, state: KeptState) -> None:
        """That forward has run, or will not."""
        state.readers_count -= 1
        if state.readers_count == 0:
            self.release_state(state)

    def release_state(self, state: KeptState) -> None:
        """It is used no more, for now."""
        state.stamp = next(self._stamps)
        if state.readers_count == 0:
            self.idle_states[state] = None
            self.idle_states.move_to_end(state)

    def _release(self, block: Block) -> None:
        block.stamp = next(self._stamps)
        self.idle_blocks[block] = None
        self.idle_blocks.move_to_end(block)

    # ── coming and going ────────────────────────────────────────────────────────────────────────

    def enter(self, parent: Block, tokens: TokenSpan, pages: tuple[PageId, ...]) -> Block:
        """The block behind another, and one reader more of it; the pages become its own if it has
        none.
        """
        assert len(tokens) == self.block_tokens
        block = parent.children.get(tokens)
        if block is None:
            end_tokens = parent.end_tokens + len(tokens)
            block = Block(parent=parent, tokens=tokens, end_tokens=end_tokens)
            parent.children[tokens] = block
        if self._keeps_copies and block in self.idle_blocks and not _bears_a_state(block):
            self._set_aside(block)
        if not block.pages:
            block.pages = pages
        self.lock(block)
        return block

    def _set_aside(self, block: Block) -> None:
        """Its pages stay in line where they stand, under a block that no prompt finds."""
        copy = Block(parent=None, tokens=block.tokens, end_tokens=block.end_tokens)
        copy.pages, block.pages, copy.stamp = block.pages, (), block.stamp
        in_line = (copy if each is block else each for each in self.idle_blocks)
        self.idle_blocks = OrderedDict.fromkeys(in_line)
        self._copies[copy] = None

    def keep(self, state: KeptState) -> None:
        """A state that was not there."""
        assert state.tail not in state.block.states
        state.block.states[state.tail] = state
        self.release_state(state)

    def drop(self, state: KeptState) -> None:
        """It is no more; slot and tail pages are the caller's."""
        assert state.readers_count == 0, "a forward is about to read it"
        del state.block.states[state.tail]
        self.idle_states.pop(state, None)
        self._prune(state.block)

    def empty(self, block: Block) -> tuple[PageId, ...]:
        """Its keys and values go; the pages are the caller's."""
        assert block.readers_count == 0, "a row is about to read it"
        pages, block.pages = block.pages, ()
        self.idle_blocks.pop(block, None)
        self._copies.pop(block, None)
        self._prune(block)
        return pages

    def _prune(self, block: Block) -> None:
        """Takes out what says nothing any more, up to the first that does."""
        while block.parent is not None and not (block.pages or block.states or block.children):
            if block.readers_count:
                return
            del block.parent.children[block.tokens]
            block = block.parent


def _bears_a_state(block: Block) -> bool:
    """Whether rows may go on from the block's end or from behind it."""
    waiting = [block]
    while waiting:
        behind = waiting.pop()
        if any(state.is_complete for state in behind.states.values()):
            return True
        waiting.extend(behind.children.values())
    return False
