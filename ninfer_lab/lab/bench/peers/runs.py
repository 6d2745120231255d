"""Which engine is measured with which settings on which stream?

Owns the settings of each engine, the list of runs, and the model that all of them serve.
Does not know how a run is made (`measure`), nor what comes of it (`measured`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import assert_never

from ninfer_lab.models.qwen3_5.geometries import BENCH_12M

GEOMETRY = replace(BENCH_12M, hidden_size=64, intermediate_size=64, vocab_size=1_024)
"""States and KV of the benchmark's model, on which vLLM's blocks are 384 tokens; its widths are
small, for a cache holds none of them and a processor without bfloat16 products multiplies slowly.
"""


MIB = 2**20


class Peer(Enum):
    """An engine by the name that its table has."""

    VLLM = "vLLM"
    LLAMA_CPP = "llama.cpp"


@dataclass(frozen=True, slots=True, kw_only=True)
class VllmSettings:
    """Of vLLM with prefix caching, on a hybrid model.

    Attributes:
        blocks_count: Of the one pool for KV and states, its null block included.
        context_tokens: Longest prompt plus output, and most tokens of one step.
    """

    blocks_count: int
    context_tokens: int

    def __str__(self) -> str:
        return f"{self.blocks_count} blocks"


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaCppSettings:
    """Of llama.cpp's server; whatever is not here is left as the library has it.

    Attributes:
        slots_count: Requests side by side, each with a context of its own.
        context_tokens: Of one slot.
        ram_pool_mib: Limit of the pool that prompts are put into when their slot is taken; 0
            switches it off.
    """

    slots_count: int
    context_tokens: int
    ram_pool_mib: int

    def __str__(self) -> str:
        slots = "1 slot" if self.slots_count == 1 else f"{self.slots_count} slots"
        pool = f"RAM pool {self.ram_pool_mib:,} MiB" if self.ram_pool_mib else "no RAM pool"
        return f"{slots}, {pool}"


PeerSettings = VllmSettings | LlamaCppSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerRun:
    """One engine, started for one stream."""

    settings: PeerSettings
    stream: str

    @property
    def peer(self) -> Peer:
        """Whose settings they are."""
        match self.settings:
            case VllmSettings():
                return Peer.VLLM
            case LlamaCppSettings():
                return Peer.LLAMA_CPP
            case _:
                assert_never(self.settings)

    def __str__(self) -> str:
        return f"{self.peer.value}, {self.settings}: {self.stream}"


_CONTEXT_TOKENS = {"branches": 4_608}
_SHORTER_CONTEXT_TOKENS = 2_048
"""Of every other stream; a small pool does not start with room for a longer one."""

_ROOMY_BLOCKS = 256
_DEFAULT_POOL_MIB = 8_192


def _context_tokens(stream: str) -> int:
    return _CONTEXT_TOKENS.get(stream, _SHORTER_CONTEXT_TOKENS)


def _vllm(stream: str, *blocks_counts: int) -> tuple[PeerRun, ...]:
    return tuple(
        PeerRun(
            settings=VllmSettings(blocks_count=count, context_tokens=_context_tokens(stream)),
            stream=stream,
        )
        for count in blocks_counts
    )


def _llama_cpp(stream: str, *slots_and_pools: tuple[int, int]) -> tuple[PeerRun, ...]:
    return tuple(
        PeerRun(
            settings=LlamaCppSettings(
                slots_count=slots, context_tokens=_context_tokens(stream), ram_pool_mib=pool_mib
            ),
            stream=stream,
        )
        for slots, pool_mib in slots_and_pools
    )


RUNS: tuple[PeerRun, ...] = (
    *_vllm("first-tokens", _ROOMY_BLOCKS),
    *_vllm("branches", _ROOMY_BLOCKS, 24),
    *_vllm("side-requests", _ROOMY_BLOCKS, 14),
    *_vllm("edits", _ROOMY_BLOCKS, 14),
    *_vllm("long-answers", _ROOMY_BLOCKS),
    *_vllm("cycle", 60, 72, 84),
    *_llama_cpp("first-tokens", (1, _DEFAULT_POOL_MIB)),
    *_llama_cpp("branches", (1, _DEFAULT_POOL_MIB), (1, 0), (2, 0)),
    *_llama_cpp("side-requests", (1, _DEFAULT_POOL_MIB), (1, 0), (2, 0)),
    *_llama_cpp("edits", (1, _DEFAULT_POOL_MIB)),
    *_llama_cpp("long-answers", (1, _DEFAULT_POOL_MIB)),
    *_llama_cpp("chats", (1, _DEFAULT_POOL_MIB), (1, 0), (2, 0)),
    *_llama_cpp("cycle", (1, _DEFAULT_POOL_MIB), (1, 44), (1, 24), (4, 0)),
)
"""Where everything fits, and where it does not: 12 prompts of 1,500 tokens take some 72 blocks
there, some 48 MiB of the pool here."""
