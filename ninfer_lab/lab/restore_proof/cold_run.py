"""What does a sequence compute that nobody has cached anything for?

Owns the replay from root: the same tokens, by given cuts, on pages and a slot of its own, which lie
elsewhere than an engine's would. Does not know where cuts come from, nor what is compared with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from ninfer_lab.contract.ids import PageId
from ninfer_lab.contract.options import PAGE_TOKENS, pages_of_tokens
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.models.qwen3_5.forward_rows import PrefillRow
from ninfer_lab.models.qwen3_5.model import HybridModel
from ninfer_lab.models.qwen3_5.state_image import TORCH_DTYPES, DeviceTensors

_SLOT = 0


class ColdRun:
    """One sequence at a time, from root, on memory of its own.

    Args:
        model: The one whose engine is on trial.
        like: The engine's memory; the element type of pages is taken from it.
        limit_tokens: The longest sequence.
    """

    def __init__(self, model: HybridModel, like: DeviceTensors, limit_tokens: int) -> None:
        dtype = next(d for d, stored in TORCH_DTYPES.items() if stored == like.kv_pages.dtype)
        self._model = model
        self._tensors = DeviceTensors.allocate(
            model.geometry,
            page_count=pages_of_tokens(limit_tokens),
            state_slot_count=1,
            dtype=dtype,
            device=like.kv_pages.device,
        )
        # Last page first: whoever promises bits promises them wherever the context lies.
        self._pages = tuple(PageId(i) for i in reversed(range(self._tensors.page_count)))

    def run(self, tokens: TokenSpan, cut_ends_tokens: Sequence[int]) -> tuple[Tensor, ...]:
        """Consumes `[0, cut_ends_tokens[-1])`, cut by cut.

        A cut of one token is a decode step of one row, a longer one a prefill.

        Returns:
            Per cut, the logits after its last token, float32 `[vocab]`.
        """
        logits: list[Tensor] = []
        start_tokens = 0
        for end_tokens in cut_ends_tokens:
            row = PrefillRow(
                token_ids=tuple(tokens[start_tokens:end_tokens]),
                start_tokens=start_tokens,
                page_ids=self._pages,
                state_read_slot=None if start_tokens == 0 else _SLOT,
                state_write_slot=_SLOT,
            )
            logits.append(self._model.prefill(self._tensors, row)[0])
            start_tokens = end_tokens
        return tuple(logits)

    def image(self) -> tuple[Tensor, Tensor]:
        """Convolution history and recurrent state after the last run; views."""
        return self._tensors.state_slice(_SLOT)

    def covered(self, frontier_tokens: int) -> tuple[Tensor, ...]:
        """Keys and values of `[0, frontier_tokens)` after the last run; views, page by page."""
        return covered_pages(self._tensors, self._pages, frontier_tokens)


def covered_pages(
    tensors: DeviceTensors, pages: Sequence[PageId], frontier_tokens: int
) -> tuple[Tensor, ...]:
    """The written part of the pages that cover `[0, frontier_tokens)`.

    Returns:
        Views `[L, 2, S, H, D]`; S is 64, and in a partial tail the tokens that count.
    """
    return tuple(
        tensors.page_slice(pages[i])[:, :, : min(PAGE_TOKENS, frontier_tokens - i * PAGE_TOKENS)]
        for i in range(pages_of_tokens(frontier_tokens))
    )


def same_bits(left: Tensor, right: Tensor) -> bool:
    """Equal bit for bit: a zero of the other sign is a difference."""
    return left.shape == right.shape and _bytes_of(left).equal(_bytes_of(right))


def relative_rms(found: Tensor, expected: Tensor) -> float:
    """RMS of the difference over the RMS of what is expected; infinite where a number is not
    finite.
    """
    difference = (found.double() - expected.double()).square().mean().sqrt()
    ratio = float(difference / expected.double().square().mean().sqrt())
    return ratio if math.isfinite(ratio) else math.inf


def _bytes_of(tensor: Tensor) -> Tensor:
    return tensor.contiguous().view(torch.uint8)
