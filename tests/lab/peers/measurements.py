"""Builders of measured runs, as if engines had answered."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from ninfer_lab.lab.bench.peers.measured import Fact, MeasuredRun, Measurements
from ninfer_lab.lab.bench.peers.runs import LlamaCppSettings, PeerRun, VllmSettings
from ninfer_lab.lab.bench.peers.streams import stream_named

VLLM_FACTS: dict[str, Fact] = {
    "block_tokens": 384,
    "blocks_count": 256,
    "block_bytes": 393_216,
    "blocks_of_a_state": 3,
}
LLAMA_CPP_FACTS: dict[str, Fact] = {
    "checkpoints_per_slot": 32,
    "checkpoint_spacing_tokens": 8_192,
    "batch_tokens": 2_048,
    "physical_batch_tokens": 512,
    "keeps_idle_slots": True,
    "slot_similarity": 0.1,
}


def vllm_run(stream: str, *, blocks: int = 256, cached: Sequence[int] | None = None) -> MeasuredRun:
    settings = VllmSettings(blocks_count=blocks, context_tokens=4_608)
    return _run(PeerRun(settings=settings, stream=stream), VLLM_FACTS, cached)


def llama_cpp_run(
    stream: str, *, slots: int = 1, pool_mib: int = 0, cached: Sequence[int] | None = None
) -> MeasuredRun:
    settings = LlamaCppSettings(slots_count=slots, context_tokens=4_608, ram_pool_mib=pool_mib)
    return _run(PeerRun(settings=settings, stream=stream), LLAMA_CPP_FACTS, cached)


def _run(run: PeerRun, facts: dict[str, Fact], cached: Sequence[int] | None) -> MeasuredRun:
    stream = stream_named(run.stream)
    zeros = (0,) * len(stream.requests)
    return MeasuredRun(
        run=run,
        digest=stream.digest,
        facts=facts,
        cached_tokens=tuple(zeros if cached is None else cached),
        first_tokens=zeros,
    )


def measurements(*runs: MeasuredRun, own_first_tokens: Sequence[int] = (0,) * 8) -> Measurements:
    return Measurements(
        day=date(2026, 1, 2),
        machine="A Processor, 2 cores, Linux",
        versions={"vLLM": "9.9"},
        own_first_tokens=tuple(own_first_tokens),
        runs=runs,
    )
