"""Which form of a weight, and which product, suits how many rows on a CPU?

Owns that choice. Float32: one row streams a transposed copy, a handful of rows take oneDNN's packed
form where the weight is large (there the general product is slowest by far, and its bits depend on
the number of rows; oneDNN's do not), many rows take the general product. Bfloat16: one copy; where
the processor has no bfloat16 product, the weight is widened for the call. So a large float32 weight
takes eight bytes an element here, a small one four, a bfloat16 one two. Does not know what a weight
is for.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

PACKED_ROWS = 64
"""Rows up to which the packed product was faster than the general one."""

PACKED_ELEMENTS = 2**17
"""Elements of a weight from which it was: below, entering oneDNN takes longer than the product."""


def prepare(weight: Tensor) -> Callable[[Tensor], Tensor]:
    """The product of float32 rows with a float32 or bfloat16 weight `[out, in]`."""
    return Float32Weight(weight) if weight.dtype == torch.float32 else NarrowWeight(weight)


class Float32Weight:
    """A float32 weight: transposed, and packed where that pays and oneDNN is there."""

    __slots__ = ("_packed", "_transposed")

    def __init__(self, weight: Tensor) -> None:
        self._transposed = weight.t().contiguous()
        self._packed = _pack(weight) if weight.numel() >= PACKED_ELEMENTS else None

    def __call__(self, rows: Tensor) -> Tensor:
        """`[N, in]` to `[N, out]`."""
        if self._packed is None or not 1 < len(rows) <= PACKED_ROWS:
            return torch.mm(rows, self._transposed)
        product: Tensor = torch.ops.mkldnn._linear_pointwise(
            rows, self._packed, None, "none", [], ""
        )
        return product


class NarrowWeight:
    """A bfloat16 weight, kept as it is."""

    __slots__ = ("_has_native_product", "_weight")

    def __init__(self, weight: Tensor) -> None:
        self._weight = weight
        self._has_native_product = torch.ops.mkldnn._is_mkldnn_bf16_supported()

    def __call__(self, rows: Tensor) -> Tensor:
        """`[N, in]` float32 to `[N, out]` float32."""
        # One row is a matrix-vector product, which is fast in bfloat16 everywhere.
        if len(rows) == 1 or self._has_native_product:
            return F.linear(rows.to(self._weight.dtype), self._weight).float()
        return torch.mm(rows, self._weight.float().t())


def _pack(weight: Tensor) -> Tensor | None:
    """OneDNN's form of a weight; `None` where this build of torch has none."""
    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return None
    packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), PACKED_ROWS)
    return packed
