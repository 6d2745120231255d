"""SGLang: a radix tree of keys and values with a state component of its own.

Owns at which frontiers states are left, and the two orders of eviction. Source: SGLang's public
documentation, pull requests and issues up to 0.5.23, as read in November 2026 (`MambaRadixCache`
and the unified radix cache, strategy `no_buffer`, the default). A node's keys and values are shared
by whoever splits it; a state stays at its own endpoint and its user gets a copy. A prompt leaves a
state at the end of every chunk and at its own end, a request one where it ended. Keys and values go
leaf first, the least recently used leaf first, and its state with them; states have a list of their
own in which only the one that was used moves up: an inner one leaves its node behind as a
tombstone, a leaf goes as a whole, with what is then a leaf without a state.

What follows: the same prompt again finds the state one token too deep (#21158), and a branch finds
keys and values alone, however often it comes, but for what a chunk's end has left.

Left out: pages of one token (those here have 64; a tail is copied, so that hits are as exact as
there), the strategy `extra_buffer` with its ping-pong states and branch capture, the cap of states
on a path (#31230), HiCache's tiers, policies other than LRU.
"""

from __future__ import annotations

from collections.abc import Iterable

from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import ResolvedOptions
from ninfer_lab.cost.machine_cost_model import MachineCostModel
from ninfer_lab.policies.prefix_tree.running import Found
from ninfer_lab.policies.prefix_tree.tree_design import TreeDesign


class SglangRadix(TreeDesign):
    """Implements `CacheController`."""

    trims = True

    def wanted_tokens(self, found: Found) -> Iterable[int]:
        """Every chunk's end, the last one's too."""
        prompt_tokens = len(found.request.prompt.tokens)
        chunk_tokens = self.options.prefill_chunk_tokens
        return (*range(found.reuse_tokens, prompt_tokens, chunk_tokens)[1:], prompt_tokens)


def sglang_radix(
    options: ResolvedOptions, machine: MachineApi, belief: MachineCostModel
) -> SglangRadix:
    """A factory, as assembly takes it."""
    return SglangRadix(options, machine)
