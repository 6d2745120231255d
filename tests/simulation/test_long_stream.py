"""Law: over tens of thousands of steps through engines of every shape no law is broken, nothing is
left behind and every request ends; and the streams do get to every place where it could go wrong.
"""

from __future__ import annotations

from random import SystemRandom

import pytest

from ninfer_lab.contract.candidate import ReusePath, SourceDisposition
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.events import TransitionEnding
from ninfer_lab.contract.output import FinishReason
from ninfer_lab.contract.result import CaptureOutcome
from ninfer_lab.contract.shared_report import CaptureForm, SharedOutcome, SlotSource
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.contract.transaction import TransactionPhase
from ninfer_lab.contract.work import StateAccess
from simulation.long_stream import main, places_of, streams
from simulation.places import Places
from simulation.random_stream import RandomStream
from simulation.story import Story

FIRST_SEED = 0
STEPS_COUNT = 100_000
SOAK_STEPS_COUNT = 1_000_000
VISITS_COUNT = 50
"""At least so many visits to each place."""

WANTED = (
    *TransactionPhase,
    *StateTransition,
    *StateAccess,
    *SourceDisposition,
    *(outcome for outcome in CaptureOutcome if outcome is not CaptureOutcome.NOT_WANTED),
    ReusePath.ROOT,
    ReusePath.PRIVATE_ENDPOINT,
    ReusePath.PRIVATE_TURN_CLOSURE,
    ReusePath.PRIVATE_RESPONSE_REPLAY,
    ReusePath.SHARED_STABLE_PREFIX,
    *CaptureForm,
    *SlotSource,
    *(outcome for outcome in SharedOutcome if outcome is not SharedOutcome.DEDUPLICATED),
    "shared under pressure",
    FinishReason.LENGTH,
    FinishReason.CANCELLED,
    FinishReason.FAILED,
    TransitionEnding.CANCELLED,
    "d2h failed",
    "h2d failed",
    "d2d failed",
    "demotion",
    "restoration",
    "copied tail",
    "replaced capture",
    "owner degraded",
    "owner evicted",
    "maximal fallback",
    "blocked head",
    "backfill",
    "lease of another window",
    "lease end",
    "backend pool",
    "batch",
    "forward beside a transition",
    "stage as proved",
)
SELDOM = (
    ReusePath.PRIVATE_LONG_ANCHOR,
    SharedOutcome.DEDUPLICATED,
    "anchor beside its conversation",
    "anchor in its place",
    "anchor at the start",
    "replaced anchor",
)
"""Where only engines with room get to."""
SELDOM_VISITS_COUNT = 10

LANES = tuple(f"{lanes} lanes" for lanes in range(1, 9))


@pytest.fixture(scope="module")
def everywhere() -> tuple[Places, int]:
    return places_of(FIRST_SEED, steps_count=STEPS_COUNT)


# spec: INV-2, INV-3, INV-5, INV-6, INV-7, INV-8, INV-9, INV-11, INV-14, INV-15, IDN-6, OWN-6, TXN-4
@pytest.mark.slow
def test_no_law_is_broken_and_everybody_is_served(everywhere: tuple[Places, int]) -> None:
    assert everywhere[1] >= STEPS_COUNT


@pytest.mark.slow
@pytest.mark.parametrize("place", WANTED, ids=str)
def test_streams_get_there(everywhere: tuple[Places, int], place: object) -> None:
    assert everywhere[0][place] >= VISITS_COUNT, dict(everywhere[0])


@pytest.mark.slow
@pytest.mark.parametrize("place", SELDOM, ids=str)
def test_streams_get_there_now_and_then(everywhere: tuple[Places, int], place: object) -> None:
    assert everywhere[0][place] >= SELDOM_VISITS_COUNT, dict(everywhere[0])


@pytest.mark.slow
@pytest.mark.parametrize("lanes", LANES)
def test_engines_of_every_width_are_tried(everywhere: tuple[Places, int], lanes: str) -> None:
    assert everywhere[0][lanes] >= 3


def test_a_seed_decides_everything() -> None:
    one, other = (RandomStream(7).run(80).world.engine.events for _ in range(2))
    assert one == other
    assert RandomStream(8).run(80).world.engine.events != one


def test_a_failure_names_its_seed_and_how_to_repeat_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: RandomStream, steps: int) -> Story:
        raise InvariantBroken("INV-0 example", f"in the first of {steps}")

    monkeypatch.setattr(RandomStream, "run", broken)
    command = "PYTHONPATH=tests .venv/bin/python -m simulation.long_stream 5"
    with pytest.raises(AssertionError, match=rf"(?s)seed 5, after 0 steps: .*INV-0.*{command}"):
        next(streams(5, steps_count=1))


def test_a_seed_can_be_repeated_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["7"]) == 0
    assert "seed 7: 3" in capsys.readouterr().out


@pytest.mark.soak
def test_a_million_steps(capsys: pytest.CaptureFixture[str]) -> None:
    first_seed = SystemRandom().randrange(2**40)
    with capsys.disabled():
        print(f"\n{SOAK_STEPS_COUNT:,} steps, seeds from {first_seed} on")
        requests_count = sum(
            len(story.told) for story in streams(first_seed, steps_count=SOAK_STEPS_COUNT)
        )
        print(f"{requests_count:,} requests, no law broken")
