"""How does a notebook get an engine on the small trained model?

Owns the few words for it. Everything else is `engine.assembly`.
"""

from __future__ import annotations

import os
from pathlib import Path

import ninfer_lab
from ninfer_lab.contract.errors import CheckpointError
from ninfer_lab.contract.options import EngineOptions
from ninfer_lab.engine.assembly import TorchParts, assemble_torch
from ninfer_lab.engine.engine import Engine


def tiny_checkpoint() -> Path:
    """The folder of the trained model that ships with the project (`datasets/tiny`).

    Raises:
        CheckpointError: The project is not run from its checkout.
    """
    folder = Path(ninfer_lab.__file__).parents[1] / "datasets" / "tiny"
    if not (folder / "config.json").is_file():
        raise CheckpointError(
            "datasets/tiny/config.json",
            found="nothing",
            legal="a checkout; `ninfer-lab train-tiny --out datasets/tiny` makes it again",
        )
    return folder


def open_engine(
    checkpoint: Path | str | None = None,
    options: EngineOptions | None = None,
    parts: TorchParts | None = None,
) -> Engine:
    """An engine on real tensors, by default on the small trained model.

    Args:
        checkpoint: A folder, or a hub id; `None` is `tiny_checkpoint()`.
        options: Capacities; `EngineOptions()` is one lane and one extra state slot.
        parts: Numerics, element type, cache design, faults.

    Raises:
        OptionsError: Options that cannot hold one request.
        CheckpointError: A checkpoint that cannot be served.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # counts only before torch is imported
    return assemble_torch(tiny_checkpoint() if checkpoint is None else checkpoint, options, parts)
