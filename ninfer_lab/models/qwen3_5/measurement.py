"""How many bytes is one StateImage, one KV page, and which geometries cost the same to prefill?

Owns these numbers as functions of the geometry, so that planner, simulated machine and studies at
27B agree with the tensors to the byte (a test compares them with allocated tensors).
Does not know tensors or prices; imports no torch.
Source: spec KV-6 (64-token pages), COST-5 (prefill_signature).
"""

from __future__ import annotations

import hashlib
import json
from typing import Protocol

from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.contract.options import PAGE_TOKENS
from ninfer_lab.models.qwen3_5.config import ModelGeometry

RECURRENT_ELEMENT_BYTES = 4
"""Recurrent state is float32 whatever the weights are."""

SIGNATURE_SCHEMA = "qwen3_5-text-1"
"""Changes when the binding (fused products, storage) changes what a prefill costs."""


class CacheShape(Protocol):
    """The facts that a StateImage and a KV page are made of: all that is known of some models."""

    @property
    def linear_layers(self) -> tuple[int, ...]:
        """Indices of the layers that own recurrent state."""
        ...

    @property
    def full_layers(self) -> tuple[int, ...]:
        """Indices of the layers that own KV."""
        ...

    @property
    def kv_head_count(self) -> int: ...

    @property
    def head_dim(self) -> int: ...

    @property
    def conv_channel_count(self) -> int: ...

    @property
    def conv_width(self) -> int: ...

    @property
    def linear_value_head_count(self) -> int: ...

    @property
    def linear_key_dim(self) -> int: ...

    @property
    def linear_value_dim(self) -> int: ...


def state_image_bytes(geometry: CacheShape, dtype: ModelDtype) -> int:
    """Bytes of one StateImage: convolution history and recurrent state of every linear layer."""
    history = (geometry.conv_width - 1) * geometry.conv_channel_count * dtype.element_bytes
    heads = geometry.linear_value_head_count
    recurrent = (
        heads * geometry.linear_key_dim * geometry.linear_value_dim * RECURRENT_ELEMENT_BYTES
    )
    return len(geometry.linear_layers) * (history + recurrent)


def kv_page_bytes(geometry: CacheShape, dtype: ModelDtype) -> int:
    """Bytes of one KV page: keys and values of 64 tokens in every full-attention layer."""
    token_bytes = 2 * geometry.kv_head_count * geometry.head_dim * dtype.element_bytes
    return len(geometry.full_layers) * PAGE_TOKENS * token_bytes


def parameter_count(geometry: ModelGeometry) -> int:
    """Trained parameters of the text model; a tied head counts once."""
    hidden = geometry.hidden_size
    values = geometry.linear_value_head_count * geometry.linear_value_dim
    heads = geometry.linear_value_head_count
    channels = geometry.conv_channel_count
    linear = hidden * (channels + values + 2 * heads) + channels * geometry.conv_width
    linear += 2 * heads + geometry.linear_value_dim + values * hidden
    queries = geometry.query_head_count * geometry.head_dim
    keys = geometry.kv_head_count * geometry.head_dim
    full = hidden * (2 * queries + 2 * keys) + queries * hidden + 2 * geometry.head_dim
    every = 2 * hidden + 3 * hidden * geometry.intermediate_size
    embeddings = geometry.vocab_size * hidden * (1 if geometry.head_is_tied else 2)
    layers = len(geometry.linear_layers) * linear + len(geometry.full_layers) * full
    return layers + len(geometry.layer_kinds) * every + embeddings + hidden


def prefill_signature(geometry: ModelGeometry, dtype: ModelDtype) -> str:
    """Names the work of a prefill: equal for two checkpoints whose prefill costs the same (COST-5).

    Made from geometry, binding structure and element type; never from a checkpoint's name or weight
    values. The context limit and the end tokens are no part of it: they change no product.
    """
    facts = {
        "schema": SIGNATURE_SCHEMA,
        "dtype": dtype.value,
        "layers": "".join(
            "F" if i in geometry.full_layers else "L" for i in range(len(geometry.layer_kinds))
        ),
        "hidden": [geometry.hidden_size, geometry.intermediate_size, geometry.vocab_size],
        "full": [
            geometry.query_head_count,
            geometry.kv_head_count,
            geometry.head_dim,
            geometry.rotary_dim,
        ],
        "linear": [
            geometry.linear_key_head_count,
            geometry.linear_value_head_count,
            geometry.linear_key_dim,
            geometry.linear_value_dim,
            geometry.conv_width,
        ],
        "head_is_tied": geometry.head_is_tied,
    }
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]
