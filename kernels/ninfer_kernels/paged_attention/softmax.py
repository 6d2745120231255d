"""How does a block of keys and values join a softmax that is computed as it goes?

Owns the two device functions that prefill and decode share: scores of a block, and one step of the
running softmax. Does not know pages, rows or who may read what.
Source: Dao et al. 2022, FlashAttention (arXiv:2205.14135).
"""

from __future__ import annotations

import triton.language as tl

from ninfer_kernels.jit import kernel
from ninfer_kernels.rounding import dot


@kernel
def scores_of(
    query_rows: tl.tensor,
    query_here: tl.tensor,
    key_rows: tl.tensor,
    key_here: tl.tensor,
    DIM: tl.constexpr,
    DIM_PART: tl.constexpr,
    PRECISION: tl.constexpr,
) -> tl.tensor:
    """Products `[M, N]` of the queries and keys that begin at `[M]` and `[N]` addresses.

    `DIM_PART` numbers of a head at a time: float32 blocks of whole heads do not fit in registers.
    """
    scores = tl.zeros([query_rows.shape[0], key_rows.shape[0]], tl.float32)
    for begin in range(0, DIM, DIM_PART):
        column = begin + tl.arange(0, DIM_PART)
        inside = (column < DIM)[None, :]
        queries = tl.load(
            query_rows[:, None] + column[None, :], mask=query_here[:, None] & inside, other=0.0
        )
        keys = tl.load(
            key_rows[:, None] + column[None, :], mask=key_here[:, None] & inside, other=0.0
        )
        scores += dot(queries, tl.trans(keys), PRECISION)
    return scores


@kernel
def softmax_step(
    scores: tl.tensor, values: tl.tensor, state: tl.tensor, PRECISION: tl.constexpr
) -> tl.tensor:
    """One block of tokens joins the softmax of every query row.

    `scores` `[M, N]` in base two, minus infinity where a row may not read; `values` `[N, D]`;
    `state` is each row's largest score, sum of weights and weighted sum of values so far.
    """
    largest, total, summed = state
    new_largest = tl.maximum(largest, tl.max(scores, 1))
    # A row that has seen nothing yet has no largest score; subtracting it from itself is NaN.
    pivot = tl.where(new_largest == float("-inf"), 0.0, new_largest)
    weights = tl.exp2(scores - pivot[:, None])
    shrunk = tl.exp2(largest - pivot)
    total = total * shrunk + tl.sum(weights, 1)
    summed = summed * shrunk[:, None] + dot(weights, values, PRECISION)
    return new_largest, total, summed
