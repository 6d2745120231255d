"""The later tree of the original engine: blocks of 64 tokens, sparse snapshots, worth by GDSF.

Owns where snapshots are tapped, which of them another has superseded, and what one is worth.
Source: the public maintainer's notes of the hybrid prefix cache that took the catalogue's place
(`hybrid-prefix-cache.md`), as read in November 2026. A prompt is tapped before its generation
opener and at its tail, a request leaves one where it ended, with the tail that fills no block.
Without a Host there are two taps at most. A hit is the deepest snapshot below the last token, and
there is no search. A deeper snapshot supersedes the one that its request resumed from, until
that is hit again; superseded ones go first. Then the least H = L + F * C / Z goes: F is one and the
hits, C the prefill that it spares beyond the nearest snapshot before it, Z the bytes of image, tail
and blocks of its own; L rises to the H of who went. A tap never displaces what is worth more. Keys
and values go by their last use, and those behind which no snapshot is left go with it.

Left out: the Host pool with its write-through, restores that overlap by layer, prefetch for a
blocked head, the disk; the ladder of taps that only a Host has room for; explicit markers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.machine_work import PrefillWork
from ninfer_lab.contract.options import PAGE_TOKENS, ResolvedOptions, pages_of_tokens
from ninfer_lab.cost.machine_cost_model import MachineCostModel
from ninfer_lab.policies.prefix_tree.blocks import KeptState
from ninfer_lab.policies.prefix_tree.running import Found, Running
from ninfer_lab.policies.prefix_tree.tree_design import TreeDesign


class SnapshotTree(TreeDesign):
    """Implements `CacheController`.

    Args:
        belief: Prices the prefill that a snapshot spares.
    """

    trims = True

    def __init__(
        self, options: ResolvedOptions, machine: MachineApi, belief: MachineCostModel
    ) -> None:
        super().__init__(options, machine)
        self._belief = belief
        self._worth: dict[KeptState, float] = {}
        self._superseded: set[KeptState] = set()
        self._risen = 0.0

    def wanted_tokens(self, found: Found) -> Iterable[int]:
        """Before the opener, unless an answer's end is gone on from, and at the tail; of two that
        are less than a block apart the earlier.
        """
        prompt = found.request.prompt
        tail_tokens = (len(prompt.tokens) - 1) // PAGE_TOKENS * PAGE_TOKENS
        opener_tokens = prompt.opener_tap_tokens
        if opener_tokens is None:
            taps = [tail_tokens]
        elif abs(tail_tokens - opener_tokens) < PAGE_TOKENS:
            taps = [min(tail_tokens, opener_tokens)]
        else:
            taps = [opener_tokens, tail_tokens]
        return (each for each in taps if each > found.reuse_tokens)

    def used(self, state: KeptState) -> None:
        """A hit makes it worth more, and no longer superseded."""
        self._superseded.discard(state)
        self._value(state)

    def left(self, state: KeptState, running: Running) -> None:
        """It supersedes the one that its request resumed from."""
        self._value(state)
        resumed = running.found.state
        if resumed is not None and resumed in self._worth and resumed is not state:
            self._superseded.add(resumed)

    def displaces(self, frontier_tokens: int, running: Running, victim: KeptState) -> bool:
        """Only what is worth no more, or superseded."""
        if victim in self._superseded:
            return True
        new_worth = self._risen + self._rate(running.found.reuse_tokens, frontier_tokens, hits=0)
        return new_worth >= self._worth[victim]

    def state_victims(self) -> Iterator[KeptState]:
        """The oldest superseded, then the one of the least worth."""
        while self.tree.idle_states:
            superseded = (each for each in self.tree.idle_states if each in self._superseded)
            victim = next(superseded, None)
            if victim is None:
                victim = min(self.tree.idle_states, key=lambda each: self._worth[each])
                self._risen = max(self._risen, self._worth[victim])
            yield victim

    def dropped(self, state: KeptState) -> None:
        """Nothing is remembered of it."""
        self._worth.pop(state, None)
        self._superseded.discard(state)

    def _value(self, state: KeptState) -> None:
        before_tokens = max(
            (each.frontier_tokens for each in self.tree.states_before(state)), default=0
        )
        rate = self._rate(before_tokens, state.frontier_tokens, hits=state.hits_count)
        self._worth[state] = self._risen + rate

    def _rate(self, before_tokens: int, frontier_tokens: int, *, hits: int) -> float:
        """F * C / Z, in ns of prefill per byte."""
        work = PrefillWork.between(
            before_tokens,
            frontier_tokens,
            prefill_chunk_tokens=self.options.prefill_chunk_tokens,
        )
        own_pages = pages_of_tokens(frontier_tokens - before_tokens)
        own_bytes = self.options.state_image_bytes + own_pages * self.options.page_bytes.main
        return (1 + hits) * self._belief.prefill_ns(work) / max(1, own_bytes)


def snapshot_tree(
    options: ResolvedOptions, machine: MachineApi, belief: MachineCostModel
) -> SnapshotTree:
    """A factory, as assembly takes it."""
    return SnapshotTree(options, machine, belief)
