"""Law: a checkpoint folder is replaced whole or not at all, and nothing else is ever deleted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from transformers import Qwen3_5ForCausalLM

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.lab.tiny_model import checkpoint
from ninfer_lab.lab.tiny_model.checkpoint import FILE_NAMES, LOG_NAME, write_checkpoint
from ninfer_lab.lab.tiny_model.model import untrained_model


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_transformers_loads_what_was_written(tmp_path: Path) -> None:
    model = untrained_model(1)
    write_checkpoint(tmp_path / "tiny", model, [{"step": 1}])
    loaded = Qwen3_5ForCausalLM.from_pretrained(tmp_path / "tiny")
    token_ids = torch.arange(40)[None]
    with torch.inference_mode():
        expected = model.train(mode=False)(input_ids=token_ids).logits
        assert torch.equal(loaded(input_ids=token_ids).logits, expected)
    assert set(contents(tmp_path / "tiny")) <= FILE_NAMES
    assert json.loads((tmp_path / "tiny" / LOG_NAME).read_text()) == {"step": 1}
    weights = tmp_path / "tiny" / "model.safetensors"
    assert weights.stat().st_size <= 4_000_000
    assert weights.stat().st_mode & 0o444 == 0o444


def test_a_failed_write_leaves_the_old_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "tiny"
    write_checkpoint(out, untrained_model(1), [])
    before = contents(out)

    def break_off(folder: Path) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(checkpoint, "write_tokenizer", break_off)
    with pytest.raises(OSError, match="no space left"):
        write_checkpoint(out, untrained_model(2), [])
    assert contents(out) == before
    monkeypatch.undo()
    write_checkpoint(out, untrained_model(2), [])
    assert contents(out)["model.safetensors"] != before["model.safetensors"]
    assert [path.name for path in tmp_path.iterdir()] == ["tiny"]


def test_a_folder_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(OptionsError, match=r"thesis\.tex in it; legal: an empty folder"):
        write_checkpoint(tmp_path, untrained_model(1), [])
    assert list(contents(tmp_path)) == ["thesis.tex"]
    with pytest.raises(OptionsError, match="a file; legal: a folder"):
        write_checkpoint(tmp_path / "thesis.tex", untrained_model(1), [])
