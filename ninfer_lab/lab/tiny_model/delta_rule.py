"""How can the gated delta rule be trained quickly on a CPU?

Owns one differentiable function that stands in for the one `transformers` falls back to without a
GPU: that one solves a triangular system per chunk of 64 tokens, a third of a training step on a
CPU. Here chunks have 16 tokens, whose system is inverted by five small matrix products. Does not
know models or layers. Evaluation never uses it: the trained weights are judged by `transformers` as
it is.

Source: Gated Delta Networks (arXiv:2412.06464), the chunked form with the WY representation.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers.models.qwen3_5 import modeling_qwen3_5

CHUNK_TOKENS: Final = 16
"""Four squarings reach the 16th power, where a strictly lower triangular 16 × 16 matrix is zero."""


def gated_delta_rule(  # noqa: PLR0913, PLR0917  (the argument list is transformers')
    query: Tensor,
    key: Tensor,
    value: Tensor,
    g: Tensor,
    beta: Tensor,
    initial_state: Tensor | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    **_unused: object,
) -> tuple[Tensor, Tensor | None]:
    """Run the recurrence over whole sequences, from a zero state, keeping no final state.

    Args:
        query: `[B, T, H, K]`.
        key: `[B, T, H, K]`.
        value: `[B, T, HV, V]`; each key head serves `HV // H` consecutive value heads.
        g: `[B, T, HV]`, log decay, at most 0.
        beta: `[B, T, HV]`, write strength.
        initial_state: Must be None.
        output_final_state: Must be False.
        use_qk_l2norm_in_kernel: Whether query and key are normalised to length one first.

    Returns:
        `[B, T, HV, V]` and None.

    Raises:
        ValueError: A state is handed in or asked for; training has neither.
    """
    if initial_state is not None or output_final_state:
        raise ValueError("gated_delta_rule: found a state; legal: whole sequences without a cache")
    tokens_count, chunk = query.shape[1], CHUNK_TOKENS
    repeat = value.shape[2] // key.shape[2]
    if use_qk_l2norm_in_kernel:
        query = query * torch.rsqrt(query.square().sum(-1, keepdim=True) + 1e-6)
        key = key * torch.rsqrt(key.square().sum(-1, keepdim=True) + 1e-6)
    query = query.repeat_interleave(repeat, dim=2) * query.shape[-1] ** -0.5
    key = key.repeat_interleave(repeat, dim=2)
    q, k, v = (_chunked(x, chunk) for x in (query, key, value))  # [B, HV, N, C, ·]
    decay, strength = (_chunked(x.unsqueeze(-1), chunk) for x in (g, beta))  # [B, HV, N, C, 1]

    total = decay.cumsum(dim=3)
    upper = torch.ones(chunk, chunk, dtype=torch.bool, device=q.device).triu(1)
    pairwise = (total - total.transpose(3, 4)).masked_fill(upper, -torch.inf).exp()
    keys_transposed = k.transpose(3, 4)
    mixing = (k * strength) @ keys_transposed * pairwise
    inverse = _inverse_of_unit_lower(mixing.tril(-1))
    fresh = inverse @ (v * strength)
    stale = inverse @ (k * strength * total.exp())
    within = q @ keys_transposed * pairwise
    q_decayed = q * total.exp()
    last = total[:, :, :, -1:]
    k_to_end = (k * (last - total).exp()).transpose(3, 4)
    last_decay = last.exp()

    state = q.new_zeros(*q.shape[:2], q.shape[-1], v.shape[-1])
    outputs: list[Tensor] = []
    for n in range(q.shape[2]):
        written = fresh[:, :, n] - stale[:, :, n] @ state
        outputs.append(q_decayed[:, :, n] @ state + within[:, :, n] @ written)
        state = state * last_decay[:, :, n] + k_to_end[:, :, n] @ written
    whole = torch.stack(outputs, dim=2).flatten(2, 3)[:, :, :tokens_count]  # [B, HV, T, V]
    return whole.transpose(1, 2), None


@contextmanager
def quick_training() -> Iterator[None]:
    """Have every Qwen3.5 model of `transformers` use `gated_delta_rule` inside the block.

    Effects:
        Replaces one function of a third-party module, and puts it back however the block ends.
    """
    original = modeling_qwen3_5.torch_chunk_gated_delta_rule
    modeling_qwen3_5.torch_chunk_gated_delta_rule = gated_delta_rule
    try:
        yield
    finally:
        modeling_qwen3_5.torch_chunk_gated_delta_rule = original


def _chunked(x: Tensor, chunk: int) -> Tensor:
    """`[B, T, H, D]` to `[B, H, N, C, D]`, padded with zeros to whole chunks."""
    x = x.transpose(1, 2)
    x = F.pad(x, (0, 0, 0, -x.shape[2] % chunk))
    return x.reshape(*x.shape[:2], -1, chunk, x.shape[-1])


def _inverse_of_unit_lower(lower: Tensor) -> Tensor:
    """`(I + L)^-1` for strictly lower triangular `L` of 16 rows: `(I-L)(I+L²)(I+L⁴)(I+L⁸)`."""
    identity = torch.eye(lower.shape[-1], dtype=lower.dtype, device=lower.device)
    inverse = identity - lower
    power = lower
    for _ in range(3):
        power = power @ power
        inverse = inverse + inverse @ power
    return inverse
