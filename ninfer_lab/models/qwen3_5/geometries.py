"""Which geometries does the project measure and study, and what is known of the public family?

Owns two small models that are made from a seed, the largest released dense one as a whole, and of
every other released size from 0.8B to 397B the part that a context cache is made of: layers, heads
and widths of State and KV. Of those sizes neither hidden sizes nor experts are known here, so
nothing here computes their weights or their prefill.
Does not know weights or prices; imports no torch.
Source: for 27B the released `config.json`; for the family the published table of state geometry
(layer counts, KV bytes per token, bytes of convolution history and of recurrent state), which
fixes the head counts: every size has key and value heads of 128 and 16 key heads in its linear
layers, and heads of 256 in its full ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.models.qwen3_5.config import LayerKind, ModelGeometry
from ninfer_lab.models.qwen3_5.measurement import prefill_signature


def hybrid_layers(group_count: int) -> tuple[LayerKind, ...]:
    """Groups of three linear layers and one full one, as every released model has them."""
    return (LayerKind.LINEAR, LayerKind.LINEAR, LayerKind.LINEAR, LayerKind.FULL) * group_count


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheGeometry:
    """What StateImage and KV of a model are made of, and nothing else of it.

    `measurement.state_image_bytes` and `measurement.kv_page_bytes` take it like a `ModelGeometry`.

    Attributes:
        layer_kinds: The mixer of each decoder layer, bottom first.
    """

    layer_kinds: tuple[LayerKind, ...]
    kv_head_count: int
    head_dim: int
    linear_key_head_count: int
    linear_value_head_count: int
    linear_key_dim: int
    linear_value_dim: int
    conv_width: int

    @property
    def linear_layers(self) -> tuple[int, ...]:
        """Indices of the layers that own recurrent state, bottom first."""
        return tuple(i for i, kind in enumerate(self.layer_kinds) if kind is LayerKind.LINEAR)

    @property
    def full_layers(self) -> tuple[int, ...]:
        """Indices of the layers that own KV, bottom first."""
        return tuple(i for i, kind in enumerate(self.layer_kinds) if kind is LayerKind.FULL)

    @property
    def conv_channel_count(self) -> int:
        """Channels of the causal convolution: queries, keys and values of a linear layer."""
        keys = self.linear_key_head_count * self.linear_key_dim
        return 2 * keys + self.linear_value_head_count * self.linear_value_dim


def cache_geometry(geometry: ModelGeometry) -> CacheGeometry:
    """The part of a whole geometry that State and KV are made of."""
    return CacheGeometry(
        layer_kinds=geometry.layer_kinds,
        kv_head_count=geometry.kv_head_count,
        head_dim=geometry.head_dim,
        linear_key_head_count=geometry.linear_key_head_count,
        linear_value_head_count=geometry.linear_value_head_count,
        linear_key_dim=geometry.linear_key_dim,
        linear_value_dim=geometry.linear_value_dim,
        conv_width=geometry.conv_width,
    )


TINY = ModelGeometry(
    vocab_size=512,
    hidden_size=128,
    intermediate_size=384,
    layer_kinds=hybrid_layers(1),
    query_head_count=4,
    kv_head_count=2,
    head_dim=32,
    rotary_dim=8,
    rope_theta=10_000_000.0,
    mrope_section=(2, 1, 1),
    linear_key_head_count=4,
    linear_value_head_count=4,
    linear_key_dim=32,
    linear_value_dim=32,
    conv_width=4,
    rms_norm_eps=1e-6,
    head_is_tied=True,
    max_position_tokens=32_768,
    eos_token_ids=(),
    stored_dtype=ModelDtype.FLOAT32,
)
"""About 0.9 million parameters: small enough to train on two cores."""

BENCH_12M = ModelGeometry(
    vocab_size=8192,
    hidden_size=256,
    intermediate_size=768,
    layer_kinds=hybrid_layers(2),
    query_head_count=8,
    kv_head_count=2,
    head_dim=64,
    rotary_dim=16,
    rope_theta=10_000_000.0,
    mrope_section=(3, 3, 2),
    linear_key_head_count=8,
    linear_value_head_count=8,
    linear_key_dim=64,
    linear_value_dim=64,
    conv_width=4,
    rms_norm_eps=1e-6,
    head_is_tied=True,
    max_position_tokens=32_768,
    eos_token_ids=(),
    stored_dtype=ModelDtype.FLOAT32,
)
"""About 12 million parameters: what speed is measured on."""

QWEN3_5_27B = ModelGeometry(
    vocab_size=248_320,
    hidden_size=5120,
    intermediate_size=17_408,
    layer_kinds=hybrid_layers(16),
    query_head_count=24,
    kv_head_count=4,
    head_dim=256,
    rotary_dim=64,
    rope_theta=10_000_000.0,
    mrope_section=(11, 11, 10),
    linear_key_head_count=16,
    linear_value_head_count=48,
    linear_key_dim=128,
    linear_value_dim=128,
    conv_width=4,
    rms_norm_eps=1e-6,
    head_is_tied=False,
    max_position_tokens=262_144,
    eos_token_ids=(),
    stored_dtype=ModelDtype.BFLOAT16,
)
"""The released dense model of that size: the simulated studies count in its pages and images."""


def _released(*, group_count: int, kv_head_count: int, value_head_count: int) -> CacheGeometry:
    """One size of the family; what does not vary over it is said here once."""
    return CacheGeometry(
        layer_kinds=hybrid_layers(group_count),
        kv_head_count=kv_head_count,
        head_dim=256,
        linear_key_head_count=16,
        linear_value_head_count=value_head_count,
        linear_key_dim=128,
        linear_value_dim=128,
        conv_width=4,
    )


_SMALL = _released(group_count=6, kv_head_count=2, value_head_count=16)
_MIDDLE = _released(group_count=8, kv_head_count=4, value_head_count=32)

PUBLIC_FAMILY: Mapping[str, CacheGeometry] = MappingProxyType(
    {
        "qwen3.5-0.8b": _SMALL,
        "qwen3.5-2b": _SMALL,
        "qwen3.5-4b": _MIDDLE,
        "qwen3.5-9b": _MIDDLE,
        "qwen3.5-27b": cache_geometry(QWEN3_5_27B),
        "qwen3.5-35b-a3b": _released(group_count=10, kv_head_count=2, value_head_count=32),
        "qwen3.5-122b-a10b": _released(group_count=12, kv_head_count=2, value_head_count=64),
        "qwen3.5-397b-a17b": _released(group_count=15, kv_head_count=2, value_head_count=64),
    }
)
"""Released sizes by name, smallest first. A dense size and its mixture-of-experts neighbour differ
in nothing that State or KV depend on."""

_KNOWN_AS_A_WHOLE: Mapping[str, ModelGeometry] = MappingProxyType({"qwen3.5-27b": QWEN3_5_27B})


def public_cache_geometry(name: str) -> CacheGeometry:
    """The size of that name.

    Raises:
        OptionsError: No such name; the error lists them all.
    """
    if name not in PUBLIC_FAMILY:
        raise OptionsError("geometry", found=name, legal=" or ".join(PUBLIC_FAMILY))
    return PUBLIC_FAMILY[name]


def public_signature(name: str, dtype: ModelDtype) -> str:
    """The signature under which presets know the prefill of that size (COST-5).

    Of a size that is known as a whole it is made from its geometry; of the others, of which a
    signature cannot be made, it is `name:` and their name.

    Raises:
        OptionsError: As `public_cache_geometry`.
    """
    public_cache_geometry(name)
    whole = _KNOWN_AS_A_WHOLE.get(name)
    return f"name:{name}" if whole is None else prefill_signature(whole, dtype)
