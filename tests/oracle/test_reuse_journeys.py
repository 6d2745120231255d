"""Law: at random restore points reuse equals a cold run bit for bit, in 50 here, 1,000 in soak."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from ninfer_lab.contract.candidate import ReusePath
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.options import PAGE_TOKENS
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.lab.restore_proof.journeys import plan_journey, require_equal, run_journey
from ninfer_lab.lab.restore_proof.proof import Decomposition
from ninfer_lab.lab.soak import RESTORE_POINTS_COUNT, main, restore_points
from ninfer_lab.models.qwen3_5.geometries import TINY
from ninfer_lab.models.qwen3_5.weights import random_weights, save_checkpoint

pytestmark = pytest.mark.usefixtures("one_thread")

TESTED_POINTS_COUNT = 50
FIRST_SEED = 1


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("random_weights")
    save_checkpoint(folder, TINY, random_weights(TINY, seed=12))
    return folder


def test_random_restore_points_equal_cold_runs(
    checkpoint: Path, soaking: bool, capsys: pytest.CaptureFixture[str]
) -> None:  # spec: IDN-6, OWN-6
    first_seed = random.SystemRandom().randrange(2**32) if soaking else FIRST_SEED
    points_count = RESTORE_POINTS_COUNT if soaking else TESTED_POINTS_COUNT
    ways: Counter[tuple[ReusePath, StateTransition]] = Counter()
    tails_tokens: Counter[int] = Counter()
    for result in restore_points(checkpoint, first_seed=first_seed, points_count=points_count):
        require_equal(result)
        ways.update((each.path, each.state) for each in result.proof.restores)
        tails_tokens.update(each.reuse_tokens % PAGE_TOKENS for each in result.proof.restores)
    with capsys.disabled():
        print(f"\n{ways.total()} restore points from seed {first_seed} on", end="")
    assert ways.total() >= points_count
    for tail_tokens in (0, PAGE_TOKENS - 1):
        assert tails_tokens[tail_tokens] > 0, f"no restore {tail_tokens} tokens into a page"
    paths = (
        ReusePath.PRIVATE_ENDPOINT,
        ReusePath.PRIVATE_TURN_CLOSURE,
        ReusePath.PRIVATE_RESPONSE_REPLAY,
    )
    for path in paths:
        for state in (StateTransition.MOVE, StateTransition.FORK):
            assert ways[path, state] > 0, f"no journey came to {path.value} by {state.value}"


def test_a_seed_is_a_whole_journey(checkpoint: Path) -> None:
    first, second = (run_journey(checkpoint, plan_journey(3)) for _ in range(2))
    assert str(first) == str(second)
    assert first == second


def test_a_difference_is_told_with_its_seed(checkpoint: Path) -> None:
    """With other cuts the bits differ; whoever expects them equal is told by which seed."""
    result = run_journey(checkpoint, plan_journey(3), Decomposition.ONE_PIECE)
    with pytest.raises(InvariantBroken, match="journey 3: canonical"):
        require_equal(result)


def test_the_soak_says_where_it_began_and_what_it_proved(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--points", "3", "--seed", "3"]) == 0
    assert "from seed 3" in capsys.readouterr().out
