"""Law: what is written as GGUF reads back equal, and a damaged file is refused by name."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ninfer_lab.contract.errors import CheckpointError
from ninfer_lab.lab.bench.peers.gguf import (
    ALIGNMENT_BYTES,
    GgufFile,
    GgufTensor,
    Int32,
    read_gguf,
    write_gguf,
)
from ninfer_lab.lab.bench.peers.gguf_checkpoint import facts_of, gguf_name, save_gguf
from ninfer_lab.lab.bench.peers.runs import GEOMETRY
from ninfer_lab.lab.bench.peers.vocabulary import vocabulary_of
from ninfer_lab.models.qwen3_5.geometries import QWEN3_5_27B
from ninfer_lab.models.qwen3_5.tensor_table import tensor_shapes
from ninfer_lab.models.qwen3_5.weights import random_weights, save_checkpoint

SMALL = replace(GEOMETRY, layer_kinds=GEOMETRY.layer_kinds[:4], intermediate_size=32)

FILE = GgufFile(
    facts={
        "general.architecture": "none",
        "none.count": 7,
        "none.scale": 0.5,
        "none.is_small": True,
        "none.signed": Int32(-3),
        "none.words": ("a", "Ġ", ""),
        "none.numbers": (Int32(1), Int32(-1)),
    },
    tensors={
        # Five floats: what comes behind them must be moved to the next aligned place.
        "odd": GgufTensor(shape=(5,), data=struct.pack("<5f", 1, 2, 3, 4, 5)),
        "even": GgufTensor(shape=(2, 3), data=struct.pack("<6f", *range(6, 12))),
    },
)


def test_facts_and_tensors_read_back_equal(tmp_path: Path) -> None:
    write_gguf(tmp_path / "file.gguf", FILE)
    assert read_gguf(tmp_path / "file.gguf") == FILE


def test_every_tensor_begins_at_an_aligned_place(tmp_path: Path) -> None:
    write_gguf(tmp_path / "file.gguf", FILE)
    written = (tmp_path / "file.gguf").read_bytes()
    even = written.index(FILE.tensors["even"].data)
    odd = written.index(FILE.tensors["odd"].data)
    assert (odd % ALIGNMENT_BYTES, even % ALIGNMENT_BYTES, even - odd) == (0, 0, ALIGNMENT_BYTES)


def test_the_innermost_dimension_stands_first_in_the_file(tmp_path: Path) -> None:
    write_gguf(tmp_path / "file.gguf", FILE)
    entry = struct.pack("<Q4sIQQI", 4, b"even", 2, 3, 2, 0)
    assert entry in (tmp_path / "file.gguf").read_bytes()


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        (lambda whole: b"GGML" + whole[4:], "another magic"),
        (lambda whole: whole[:4] + struct.pack("<I", 2) + whole[8:], "version 2"),
        (lambda whole: whole[:-ALIGNMENT_BYTES], "an end after"),
        (lambda whole: whole[:30], "an end after 30 bytes"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, damage, found: str) -> None:  # type: ignore[no-untyped-def]
    write_gguf(tmp_path / "file.gguf", FILE)
    path = tmp_path / "damaged.gguf"
    path.write_bytes(damage((tmp_path / "file.gguf").read_bytes()))
    with pytest.raises(CheckpointError, match=found):
        read_gguf(path)


def test_a_tensor_has_the_bytes_of_its_shape() -> None:
    with pytest.raises(CheckpointError, match="24 bytes of float32"):
        GgufTensor(shape=(2, 3), data=b"1234")


def test_every_tensor_of_the_model_has_a_name_of_its_own() -> None:
    names = tensor_shapes(replace(GEOMETRY, head_is_tied=False))
    assert len({gguf_name(name) for name in names}) == len(names)
    with pytest.raises(CheckpointError, match="mystery"):
        gguf_name("model.layers.0.mystery")


def test_values_are_those_that_llama_cpp_expects(tmp_path: Path) -> None:
    tensors = random_weights(SMALL, 3)
    save_checkpoint(tmp_path / "folder", SMALL, tensors)
    save_gguf(tmp_path / "folder", tmp_path / "model.gguf")
    written = read_gguf(tmp_path / "model.gguf").tensors
    prefix = "model.layers.0."

    def there(name: str) -> torch.Tensor:
        tensor = written[name]
        return torch.frombuffer(bytearray(tensor.data), dtype=torch.float32).view(tensor.shape)

    assert len(written) == len(tensors)
    expected = {
        "blk.0.ssm_a": -tensors[f"{prefix}linear_attn.A_log"].exp(),
        "blk.0.ssm_dt.bias": tensors[f"{prefix}linear_attn.dt_bias"],
        "blk.0.ssm_conv1d.weight": tensors[f"{prefix}linear_attn.conv1d.weight"].squeeze(1),
        "blk.0.ssm_norm.weight": tensors[f"{prefix}linear_attn.norm.weight"],
        "blk.0.attn_norm.weight": tensors[f"{prefix}input_layernorm.weight"] + 1,
        "blk.0.post_attention_norm.weight": tensors[f"{prefix}post_attention_layernorm.weight"] + 1,
        "blk.3.attn_q_norm.weight": tensors["model.layers.3.self_attn.q_norm.weight"] + 1,
        "blk.3.attn_q.weight": tensors["model.layers.3.self_attn.q_proj.weight"],
        "output_norm.weight": tensors["model.norm.weight"] + 1,
        "token_embd.weight": tensors["model.embed_tokens.weight"],
    }
    for name, tensor in expected.items():
        torch.testing.assert_close(there(name), tensor.float(), msg=name)


def test_facts_name_the_geometry() -> None:
    facts = facts_of(GEOMETRY)
    assert facts["general.architecture"] == "qwen35"
    assert facts["qwen35.ssm.inner_size"] == 8 * 64
    assert facts["qwen35.rope.dimension_sections"] == [Int32(3), Int32(3), Int32(2), Int32(0)]
    vocabulary = vocabulary_of(GEOMETRY.vocab_size)
    assert len(vocabulary) == len(set(vocabulary)) == GEOMETRY.vocab_size
    assert facts["tokenizer.ggml.tokens"] == vocabulary


def test_value_heads_in_another_order_are_refused(tmp_path: Path) -> None:
    uneven = replace(SMALL, linear_value_head_count=QWEN3_5_27B.linear_value_head_count)
    save_checkpoint(tmp_path / "folder", uneven, random_weights(uneven, 3))
    with pytest.raises(CheckpointError, match="8 key heads and 48 value heads"):
        save_gguf(tmp_path / "folder", tmp_path / "model.gguf")
