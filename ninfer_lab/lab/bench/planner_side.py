"""How long does a decision take, what does its time go to, and how good is it?

Owns the two timed decisions over 64 owners and the regret of generated ones. A decision is timed on
a session that nobody has looked at, from the identities to the target taken; the ledger's own
preparation, which is made once for a revision, is not part of it. Shares of its parts are samples
of the same decisions, run again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping

from ninfer_lab.cost.machine_cost_model import MachineCostModel
from ninfer_lab.cost.preset_file import shipped_presets
from ninfer_lab.cost.presets import GENERIC, resolve_cost_model
from ninfer_lab.engine.decision_problem import DecisionProblem
from ninfer_lab.engine.decision_reading import SEARCH_PARTS, Problem, SearchPart, search
from ninfer_lab.engine.decision_room import UNLIMITED_NS, open_problem, opened_again, solve
from ninfer_lab.lab.bench.cpu_samples import CpuSamples, sampled_parts
from ninfer_lab.lab.bench.interleaved import Spread
from ninfer_lab.lab.bench.measured import Share, Took
from ninfer_lab.lab.bench.rows import RegretFamily
from ninfer_lab.lab.planner_problems import crowd
from ninfer_lab.lab.regret import SMALL_WORLDS, WIDE_WORLDS, regrets

TARGET_BUDGET = 4_096

SAMPLED_SESSIONS = 100
"""Short decisions for each repeat: one of them is over before a sample is taken."""


def pressure(repeats: int) -> Took:
    """With no limit but the targets', and what the engine's own allowance makes of it."""
    took_s, judged, stop = _timed(crowd(), UNLIMITED_NS, repeats)
    own_s, own_judged, _ = _timed(crowd(), None, repeats)
    detail = (
        f"{judged:,} targets, {stop}; with the engine's own allowance {own_judged:,} in"
        f" {own_s:.3f} s; {_told(_parts(_pressed_problems(repeats), UNLIMITED_NS))}"
    )
    return Took(figure=took_s, detail=detail)


def decisions_only(repeats: int) -> Took:
    """The same decision without the time in which targets are valued."""
    took_s, judged, _ = _timed(crowd(), UNLIMITED_NS, repeats)
    share = _parts(_pressed_problems(repeats), UNLIMITED_NS)[SearchPart.VALUE].share
    detail = f"{judged:,} targets; of {took_s:.3f} s J takes {share:.0%}, by samples"
    return Took(figure=took_s * (1.0 - share), detail=detail)


def no_pressure(repeats: int) -> Took:
    """Best of some, since it is short."""
    took_s, judged, stop = _timed(crowd(is_pressed=False), None, 4 * repeats)
    problems = opened_again(crowd(is_pressed=False), _belief().work_ns, SAMPLED_SESSIONS * repeats)
    told = _told(_parts(problems, None))
    return Took(figure=took_s, detail=f"{judged:,} targets, {stop}, {took_s * 1e6:,.0f} µs; {told}")


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


def _pressed_problems(repeats: int) -> Iterator[Problem]:
    for _ in range(repeats):
        yield open_problem(crowd(), _belief().work_ns, target_budget=TARGET_BUDGET)


def _parts(
    problems: Iterable[Problem], allowance_ns: int | None
) -> Mapping[SearchPart, CpuSamples]:
    """What the time of some decisions goes to."""

    def run() -> None:
        for posed in problems:
            solve(posed, allowance_ns=allowance_ns)

    return sampled_parts(run, search, SEARCH_PARTS, SearchPart.OTHER)


def _told(parts: Mapping[SearchPart, CpuSamples]) -> str:
    shares = ", ".join(f"{part.value} {found.share:.0%}" for part, found in parts.items())
    return f"{shares} of {parts[SearchPart.OTHER].count:,} samples"


def _belief() -> MachineCostModel:
    return resolve_cost_model(hardware_class=GENERIC, signature="", shipped=shipped_presets())
