"""The delta rule in float64, token by token, and the inputs that make it hard."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ninfer_kernels.gated_delta_rule.inputs import DeltaInputs
from ninfer_kernels.gated_delta_rule.reference import UNIT_EPS
from ops.rows import normal


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """What makes a case hard."""

    same_keys: bool = False
    log_decay: float | None = None
    beta: float | None = None


REGIMES = {
    "random": Regime(),
    "one key again and again, fully rewritten": Regime(same_keys=True, log_decay=0.0, beta=1.0),
    "forgets within a token": Regime(log_decay=-60.0),
    "forgets nothing": Regime(log_decay=0.0),
}


def inputs(token_count: int, heads: tuple[int, int, int, int], regime: Regime) -> DeltaInputs:
    key_heads, value_heads, key_dim, value_dim = heads
    query_and_key = normal(token_count, 2, key_heads, key_dim, seed=token_count)
    if regime.same_keys:
        query_and_key[:, 1] = query_and_key[0, 1]
    log_decay = -normal(token_count, value_heads, seed=2).exp() * 0.2
    beta = torch.sigmoid(normal(token_count, value_heads, seed=3))
    return DeltaInputs(
        query_and_key=query_and_key,
        value=normal(token_count, value_heads, value_dim, seed=4),
        log_decay=log_decay if regime.log_decay is None else log_decay * 0 + regime.log_decay,
        beta=beta if regime.beta is None else beta * 0 + regime.beta,
    )


def recurrence(given: DeltaInputs, state: Tensor) -> tuple[Tensor, Tensor]:
    """Outputs `[T, HV, V]` and the last state, float64, token by token."""
    both = given.query_and_key.double()
    both = both / (both.square().sum(-1, keepdim=True) + UNIT_EPS).sqrt()
    group = given.value.shape[1] // both.shape[2]
    query, key = both.repeat_interleave(group, dim=2).unbind(1)
    matrix, outputs = state.double(), []
    for token in range(len(query)):
        matrix = matrix * given.log_decay[token].double().exp()[:, None, None]
        known = torch.einsum("hk,hkv->hv", key[token], matrix)
        correction = given.beta[token].double()[:, None] * (given.value[token].double() - known)
        matrix = matrix + torch.einsum("hk,hv->hkv", key[token], correction)
        outputs.append(torch.einsum("hk,hkv->hv", query[token], matrix) * query.shape[-1] ** -0.5)
    return torch.stack(outputs), matrix
