"""vLLM: hashed blocks with reference counts, one free queue, states at aligned block ends.

Owns which states are kept and which block goes first. Tokens are compared where vLLM compares
chained hashes. Source: vLLM's public documentation and pull requests up to 0.32, as read in
November 2026: automatic prefix caching, `mamba_cache_mode="align"`, admission by observation
(#37898). Attention blocks are inflated until one is as large as a layer's state, 384
tokens for a small model on a CPU, 784 for one of 27B, and both are paid from one pool of blocks.

Of the states of a prompt two are kept: at its last block end that leaves a token to compute, and
where its longest run of cached blocks ends, if that is deeper than any state (sparse retention,
#52216, the default). What follows: a prefix shorter than a block is never found; a branch finds
keys and values and no state, is computed from the beginning, and leaves the state there for the
second one.

A block that is computed again is held twice, until the older copy's turn to go has come, unless
somebody reads it or a state can be gone on from there.

Left out: blocks of 16 tokens (a page here has 64), preemption (the whole output is promised), the
offload to the CPU, speculative decoding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.ids import SequenceHandle
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import PAGE_TOKENS, ResolvedOptions, pages_of_tokens
from ninfer_lab.contract.result import CaptureOutcome, CaptureResult
from ninfer_lab.cost.machine_cost_model import MachineCostModel
from ninfer_lab.policies.prefix_tree.pool import Room, UnifiedPool
from ninfer_lab.policies.prefix_tree.running import Found
from ninfer_lab.policies.prefix_tree.tree_choices import Victim
from ninfer_lab.policies.prefix_tree.tree_design import TreeDesign

BLOCK_TOKENS = 384
STATE_BLOCKS = 3
"""Blocks that a state takes: one for each group of as many linear layers as there are others."""


class VllmAligned(TreeDesign):
    """Implements `CacheController`."""

    keeps_endpoints = False
    keeps_dangling = True
    keeps_copies = True

    def wanted_tokens(self, found: Found) -> Iterable[int]:
        """Where the same prompt would go on from, and where a branch was seen."""
        last_tokens = len(found.request.prompt.tokens) - 1
        replay_tokens = last_tokens // self.tree.block_tokens * self.tree.block_tokens
        wanted = {replay_tokens, found.kv_tokens}
        return (each for each in wanted if each > found.reuse_tokens)

    def on_forward(self, handle: SequenceHandle) -> CaptureResult:
        """A row that goes on behind a block's end takes a new state's blocks, and returns those of
        the old one a forward later: for a moment the pool holds both, and what stood first in line
        may have to go. (Where a state was captured, room for another has been made.)
        """
        result = super().on_forward(handle)
        is_captured = result.outcome is CaptureOutcome.CAPTURED
        if self.room.pool is None or is_captured or result.frontier_tokens % self.tree.block_tokens:
            return result
        another = Room(slots=1)
        if not self.room.fits(another, self.room.free) and self.room.fits(
            another, self.room.within_reach()
        ):
            self.make_room(another)
            self.moved()
        return result

    def page_victims(self) -> Iterator[Victim]:
        """The head of the free queue, block or state, where both are paid from one pool."""
        if self.room.pool is None:
            yield from super().page_victims()
        while self.tree.idle_blocks or self.tree.idle_states:
            yield min(
                (*self.front(self.tree.idle_blocks), *self.front(self.tree.idle_states)),
                key=lambda each: each.stamp,
            )


VllmFactory = Callable[[ResolvedOptions, MachineApi, MachineCostModel], VllmAligned]


def vllm_aligned(
    block_tokens: int = BLOCK_TOKENS,
    *,
    blocks_count: int | None = None,
    state_blocks: int = STATE_BLOCKS,
) -> VllmFactory:
    """A factory, as assembly takes it.

    Args:
        block_tokens: A multiple of a page's 64.
        blocks_count: Of the one pool, of which vLLM keeps one for itself; by default pages and
            states have a pool each, as large as the engine's.
        state_blocks: Blocks that a state takes.

    Raises:
        OptionsError: Blocks that are no whole pages, or a pool without a block.
    """
    if block_tokens < PAGE_TOKENS or block_tokens % PAGE_TOKENS:
        raise OptionsError(
            "block_tokens", found=block_tokens, legal=f"a multiple of {PAGE_TOKENS}, the page"
        )
    if blocks_count is not None and blocks_count < 2:
        raise OptionsError("blocks_count", found=blocks_count, legal="None or >= 2")
    block_pages = pages_of_tokens(block_tokens)
    pool = None
    if blocks_count is not None:
        pool = UnifiedPool(
            pages_count=(blocks_count - 1) * block_pages, state_pages=state_blocks * block_pages
        )

    def design(
        options: ResolvedOptions, machine: MachineApi, belief: MachineCostModel
    ) -> VllmAligned:
        return VllmAligned(options, machine, block_pages=block_pages, pool=pool)

    return design
