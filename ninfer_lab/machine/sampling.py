"""Which token does each row get?

Owns the step from logits and draws to token ids: greedy rows in one op, sampled rows one by one,
each with the uniform number of its seed and position. Does not know requests.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from ninfer_kernels.kernel_set import KernelSet
from ninfer_kernels.sampling.philox import uniform
from ninfer_lab.contract.work import Draw


def draw_tokens(
    kernels: KernelSet, logits: Tensor, draws: Sequence[Draw | None]
) -> tuple[int | None, ...]:
    """One token per row that asks for one.

    Args:
        logits: float32 `[B, vocab]`, a row per draw.
    """
    if all(draw is None for draw in draws):
        return tuple(None for _ in draws)
    greedy = kernels.greedy(logits).tolist()
    return tuple(
        None if draw is None else _draw(kernels, logits[i], draw, greedy[i])
        for i, draw in enumerate(draws)
    )


def _draw(kernels: KernelSet, logits: Tensor, draw: Draw, greedy_token: int) -> int:
    sampling = draw.sampling
    if sampling.temperature == 0.0:
        return greedy_token
    number = uniform(sampling.seed, draw.position_tokens)
    return kernels.draw(logits, sampling.temperature, sampling.top_k, sampling.top_p, number)
