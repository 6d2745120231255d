"""The same checkpoint in transformers, fed as one whole sequence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor
from transformers import DynamicCache, Qwen3_5ForCausalLM
from transformers.utils import logging

logging.set_verbosity_error()  # type: ignore[no-untyped-call]
logging.disable_progress_bar()  # type: ignore[no-untyped-call]


class TransformersModel:
    """A folder as transformers reads it."""

    def __init__(self, folder: Path, dtype: torch.dtype = torch.float32) -> None:
        self._model = Qwen3_5ForCausalLM.from_pretrained(folder, dtype=dtype)

    @torch.inference_mode()
    def logits(self, token_ids: Sequence[int]) -> Tensor:
        """`[T, vocab]`."""
        found: Tensor = self._model(torch.tensor([token_ids])).logits[0]
        return found

    @torch.inference_mode()
    def greedy(self, token_ids: Sequence[int], count: int) -> list[int]:
        """The next tokens by the largest logit, on its own cache."""
        cache = DynamicCache(config=self._model.config)
        fed, chosen = torch.tensor([token_ids]), []
        for _ in range(count):
            logits = self._model(fed, cache=cache, use_cache=True).logits[0, -1]
            chosen.append(int(logits.argmax()))
            fed = torch.tensor([[chosen[-1]]])
        return chosen
