"""How long does a decision take, and how good is it?

Owns the two timed decisions over 64 owners and the regret of generated ones. A decision is timed on
a session that nobody has looked at, from the identities to the target taken; the ledger's own
preparation, which is made once for a revision, is not part of it.
"""

from __future__ import annotations

import time

from ninfer_lab.cost.machine_cost_model import MachineCostModel
from ninfer_lab.cost.preset_file import shipped_presets
from ninfer_lab.cost.presets import GENERIC, resolve_cost_model
from ninfer_lab.engine.decision_problem import DecisionProblem
from ninfer_lab.engine.decision_room import UNLIMITED_NS, open_problem, solve
from ninfer_lab.lab.bench.interleaved import Spread
from ninfer_lab.lab.bench.measured import Share, Took
from ninfer_lab.lab.bench.rows import RegretFamily
from ninfer_lab.lab.planner_problems import crowd
from ninfer_lab.lab.regret import SMALL_WORLDS, WIDE_WORLDS, regrets

TARGET_BUDGET = 4_096


def pressure(repeats: int) -> Took:
    """With no limit but the targets', and what the engine's own allowance makes of it."""
    took_s, judged, stop = _timed(crowd(), UNLIMITED_NS, repeats)
    own_s, own_judged, _ = _timed(crowd(), None, repeats)
    detail = (
        f"{judged:,} targets, {stop}; with the engine's own allowance {own_judged:,} in"
        f" {own_s:.3f} s"
    )
    return Took(figure=took_s, detail=detail)


def no_pressure(repeats: int) -> Took:
    """Best of some, since it is short."""
    took_s, judged, stop = _timed(crowd(is_pressed=False), None, 4 * repeats)
    return Took(figure=took_s, detail=f"{judged:,} targets, {stop}, {took_s * 1e6:,.0f} µs")


def regret(family: RegretFamily, problems_count: int) -> Share:
    """The 95th percentile, with the median and the worst."""
    worlds = SMALL_WORLDS if family is RegretFamily.SMALL else WIDE_WORLDS
    (found,) = regrets(worlds, problems_count, _belief(), (TARGET_BUDGET,))
    middle, most = found.quantile(0.5), found.ascending[-1].share
    spread = Spread(middle=found.quantile(0.95), low=middle, high=most)
    return Share(
        spread=spread, detail=f"median and most in brackets; best taken {found.best_share:.1%}"
    )


def _timed(
    problem: DecisionProblem, allowance_ns: int | None, repeats: int
) -> tuple[float, int, str]:
    """(best time in seconds, targets judged, why it ended)."""
    price, best_ns = _belief().work_ns, UNLIMITED_NS
    for _ in range(repeats):
        posed = open_problem(problem, price, target_budget=TARGET_BUDGET)
        started_ns = time.process_time_ns()
        found = solve(posed, allowance_ns=allowance_ns)
        best_ns = min(best_ns, time.process_time_ns() - started_ns)
    return best_ns / 1e9, len(found.judged), found.stop.value


def _belief() -> MachineCostModel:
    return resolve_cost_model(hardware_class=GENERIC, signature="", shipped=shipped_presets())
