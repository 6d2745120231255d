"""Law: regret is measured against the best there is, over the same problems for every budget."""

from __future__ import annotations

from itertools import islice

from ninfer_lab.cost.machine_cost_model import MachineCostModel
from ninfer_lab.cost.preset_file import shipped_presets
from ninfer_lab.cost.presets import GENERIC, resolve_cost_model
from ninfer_lab.engine.decision_room import count_targets
from ninfer_lab.lab.regret import SMALL_WORLDS, problems, regrets

BUDGETS = (4, 64, 1_024)


def belief() -> MachineCostModel:
    return resolve_cost_model(hardware_class=GENERIC, signature="none", shipped=shipped_presets())


def test_the_search_is_close_to_the_best() -> None:  # spec: SRCH-6
    little, some, much = regrets(SMALL_WORLDS, 25, belief(), BUDGETS)
    assert [d.target_budget for d in (little, some, much)] == list(BUDGETS)
    for distribution in (little, some, much):
        assert {r.problem for r in distribution.ascending} == {r.problem for r in much.ascending}
        assert all(regret.taken_ns >= regret.best_ns for regret in distribution.ascending)
    assert (much.quantile(0.5), much.quantile(0.95)) == (0.0, 0.0)
    assert little.best_share < much.best_share == 1.0
    assert sum(much.stops.values()) == 25


def test_the_same_seeds_give_the_same_distribution() -> None:  # spec: SRCH-7
    one, two = (regrets(SMALL_WORLDS, 6, belief(), (64,), first_seed=3) for _ in range(2))
    assert one == two
    assert "64 targets" in str(one[0])


def test_a_family_has_problems_of_its_size() -> None:
    for problem in islice(problems(SMALL_WORLDS), 12):
        count = count_targets(problem, SMALL_WORLDS.most_targets)
        assert count is not None
        assert count >= SMALL_WORLDS.fewest_targets
