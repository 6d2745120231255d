"""What is the product of rows with a weight?

Owns the readable form: the weight as the checkpoint stores it, `[out, in]`.
Does not know what a weight is for.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


class DenseWeight:
    """A weight in the form the checkpoint stores."""

    __slots__ = ("_weight",)

    def __init__(self, weight: Tensor) -> None:
        self._weight = weight

    def __call__(self, rows: Tensor) -> Tensor:
        """`[N, in]` to `[N, out]`, in the type of the rows."""
        return F.linear(rows, self._weight.to(rows.dtype))


def prepare(weight: Tensor) -> DenseWeight:
    """Keeps the weight as it is."""
    return DenseWeight(weight)
