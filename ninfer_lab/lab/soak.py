"""For how long can reuse be tried before it goes wrong?

Owns the long run over random journeys: seeds in order, a line of progress for each, and at the
first difference the seed and everything about it. Knows nothing of what is compared
(`restore_proof`). Source: spec IDN-6.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from ninfer_lab.contract.errors import InvariantBroken

if TYPE_CHECKING:
    from ninfer_lab.lab.restore_proof.journeys import JourneyResult

RESTORE_POINTS_COUNT = 1_000
WEIGHTS_SEED = 12
EXIT_DIFFERENT = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Tries reuse at random until so many restore points were equal, or one was not.

    Args:
        arguments: `--points N`, `--seed N`, `--checkpoint FOLDER`; a new seed and random weights by
            default.

    Returns:
        0, or 1 after a difference.
    """
    given = _parsed(arguments)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # counts only before torch is imported
    seed = random.SystemRandom().randrange(2**32) if given.seed is None else int(given.seed)
    with tempfile.TemporaryDirectory() as scratch:
        checkpoint = (
            _random_checkpoint(Path(scratch)) if given.checkpoint is None else given.checkpoint
        )
        return _tried(checkpoint, seed, given.points)


def restore_points(
    checkpoint: Path, *, first_seed: int, points_count: int
) -> Iterator[JourneyResult]:
    """Journeys in canonical mode, seed after seed, until they hold so many restored requests."""
    from ninfer_lab.lab.restore_proof.journeys import plan_journey, run_journey

    found_count = 0
    for seed in count(first_seed):
        result = run_journey(checkpoint, plan_journey(seed))
        found_count += len(result.proof.restores)
        yield result
        if found_count >= points_count:
            return


def _tried(checkpoint: Path, first_seed: int, points_count: int) -> int:
    from ninfer_lab.lab.restore_proof.journeys import require_equal

    restores_count, checkpoints_count = 0, 0
    results = restore_points(checkpoint, first_seed=first_seed, points_count=points_count)
    for result in results:
        restores_count += len(result.proof.restores)
        checkpoints_count += len(result.proof.checkpoints)
        found = f"{len(result.proof.restores)} restores; {restores_count} so far"
        print(f"{result.plan}: {found}", flush=True)
        try:
            require_equal(result)
        except InvariantBroken as difference:
            print(f"{difference}\nagain: ninfer-lab soak --points 1 --seed {result.plan.seed}")
            return EXIT_DIFFERENT
    print(
        f"{restores_count} restore points from seed {first_seed} on, and {checkpoints_count}"
        " published checkpoints, equal their cold runs bit for bit"
    )
    return 0


def _random_checkpoint(folder: Path) -> Path:
    from ninfer_lab.models.qwen3_5.geometries import TINY
    from ninfer_lab.models.qwen3_5.weights import random_weights, save_checkpoint

    save_checkpoint(folder, TINY, random_weights(TINY, WEIGHTS_SEED))
    return folder


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="ninfer-lab soak", description="Try reuse at random, from a new seed."
    )
    parser.add_argument("--points", type=int, default=RESTORE_POINTS_COUNT)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--checkpoint", type=Path, default=None)
    return parser.parse_args(arguments)
