"""What does the same work take in transformers?

Owns the other side of a row, in its fastest plain form: `Qwen3_5ForCausalLM` under `inference_mode`
with its own cache object and SDPA attention, the head applied to the last token only, greedy
choice on the logits, and none of what `generate()` does around that. Also owns what a process of
tensors is told once: how many threads. Does not know the Engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor
from transformers import DynamicCache, Qwen3_5ForCausalLM
from transformers import __version__ as transformers_version
from transformers.utils import logging

from ninfer_lab.contract.clock import Clock
from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.lab.bench.engine_side import FirstToken
from ninfer_lab.lab.bench.machine_facts import TensorFacts

SETTINGS = (
    "transformers: `Qwen3_5ForCausalLM`, `inference_mode`, `DynamicCache`, SDPA, logits of the last"
    " token only, argmax, no `generate()`"
)
"""Said below the table."""

_DTYPES = {ModelDtype.FLOAT32: torch.float32, ModelDtype.BFLOAT16: torch.bfloat16}


def settle_process(thread_count: int) -> None:
    """Gives both sides the same threads, and keeps transformers' notices out of the table.

    It would note on every load that it runs its own PyTorch forms: the GPU kernels it misses do not
    run on a CPU anyway.
    """
    torch.set_num_threads(thread_count)
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]


def tensor_facts() -> TensorFacts:
    """Of this process."""
    return TensorFacts(
        torch_version=torch.__version__,
        transformers_version=transformers_version,
        vector_instructions=torch.backends.cpu.get_cpu_capability(),
        multiplies_bfloat16=bool(torch.ops.mkldnn._is_mkldnn_bf16_supported()),
    )


class TransformersSide:
    """One loaded model."""

    def __init__(self, checkpoint: Path, dtype: ModelDtype, *, clock: Clock) -> None:
        self._clock = clock
        self._model = Qwen3_5ForCausalLM.from_pretrained(
            checkpoint, dtype=_DTYPES[dtype], attn_implementation="sdpa"
        )  # in evaluation mode, as `from_pretrained` says
        self._cache: DynamicCache | None = None
        self._next: Tensor = torch.empty((0, 1), dtype=torch.int64)
        self._drawn: list[Tensor] = []

    @torch.inference_mode()
    def prefill(self, prompt: TokenSpan) -> FirstToken:
        """A prompt into a fresh cache, and one token drawn."""
        ids = torch.tensor([list(prompt)])
        started_ns = self._clock.now_ns()
        token = int(self._forward(ids, DynamicCache(config=self._model.config)))
        return FirstToken(took_ns=self._clock.now_ns() - started_ns, token=token)

    @torch.inference_mode()
    def start_decode(self, prompts: Sequence[TokenSpan]) -> None:
        """Prompts of one length into one cache: no padding, no mask, the best case of a batch."""
        self._cache = DynamicCache(config=self._model.config)
        self._next = self._forward(torch.tensor([list(prompt) for prompt in prompts]), self._cache)
        self._drawn = [self._next]

    @torch.inference_mode()
    def decode(self, steps_count: int) -> int:
        """Runs so many decode steps of all rows; their time in ns."""
        assert self._cache is not None, "start_decode comes first"
        started_ns = self._clock.now_ns()
        for _ in range(steps_count):
            self._next = self._forward(self._next, self._cache)
            self._drawn.append(self._next)
        return self._clock.now_ns() - started_ns

    @property
    def drawn_tokens(self) -> tuple[tuple[int, ...], ...]:
        """Tokens drawn so far, per prompt of `start_decode`."""
        return tuple(tuple(row) for row in torch.cat(self._drawn, dim=1).tolist())

    def _forward(self, ids: Tensor, cache: DynamicCache) -> Tensor:
        """`[B, T]` to the next token of every row, `[B, 1]`."""
        output = self._model(input_ids=ids, cache=cache, use_cache=True, logits_to_keep=1)
        logits: Tensor = output.logits
        return logits.argmax(dim=-1)
