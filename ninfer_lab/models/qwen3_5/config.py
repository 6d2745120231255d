"""What does a checkpoint's `config.json` say about the model, and can this engine serve it?

Owns `ModelGeometry`, the one value that every other module of the room takes its sizes from.
Does not know tensors, files of weights, or prices; imports no torch.
Source: the released `config.json` files of Qwen3.5 dense models, text-only and vision-language.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from ninfer_lab.contract.errors import CheckpointError
from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.models.qwen3_5.json_fields import JsonFields

TEXT_MODEL_TYPE = "qwen3_5_text"
VISION_LANGUAGE_MODEL_TYPE = "qwen3_5"
DEFAULT_FULL_ATTENTION_INTERVAL = 4


class LayerKind(Enum):
    """The mixer of one decoder layer."""

    LINEAR = "linear_attention"
    """Gated DeltaNet: a fixed-size recurrent state."""
    FULL = "full_attention"
    """Softmax attention over KV pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelGeometry:
    """Every fact of `config.json` that the text model depends on.

    Attributes:
        layer_kinds: The mixer of each decoder layer, bottom first.
        rotary_dim: Leading part of `head_dim` that is rotated (even).
        mrope_section: Frequencies per position axis (time, height, width); empty where not given.
            Text positions are equal on all three axes, so that it is ordinary RoPE there.
        conv_width: Taps of the causal convolution; `conv_width - 1` columns of history are kept.
        head_is_tied: The output head is the token embedding.
        eos_token_ids: Tokens that end a turn; may be empty.
        stored_dtype: Element type in which the checkpoint says it is stored.
    """

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    layer_kinds: tuple[LayerKind, ...]
    query_head_count: int
    kv_head_count: int
    head_dim: int
    rotary_dim: int
    rope_theta: float
    mrope_section: tuple[int, ...]
    linear_key_head_count: int
    linear_value_head_count: int
    linear_key_dim: int
    linear_value_dim: int
    conv_width: int
    rms_norm_eps: float
    head_is_tied: bool
    max_position_tokens: int
    eos_token_ids: tuple[int, ...]
    stored_dtype: ModelDtype

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


def read_geometry(folder: Path) -> ModelGeometry:
    """Reads `folder/config.json`.

    Raises:
        CheckpointError: No such file, not JSON, an unknown architecture, a missing field, or a
            value that this model cannot have.
    """
    path = folder / "config.json"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(
            str(path), found="no such file", legal="a Hugging Face model folder"
        ) from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise CheckpointError(str(path), found=str(error), legal="a JSON object") from None
    if not isinstance(document, dict):
        raise CheckpointError(str(path), found=type(document).__name__, legal="a JSON object")
    return geometry_of_config(document)


def geometry_of_config(document: dict[str, object]) -> ModelGeometry:
    """The geometry that a parsed `config.json` describes.

    Args:
        document: Of a text-only model, or of a vision-language model with `text_config` inside.

    Raises:
        CheckpointError: As `read_geometry`.
    """
    outer = JsonFields(document, "config.json")
    model_type = outer.text("model_type")
    if model_type == VISION_LANGUAGE_MODEL_TYPE:
        fields = outer.child("text_config")
    elif model_type == TEXT_MODEL_TYPE:
        fields = outer
    else:
        raise CheckpointError(
            "config.json model_type",
            found=model_type,
            legal=f"{TEXT_MODEL_TYPE} or {VISION_LANGUAGE_MODEL_TYPE} (a dense Qwen3.5 model)",
        )
    _refuse_variants(fields)
    geometry = _geometry(fields, head_is_tied=_head_is_tied(outer, fields))
    _check_shapes(geometry)
    return geometry


