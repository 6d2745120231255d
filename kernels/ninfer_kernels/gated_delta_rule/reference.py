"""What does the gated delta rule give, token by token and a chunk at a time?

Owns the two readable forms. Per token, with state S `[K, V]` of one head, unit keys k and queries
q:

    S <- e^g S;  d = beta (v - S^T k);  S <- S + k d^T;  o = S^T q

The chunked form solves the C coupled corrections of a chunk at once (WY form).
Does not know slots' owners. Source: Yang et al. 2024, Gated Delta Networks (arXiv:2412.06464),
§3.3.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ninfer_kernels.gated_delta_rule.inputs import DeltaInputs
from ninfer_kernels.state_image.rows import StateRows

CHUNK_TOKENS = 32
UNIT_EPS = 1e-6
"""Under the root of the key and query norms."""


def prefill(inputs: DeltaInputs, state: Tensor, rows: StateRows) -> Tensor:
    """T tokens of one row, in chunks of `CHUNK_TOKENS`.

    Args:
        inputs: T tokens.
        state: One layer's view of the slots, float32 `[slots, HV, K, V]`; the write slot is
            written.
        rows: One row.

    Returns:
        float32 `[T, HV, V]`.
    """
    query, key, value = (heads.transpose(0, 1) for heads in _prepared(inputs))  # [HV, T, ...]
    log_decay, beta = inputs.log_decay.t(), inputs.beta.t()  # [HV, T]
    current = state[rows.read_slots[0]]
    outputs: list[Tensor] = []
    for start in range(0, query.shape[1], CHUNK_TOKENS):
        part = slice(start, start + CHUNK_TOKENS)
        output, current = _chunk(
            query[:, part], key[:, part], value[:, part], log_decay[:, part], beta[:, part], current
        )
        outputs.append(output)
    state[rows.write_slots[0]] = current
    return torch.cat(outputs, dim=1).transpose(0, 1)


def decode(inputs: DeltaInputs, state: Tensor, rows: StateRows) -> Tensor:
    """One token of each of B rows; arguments as `prefill`. Returns float32 `[B, HV, V]`."""
    query, key, value = _prepared(inputs)
    current = state[rows.read_index] * inputs.log_decay.exp()[..., None, None]  # [B, HV, K, V]
    predicted = torch.einsum("bhkv,bhk->bhv", current, key)
    correction = inputs.beta[..., None] * (value - predicted)
    current = current + key[..., None] * correction[..., None, :]
    state[rows.write_index] = current
    return torch.einsum("bhkv,bhk->bhv", current, query)


def _prepared(inputs: DeltaInputs) -> tuple[Tensor, Tensor, Tensor]:
    """Unit queries and keys in float32, a key head repeated for each value head it serves."""
    both = inputs.query_and_key.float()
    both = both * torch.rsqrt(both.square().sum(dim=-1, keepdim=True) + UNIT_EPS)
    repeats = inputs.value.shape[1] // both.shape[2]
    query, key = both.repeat_interleave(repeats, dim=2).unbind(dim=1)
    return query * query.shape[-1] ** -0.5, key, inputs.value.float()


def _chunk(
    query: Tensor, key: Tensor, value: Tensor, log_decay: Tensor, beta: Tensor, state: Tensor
) -> tuple[Tensor, Tensor]:
    """C tokens of every head; C may be short at the end.

    Args:
        query: `[HV, C, K]`.
        key: `[HV, C, K]`.
        value: `[HV, C, V]`.
        log_decay: `[HV, C]`.
        beta: `[HV, C]`.
        state: `[HV, K, V]` before the chunk.

    Returns:
        Outputs `[HV, C, V]` and the state after the chunk.
    """
    total = log_decay.cumsum(dim=-1)  # decay from the chunk's start through token i
    # decay[i, j] from token j to token i; masked before exp, so that nothing above the diagonal
    # overflows.
    span = total[:, :, None] - total[:, None, :]
    above = torch.ones_like(span[0], dtype=torch.bool).triu(1)
    decay = span.masked_fill(above, -torch.inf).exp()
    weighted_key = key * beta[..., None]
    # Token i's correction depends on the earlier ones: (I + A) d = beta (v - e^G S^T k), A strictly
    # lower.
    coupling = (weighted_key @ key.mT * decay).tril(-1)
    known = value * beta[..., None] - (weighted_key * total.exp()[..., None]) @ state
    correction = torch.linalg.solve_triangular(coupling, known, upper=False, unitriangular=True)
    output = (query * total.exp()[..., None]) @ state + (query @ key.mT * decay) @ correction
    remaining = (total[:, -1:] - total).exp()  # decay from token i to the chunk's end
    state = state * total[:, -1].exp()[:, None, None] + (key * remaining[..., None]).mT @ correction
    return output, state
