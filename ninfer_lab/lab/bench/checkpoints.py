"""On which checkpoints is speed measured?

Owns the two names and the folders behind them: the trained model that ships with the project, and
one of twelve million parameters that is made from a seed for the time of a run. Does not know how
weights are made or read (`models`).
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import assert_never

from ninfer_lab.contract.errors import CheckpointError
from ninfer_lab.lab.serving import tiny_checkpoint
from ninfer_lab.models.qwen3_5.geometries import BENCH_12M, TINY

SEED = 20_261_129
"""Of every random weight and every prompt."""


class BenchCheckpoint(Enum):
    """A model by the name its rows carry."""

    TINY = "tiny"
    BENCH_12M = "bench-12m"


def checkpoint_folder(which: BenchCheckpoint, scratch: Path) -> Path:
    """The folder, made first if it has to be.

    Args:
        which: The model.
        scratch: Random checkpoints are written below it.
    """
    from ninfer_lab.models.qwen3_5.weights import random_weights, save_checkpoint

    geometry = BENCH_12M
    match which:
        case BenchCheckpoint.TINY:
            try:
                return tiny_checkpoint()
            except CheckpointError:  # not a checkout: the same shape, untrained, is as fast
                geometry = TINY
        case BenchCheckpoint.BENCH_12M:
            pass
        case _:
            assert_never(which)
    folder = scratch / which.value
    if not folder.exists():
        save_checkpoint(folder, geometry, random_weights(geometry, SEED))
    return folder