def config_of_geometry(geometry: ModelGeometry) -> dict[str, object]:
    """The text-only `config.json` of a geometry; `geometry_of_config` reads it back unchanged."""
    rope: dict[str, object] = {
        "rope_type": "default",
        "rope_theta": geometry.rope_theta,
        "partial_rotary_factor": geometry.rotary_dim / geometry.head_dim,
    }
    if geometry.mrope_section:
        rope |= {"mrope_section": list(geometry.mrope_section), "mrope_interleaved": True}
    eos = geometry.eos_token_ids
    return {
        "architectures": ["Qwen3_5ForCausalLM"],
        "model_type": TEXT_MODEL_TYPE,
        "vocab_size": geometry.vocab_size,
        "hidden_size": geometry.hidden_size,
        "intermediate_size": geometry.intermediate_size,
        "num_hidden_layers": len(geometry.layer_kinds),
        "layer_types": [kind.value for kind in geometry.layer_kinds],
        "num_attention_heads": geometry.query_head_count,
        "num_key_value_heads": geometry.kv_head_count,
        "head_dim": geometry.head_dim,
        "hidden_act": "silu",
        "attention_bias": False,
        "attn_output_gate": True,
        "rms_norm_eps": geometry.rms_norm_eps,
        "rope_parameters": rope,
        "linear_num_key_heads": geometry.linear_key_head_count,
        "linear_num_value_heads": geometry.linear_value_head_count,
        "linear_key_head_dim": geometry.linear_key_dim,
        "linear_value_head_dim": geometry.linear_value_dim,
        "linear_conv_kernel_dim": geometry.conv_width,
        "max_position_embeddings": geometry.max_position_tokens,
        "tie_word_embeddings": geometry.head_is_tied,
        "eos_token_id": None if not eos else eos[0] if len(eos) == 1 else list(eos),
        "dtype": geometry.stored_dtype.value,
    }


def _geometry(fields: JsonFields, *, head_is_tied: bool) -> ModelGeometry:
    head_dim = fields.count("head_dim")
    rope = _rope_fields(fields)
    return ModelGeometry(
        vocab_size=fields.count("vocab_size"),
        hidden_size=fields.count("hidden_size"),
        intermediate_size=fields.count("intermediate_size"),
        layer_kinds=_layer_kinds(fields),
        query_head_count=fields.count("num_attention_heads"),
        kv_head_count=fields.count("num_key_value_heads"),
        head_dim=head_dim,
        rotary_dim=_rotary_dim(rope, head_dim),
        rope_theta=rope.positive_number("rope_theta"),
        mrope_section=rope.counts("mrope_section") if rope.has("mrope_section") else (),
        linear_key_head_count=fields.count("linear_num_key_heads"),
        linear_value_head_count=fields.count("linear_num_value_heads"),
        linear_key_dim=fields.count("linear_key_head_dim"),
        linear_value_dim=fields.count("linear_value_head_dim"),
        conv_width=fields.count("linear_conv_kernel_dim"),
        rms_norm_eps=fields.positive_number("rms_norm_eps"),
        head_is_tied=head_is_tied,
        max_position_tokens=fields.count("max_position_embeddings"),
        eos_token_ids=_eos_token_ids(fields),
        stored_dtype=_stored_dtype(fields),
    )


def _refuse_variants(fields: JsonFields) -> None:
    """Facts that this forward takes for granted and that a config may deny."""
    expected = {
        "hidden_act": "silu",
        "attention_bias": False,
        "attn_output_gate": True,
        "mamba_ssm_dtype": "float32",
    }
    for name, legal in expected.items():
        if fields.has(name) and fields.value(name) != legal:
            raise CheckpointError(fields.path(name), found=fields.value(name), legal=str(legal))


def _head_is_tied(outer: JsonFields, fields: JsonFields) -> bool:
    """The outer value decides: it is the outer class that owns the output head."""
    for source in (outer, fields):
        if source.has("tie_word_embeddings"):
            return source.truth("tie_word_embeddings")
    return False


def _layer_kinds(fields: JsonFields) -> tuple[LayerKind, ...]:
    layer_count = fields.count("num_hidden_layers")
    if not fields.has("layer_types"):
        interval = DEFAULT_FULL_ATTENTION_INTERVAL
        if fields.has("full_attention_interval"):
            interval = fields.count("full_attention_interval")
        # Layer i is full where i + 1 is a multiple of the interval: LLLF LLLF for 4.
        return tuple(
            LayerKind.LINEAR if (i + 1) % interval else LayerKind.FULL for i in range(layer_count)
        )
    names = fields.texts("layer_types")
    if len(names) != layer_count:
        raise CheckpointError(
            fields.path("layer_types"),
            found=f"{len(names)} entries",
            legal=f"num_hidden_layers = {layer_count}",
        )
    legal = {kind.value: kind for kind in LayerKind}
    for name in names:
        if name not in legal:
            raise CheckpointError(fields.path("layer_types"), found=name, legal=" or ".join(legal))
    return tuple(legal[name] for name in names)


