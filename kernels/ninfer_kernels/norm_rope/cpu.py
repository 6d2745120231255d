"""How are rows normalised, rotated and gated with few passes over memory?

Owns the same forms as `reference`, in fewer and in-place steps; float32 rows only.
Does not know layers.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def rms_norm(rows: Tensor, scale: Tensor, eps: float) -> Tensor:
    """See `reference.rms_norm`."""
    return (rows * inverse_root(rows, eps)).mul_(scale)


def gated_rms_norm(rows: Tensor, gate: Tensor, scale: Tensor, eps: float) -> Tensor:
    """See `reference.gated_rms_norm`."""
    return rms_norm(rows, scale, eps).mul_(F.silu(gate))


def head_norm_rope(
    heads: Tensor, scale: Tensor, cosine: Tensor, sine: Tensor, eps: float
) -> Tensor:
    """See `reference.head_norm_rope`."""
    normed = rms_norm(heads, scale, eps)
    half = cosine.shape[-1]
    cosine, sine = cosine[:, None], sine[:, None]
    first, second = normed[..., :half], normed[..., half : 2 * half]
    rotated_first = (first * cosine).addcmul_(second, sine, value=-1.0)
    rotated_second = (second * cosine).addcmul_(first, sine)
    first.copy_(rotated_first)
    second.copy_(rotated_second)
    return normed


def inverse_root(rows: Tensor, eps: float) -> Tensor:
    """`1 / sqrt(mean(x^2) + eps)` over the last dimension, which is kept as 1."""
    length = torch.linalg.vector_norm(rows, dim=-1, keepdim=True)
    # length^2 / D + eps in one step.
    mean_square = torch.addcmul(length.new_full((), eps), length, length, value=1 / rows.shape[-1])
    return mean_square.rsqrt_()
