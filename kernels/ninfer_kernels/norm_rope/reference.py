"""How are rows normalised, rotated and gated?

Owns the readable forms. All arithmetic is float32; results have the type of the first argument.
Does not know layers. Source: RMSNorm (Zhang & Sennrich 2019), RoPE (Su et al. 2021), Gated DeltaNet
(Yang et al. 2024).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def rms_norm(rows: Tensor, scale: Tensor, eps: float) -> Tensor:
    """`x / sqrt(mean(x^2) + eps) * scale` over the last dimension; `scale` is float32 `[D]`."""
    x = rows.float()
    inverse = torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + eps)
    return (x * inverse * scale).to(rows.dtype)


def gated_rms_norm(rows: Tensor, gate: Tensor, scale: Tensor, eps: float) -> Tensor:
    """`rms_norm(x) * silu(gate)`; the norm comes before the gate."""
    return rms_norm(rows, scale, eps) * F.silu(gate.float()).to(rows.dtype)


def head_norm_rope(
    heads: Tensor, scale: Tensor, cosine: Tensor, sine: Tensor, eps: float
) -> Tensor:
    """Normalises every head, then rotates its leading dimensions.

    The first half of the rotated part is paired with its second half (not neighbour with
    neighbour).

    Args:
        heads: `[N, H, D]`.
        scale: float32 `[H, D]`.
        cosine: float32 `[N, R/2]`, R being the rotated dimensions.
        sine: float32 `[N, R/2]`.
        eps: Of the norm.

    Returns:
        `[N, H, D]`.
    """
    normed = rms_norm(heads.float(), scale, eps)
    half = cosine.shape[-1]
    first, second, rest = torch.split(normed, [half, half, heads.shape[-1] - 2 * half], dim=-1)
    cosine, sine = cosine[:, None], sine[:, None]
    rotated = [first * cosine - second * sine, second * cosine + first * sine, rest]
    return torch.cat(rotated, dim=-1).to(heads.dtype)


def delta_gates(
    decay_input: Tensor, beta_input: Tensor, decay_rate: Tensor, decay_bias: Tensor
) -> tuple[Tensor, Tensor]:
    """Log-decay and write strength of the delta rule.

    Args:
        decay_input: `[N, HV]`.
        beta_input: `[N, HV]`.
        decay_rate: `exp(A_log)`, float32 `[HV]`.
        decay_bias: `dt_bias`, float32 `[HV]`.

    Returns:
        `(log_decay, beta)`, each float32 `[N, HV]`; `log_decay <= 0`, `0 < beta < 1`.
    """
    log_decay = -decay_rate * F.softplus(decay_input.float() + decay_bias)
    return log_decay, torch.sigmoid(beta_input.float())


def rotations(
    positions: Tensor, frequencies: Tensor, section: tuple[int, ...] = ()
) -> tuple[Tensor, Tensor]:
    """Cosines and sines by which some positions are turned, as `head_norm_rope` reads them.

    A position has one axis (text) or three (time, height, width of a picture). Of three, frequency
    i turns with axis i mod 3 while that axis has frequencies left, and with time from there on.
    Angles are float32 products, as the released models compute them.

    Args:
        positions: int64 `[1, N]` or `[3, N]`.
        frequencies: float32 `[R/2]`, radians per position.
        section: How many frequencies each of three axes has; they sum to R/2. Unused for one axis.

    Returns:
        `(cosine, sine)`, each float32 `[N, R/2]`.
    """
    axis = torch.zeros(len(frequencies), dtype=torch.int64, device=positions.device)
    if len(positions) == 3:
        axis[1 : 3 * section[1] : 3] = 1
        axis[2 : 3 * section[2] : 3] = 2
    angles = positions[axis].t().float() * frequencies
    return angles.cos(), angles.sin()
