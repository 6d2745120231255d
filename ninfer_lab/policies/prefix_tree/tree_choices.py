"""What does a tree design say that another does not?

Owns the questions that `TreeDesign` asks, each with the answer of a plain LRU tree that keeps the
state at every request's end. A design overrides those it answers otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ninfer_lab.policies.prefix_tree.blocks import Block, KeptState, PrefixTree
from ninfer_lab.policies.prefix_tree.running import Found, Running
from ninfer_lab.policies.row_ledger import Row

Victim = Block | KeptState


class TreeChoices:
    """To be overridden.

    Attributes:
        tree: Blocks and states.
        keeps_endpoints: Whether the state at a request's end is kept.
        keeps_dangling: Whether a state outlives the pages of its block.
        trims: Whether pages behind which no state is left go with the last one.
        keeps_copies: Whether a block that was computed again is held twice for a while.
    """

    tree: PrefixTree
    keeps_endpoints = True
    keeps_dangling = False
    trims = False
    keeps_copies = False

    def wanted_tokens(self, found: Found) -> Iterable[int]:
        """Frontiers of a prompt at which forwards end and a state is kept."""
        return ()

    def is_wanted(self, row: Row, running: Running) -> bool:
        """Whether a state is kept where a row now stands."""
        return row.frontier_tokens in running.wanted

    def entered(self, block: Block, running: Running) -> None:
        """A row's content has reached a block's end."""

    def used(self, state: KeptState) -> None:
        """A row starts from it."""

    def left(self, state: KeptState, running: Running) -> None:
        """A row has left it."""

    def dropped(self, state: KeptState) -> None:
        """It is no more."""

    def displaces(self, frontier_tokens: int, running: Running, victim: KeptState) -> bool:
        """Whether a state at a frontier is worth another's slot."""
        return True

    def page_victims(self) -> Iterator[Victim]:
        """Who gives its pages up, the first first; each is gone before the next is asked for. By
        default the one released longest ago, which no other needs.
        """
        while self.tree.idle_blocks or self.tree.idle_states:
            fronts: list[Victim] = [*self.front(self.tree.idle_blocks)]
            tailed = (state for state in self.tree.idle_states if state.tail_pages)
            fronts += [*self.front(tailed)]
            yield min(fronts, key=lambda each: each.stamp)

    def state_victims(self) -> Iterator[KeptState]:
        """Who gives its slot up, likewise."""
        while self.tree.idle_states:
            yield next(iter(self.tree.idle_states))

    @staticmethod
    def front(victims: Iterable[Victim]) -> Iterator[Victim]:
        for each in victims:
            yield each
            return
