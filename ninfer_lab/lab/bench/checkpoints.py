"""On which checkpoints is speed measured?

Owns the two names and the folders behind them: the trained model that ships with the project, and
one of twelve million parameters that is made from a seed for the time of a run. Does not know how
weights are made or read (`models`).
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import assert_never

from ninfer_lab.contract.errors import CheckpointError
from ninfer_lab.lab.serving import tiny_checkpoint
from ninfer_lab.models.qwen3_5.config import read_geometry
from ninfer_lab.models.qwen3_5.geometries import BENCH_12M, TINY

SEED = 20_261_129
"""Of every random weight and every prompt."""

LONGEST_CONTEXT_TOKENS = 32_768
"""More than any row needs."""


class BenchCheckpoint(Enum):
    """A model by the name its rows carry."""

    TINY = "tiny"
    BENCH_12M = "bench-12m"


def checkpoint_folder(which: BenchCheckpoint, scratch: Path) -> Path:
    """A folder whose context holds every row.

    The trained model is copied with a longer limit than it was trained for: what it answers there
    is nobody's concern here, and its speed does not depend on it.

    Args:
        which: The model.
        scratch: The folder is made below it, once.
    """
    from ninfer_lab.models.qwen3_5.weights import random_weights, read_tensors, save_checkpoint

    folder = scratch / which.value
    if folder.exists():
        return folder
    match which:
        case BenchCheckpoint.TINY:
            trained = _trained()
            if trained is None:
                save_checkpoint(folder, TINY, random_weights(TINY, SEED))
            else:
                geometry = read_geometry(trained)
                longer = replace(geometry, max_position_tokens=LONGEST_CONTEXT_TOKENS)
                save_checkpoint(folder, longer, read_tensors(trained, geometry))
        case BenchCheckpoint.BENCH_12M:
            save_checkpoint(folder, BENCH_12M, random_weights(BENCH_12M, SEED))
        case _:
            assert_never(which)
    return folder


def _trained() -> Path | None:
    """The shipped model; outside a checkout there is none, and its shape untrained is as fast."""
    try:
        return tiny_checkpoint()
    except CheckpointError:
        return None
