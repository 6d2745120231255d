"""How is this project's checkpoint said to llama.cpp?

Owns the names and facts of its architecture `qwen35`, the three changes of values that it expects
(one is added to the norms that multiply by 1 + w; the decay is stored as `-exp(A_log)`; the taps of
the convolution lose an empty dimension).
Does not know the container (`gguf`), nor what a token means (`vocabulary`).
Source: llama.cpp's public conversion of Qwen3.5; tried with xllamacpp 2026.10.11549, whose greedy
tokens agree with transformers'.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from ninfer_lab.contract.errors import CheckpointError
from ninfer_lab.lab.bench.peers.gguf import Fact, GgufFile, GgufTensor, Int32, write_gguf
from ninfer_lab.lab.bench.peers.vocabulary import vocabulary_of
from ninfer_lab.models.qwen3_5.config import ModelGeometry, read_geometry
from ninfer_lab.models.qwen3_5.weights import read_tensors

if TYPE_CHECKING:
    from torch import Tensor

ARCHITECTURE = "qwen35"

_TOP_NAMES = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}
_LAYER_NAMES = {
    "input_layernorm.weight": "attn_norm.weight",
    "post_attention_layernorm.weight": "post_attention_norm.weight",
    "mlp.gate_proj.weight": "ffn_gate.weight",
    "mlp.up_proj.weight": "ffn_up.weight",
    "mlp.down_proj.weight": "ffn_down.weight",
    "linear_attn.in_proj_qkv.weight": "attn_qkv.weight",
    "linear_attn.in_proj_z.weight": "attn_gate.weight",
    "linear_attn.in_proj_b.weight": "ssm_beta.weight",
    "linear_attn.in_proj_a.weight": "ssm_alpha.weight",
    "linear_attn.conv1d.weight": "ssm_conv1d.weight",
    "linear_attn.A_log": "ssm_a",
    "linear_attn.dt_bias": "ssm_dt.bias",
    "linear_attn.norm.weight": "ssm_norm.weight",
    "linear_attn.out_proj.weight": "ssm_out.weight",
    "self_attn.q_proj.weight": "attn_q.weight",
    "self_attn.k_proj.weight": "attn_k.weight",
    "self_attn.v_proj.weight": "attn_v.weight",
    "self_attn.o_proj.weight": "attn_output.weight",
    "self_attn.q_norm.weight": "attn_q_norm.weight",
    "self_attn.k_norm.weight": "attn_k_norm.weight",
}
_LAYER = re.compile(r"model\.layers\.(\d+)\.(.+)")
_ONE_IS_ADDED = ("layernorm.weight", "_norm.weight", "model.norm.weight")
"""Ends of the names of norms that multiply by 1 + w; that of a linear layer's output is plain."""

_FULL_EVERY_LAYERS = 4
_NORMAL_TOKEN = 1


def save_gguf(folder: Path, path: Path) -> None:
    """Writes the checkpoint of a folder as one float32 file.

    Args:
        folder: As `models.qwen3_5.weights.save_checkpoint` leaves it.
        path: The file; replaced if it is there.

    Raises:
        CheckpointError: A folder that cannot be read, or a geometry for which llama.cpp orders
            the value heads in another way than this writes them.
    """
    geometry = read_geometry(folder)
    if geometry.linear_key_head_count != geometry.linear_value_head_count:
        raise CheckpointError(
            str(folder),
            found=f"{geometry.linear_key_head_count} key heads and "
            f"{geometry.linear_value_head_count} value heads in a linear layer",
            legal="as many of both: others are written in another order, which is not done here",
        )
    tensors = {
        gguf_name(name): _as_gguf(name, tensor)
        for name, tensor in read_tensors(folder, geometry).items()
    }
    write_gguf(path, GgufFile(facts=facts_of(geometry), tensors=tensors))


def gguf_name(name: str) -> str:
    """The name of a tensor there, by its name in a text-only checkpoint.

    Raises:
        CheckpointError: It is no tensor of this model.
    """
    top = _TOP_NAMES.get(name)
    if top is not None:
        return top
    layer = _LAYER.fullmatch(name)
    part = None if layer is None else _LAYER_NAMES.get(layer[2])
    if layer is None or part is None:
        raise CheckpointError("tensor", found=name, legal="a tensor of the Qwen3.5 text model")
    return f"blk.{layer[1]}.{part}"


def facts_of(geometry: ModelGeometry) -> dict[str, Fact]:
    """What the file says of the model and of its vocabulary."""
    value_channels = geometry.linear_value_dim * geometry.linear_value_head_count
    model: dict[str, Fact] = {
        "block_count": len(geometry.layer_kinds),
        "context_length": geometry.max_position_tokens,
        "embedding_length": geometry.hidden_size,
        "feed_forward_length": geometry.intermediate_size,
        "attention.head_count": geometry.query_head_count,
        "attention.head_count_kv": geometry.kv_head_count,
        "attention.key_length": geometry.head_dim,
        "attention.value_length": geometry.head_dim,
        "attention.layer_norm_rms_epsilon": geometry.rms_norm_eps,
        "rope.freq_base": geometry.rope_theta,
        "rope.dimension_count": geometry.rotary_dim,
        "rope.dimension_sections": [Int32(size) for size in (*geometry.mrope_section, 0)],
        "ssm.conv_kernel": geometry.conv_width,
        "ssm.state_size": geometry.linear_key_dim,
        "ssm.group_count": geometry.linear_key_head_count,
        "ssm.time_step_rank": geometry.linear_value_head_count,
        "ssm.inner_size": value_channels,
        "full_attention_interval": _FULL_EVERY_LAYERS,
    }
    return {
        "general.architecture": ARCHITECTURE,
        "general.name": "ninfer_lab tiny",
        **{f"{ARCHITECTURE}.{key}": fact for key, fact in model.items()},
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "qwen2",
        "tokenizer.ggml.tokens": vocabulary_of(geometry.vocab_size),
        "tokenizer.ggml.token_type": [Int32(_NORMAL_TOKEN)] * geometry.vocab_size,
        # At least one is asked for; this one never happens, for nothing is merged into its halves.
        "tokenizer.ggml.merges": [f"t{geometry.vocab_size - 2} 0"],
        "tokenizer.ggml.bos_token_id": geometry.vocab_size - 2,
        "tokenizer.ggml.eos_token_id": geometry.vocab_size - 1,
        "tokenizer.ggml.add_bos_token": False,
    }


def _as_gguf(name: str, tensor: Tensor) -> GgufTensor:
    values = tensor.float()
    if name.endswith("A_log"):
        values = -values.exp()
    elif name.endswith("conv1d.weight"):
        values = values[:, 0]
    elif name.endswith(_ONE_IS_ADDED):
        values = values + 1.0
    values = values.contiguous()
    return GgufTensor(shape=tuple(values.shape), data=values.numpy().tobytes())
