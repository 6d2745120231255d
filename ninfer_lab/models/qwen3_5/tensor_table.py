"""Which tensors does a checkpoint of this geometry hold, under which names and shapes?

Owns the names of the Hugging Face layout, the vision-language prefix, and which tensors are not
ours to load. Does not know files or values; imports no torch.
Source: the released Qwen3.5 checkpoints; transformers' `Qwen3_5ForCausalLM`.
"""

from __future__ import annotations

from ninfer_lab.models.qwen3_5.config import LayerKind, ModelGeometry

TEXT_PREFIX = "model."
VISION_LANGUAGE_PREFIX = "model.language_model."
HEAD_NAME = "lm_head.weight"
IGNORED_PREFIXES = ("mtp.", "model.visual.")
"""Draft layers and the vision tower: no part of the text model."""

Shape = tuple[int, ...]


def is_ignored(name: str) -> bool:
    """Whether a tensor of the file belongs to a part that this model does not run."""
    return name.startswith(IGNORED_PREFIXES)


def text_name(name: str) -> str:
    """The tensor's name in a text-only checkpoint."""
    if name.startswith(VISION_LANGUAGE_PREFIX):
        return TEXT_PREFIX + name.removeprefix(VISION_LANGUAGE_PREFIX)
    return name


def tensor_shapes(geometry: ModelGeometry) -> dict[str, Shape]:
    """Every tensor of the text model by its text-only name; no head where it is tied."""
    hidden = geometry.hidden_size
    shapes: dict[str, Shape] = {"model.embed_tokens.weight": (geometry.vocab_size, hidden)}
    for index, kind in enumerate(geometry.layer_kinds):
        match kind:
            case LayerKind.LINEAR:
                mixer = {f"linear_attn.{k}": v for k, v in _linear_shapes(geometry).items()}
            case LayerKind.FULL:
                mixer = {f"self_attn.{k}": v for k, v in _full_shapes(geometry).items()}
        layer = mixer | _feed_forward_shapes(geometry)
        layer |= {"input_layernorm.weight": (hidden,), "post_attention_layernorm.weight": (hidden,)}
        shapes |= {f"model.layers.{index}.{name}": shape for name, shape in layer.items()}
    shapes["model.norm.weight"] = (hidden,)
    if not geometry.head_is_tied:
        shapes[HEAD_NAME] = (geometry.vocab_size, hidden)
    return shapes


def _linear_shapes(geometry: ModelGeometry) -> dict[str, Shape]:
    hidden, channels = geometry.hidden_size, geometry.conv_channel_count
    heads = geometry.linear_value_head_count
    values = heads * geometry.linear_value_dim
    return {
        "in_proj_qkv.weight": (channels, hidden),
        "in_proj_z.weight": (values, hidden),
        "in_proj_b.weight": (heads, hidden),
        "in_proj_a.weight": (heads, hidden),
        "conv1d.weight": (channels, 1, geometry.conv_width),
        "A_log": (heads,),
        "dt_bias": (heads,),
        "norm.weight": (geometry.linear_value_dim,),
        "out_proj.weight": (hidden, values),
    }


def _full_shapes(geometry: ModelGeometry) -> dict[str, Shape]:
    hidden, dim = geometry.hidden_size, geometry.head_dim
    queries, keys = geometry.query_head_count * dim, geometry.kv_head_count * dim
    return {
        # Per head: the query's dimensions, then its gate's.
        "q_proj.weight": (2 * queries, hidden),
        "k_proj.weight": (keys, hidden),
        "v_proj.weight": (keys, hidden),
        "q_norm.weight": (dim,),
        "k_norm.weight": (dim,),
        "o_proj.weight": (hidden, queries),
    }


def _feed_forward_shapes(geometry: ModelGeometry) -> dict[str, Shape]:
    hidden, inner = geometry.hidden_size, geometry.intermediate_size
    return {
        "mlp.gate_proj.weight": (inner, hidden),
        "mlp.up_proj.weight": (inner, hidden),
        "mlp.down_proj.weight": (hidden, inner),
    }
