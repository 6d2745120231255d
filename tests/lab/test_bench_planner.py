"""Law: the planner's rows decide what they say, and their figures are what was found."""

from __future__ import annotations

from pathlib import Path

import pytest

from ninfer_lab.contract.clock import MonotonicClock
from ninfer_lab.contract.search_report import SearchStop
from ninfer_lab.lab.bench.measure import QUICK_EFFORT, Studio
from ninfer_lab.lab.bench.measured import Bound, Goal, Share, Took
from ninfer_lab.lab.bench.rows import (
    NoPressureRow,
    PressureRow,
    RegretFamily,
    RegretRow,
)

ANY_GOAL = Goal(bound=Bound.AT_LEAST, figure=0.0)


@pytest.fixture
def studio(tmp_path: Path) -> Studio:
    return Studio(scratch=tmp_path, notebooks={}, effort=QUICK_EFFORT, clock=MonotonicClock())


def test_under_pressure_many_targets_are_judged(studio: Studio) -> None:
    measured = studio.find(PressureRow(goal=ANY_GOAL)).measured
    assert isinstance(measured, Took)
    targets = int(measured.detail.split(" targets")[0].replace(",", ""))
    assert targets > 1_000
    assert SearchStop.NO_PRESSURE.value not in measured.detail


def test_with_room_the_identities_alone_are(studio: Studio) -> None:
    measured = studio.find(NoPressureRow(goal=ANY_GOAL)).measured
    assert isinstance(measured, Took)
    assert measured.detail.startswith(f"3 targets, {SearchStop.NO_PRESSURE.value}")


@pytest.mark.parametrize("family", RegretFamily)
def test_regret_is_a_share_of_j(studio: Studio, family: RegretFamily) -> None:
    row = RegretRow(family=family, problems=1_000, goal=ANY_GOAL)
    measured = studio.find(row).measured
    assert isinstance(measured, Share)
    assert 0.0 <= measured.spread.low <= measured.spread.middle <= measured.spread.high
    assert family.value in row.name
