"""What does the tree have of a prompt, and what has a running row to do with it?

Owns the values that a tree design passes between its own halves. Decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ninfer_lab.contract.candidate import AdmissionRequest
from ninfer_lab.policies.prefix_tree.blocks import Block, KeptState
from ninfer_lab.policies.prefix_tree.pool import Room


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the tree has of a request's prompt.

    Attributes:
        path: The blocks with pages that it begins with.
        state: The deepest that it can go on from.
    """

    request: AdmissionRequest
    root: Block
    path: tuple[Block, ...]
    state: KeptState | None

    @property
    def reuse_tokens(self) -> int:
        """What needs no forward."""
        return 0 if self.state is None else self.state.frontier_tokens

    @property
    def kv_tokens(self) -> int:
        """Tokens whose keys and values are there, in whole blocks; at least one is to compute."""
        last_tokens = len(self.request.prompt.tokens) - 1
        return max((b.end_tokens for b in self.path if b.end_tokens <= last_tokens), default=0)


@dataclass(slots=True, kw_only=True)
class Running:
    """A running row, as the tree sees it; mutable, and the design's.

    Attributes:
        path: Blocks of its content, all locked.
        lent: The state that its next forward reads and does not write.
        wanted: Frontiers of the prompt at which a state is to be kept.
        is_caching: Whether it may read and leave anything.
        kept: The states that it has left so far, by frontier ascending.
    """

    found: Found
    path: list[Block]
    lent: KeptState | None
    wanted: frozenset[int]
    is_caching: bool
    kept: list[KeptState] = field(default_factory=list)

    @property
    def end(self) -> Block:
        """The last block of its content."""
        return self.path[-1] if self.path else self.found.root


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A way in, and the room that it takes beside what it shares.

    Attributes:
        source: `None` is the root.
        is_lent: The source stays; else the row takes it over.
    """

    found: Found
    source: KeptState | None
    is_lent: bool
    room: Room

    @property
    def path(self) -> tuple[Block, ...]:
        """What it shares."""
        return () if self.source is None else self.source.block.lineage
