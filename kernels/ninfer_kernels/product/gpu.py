"""How does a product run on a GPU without a float32 copy of a bfloat16 weight?

Owns the form for bfloat16 weights: rows are rounded to bfloat16, sums stay float32, as the matrix
units have it; the library that torch brings is what does it, and no kernel of ours would be faster.
Float32 weights keep `reference`. On a CPU the same is computed in float32, for a model whose
kernels are interpreted there.
Does not know what a weight is for.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from ninfer_kernels.product.reference import DenseWeight


class HalfWeight:
    """A bfloat16 weight as the checkpoint stores it."""

    __slots__ = ("_weight",)

    def __init__(self, weight: Tensor) -> None:
        self._weight = weight

    def __call__(self, rows: Tensor) -> Tensor:
        """Float32 `[N, in]` to float32 `[N, out]`."""
        rounded = rows.to(torch.bfloat16)
        if self._weight.is_cuda:
            return torch.mm(rounded, self._weight.t(), out_dtype=torch.float32)
        return F.linear(rounded.float(), self._weight.float())


def prepare(weight: Tensor) -> HalfWeight | DenseWeight:
    """Keeps the weight as it is, whatever its type."""
    return HalfWeight(weight) if weight.dtype is torch.bfloat16 else DenseWeight(weight)
