"""Law: the same tensors give the same weights, whatever folder layout and element type they came
in; random weights are the same for the same seed and show a wrong forward.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.models.qwen3_5.checkpoint_files import INDEX_FILE
from ninfer_lab.models.qwen3_5.config import read_geometry
from ninfer_lab.models.qwen3_5.geometries import TINY
from ninfer_lab.models.qwen3_5.measurement import parameter_count
from ninfer_lab.models.qwen3_5.weights import (
    bind_weights,
    load_weights,
    random_weights,
    read_tensors,
    save_checkpoint,
)

UNTIED = replace(TINY, head_is_tied=False)


def assert_equal(found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert torch.equal(found[name], tensor), name


def test_a_saved_checkpoint_is_read_back_exactly(tmp_path: Path) -> None:
    tensors = random_weights(UNTIED, seed=1)
    save_checkpoint(tmp_path, UNTIED, tensors)
    assert read_geometry(tmp_path) == UNTIED
    assert_equal(read_tensors(tmp_path, UNTIED), tensors)


def test_shards_are_read_as_one(tmp_path: Path) -> None:
    tensors = random_weights(TINY, seed=1)
    names = list(tensors)
    parts = {"one.safetensors": names[::2], "two.safetensors": names[1::2]}
    for file, part in parts.items():
        save_file({name: tensors[name] for name in part}, tmp_path / file)
    index = {"weight_map": {name: file for file, part in parts.items() for name in part}}
    (tmp_path / INDEX_FILE).write_text(json.dumps(index))
    assert_equal(read_tensors(tmp_path, TINY), tensors)


def test_a_vision_language_checkpoint_gives_its_text_model(tmp_path: Path) -> None:
    tensors = random_weights(UNTIED, seed=1)
    stored = {
        name.replace("model.", "model.language_model.", 1): tensor
        for name, tensor in tensors.items()
    }
    assert "lm_head.weight" in stored
    # Parts that this model does not run, one of them of a type it could not.
    stored["model.visual.blocks.0.attn.qkv.weight"] = torch.ones(4, 4)
    stored["mtp.fc.weight"] = torch.ones(2, dtype=torch.int8)
    save_file(stored, tmp_path / "model.safetensors")
    assert_equal(read_tensors(tmp_path, UNTIED), tensors)


def test_a_tied_checkpoint_may_store_its_head_again(tmp_path: Path) -> None:
    tensors = random_weights(TINY, seed=1)
    stored = tensors | {"lm_head.weight": tensors["model.embed_tokens.weight"].clone()}
    save_file(stored, tmp_path / "model.safetensors")
    assert_equal(read_tensors(tmp_path, TINY), tensors)
    bound = load_weights(tmp_path, TINY, dtype=ModelDtype.FLOAT32)
    assert bound.head is bound.embedding


@pytest.mark.parametrize("stored", [torch.float16, torch.bfloat16])
def test_narrow_files_are_widened_exactly(tmp_path: Path, stored: torch.dtype) -> None:
    tensors = {name: tensor.to(stored) for name, tensor in random_weights(TINY, seed=1).items()}
    save_file(tensors, tmp_path / "model.safetensors")
    bound = load_weights(tmp_path, TINY, dtype=ModelDtype.FLOAT32)
    assert torch.equal(bound.embedding, tensors["model.embed_tokens.weight"].float())


def test_vectors_stay_float32_where_matrices_are_bfloat16() -> None:
    bound = bind_weights(TINY, random_weights(TINY, seed=1), dtype=ModelDtype.BFLOAT16)
    for layer in bound.layers:
        assert layer.gate_and_up.dtype == layer.mixer.inputs.dtype == torch.bfloat16
        assert layer.mixer_scale.dtype == layer.feed_forward_scale.dtype == torch.float32
    assert bound.final_scale.dtype == torch.float32


def test_a_stored_dtype_is_what_is_written(tmp_path: Path) -> None:
    geometry = replace(TINY, stored_dtype=ModelDtype.BFLOAT16)
    save_checkpoint(tmp_path, geometry, random_weights(geometry, seed=1))
    assert {tensor.dtype for tensor in read_tensors(tmp_path, geometry).values()} == {
        torch.bfloat16
    }


def test_a_seed_decides_every_weight() -> None:
    assert_equal(random_weights(TINY, seed=5), random_weights(TINY, seed=5))
    first, second = random_weights(TINY, seed=5), random_weights(TINY, seed=6)
    assert not any(torch.equal(first[name], second[name]) for name in first)


def test_random_weights_are_as_many_as_counted_and_none_is_blind() -> None:
    tensors = random_weights(UNTIED, seed=7)
    assert sum(tensor.numel() for tensor in tensors.values()) == parameter_count(UNTIED)
    for name, tensor in tensors.items():
        assert torch.isfinite(tensor).all(), name
        # A constant tensor would hide that its elements were taken in a wrong order.
        assert tensor.std() > 1e-3, name
    for name in (name for name in tensors if name.endswith("dt_bias")):
        step = torch.nn.functional.softplus(tensors[name])
        assert bool(((step > 0.9e-3) & (step < 0.11)).all()), name
