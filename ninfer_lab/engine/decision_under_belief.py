"""What does a planner with a wrong belief take, and what does that really cost? (COST-1)

Owns the question of one decision with two prices: the belief orders the targets, and the truth
prices what was taken afterwards, in the same session, so that both speak of one target. Does not
know how a decision is posed or searched (`decision_room`).
"""

from __future__ import annotations

from dataclasses import dataclass

from ninfer_lab.context_cache.judged_targets import ARENA_TARGETS
from ninfer_lab.context_cache.valuation import PriceWork, Valuation
from ninfer_lab.contract.target import TargetSketch
from ninfer_lab.contract.target_cost import TargetCost
from ninfer_lab.engine.decision_problem import DecisionProblem
from ninfer_lab.engine.decision_room import UNLIMITED_NS, open_problem, solve


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedUnderBelief:
    """One decision.

    Attributes:
        target: What was taken, as a value that compares between beliefs.
        believed: Its cost by the belief.
        true: Its cost by the truth.
    """

    target: TargetSketch
    believed: TargetCost
    true: TargetCost


def decide_under(
    problem: DecisionProblem,
    belief: PriceWork,
    truth: PriceWork,
    *,
    target_budget: int = ARENA_TARGETS,
) -> DecidedUnderBelief | None:
    """The decision of a planner that holds a belief, priced by what work really takes.

    Args:
        problem: Posed to it.
        belief: By which targets are ordered.
        truth: By which what was taken is priced; the planner never sees it.
        target_budget: Targets that may be judged within the budget.

    Returns:
        `None` where nothing fits, which no belief can change.
    """
    posed = open_problem(problem, belief, target_budget=target_budget)
    best = solve(posed, allowance_ns=UNLIMITED_NS).best
    if best is None:
        return None
    priced = Valuation(posed.session, truth, posed.worth)
    return DecidedUnderBelief(
        target=posed.session.sketch(best.target),
        believed=best.cost,
        true=priced.cost(best.target, best.verdict),
    )
