"""Law: a checkpoint that cannot be served is refused by its headers alone, with the name, what was
found and what is legal, before any weight is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest

from models.checkpoint_bytes import WEIGHTS, edit_header, sound_checkpoint
from ninfer_lab.contract.errors import CheckpointError
from ninfer_lab.models.qwen3_5 import weights
from ninfer_lab.models.qwen3_5.checkpoint_files import (
    INDEX_FILE,
    checked_tensors,
    resolve_folder,
)
from ninfer_lab.models.qwen3_5.config import ModelGeometry
from ninfer_lab.models.qwen3_5.geometries import TINY
from ninfer_lab.models.qwen3_5.tensor_table import tensor_shapes

A_LOG = "model.layers.0.linear_attn.A_log"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return sound_checkpoint(tmp_path / "checkpoint")


@pytest.fixture(autouse=True)
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever opens the weights before the headers were found right fails the test."""

    def opened(*_: object, **__: object) -> None:
        raise AssertionError("weights were opened")

    monkeypatch.setattr(weights, "safe_open", opened)


def refused(folder: Path, geometry: ModelGeometry = TINY) -> CheckpointError:
    with pytest.raises(CheckpointError) as caught:
        weights.read_tensors(folder, geometry)
    return caught.value


def test_a_sound_folder_promises_every_tensor(folder: Path) -> None:
    found = checked_tensors(folder, TINY)
    assert {name: tensor.shape for name, tensor in found.items()} == tensor_shapes(TINY)


def test_a_missing_tensor_is_named(folder: Path) -> None:
    edit_header(folder, lambda header: header.pop(A_LOG))
    error = refused(folder)
    assert error.what == f"tensor {A_LOG}"
    assert "missing" in str(error.found)


def test_an_untied_model_without_a_head_is_refused(folder: Path) -> None:
    assert refused(folder, replace(TINY, head_is_tied=False)).what == "tensor lm_head.weight"


def test_a_wrong_shape_is_given_with_the_right_one(folder: Path) -> None:
    error = refused(folder, replace(TINY, linear_value_head_count=8))
    assert "found shape" in str(error)
    assert "legal: shape" in str(error)


def test_a_shape_that_denies_its_bytes_is_refused(folder: Path) -> None:
    edit_header(folder, lambda header: header[A_LOG].update(shape=[5]))
    error = refused(folder)
    assert (error.found, error.legal) == ("16 bytes", "20 for shape [5]")


def test_an_unexpected_tensor_is_refused(folder: Path) -> None:
    bias = "model.layers.3.self_attn.q_proj.bias"
    edit_header(folder, lambda header: header.update({bias: header.pop(A_LOG)}))
    assert refused(folder).what in (f"tensor {bias}", f"tensor {A_LOG}")

    def add(header: dict[str, Any]) -> None:
        header[A_LOG] = header[bias]

    edit_header(folder, add)
    error = refused(folder)
    assert error.what == f"tensor {bias}"
    assert "unexpected" in str(error.found)


@pytest.mark.parametrize("element_type", ["F8_E4M3", "I32", "U8"])
def test_an_element_type_that_is_no_plain_float_is_refused(folder: Path, element_type: str) -> None:
    edit_header(folder, lambda header: header[A_LOG].update(dtype=element_type))
    error = refused(folder)
    assert (error.what, error.found) == (f"tensor {A_LOG}", element_type)


@pytest.mark.parametrize("kept", [0, 3, 8, 40, 0.5, 0.999])
def test_a_truncated_file_is_refused(folder: Path, kept: float) -> None:
    path = folder / WEIGHTS
    size = path.stat().st_size
    os.truncate(path, int(kept if kept >= 1 else size * kept))
    error = refused(folder)
    assert WEIGHTS in error.what
    assert "cut off" in str(error.found) or "truncated" in str(error.found)


@pytest.mark.parametrize(
    "edit",
    [
        lambda header: header.update({A_LOG: 5}),
        lambda header: header[A_LOG].pop("shape"),
        lambda header: header[A_LOG].update(data_offsets=[0]),
        lambda header: header[A_LOG].update(shape=[-4]),
        lambda header: header[A_LOG].update(shape=[4.0]),
        lambda header: header[A_LOG].update(dtype=7),
    ],
)
def test_a_malformed_entry_is_refused(folder: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    edit_header(folder, edit)
    assert A_LOG in refused(folder).what


def test_a_file_of_another_kind_is_refused(folder: Path) -> None:
    for content in (b"\x10\0\0\0\0\0\0\0not JSON at all!", b"\x02\0\0\0\0\0\0\0[]", b"PK" * 50):
        (folder / WEIGHTS).write_bytes(content)
        assert WEIGHTS in refused(folder).what


def test_a_folder_without_weights_is_refused(folder: Path) -> None:
    (folder / WEIGHTS).unlink()
    assert refused(folder).found == "no weights"


@pytest.mark.parametrize(
    "index",
    [
        "{",
        "[]",
        "{}",
        '{"weight_map": 3}',
        '{"weight_map": {"x": "gone.safetensors"}}',
        '{"weight_map": {"x": "../checkpoint/model.safetensors"}}',
    ],
)
def test_an_index_that_leads_nowhere_or_outside_is_refused(folder: Path, index: str) -> None:
    (folder / INDEX_FILE).write_text(index)
    assert INDEX_FILE in refused(folder).what


def test_a_tensor_in_two_shards_is_refused(folder: Path) -> None:
    (folder / "other.safetensors").write_bytes((folder / WEIGHTS).read_bytes())
    index = {"weight_map": {"a": WEIGHTS, "b": "other.safetensors"}}
    (folder / INDEX_FILE).write_text(json.dumps(index))
    assert refused(folder).found == "given twice"


def test_a_folder_is_taken_as_it_is(folder: Path) -> None:
    assert resolve_folder(folder) == folder
    assert resolve_folder(str(folder)) == folder


@pytest.mark.parametrize("name", ["no_such_folder", "a/b/c", "./org/name", "/org/name", "org/"])
def test_what_is_neither_folder_nor_hub_id_is_refused_without_asking_anyone(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(*_: object, **__: object) -> str:
        raise AssertionError("the hub was asked")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", asked)
    with pytest.raises(CheckpointError, match="no such folder"):
        resolve_folder(name)


def test_a_hub_id_is_fetched(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def fetch(name: str, **_: object) -> str:
        asked.append(name)
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fetch)
    assert resolve_folder("Qwen/Qwen3.5-0.8B") == folder
    assert asked == ["Qwen/Qwen3.5-0.8B"]


def test_a_hub_that_does_not_answer_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object, **__: object) -> str:
        raise ConnectionError("name resolution failed\nand a long trace")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", unreachable)
    with pytest.raises(CheckpointError) as caught:
        resolve_folder("Qwen/Qwen3.5-0.8B")
    assert "name resolution failed" in str(caught.value.found)
    assert "long trace" not in str(caught.value)
    assert "fetch the checkpoint elsewhere and name its folder" in caught.value.legal