def _rope_fields(fields: JsonFields) -> JsonFields:
    """`rope_parameters`, or the older flat spelling (`rope_theta` beside the other fields)."""
    if not fields.has("rope_parameters"):
        if fields.has("rope_scaling"):
            raise CheckpointError(
                fields.path("rope_scaling"), found="given", legal="absent (no scaled RoPE)"
            )
        return fields
    rope = fields.child("rope_parameters")
    rope_type = rope.text("rope_type") if rope.has("rope_type") else "default"
    if rope_type != "default":
        raise CheckpointError(
            rope.path("rope_type"), found=rope_type, legal="default (no scaled RoPE)"
        )
    return rope


def _rotary_dim(rope: JsonFields, head_dim: int) -> int:
    factor = rope.positive_number("partial_rotary_factor")
    rotary_dim = int(head_dim * factor)
    if factor > 1.0 or rotary_dim < 2 or rotary_dim % 2:
        raise CheckpointError(
            rope.path("partial_rotary_factor"),
            found=f"{factor} (rotates {rotary_dim} of head_dim = {head_dim})",
            legal="a share in (0, 1] that rotates an even number of dimensions",
        )
    return rotary_dim


def _eos_token_ids(fields: JsonFields) -> tuple[int, ...]:
    if not fields.has("eos_token_id"):
        return ()
    value = fields.value("eos_token_id")
    found = value if isinstance(value, list) else [value]
    ids = tuple(token for token in found if isinstance(token, int) and not isinstance(token, bool))
    if len(ids) != len(found) or any(token < 0 for token in ids):
        raise CheckpointError(
            fields.path("eos_token_id"), found=value, legal="a token id, a list of them, or null"
        )
    return ids


def _stored_dtype(fields: JsonFields) -> ModelDtype:
    """`dtype`, or its older name `torch_dtype`; float32 where neither stands."""
    for name in ("dtype", "torch_dtype"):
        if fields.has(name):
            stored = fields.text(name)
            # float16 weights are exact in float32 and not in bfloat16.
            names = {dtype.value: dtype for dtype in ModelDtype} | {"float16": ModelDtype.FLOAT32}
            if stored not in names:
                raise CheckpointError(fields.path(name), found=stored, legal=" or ".join(names))
            return names[stored]
    return ModelDtype.FLOAT32


def _check_shapes(geometry: ModelGeometry) -> None:
    """Relations between fields, each of which would otherwise fail deep inside a forward."""
    relations = (
        (
            "num_attention_heads",
            geometry.query_head_count,
            "num_key_value_heads",
            geometry.kv_head_count,
        ),
        (
            "linear_num_value_heads",
            geometry.linear_value_head_count,
            "linear_num_key_heads",
            geometry.linear_key_head_count,
        ),
    )
    for many_name, many, few_name, few in relations:
        if many % few:
            raise CheckpointError(
                f"config.json {many_name}", found=many, legal=f"a multiple of {few_name} = {few}"
            )
    if geometry.conv_width < 2:
        raise CheckpointError(
            "config.json linear_conv_kernel_dim", found=geometry.conv_width, legal=">= 2"
        )
    if geometry.mrope_section and sum(geometry.mrope_section) != geometry.rotary_dim // 2:
        raise CheckpointError(
            "config.json mrope_section",
            found=geometry.mrope_section,
            legal=f"sections that sum to half the rotated dimensions = {geometry.rotary_dim // 2}",
        )
    outside = [token for token in geometry.eos_token_ids if token >= geometry.vocab_size]
    if outside:
        raise CheckpointError(
            "config.json eos_token_id", found=outside, legal=f"< vocab_size = {geometry.vocab_size}"
        )
