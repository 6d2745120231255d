"""How much worse than the best is what the planner takes? (SRCH-6)

Owns the measurement: problems drawn by seed until there are enough, each decided under one or more
budgets and compared with the truth, and the distribution that comes of it. Prices are those of a
belief that is handed in, the same for both sides. Does not know how either side searches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.cost.machine_cost_model import MachineCostModel
from ninfer_lab.engine.decision_problem import DecisionProblem
from ninfer_lab.engine.decision_room import count_targets, decide, truth_of
from ninfer_lab.lab.planner_problems import SMALL, WIDE, Shape, generated
from ninfer_lab.lab.progress import counted

BUDGETS_TARGETS = (16, 64, 256, 1_024, 4_096)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Problems of one kind.

    Attributes:
        fewest_targets: Of the whole graph.
        most_targets: Likewise.
    """

    name: str
    shape: Shape
    fewest_targets: int
    most_targets: int


SMALL_WORLDS = Family(name="small", shape=SMALL, fewest_targets=2, most_targets=1 << 12)
WIDE_WORLDS = Family(name="wide", shape=WIDE, fewest_targets=1 << 17, most_targets=1 << 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Regret:
    """What one decision cost more than it had to.

    Attributes:
        best_ns: J of the best target.
        taken_ns: J of the one taken.
    """

    problem: str
    targets_count: int
    judged_count: int
    stop: str
    best_ns: int
    taken_ns: int

    @property
    def share(self) -> float:
        """Part of the best J."""
        return (self.taken_ns - self.best_ns) / max(1, self.best_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegretDistribution:
    """Of one family under one budget.

    Attributes:
        ascending: By share.
    """

    family: str
    target_budget: int
    ascending: tuple[Regret, ...]

    def quantile(self, part: float) -> float:
        """The share that this part of the problems stays at or below."""
        last = len(self.ascending) - 1
        return self.ascending[min(last, int(part * len(self.ascending)))].share

    @property
    def best_share(self) -> float:
        """How often the best was taken."""
        return sum(each.taken_ns == each.best_ns for each in self.ascending) / len(self.ascending)

    @property
    def stops(self) -> dict[str, int]:
        """How often the search ended why."""
        return dict(Counter(each.stop for each in self.ascending).most_common())

    def __str__(self) -> str:
        return (
            f"{self.family}, {len(self.ascending):,} problems, {self.target_budget:,} targets:"
            f" best taken {self.best_share:.1%}, regret median {self.quantile(0.5):.2%},"
            f" p95 {self.quantile(0.95):.2%}, most {self.ascending[-1].share:.2%} of J"
        )


def problems(family: Family, first_seed: int = 0) -> Iterator[DecisionProblem]:
    """Without end, those of a size that the family wants, in the order of their seeds."""
    seed = first_seed
    while True:
        problem = generated(seed, family.shape)
        count = count_targets(problem, family.most_targets)
        if count is not None and count >= family.fewest_targets:
            yield problem
        seed += 1


def regrets(
    family: Family,
    problems_count: int,
    belief: MachineCostModel,
    budgets_targets: Sequence[int] = BUDGETS_TARGETS,
    *,
    first_seed: int = 0,
    shows_progress: bool = False,
) -> tuple[RegretDistribution, ...]:
    """One distribution for each budget, over the same problems.

    A problem in which nothing can be adopted has no best target and counts for nothing.

    Args:
        shows_progress: A bar, over the problems.
    """
    found: dict[int, list[Regret]] = {budget: [] for budget in budgets_targets}
    posed = problems(family, first_seed)
    for _ in counted(range(problems_count), "problem", is_shown=shows_progress):
        compared: list[tuple[int, Regret]] = []
        while not compared:
            compared = [*_compared(next(posed), belief, budgets_targets)]
        for budget, regret in compared:
            found[budget].append(regret)
    return tuple(
        RegretDistribution(
            family=family.name,
            target_budget=budget,
            ascending=tuple(sorted(each, key=lambda regret: (regret.share, regret.problem))),
        )
        for budget, each in found.items()
    )


def _compared(
    problem: DecisionProblem, belief: MachineCostModel, budgets_targets: Sequence[int]
) -> Iterator[tuple[int, Regret]]:
    price = belief.work_ns
    decided = {
        budget: decide(problem, price, target_budget=budget)
        for budget in sorted(budgets_targets, reverse=True)
    }
    truth = truth_of(problem, price, decided[max(budgets_targets)])
    if truth.best is None:
        return
    for budget, found in decided.items():
        if found.best is None or not found.best.is_adoptable:
            raise InvariantBroken("SRCH-3", f"{problem.name}: nothing taken of what could be")
        yield (
            budget,
            Regret(
                problem=problem.name,
                targets_count=truth.targets_count,
                judged_count=len(found.judged),
                stop=found.stop.value,
                best_ns=truth.best.cost.total_ns,
                taken_ns=found.best.cost.total_ns,
            ),
        )
