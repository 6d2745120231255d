"""What does each design get, where all get the same bytes?

Owns `Capacity`, a number of bytes on the Device and in main memory, and how each design divides
them: into pages and state slots of fixed number, into one pool of blocks, or into slots of a whole
context with a pool beside them. Knows designs by name and runs none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.options import PAGE_TOKENS, EngineOptions, pages_of_tokens
from ninfer_lab.engine.assembly import ControllerFactory
from ninfer_lab.lab import designs
from ninfer_lab.lab.traces.replay_world import ReplayWorld
from ninfer_lab.policies.community.llama_slots import LlamaOptions, llama_slots
from ninfer_lab.policies.community.vllm_aligned import STATE_BLOCKS, vllm_aligned


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What every design is given.

    Attributes:
        device_bytes: For keys, values and states, those of running requests included.
        host_bytes: In main memory, for designs that have a place there.
        lanes_count: Requests that run at once, at most.
        context_tokens: Longest prompt and answer.
        chunk_tokens: Most prompt tokens of one forward.
        state_share: Of the Device bytes beyond one state for each lane and one context, so much is
            for states, where a design divides them once for all.
    """

    device_bytes: int
    host_bytes: int = 0
    lanes_count: int = 1
    context_tokens: int = 8_192
    chunk_tokens: int = 1_024
    state_share: float = 0.5

    def __str__(self) -> str:
        beside = f" + {_gib(self.host_bytes)} in main memory" if self.host_bytes else ""
        return f"{_gib(self.device_bytes)}{beside}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A design and the options that give it a capacity."""

    design: ControllerFactory
    options: EngineOptions


Divide = Callable[[ControllerFactory, Capacity, ReplayWorld], Setup]
"""How a design divides a capacity."""


def setup(design: ControllerFactory | str, capacity: Capacity, world: ReplayWorld) -> Setup:
    """The engine of a design at a capacity.

    Args:
        design: One of `lab.designs`, by name, or one's own, which gets pages and slots.
        world: In whose bytes pages and states are counted.

    Raises:
        OptionsError: A name of no design; a capacity without room for one context and its state.
    """
    if not isinstance(design, str):
        return fixed_pools(design, capacity, world)
    return DIVISIONS.get(design, fixed_pools)(designs.named(design), capacity, world)


def fixed_pools(design: ControllerFactory, capacity: Capacity, world: ReplayWorld) -> Setup:
    """Pages and states have a pool each, main memory a half for each."""
    page_bytes, state_bytes = world.device.kv_page_bytes, world.device.state_image_bytes
    needed_pages = pages_of_tokens(capacity.context_tokens)
    lanes_count = capacity.lanes_count
    spare_bytes = capacity.device_bytes - needed_pages * page_bytes - lanes_count * state_bytes
    _require_room(capacity, spare_bytes)
    extra_slots = int(spare_bytes * capacity.state_share) // state_bytes
    pages = needed_pages + (spare_bytes - extra_slots * state_bytes) // page_bytes
    host_slots = capacity.host_bytes // 2 // state_bytes
    owners_count = max(2 * lanes_count, extra_slots + host_slots)
    options = EngineOptions(
        kv_capacity_tokens=pages * PAGE_TOKENS,
        device_state_slots=extra_slots,
        host_state_slots=host_slots,
        host_kv_capacity_bytes=capacity.host_bytes - host_slots * state_bytes,
        max_private_continuations=owners_count,
        max_shared_prefixes=max(7, extra_slots),
    )
    return Setup(design=design, options=_asked(options, capacity))


def one_pool(design: ControllerFactory, capacity: Capacity, world: ReplayWorld) -> Setup:
    """Blocks as large as the state of a group of layers; whatever is asked for takes some."""
    page_bytes, state_bytes = world.device.kv_page_bytes, world.device.state_image_bytes
    block_pages = pages_of_tokens(-(-state_bytes // STATE_BLOCKS * PAGE_TOKENS // page_bytes))
    blocks_count = capacity.device_bytes // (block_pages * page_bytes)
    needed_pages = pages_of_tokens(capacity.context_tokens) + block_pages
    spare_pages = (blocks_count - 1 - 2 * STATE_BLOCKS) * block_pages - needed_pages
    _require_room(capacity, spare_pages)
    options = EngineOptions(
        kv_capacity_tokens=blocks_count * block_pages * PAGE_TOKENS,
        device_state_slots=blocks_count,
        host_state_slots=0,
        host_kv_capacity_bytes=0,
    )
    design = vllm_aligned(block_pages * PAGE_TOKENS, blocks_count=blocks_count)
    return Setup(design=design, options=_asked(options, capacity))


def context_slots(design: ControllerFactory, capacity: Capacity, world: ReplayWorld) -> Setup:
    """As many slots of a whole context as fit; checkpoints and a pool lie in main memory."""
    page_bytes, state_bytes = world.device.kv_page_bytes, world.device.state_image_bytes
    context_pages = pages_of_tokens(capacity.context_tokens) + 1
    slot_bytes = context_pages * page_bytes + state_bytes
    lanes_count = min(capacity.lanes_count, capacity.device_bytes // slot_bytes)
    _require_room(capacity, lanes_count - 1)
    server = LlamaOptions(ram_bytes=capacity.host_bytes)
    pool_pages = capacity.host_bytes // page_bytes + context_pages
    pool_states = capacity.host_bytes // state_bytes + server.checkpoints_count + 1
    options = EngineOptions(
        kv_capacity_tokens=(lanes_count * context_pages + pool_pages) * PAGE_TOKENS,
        device_state_slots=lanes_count * (server.checkpoints_count + 3) + pool_states,
        host_state_slots=0,
        host_kv_capacity_bytes=0,
    )
    asked = _asked(options, capacity)
    return Setup(design=llama_slots(server), options=replace(asked, max_concurrency=lanes_count))


DIVISIONS: Mapping[str, Divide] = MappingProxyType(
    {designs.VLLM: one_pool, designs.LLAMA: context_slots}
)
"""Designs that do not have a pool each for pages and for states."""


def _asked(options: EngineOptions, capacity: Capacity) -> EngineOptions:
    return replace(
        options,
        max_concurrency=capacity.lanes_count,
        max_context_tokens=capacity.context_tokens,
        prefill_chunk_tokens=capacity.chunk_tokens,
        max_pending_requests=256,
    )


def _require_room(capacity: Capacity, spare: int) -> None:
    if spare < 0:
        raise OptionsError(
            "capacity.device_bytes",
            found=capacity.device_bytes,
            legal=f"room for one context of {capacity.context_tokens} tokens and"
            f" {capacity.lanes_count} states",
        )


def _gib(count_bytes: int) -> str:
    return f"{count_bytes / 2**30:.3g} GiB"
