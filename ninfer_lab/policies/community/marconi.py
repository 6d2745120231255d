"""Marconi: few states, chosen by where prompts part, and evicted by what their bytes spare.

Owns the admission of states and their score. Source: "Marconi: Prefix Caching for the Era of Hybrid
LLMs" (MLSys 2025, arXiv 2411.19379), written again from the paper alone. A state is kept where a
prompt leaves a sequence that is there already, found before the prefill by inserting it on trial,
and where a request ends: two of a sequence at most. Candidates for eviction are nodes with at most
one child; each scores its recency plus alpha times the work it spares per byte, both scaled to
[0, 1] over all candidates, and the lowest goes: a leaf with its keys and values, an inner node's
state alone. A hit refreshes the node that was used and none of its ancestors.

The work that a state spares, beyond the nearest one before it, is here what the machine's cost
model says of its prefill: the paper counts floating-point operations.

Left out: the tuning of alpha by replaying the last requests on a grid, and branches inside a block
(the state lies at the block's end before it). The paper has one pool of bytes; here pages and
states have a pool each, as in every engine they are compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.machine_work import PrefillWork
from ninfer_lab.contract.options import ResolvedOptions, pages_of_tokens
from ninfer_lab.cost.machine_cost_model import MachineCostModel
from ninfer_lab.policies.prefix_tree.blocks import KeptState
from ninfer_lab.policies.prefix_tree.running import Found
from ninfer_lab.policies.prefix_tree.tree_choices import Victim
from ninfer_lab.policies.prefix_tree.tree_design import TreeDesign

ALPHA = 1.0


class Marconi(TreeDesign):
    """Implements `CacheController`.

    Args:
        belief: Prices what a state spares.
        alpha: Weight of the work spared per byte against recency.
    """

    trims = True

    def __init__(
        self,
        options: ResolvedOptions,
        machine: MachineApi,
        belief: MachineCostModel,
        alpha: float,
    ) -> None:
        super().__init__(options, machine)
        self._belief = belief
        self._alpha = alpha

    def wanted_tokens(self, found: Found) -> Iterable[int]:
        """Where the prompt parts from another sequence."""
        branch_tokens = found.kv_tokens
        parts = [b for b in found.path if b.end_tokens == branch_tokens and not b.is_leaf]
        return (branch_tokens,) if parts and branch_tokens > found.reuse_tokens else ()

    def page_victims(self) -> Iterator[Victim]:
        """Leaves with a state by their score; what has none is left by requests that broke off."""
        while leaves := [s for s in self._candidates() if s.tail or s.block.is_leaf]:
            yield self._lowest(leaves)
        yield from super().page_victims()

    def state_victims(self) -> Iterator[KeptState]:
        """All candidates by their score; states in inner nodes with several children come last."""
        while self.tree.idle_states:
            yield self._lowest(self._candidates() or [*self.tree.idle_states])

    def _candidates(self) -> list[KeptState]:
        return [
            state
            for state in self.tree.idle_states
            if state.tail or sum(bool(c.pages) for c in state.block.children.values()) <= 1
        ]

    def _lowest(self, candidates: Sequence[KeptState]) -> KeptState:
        stamps = _scaled([state.stamp for state in candidates])
        spared = _scaled([self._spared_per_byte(state) for state in candidates])
        scores = [old + self._alpha * worth for old, worth in zip(stamps, spared, strict=True)]
        return candidates[scores.index(min(scores))]

    def _spared_per_byte(self, state: KeptState) -> float:
        """Ns of prefill from the nearest state before it, by the bytes that hold it."""
        before = next(self.tree.states_before(state), None)
        before_tokens = 0 if before is None else before.frontier_tokens
        work = PrefillWork.between(
            before_tokens,
            state.frontier_tokens,
            prefill_chunk_tokens=self.options.prefill_chunk_tokens,
        )
        own_pages = pages_of_tokens(state.frontier_tokens - before_tokens)
        own_bytes = self.options.state_image_bytes + own_pages * self.options.page_bytes.main
        return self._belief.prefill_ns(work) / max(1, own_bytes)


def _scaled(values: Sequence[float]) -> list[float]:
    """To [0, 1]; equal ones to 0."""
    low, high = min(values), max(values)
    return [(each - low) / (high - low) if high > low else 0.0 for each in values]


MarconiFactory = Callable[[ResolvedOptions, MachineApi, MachineCostModel], Marconi]


def marconi(alpha: float = ALPHA) -> MarconiFactory:
    """A factory, as assembly takes it.

    Raises:
        OptionsError: An alpha below 0.
    """
    if alpha < 0.0:
        raise OptionsError("alpha", found=alpha, legal=">= 0; 0 is LRU")

    def design(options: ResolvedOptions, machine: MachineApi, belief: MachineCostModel) -> Marconi:
        return Marconi(options, machine, belief, alpha)

    return design
