"""What does our model of an engine say that the engine reuses?

Owns the translation of a measured run's settings, and of what the engine made of them, into those
of `lab.peer_predictions`. The model is asked for nothing but the prompts; what was measured is only
held beside it.
"""

from __future__ import annotations

from typing import assert_never

from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.contract.options import PAGE_TOKENS
from ninfer_lab.lab.bench.peers.measured import MeasuredRun
from ninfer_lab.lab.bench.peers.runs import GEOMETRY, MIB, LlamaCppSettings, VllmSettings
from ninfer_lab.lab.bench.peers.streams import stream_named
from ninfer_lab.lab.bench.peers.vocabulary import chat_frontend
from ninfer_lab.lab.peer_predictions import (
    LlamaSettings,
    PeerRequest,
    llama_cached_tokens,
    vllm_cached_tokens,
)
from ninfer_lab.lab.peer_predictions import VllmSettings as VllmModel
from ninfer_lab.models.qwen3_5.measurement import kv_page_bytes, state_image_bytes


def predicted_beside(measured: MeasuredRun) -> tuple[int, ...]:
    """Cached tokens of each request, by our model of the engine that was measured."""
    requests = [
        PeerRequest(prompt=request.prompt, answer=request.answer, messages=request.messages)
        for request in stream_named(measured.run.stream).requests
    ]
    settings, facts = measured.run.settings, measured.facts
    match settings:
        case VllmSettings():
            model = VllmModel(
                block_tokens=int(facts["block_tokens"]),
                blocks_count=settings.blocks_count,
                chunk_tokens=settings.context_tokens,
                state_blocks=int(facts["blocks_of_a_state"]),
            )
            return vllm_cached_tokens(model, requests)
        case LlamaCppSettings():
            page_bytes = kv_page_bytes(GEOMETRY, ModelDtype.BFLOAT16)  # 16 bits there, too
            server = LlamaSettings(
                slots_count=settings.slots_count,
                context_tokens=settings.context_tokens,
                ram_bytes=settings.ram_pool_mib * MIB,
                checkpoints_count=int(facts["checkpoints_per_slot"]),
                min_step_tokens=int(facts["checkpoint_spacing_tokens"]),
                batch_tokens=int(facts["batch_tokens"]),
                small_batch_tokens=int(facts["physical_batch_tokens"]),
                token_bytes=page_bytes // PAGE_TOKENS,
                state_bytes=state_image_bytes(GEOMETRY, ModelDtype.FLOAT32),
            )
            return llama_cached_tokens(server, requests, frontend=chat_frontend())
        case _:
            assert_never(settings)
