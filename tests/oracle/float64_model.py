"""The text model in float64, one token after the other, from the tensors as the files hold them.

Written from the formulas alone: it shares no line, no fused product and no chunk with the engine's
model, and rounds nowhere in float32. Slow, and meant to be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ninfer_lab.models.qwen3_5.config import LayerKind, ModelGeometry

UNIT_EPS = 1e-6


@dataclass(slots=True)
class Float64State:
    """What a layer remembers: columns and a matrix per head, or all keys and values."""

    columns: list[Tensor] = field(default_factory=list)
    matrix: Tensor | None = None
    keys: list[Tensor] = field(default_factory=list)
    values: list[Tensor] = field(default_factory=list)


class Float64Model:
    """Feed it tokens; it answers with logits and remembers."""

    def __init__(self, geometry: ModelGeometry, tensors: Mapping[str, Tensor]) -> None:
        self._geometry = geometry
        self._tensors = {name: tensor.double() for name, tensor in tensors.items()}
        self.states = [Float64State() for _ in geometry.layer_kinds]
        self._position_tokens = 0

    def logits(self, token_ids: Sequence[int]) -> Tensor:
        """`[T, vocab]`, a row after each token."""
        return torch.stack([self._step(token) for token in token_ids])

    def _step(self, token: int) -> Tensor:
        hidden = self._tensors["model.embed_tokens.weight"][token]
        for index, kind in enumerate(self._geometry.layer_kinds):
            prefix = f"model.layers.{index}."
            normed = self._norm(hidden, prefix + "input_layernorm.weight")
            if kind is LayerKind.LINEAR:
                hidden = hidden + self._linear(normed, prefix + "linear_attn.", self.states[index])
            else:
                hidden = hidden + self._full(normed, prefix + "self_attn.", self.states[index])
            normed = self._norm(hidden, prefix + "post_attention_layernorm.weight")
            gate = self._tensors[prefix + "mlp.gate_proj.weight"] @ normed
            value = self._tensors[prefix + "mlp.up_proj.weight"] @ normed
            hidden = hidden + self._tensors[prefix + "mlp.down_proj.weight"] @ (_silu(gate) * value)
        self._position_tokens += 1
        head = "model.embed_tokens.weight" if self._geometry.head_is_tied else "lm_head.weight"
        return self._tensors[head] @ self._norm(hidden, "model.norm.weight")

    def _norm(self, rows: Tensor, name: str) -> Tensor:
        mean_square = (rows * rows).mean(dim=-1, keepdim=True)
        scale = 1.0 + self._tensors[name]
        return rows / (mean_square + self._geometry.rms_norm_eps).sqrt() * scale

    def _full(self, normed: Tensor, prefix: str, state: Float64State) -> Tensor:
        geometry, dim = self._geometry, self._geometry.head_dim
        query_and_gate = self._tensors[prefix + "q_proj.weight"] @ normed
        query, gate = query_and_gate.view(-1, 2, dim).unbind(dim=1)
        key = (self._tensors[prefix + "k_proj.weight"] @ normed).view(-1, dim)
        value = (self._tensors[prefix + "v_proj.weight"] @ normed).view(-1, dim)
        query = self._rotated(self._norm(query, prefix + "q_norm.weight"))
        state.keys.append(self._rotated(self._norm(key, prefix + "k_norm.weight")))
        state.values.append(value)
        grouped = query.view(geometry.kv_head_count, -1, dim)  # head i reads KV head i // group
        keys, values = torch.stack(state.keys), torch.stack(state.values)  # [L, HKV, D]
        shares = torch.softmax(torch.einsum("kgd,lkd->kgl", grouped, keys) / dim**0.5, dim=-1)
        heads = torch.einsum("kgl,lkd->kgd", shares, values).reshape(-1, dim)
        gated = heads * torch.sigmoid(gate)
        return self._tensors[prefix + "o_proj.weight"] @ gated.flatten()

    def _rotated(self, heads: Tensor) -> Tensor:
        half = self._geometry.rotary_dim // 2
        frequencies = self._geometry.rope_theta ** (-torch.arange(half, dtype=torch.float64) / half)
        angle = self._position_tokens * frequencies
        first, second = heads[:, :half], heads[:, half : 2 * half]
        turned = torch.complex(first, second) * torch.polar(torch.ones_like(angle), angle)
        return torch.cat([turned.real, turned.imag, heads[:, 2 * half :]], dim=1)

    def _linear(self, normed: Tensor, prefix: str, state: Float64State) -> Tensor:
        geometry = self._geometry
        channels = self._tensors[prefix + "in_proj_qkv.weight"] @ normed
        gate = self._tensors[prefix + "in_proj_z.weight"] @ normed
        strength = torch.sigmoid(self._tensors[prefix + "in_proj_b.weight"] @ normed)
        step = self._tensors[prefix + "in_proj_a.weight"] @ normed
        step = torch.log1p(torch.exp(step + self._tensors[prefix + "dt_bias"]))
        decay = torch.exp(-self._tensors[prefix + "A_log"].exp() * step)
        state.columns = [*state.columns, channels][-geometry.conv_width :]
        taps = self._tensors[prefix + "conv1d.weight"][:, 0]
        mixed = _silu(
            sum(
                (taps[:, -1 - age] * column for age, column in enumerate(state.columns[::-1])),
                start=torch.zeros_like(channels),
            )
        )
        keys = geometry.linear_key_head_count * geometry.linear_key_dim
        query = _unit(mixed[:keys].view(-1, geometry.linear_key_dim))
        key = _unit(mixed[keys : 2 * keys].view(-1, geometry.linear_key_dim))
        value = mixed[2 * keys :].view(-1, geometry.linear_value_dim)
        if state.matrix is None:
            shape = (len(value), geometry.linear_key_dim, geometry.linear_value_dim)
            state.matrix = torch.zeros(shape, dtype=torch.float64)
        group = geometry.linear_value_head_count // geometry.linear_key_head_count
        served_by = torch.arange(geometry.linear_value_head_count) // group
        query, key = query[served_by] / geometry.linear_key_dim**0.5, key[served_by]
        decayed = decay[:, None, None] * state.matrix
        correction = strength[:, None] * (value - torch.einsum("hk,hkv->hv", key, decayed))
        state.matrix = decayed + torch.einsum("hk,hv->hkv", key, correction)
        read = torch.einsum("hk,hkv->hv", query, state.matrix)
        inverse = ((read * read).mean(dim=-1, keepdim=True) + geometry.rms_norm_eps).rsqrt()
        normed_read = read * inverse * self._tensors[prefix + "norm.weight"]
        gated = normed_read.flatten() * _silu(gate)
        return self._tensors[prefix + "out_proj.weight"] @ gated


def relative_rms(found: Tensor, expected: Tensor) -> float:
    """Root mean square of the difference, as a share of the expected values' own."""
    difference = found.double() - expected.double()
    return float(difference.square().mean().sqrt() / expected.double().square().mean().sqrt())


def _silu(values: Tensor) -> Tensor:
    return values / (1.0 + torch.exp(-values))


def _unit(heads: Tensor) -> Tensor:
    return heads / ((heads * heads).sum(dim=-1, keepdim=True) + UNIT_EPS).sqrt()
