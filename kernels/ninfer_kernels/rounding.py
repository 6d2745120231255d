"""How do kernels round to bfloat16 and multiply blocks?

Owns `stored_as`, the one way from float32 to what a tensor stores, and `dot`, the one block product
of all kernels, with its two precisions. IEEE float32 products have no unit on a GPU: unrolled into
scalar multiply-adds they take every register and spill, so float32 blocks are multiplied there in
three tf32 products, which the interpreter computes as one exact one.
Triton 3.7.1's interpreter truncates where a GPU rounds to bfloat16, and multiplies the bit patterns
of bfloat16 blocks; both are done here in float32 arithmetic instead, with the GPU's result.
Does not know what is multiplied.
"""

from __future__ import annotations

import torch
import triton.language as tl

from ninfer_kernels.jit import interpreted, kernel

TF32X3 = "tf32x3"
"""Operands as sums of two parts of 11 bits each, three products: float32 to about 2e-7."""

BF16 = "bf16"
"""Operands rounded to bfloat16, sums in float32."""

INTERPRETED = tl.constexpr(interpreted())
"""The same, where device code can branch on it."""


def precision_for(dtype: torch.dtype) -> str:
    """The precision of products whose stored operands are of this type."""
    return BF16 if dtype is torch.bfloat16 else TF32X3


@kernel
def rounded_to_bf16(values: tl.tensor) -> tl.tensor:
    """Float32 numbers rounded to the nearest bfloat16, ties to even, still as float32.

    Of NaN only the quiet one is met here that arithmetic makes; it stays NaN.
    """
    bits = values.to(tl.int32, bitcast=True)
    odd = (bits >> 16) & 1
    rounded = ((bits + 0x7FFF + odd) >> 16) << 16
    return rounded.to(tl.float32, bitcast=True)


@kernel
def stored_as(values: tl.tensor, like: tl.constexpr) -> tl.tensor:
    """Float32 `values` in the element type `like`, rounded to nearest."""
    if INTERPRETED and like == tl.bfloat16:
        return rounded_to_bf16(values).to(like)
    else:
        return values.to(like)


@kernel
def dot(left: tl.tensor, right: tl.tensor, PRECISION: tl.constexpr) -> tl.tensor:
    """`left @ right` in float32, the operands taken as `PRECISION` says."""
    if PRECISION == "bf16" and INTERPRETED:
        return tl.dot(
            rounded_to_bf16(left.to(tl.float32)),
            rounded_to_bf16(right.to(tl.float32)),
            input_precision="ieee",
        )
    elif PRECISION == "bf16":
        return tl.dot(left.to(tl.bfloat16), right.to(tl.bfloat16))
    else:
        return tl.dot(left.to(tl.float32), right.to(tl.float32), input_precision=PRECISION)
