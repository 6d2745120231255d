"""Law: the planner's rows decide what they say, and their figures are what was found."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import pytest

from ninfer_lab.contract.clock import MonotonicClock
from ninfer_lab.contract.search_report import SearchStop
from ninfer_lab.engine.decision_reading import SearchPart
from ninfer_lab.lab.bench.measure import QUICK_EFFORT, Studio
from ninfer_lab.lab.bench.measured import Bound, Goal, Measured, Share, Took
from ninfer_lab.lab.bench.rows import (
    DecisionsOnlyRow,
    NoPressureRow,
    PressureRow,
    RegretFamily,
    RegretRow,
    Row,
)

ANY_GOAL = Goal(bound=Bound.AT_LEAST, figure=0.0)


Measure = Callable[[Row], Measured]


@pytest.fixture(scope="module")
def measure(tmp_path_factory: pytest.TempPathFactory) -> Measure:
    """What a row finds; each is measured once."""
    studio = Studio(
        scratch=tmp_path_factory.mktemp("studio"),
        notebooks={},
        effort=QUICK_EFFORT,
        clock=MonotonicClock(),
    )
    return cache(lambda row: studio.find(row).measured)


def test_under_pressure_many_targets_are_judged(measure: Measure) -> None:
    measured = measure(PressureRow(goal=ANY_GOAL))
    assert isinstance(measured, Took)
    targets = int(measured.detail.split(" targets")[0].replace(",", ""))
    assert targets > 1_000
    assert SearchStop.NO_PRESSURE.value not in measured.detail


def test_with_room_the_identities_alone_are(measure: Measure) -> None:
    measured = measure(NoPressureRow(goal=ANY_GOAL))
    assert isinstance(measured, Took)
    assert measured.detail.startswith(f"3 targets, {SearchStop.NO_PRESSURE.value}")


@pytest.mark.parametrize("row", [PressureRow(goal=ANY_GOAL), NoPressureRow(goal=ANY_GOAL)])
def test_the_shares_of_all_parts_are_told(measure: Measure, row: Row) -> None:
    measured = measure(row)
    assert isinstance(measured, Took)
    told = dict(re.findall(r"(\w+) (\d+)%", measured.detail))
    assert list(told) == [part.value for part in SearchPart]
    assert 96 <= sum(map(int, told.values())) <= 104  # each is rounded


def test_what_is_left_without_j_is_less(measure: Measure) -> None:
    measured = measure(DecisionsOnlyRow(goal=ANY_GOAL))
    assert isinstance(measured, Took)
    found = re.search(r"of ([\d.]+) s J takes (\d+)%", measured.detail)
    assert found is not None
    whole_s, share = float(found[1]), int(found[2]) / 100
    assert 0.0 < share < 1.0
    assert measured.figure == pytest.approx(whole_s * (1.0 - share), abs=0.01)


@pytest.mark.parametrize("family", RegretFamily)
def test_regret_is_a_share_of_j(measure: Measure, family: RegretFamily) -> None:
    row = RegretRow(family=family, problems=1_000, goal=ANY_GOAL)
    measured = measure(row)
    assert isinstance(measured, Share)
    assert 0.0 <= measured.spread.low <= measured.spread.middle <= measured.spread.high
    assert family.value in row.name
