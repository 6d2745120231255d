"""What does this project's engine reuse on the same stream, with the same memory?

Owns the translation of another engine's memory into capacities of the catalog engine, by one rule
for all, and the run of it in virtual time. Prices are those of the generic machine: none of them
was looked at when the rule was made.
Does not know what the other engine did.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from ninfer_lab.contract.clock import VirtualClock
from ninfer_lab.contract.device_timing import SimulatedDevice
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.ids import SessionKey
from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.contract.options import PAGE_TOKENS, EngineOptions, RequestOptions, pages_of_tokens
from ninfer_lab.contract.prompt import ChatPrompt, PromptInput, TokenPrompt
from ninfer_lab.contract.shared_prefix import SharedPrefixHints
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.cost.decode_timing import RTX_5090_27B, decode_timing
from ninfer_lab.cost.machine_cost_model import timing_from_model
from ninfer_lab.cost.preset_file import shipped_presets
from ninfer_lab.cost.presets import GENERIC, resolve_cost_model
from ninfer_lab.lab.bench.peers.measured import MeasuredRun
from ninfer_lab.lab.bench.peers.runs import GEOMETRY, MIB, LlamaCppSettings, VllmSettings
from ninfer_lab.lab.bench.peers.streams import PeerRequest, Stream, stream_named
from ninfer_lab.lab.bench.peers.vocabulary import chat_frontend
from ninfer_lab.lab.token_sources import ScriptedTokens
from ninfer_lab.lab.traces.replay_world import ReplayWorld
from ninfer_lab.models.qwen3_5.measurement import (
    kv_page_bytes,
    prefill_signature,
    state_image_bytes,
)

_KV_PAGE_BYTES = kv_page_bytes(GEOMETRY, ModelDtype.BFLOAT16)
"""Both engines keep keys and values in 16 bits."""

_HINTS = SharedPrefixHints(allow_engine_prefix_grid=True)
"""Bare tokens have no messages whose ends could be shared, so the engine may look on a grid."""


IMAGES_OF_A_REQUEST = 2
"""Where its answer ends, for the next turn, and where its prompt does, for the same again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerMemory:
    """What an engine's settings allow it to keep, running requests included.

    Attributes:
        total_bytes: Wherever it lies: on a processor, pools and copies share one memory.
        image_bytes: Of one whole state as that engine stores it.
    """

    total_bytes: int
    image_bytes: int


def memory_of(measured: MeasuredRun) -> PeerMemory:
    """The memory behind one measured run."""
    settings, facts = measured.run.settings, measured.facts
    match settings:
        case VllmSettings():
            # Its first block stands for "nothing" and holds nothing, but is allocated.
            return PeerMemory(
                total_bytes=settings.blocks_count * int(facts["block_bytes"]),
                image_bytes=state_image_bytes(GEOMETRY, ModelDtype.BFLOAT16),
            )
        case LlamaCppSettings():
            image_bytes = state_image_bytes(GEOMETRY, ModelDtype.FLOAT32)
            images = 1 + int(facts["checkpoints_per_slot"])
            slot_bytes = (
                pages_of_tokens(settings.context_tokens) * _KV_PAGE_BYTES + images * image_bytes
            )
            return PeerMemory(
                total_bytes=settings.slots_count * slot_bytes + settings.ram_pool_mib * MIB,
                image_bytes=image_bytes,
            )
        case _:
            assert_never(settings)


def catalog_options(memory: PeerMemory, request_tokens: int) -> EngineOptions:
    """Capacities of the catalog engine with no more memory than that.

    One rule for all: images for as many requests as fit whole, `IMAGES_OF_A_REQUEST` for each, one
    for the running request, and pages for all the rest.

    Args:
        memory: What there is.
        request_tokens: Prompt and answer of the longest request.

    Raises:
        OptionsError: Not even that request fits.
    """
    pages_bytes = pages_of_tokens(request_tokens) * _KV_PAGE_BYTES
    kept_bytes = memory.total_bytes - memory.image_bytes
    request_count = kept_bytes // (pages_bytes + IMAGES_OF_A_REQUEST * memory.image_bytes)
    images = IMAGES_OF_A_REQUEST * max(0, request_count)
    kv_bytes = kept_bytes - images * memory.image_bytes
    if kv_bytes < pages_bytes:
        raise OptionsError(
            "memory of the other engine",
            found=f"{memory.total_bytes} bytes",
            legal=f">= {pages_bytes + memory.image_bytes} bytes, for one request",
        )
    return EngineOptions(
        max_context_tokens=request_tokens,
        kv_capacity_tokens=kv_bytes // _KV_PAGE_BYTES * PAGE_TOKENS,
        device_state_slots=images,
        host_state_slots=0,
        host_kv_capacity_bytes=0,
        max_private_continuations=max(1, images),
    )


def catalog_cached_tokens(stream: Stream, memory: PeerMemory) -> tuple[int, ...]:
    """What the catalog engine reuses of each prompt of the stream, one request at a time."""
    tokens = ScriptedTokens()
    reused = []
    world = _world(catalog_options(memory, stream.longest_tokens), memory.image_bytes)
    with world.engine(tokens, VirtualClock()) as engine:
        for asked in stream.requests:
            options = RequestOptions(
                max_output_tokens=asked.answer_tokens,
                session_key=None if asked.session is None else SessionKey(asked.session),
                stop_at_end_token=False,
            )
            request = engine.submit(_input(asked), options)
            tokens.script(request, prompt_tokens=len(asked.prompt), answer=asked.answer)
            reused.append(engine.run(request).log.prefix_cache_hit_tokens)
    return tuple(reused)


def catalog_beside(measured: MeasuredRun) -> tuple[int, ...]:
    """The catalog engine on the stream and with the memory of a measured run."""
    return catalog_cached_tokens(stream_named(measured.run.stream), memory_of(measured))


def _input(asked: PeerRequest) -> PromptInput:
    if asked.messages:
        return ChatPrompt(messages=asked.messages)
    return TokenPrompt(tokens=TokenSpan(asked.prompt), anchor_prompt_end=True, hints=_HINTS)


def _world(options: EngineOptions, image_bytes: int) -> ReplayWorld:
    belief = resolve_cost_model(
        hardware_class=GENERIC,
        signature=prefill_signature(GEOMETRY, ModelDtype.BFLOAT16),
        shipped=shipped_presets(),
    )
    decode = decode_timing(RTX_5090_27B, kv_bytes_per_token=_KV_PAGE_BYTES // PAGE_TOKENS)
    device = SimulatedDevice(
        timing=timing_from_model(belief, decode),
        kv_page_bytes=_KV_PAGE_BYTES,
        state_image_bytes=image_bytes,
    )
    return ReplayWorld(
        name="peers",
        geometry=GEOMETRY,
        device=device,
        options=options,
        belief=belief,
        frontend=chat_frontend(),
    )
