"""What is the tiny model, and from which weights does its training start?

Owns its geometry and its initialisation. Does not know conversations or training.

Both halves of the cache must come to matter, and on a small budget neither does by itself: from
random weights a lookup by attention had hardly begun to form after 1.4 million tokens, and on
easier tasks the recurrent states answered everything. So training starts from weights that already
hint at a division of labour:

- Four channels of the embedding are marks: every word, a code, a key (thing, person, locker),
  another value.
- Layer 0 is a latch: a key overwrites its state, and every later position reads the key mentioned
  last.
- Layers 1 and 2 are memories: a colour or a city is written under the latched key, the last one
  stays. Their states are small (4 heads of 16 × 16), enough for a dozen changing facts and not for
  fifty codes.
- Layer 3, attention, is a copier: it prefers positions that hold a code, finds the one whose
  latched key is the present one, and brings back the word that stands there.

Everything is trained afterwards; nothing is frozen. Source: starting attention and linear mixers
near such maps is mimetic initialisation (arXiv:2305.09828, arXiv:2410.11135); the decay range
follows Mamba-2 (arXiv:2405.21060).
"""

from __future__ import annotations

import math
from typing import Final

import torch
from torch import Tensor
from transformers import Qwen3_5ForCausalLM, Qwen3_5TextConfig
from transformers.models.qwen3_5.modeling_qwen3_5 import (
    Qwen3_5Attention,
    Qwen3_5DecoderLayer,
    Qwen3_5GatedDeltaNet,
)

from ninfer_lab.lab.tiny_model.phrases import KEYS, VALUES, FactKind
from ninfer_lab.lab.tiny_model.tokenizer import END_OF_TEXT, MESSAGE_END, build_tokenizer

HIDDEN: Final = 128
ATTENTION_HEADS: Final = 4
KV_HEADS: Final = 2
HEAD_DIM: Final = 32
ROTARY_DIM: Final = 8
LINEAR_HEADS: Final = 4
LINEAR_HEAD_DIM: Final = 16
LINEAR_WIDTH: Final = LINEAR_HEADS * LINEAR_HEAD_DIM
VOCABULARY_MULTIPLE: Final = 64

MATRIX_STD: Final = 0.08
DECAY_RANGE: Final = (0.0003, 0.003)
"""Decay per token at the start, log-uniform over heads: what is no longer true is overwritten, so
nothing need be forgotten. The library's own start forgets within a token and does not recover."""

EVERY_WORD, IS_CODE, IS_KEY, IS_VALUE = range(4)
"""Channels of the embedding that carry marks."""
MARKS_COUNT: Final = 4
MARK: Final = 0.25
UNIT: Final = MARK / math.sqrt(MATRIX_STD**2 + 2 * MARK**2 / HIDDEN)
"""How large a mark is after the norm in front of a layer."""


