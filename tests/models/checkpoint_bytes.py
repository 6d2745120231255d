"""Checkpoint folders with one thing wrong, made byte by byte."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ninfer_lab.models.qwen3_5.geometries import TINY
from ninfer_lab.models.qwen3_5.weights import random_weights, save_checkpoint

WEIGHTS = "model.safetensors"


def sound_checkpoint(folder: Path) -> Path:
    """The tiny model, complete."""
    save_checkpoint(folder, TINY, random_weights(TINY, seed=1))
    return folder


def edit_header(folder: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    """Rewrites the header of the weights and leaves the data as it is."""
    path = folder / WEIGHTS
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    edit(header)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + raw[8 + length :])
