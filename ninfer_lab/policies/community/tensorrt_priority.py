"""TensorRT-LLM: a tree of blocks, of which the least priority goes first.

Owns the priorities of blocks by token range, the order of eviction, and at which frontiers
snapshots are planned. Source: TensorRT-LLM's public documentation and pull requests up to its 1.x
releases, as read in November 2026 (KV cache system and retention; recurrent snapshots #16598,
branch snapshots #18272). A block has a priority from 0 to 100, 35 unless a request says otherwise
for a range of its tokens; only leaves go, the lowest priority first over the whole pool, and of
equals the one used longest ago. Snapshots of recurrent states are taken where they are planned and
nowhere else; without a plan nothing is reused.

Left out: durations of priorities, the Host pool (its size is 0 by default) and the disk tier,
partial reuse of a block by copying it, blocks of 32 tokens (a page here has 64), plans that a
conversation makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from ninfer_lab.contract.candidate import AdmissionRequest
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import PAGE_TOKENS, ResolvedOptions
from ninfer_lab.cost.machine_cost_model import MachineCostModel
from ninfer_lab.policies.prefix_tree.blocks import Block, KeptState
from ninfer_lab.policies.prefix_tree.running import Found, Running
from ninfer_lab.policies.prefix_tree.tree_choices import Victim
from ninfer_lab.policies.prefix_tree.tree_design import TreeDesign

DEFAULT_PRIORITY, HIGHEST_PRIORITY = 35, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRange:
    """Tokens `[start, end)` of a request's prompt and how much they are to be kept.

    Attributes:
        end_tokens: `None` is the end of what it will have computed.
        priority: From 0 to 100.

    Raises:
        OptionsError: Another priority.
    """

    start_tokens: int = 0
    end_tokens: int | None = None
    priority: int

    def __post_init__(self) -> None:
        if not 0 <= self.priority <= HIGHEST_PRIORITY:
            raise OptionsError("priority", found=self.priority, legal=f"0..{HIGHEST_PRIORITY}")

    def holds(self, block: Block) -> bool:
        """Whether a block begins in it."""
        start_tokens = block.end_tokens - len(block.tokens)
        return self.start_tokens <= start_tokens and (
            self.end_tokens is None or start_tokens < self.end_tokens
        )


Retention = Callable[[AdmissionRequest], tuple[TokenRange, ...]]
"""What a request asks for; of ranges that overlap the first counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotPlan:
    """Where recurrent states are kept.

    Attributes:
        interval_tokens: Every so many tokens, in whole blocks; `None` is off.
        at_end: At the last block end that leaves a token of the prompt to compute.
        at_branches: Where a prompt leaves the blocks that are there.
    """

    interval_tokens: int | None = None
    at_end: bool = True
    at_branches: bool = True


NO_SNAPSHOTS = SnapshotPlan(at_end=False, at_branches=False)


class TensorRtPriority(TreeDesign):
    """Implements `CacheController`.

    Args:
        plan: Of snapshots.
        retention: What requests ask for.
    """

    keeps_endpoints = False

    def __init__(
        self,
        options: ResolvedOptions,
        machine: MachineApi,
        plan: SnapshotPlan,
        retention: Retention,
    ) -> None:
        super().__init__(options, machine)
        self._plan = plan
        self._retention = retention

    def wanted_tokens(self, found: Found) -> Iterable[int]:
        """As planned."""
        plan, last_tokens = self._plan, len(found.request.prompt.tokens) - 1
        wanted = {found.kv_tokens} if plan.at_branches else set()
        if plan.at_end:
            wanted.add(last_tokens // PAGE_TOKENS * PAGE_TOKENS)
        if plan.interval_tokens is not None:
            wanted.update(range(0, last_tokens + 1, plan.interval_tokens))
        return (each for each in wanted if each > found.reuse_tokens)

    def entered(self, block: Block, running: Running) -> None:
        """The newest request's word on it counts."""
        ranges = self._retention(running.found.request)
        said = (each.priority for each in ranges if each.holds(block))
        block.priority = next(said, DEFAULT_PRIORITY)

    def page_victims(self) -> Iterator[Victim]:
        """Leaves, by priority and then by their last use."""
        idle = self.tree.idle_blocks
        heap = [(b.priority, b.stamp, b.end_tokens, b) for b in idle if b.is_leaf]
        heapify(heap)
        while heap:
            *_, block = heappop(heap)
            parent = block.parent
            yield block
            if parent is not None and parent in idle and parent.is_leaf:
                heappush(heap, (parent.priority, parent.stamp, parent.end_tokens, parent))

    def state_victims(self) -> Iterator[KeptState]:
        """By the priority of their block, and then by their last use."""
        while self.tree.idle_states:
            yield min(self.tree.idle_states, key=lambda each: (each.block.priority, each.stamp))


TensorRtFactory = Callable[[ResolvedOptions, MachineApi, MachineCostModel], TensorRtPriority]


def tensorrt_priority(
    plan: SnapshotPlan | None = None, retention: Retention = lambda _: ()
) -> TensorRtFactory:
    """A factory, as assembly takes it.

    Args:
        plan: Of snapshots; by default at the end of prompts and at branches.
        retention: What requests ask for; by default nothing.

    Raises:
        OptionsError: An interval that is no whole number of blocks.
    """
    plan = SnapshotPlan() if plan is None else plan
    if plan.interval_tokens is not None and (
        plan.interval_tokens < PAGE_TOKENS or plan.interval_tokens % PAGE_TOKENS
    ):
        raise OptionsError(
            "interval_tokens", found=plan.interval_tokens, legal=f"a multiple of {PAGE_TOKENS}"
        )

    def design(
        options: ResolvedOptions, machine: MachineApi, belief: MachineCostModel
    ) -> TensorRtPriority:
        return TensorRtPriority(options, machine, plan, retention)

    return design