def tiny_config() -> Qwen3_5TextConfig:
    """The geometry: three linear layers, one of full attention, 0.67 million parameters."""
    tokenizer = build_tokenizer()
    vocabulary = tokenizer.get_vocab_size()
    return Qwen3_5TextConfig(
        architectures=["Qwen3_5ForCausalLM"],
        vocab_size=-(-vocabulary // VOCABULARY_MULTIPLE) * VOCABULARY_MULTIPLE,
        hidden_size=HIDDEN,
        intermediate_size=2 * HIDDEN,
        num_hidden_layers=4,
        layer_types=["linear_attention"] * 3 + ["full_attention"],
        num_attention_heads=ATTENTION_HEADS,
        num_key_value_heads=KV_HEADS,
        head_dim=HEAD_DIM,
        linear_num_key_heads=LINEAR_HEADS,
        linear_num_value_heads=LINEAR_HEADS,
        linear_key_head_dim=LINEAR_HEAD_DIM,
        linear_value_head_dim=LINEAR_HEAD_DIM,
        linear_conv_kernel_dim=4,
        tie_word_embeddings=True,
        max_position_embeddings=4096,
        rope_parameters={
            "rope_type": "default",
            "rope_theta": 10_000.0,
            "partial_rotary_factor": ROTARY_DIM / HEAD_DIM,
            "mrope_section": [2, 1, 1],
            "mrope_interleaved": True,
        },
        bos_token_id=None,
        eos_token_id=tokenizer.token_to_id(MESSAGE_END),
        pad_token_id=tokenizer.token_to_id(END_OF_TEXT),
    )


def untrained_model(seed: int) -> Qwen3_5ForCausalLM:
    """The model before its first step.

    Args:
        seed: Decides every weight.

    Returns:
        A float32 model on the CPU, in training mode.

    Effects:
        Moves torch's global random state: `transformers` draws its own start from it.
    """
    torch.manual_seed(seed)
    model = Qwen3_5ForCausalLM(tiny_config())
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.normal_(0.0, MATRIX_STD, generator=draw)
        # Two halves of the hidden space without the marks: one for keys and the latch that holds
        # them, one for the identity of every other word.
        key_space, word_space = _two_subspaces(draw)
        _start_embedding(model.model.embed_tokens.weight, key_space)
        layers = [layer for layer in model.model.layers if isinstance(layer, Qwen3_5DecoderLayer)]
        latch, memory, second_memory, attention = layers
        _start_linear(latch.linear_attn, draw, reads=key_space, writes=0.1 * key_space)
        _latch_keys(latch.linear_attn, draw)
        for layer in (memory, second_memory):
            _start_linear(layer.linear_attn, draw, reads=word_space, writes=0.12 * word_space)
            _remember_values(layer.linear_attn, draw, key_space)
        _start_copier(attention.self_attn, draw, key_space, word_space)
        for layer in layers:
            # Small at first: a random MLP drowns the words that the copier must read.
            layer.mlp.down_proj.weight.mul_(0.03)
    return model


def _start_embedding(embedding: Tensor, key_space: Tensor) -> None:
    """Set the marks, and keep the space of keys free of all words that are none."""
    tokenizer = build_tokenizer()
    embedding[:, :MARKS_COUNT] = 0.0
    embedding[:, EVERY_WORD] = MARK
    is_key = torch.zeros(embedding.shape[0], dtype=torch.bool)
    for kind in FactKind:
        channel = IS_CODE if kind is FactKind.CODE else IS_VALUE
        for value in VALUES[kind]:
            embedding[tokenizer.encode(f" {value}").ids, channel] = MARK
        for key in KEYS[kind]:
            for word in (key, f" {key}"):
                token_ids = tokenizer.encode(word).ids
                if len(token_ids) == 1:  # a locker never opens a message: spelled there
                    is_key[token_ids] = True
    embedding[is_key, IS_KEY] = MARK
    embedding[~is_key] -= embedding[~is_key] @ key_space.T @ key_space


def _two_subspaces(draw: torch.Generator) -> tuple[Tensor, Tensor]:
    """Two sets of 64 rows, `[64, HIDDEN]` each.

    Together they are orthonormal, but for the last rows of the second, which are zero.
    """
    free = HIDDEN - MARKS_COUNT
    rows = torch.zeros(2 * LINEAR_WIDTH, HIDDEN)
    random = torch.randn(free, free, generator=draw)
    rows[:free, MARKS_COUNT:] = torch.linalg.qr(random).Q
    return rows[:LINEAR_WIDTH], rows[LINEAR_WIDTH:]


def _start_linear(
    linear: Qwen3_5GatedDeltaNet, draw: torch.Generator, *, reads: Tensor, writes: Tensor
) -> None:
    """What all three share: an open output gate, present word first, slow decay."""
    _values_of(linear).copy_(reads)
    linear.out_proj.weight.copy_(writes.T)
    linear.in_proj_z.weight.normal_(0.0, 0.05, generator=draw)
    linear.in_proj_z.weight[:, EVERY_WORD] = 1.5 / UNIT
    linear.in_proj_a.weight.mul_(0.2)
    linear.conv1d.weight.normal_(0.0, 0.1, generator=draw)
    linear.conv1d.weight[:, :, -1] += 1.0
    low, high = (math.log(bound) for bound in DECAY_RANGE)
    step = torch.exp(low + (high - low) * torch.rand(LINEAR_HEADS, generator=draw))
    linear.dt_bias.copy_(step + torch.log(-torch.expm1(-step)))  # the inverse of softplus
    linear.A_log.zero_()


def _latch_keys(linear: Qwen3_5GatedDeltaNet, draw: torch.Generator) -> None:
    """Every word has the same address, and only a key is written there."""
    address = _addresses_of(linear)
    address.normal_(0.0, 0.01, generator=draw)
    address[:, EVERY_WORD] = torch.randn(LINEAR_WIDTH, generator=draw) * 2 / UNIT
    _write_only(linear, draw, IS_KEY)


def _remember_values(
    linear: Qwen3_5GatedDeltaNet, draw: torch.Generator, key_space: Tensor
) -> None:
    """The address is the latched key, and only a value that may change is written there."""
    # Turned at random, so that the heads of the two memories each see the key from another side.
    turn = torch.linalg.qr(torch.randn(LINEAR_WIDTH, LINEAR_WIDTH, generator=draw)).Q
    addresses = _addresses_of(linear)
    addresses.copy_(turn @ key_space)
    # More is cut off by the activation, so that two keys share less of a direction.
    addresses[:, EVERY_WORD] = -0.4 / UNIT
    _write_only(linear, draw, IS_VALUE)


def _write_only(linear: Qwen3_5GatedDeltaNet, draw: torch.Generator, mark: int) -> None:
    """Write strength sigmoid(3) where the mark stands, sigmoid(-6) elsewhere; query = key."""
    strength = linear.in_proj_b.weight
    strength.normal_(0.0, 0.01, generator=draw)
    strength[:, EVERY_WORD] = -6 / UNIT
    strength[:, mark] = 9 / UNIT
    linear.in_proj_qkv.weight[:LINEAR_WIDTH] = _addresses_of(linear)


def _addresses_of(linear: Qwen3_5GatedDeltaNet) -> Tensor:
    """The key rows of the fused projection `[query | key | value]`: a view."""
    projection: Tensor = linear.in_proj_qkv.weight
    return projection[LINEAR_WIDTH : 2 * LINEAR_WIDTH]


def _values_of(linear: Qwen3_5GatedDeltaNet) -> Tensor:
    """The value rows of the fused projection: a view."""
    projection: Tensor = linear.in_proj_qkv.weight
    return projection[2 * LINEAR_WIDTH :]


def _start_copier(
    attention: Qwen3_5Attention, draw: torch.Generator, key_space: Tensor, word_space: Tensor
) -> None:
    """Match the latched key, prefer positions that hold a code, bring back the word."""
    selector = ROTARY_DIM  # the first dimension of a head that is not rotated
    shared = ATTENTION_HEADS // KV_HEADS
    key = key_space.reshape(KV_HEADS, HEAD_DIM, HIDDEN).clone()
    key[:, :ROTARY_DIM] *= 0.3  # what is rotated says little about sameness at a distance
    query = key.repeat_interleave(shared, dim=0)
    query += 0.02 * torch.randn(query.shape, generator=draw)
    for projection, mark in ((key, IS_CODE), (query, EVERY_WORD)):
        projection[:, selector] = 0.0
        projection[:, selector, mark] = 3.0
    value = word_space.reshape(KV_HEADS, HEAD_DIM, HIDDEN)
    query_and_gate = attention.q_proj.weight.view(ATTENTION_HEADS, 2, HEAD_DIM, HIDDEN)
    query_and_gate[:, 0] = query
    query_and_gate[:, 1] *= 0.2
    attention.k_proj.weight.copy_(key.flatten(0, 1))
    attention.v_proj.weight.copy_(value.flatten(0, 1))
    attention.o_proj.weight.copy_(2.0 * value.repeat_interleave(shared, dim=0).flatten(0, 1).T)
    for norm in (attention.q_norm, attention.k_norm):
        norm.weight.fill_(1.5)  # it multiplies by 1 + weight: sharp from the start
