"""Law: a seed is one problem, and the crowd presses or has room as it says."""

from __future__ import annotations

import pytest

from context_cache.decisions import decided, price
from ninfer_lab.contract.search_report import SearchStop
from ninfer_lab.engine.decision_room import open_problem
from ninfer_lab.lab.planner_problems import WIDE, crowd, generated


@pytest.mark.parametrize("seed", range(25))
def test_a_seed_is_one_problem_that_can_be_solved(seed: int) -> None:
    assert generated(seed) == generated(seed)
    assert generated(seed) != generated(seed + 1)
    for written in (generated(seed), generated(seed, WIDE)):
        session = open_problem(written, price).session
        # As it stands everything fits.
        assert session.assess(session.identity(0)).stages[0].occupancy.over_capacity == ()
        # Root with everybody gone always does.
        assert session.judge(session.maximal(0)).is_feasible


def test_the_crowd() -> None:
    assert len(crowd().owners) == 64
    pressed, roomy = crowd(8), crowd(8, is_pressed=False)
    assert decided(roomy).stop is SearchStop.NO_PRESSURE
    found = decided(pressed)
    assert found.fell_back
    assert found.best is not None
    assert any(found.best.target.choices)
