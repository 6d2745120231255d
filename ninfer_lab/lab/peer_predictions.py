"""How many tokens will another engine say it had cached?

Owns the question as a function: an engine's settings and a stream of requests, one at a time, go
in; what our model of that engine reuses for each comes out. The model runs as every design does, in
the engine of this project and in virtual time, so a prediction is a run of it. Knows no engine and
no checkpoint: who measures hands over token ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ninfer_lab.contract.clock import VirtualClock
from ninfer_lab.contract.options import PAGE_TOKENS, EngineOptions, RequestOptions, pages_of_tokens
from ninfer_lab.contract.prompt import ChatPrompt, Message, PromptInput, TokenPrompt
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.engine.assembly import ControllerFactory
from ninfer_lab.frontend.prepared_prompt import Frontend
from ninfer_lab.lab.token_sources import ScriptedTokens
from ninfer_lab.lab.traces.replay_world import ReplayWorld, dense_27b
from ninfer_lab.policies.community.llama_slots import LlamaOptions, llama_slots
from ninfer_lab.policies.community.vllm_aligned import STATE_BLOCKS, vllm_aligned


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerRequest:
    """One request of a stream.

    Attributes:
        prompt: Token ids.
        messages: What the prompt says, where it is a chat that the engine was sent as such.
        answer: What the engine answered, token for token; at least one.
    """

    prompt: Sequence[int]
    answer: Sequence[int]
    messages: tuple[Message, ...] = ()

    @property
    def input(self) -> PromptInput:
        """As it is submitted."""
        if self.messages:
            return ChatPrompt(messages=self.messages)
        return TokenPrompt(tokens=TokenSpan(self.prompt))


@dataclass(frozen=True, slots=True, kw_only=True)
class VllmSettings:
    """Of vLLM with a hybrid model in the mode `align`.

    Attributes:
        block_tokens: `cache_config.block_size` as vLLM has inflated it; a multiple of 64.
        blocks_count: `num_gpu_blocks`, the one that vLLM keeps for itself included.
        chunk_tokens: `max_num_batched_tokens`.
        state_blocks: Groups of linear layers: three where three layers of four are linear.
    """

    block_tokens: int
    blocks_count: int
    chunk_tokens: int
    state_blocks: int = STATE_BLOCKS


def vllm_cached_tokens(settings: VllmSettings, requests: Sequence[PeerRequest]) -> tuple[int, ...]:
    """What vLLM will report as `num_cached_tokens`, request by request.

    Raises:
        OptionsError: Settings that hold no block, or not the longest request.
    """
    design = vllm_aligned(
        settings.block_tokens,
        blocks_count=settings.blocks_count,
        state_blocks=settings.state_blocks,
    )
    pages_count = settings.blocks_count * pages_of_tokens(settings.block_tokens)
    options = EngineOptions(
        max_context_tokens=_longest_tokens(requests),
        kv_capacity_tokens=pages_count * PAGE_TOKENS,
        prefill_chunk_tokens=settings.chunk_tokens,
        device_state_slots=settings.blocks_count,
        host_state_slots=0,
        host_kv_capacity_bytes=0,
    )
    return cached_tokens(design, options, requests)


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaSettings:
    """Of llama.cpp's server, keys and values not shared between slots.

    Attributes:
        slots_count: `n_parallel`, 1 to 8.
        context_tokens: Of one slot: `n_ctx` by the slots.
        ram_bytes: `cache_ram`.
        checkpoints_count: `n_ctx_checkpoints`.
        min_step_tokens: `checkpoint_min_step`.
        batch_tokens: `n_batch`.
        small_batch_tokens: `n_ubatch`.
        token_bytes: Keys and values of one token, in the type of the server's cache.
        state_bytes: Of one whole state.
    """

    slots_count: int = 1
    context_tokens: int
    ram_bytes: int = 8 * 2**30
    checkpoints_count: int = 32
    min_step_tokens: int = 8_192
    batch_tokens: int = 2_048
    small_batch_tokens: int = 512
    token_bytes: int = 1_024
    state_bytes: int = 897_000


def llama_cached_tokens(
    settings: LlamaSettings, requests: Sequence[PeerRequest], *, frontend: Frontend | None = None
) -> tuple[int, ...]:
    """What llama.cpp will report as cached, request by request.

    Args:
        settings: Of the server.
        requests: As they were sent.
        frontend: Reads chats; without one there are none.

    Raises:
        OptionsError: Settings that do not hold the longest request.
    """
    server = LlamaOptions(
        ram_bytes=settings.ram_bytes,
        checkpoints_count=settings.checkpoints_count,
        min_step_tokens=settings.min_step_tokens,
        small_batch_tokens=settings.small_batch_tokens,
    )
    slots_count, prompts_count = settings.slots_count, len(requests) + 2
    context_pages = pages_of_tokens(settings.context_tokens) + 1
    states_count = settings.checkpoints_count + 4
    options = EngineOptions(
        max_concurrency=slots_count,
        max_context_tokens=settings.context_tokens,
        kv_capacity_tokens=(slots_count + prompts_count) * context_pages * PAGE_TOKENS,
        prefill_chunk_tokens=settings.batch_tokens,
        device_state_slots=(slots_count + prompts_count) * states_count,
        host_state_slots=0,
        host_kv_capacity_bytes=0,
    )
    world = dense_27b()
    device = replace(
        world.device,
        kv_page_bytes=settings.token_bytes * PAGE_TOKENS,
        state_image_bytes=settings.state_bytes,
    )
    world = replace(world, device=device, frontend=frontend or Frontend())
    return cached_tokens(llama_slots(server), options, requests, world=world)


def cached_tokens(
    design: ControllerFactory,
    options: EngineOptions,
    requests: Sequence[PeerRequest],
    *,
    world: ReplayWorld | None = None,
) -> tuple[int, ...]:
    """What a design reuses of each prompt of a stream, one request at a time.

    Args:
        design: Any.
        options: The engine's.
        world: On whose machine; it moves no count of a design that asks no price. Its frontend
            reads chats as the engine in question does.

    Raises:
        OptionsError: Options that cannot hold one request.
        PromptError: A chat, and a frontend that reads none.
    """
    found = dense_27b() if world is None else world
    tokens = ScriptedTokens()
    reused = []
    with replace(found, options=options, design=design).engine(tokens, VirtualClock()) as engine:
        for asked in requests:
            request = engine.submit(
                asked.input,
                RequestOptions(max_output_tokens=len(asked.answer), stop_at_end_token=False),
            )
            tokens.script(request, prompt_tokens=len(asked.prompt), answer=asked.answer)
            reused.append(engine.run(request).log.prefix_cache_hit_tokens)
    return tuple(reused)


def _longest_tokens(requests: Sequence[PeerRequest]) -> int:
    return max(len(each.prompt) + len(each.answer) for each in requests)
