"""What happens if the planner is wrong about the machine? (COST-1, INV-13)

Owns beliefs that are wrong on purpose, and two looks at them: every target of one problem judged
under each, and many problems decided under errors of growing size, with the taken target priced by
what is true. Does not know how a belief comes about, nor how it is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random

from ninfer_lab.contract.fixed_point import U64_MAX
from ninfer_lab.contract.machine_work import MachineWork
from ninfer_lab.engine.decision_problem import DecisionProblem
from ninfer_lab.engine.decision_reading import PriceWork, cost_under, judge
from ninfer_lab.engine.decision_room import open_problem, truth_of
from ninfer_lab.lab.decisions import Decision, look
from ninfer_lab.lab.progress import counted
from ninfer_lab.lab.regret import SMALL_WORLDS, problems
from ninfer_lab.lab.target_graph import walked


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """What somebody believes that work takes.

    Attributes:
        name: Stands in tables and pictures.
    """

    name: str
    price: PriceWork


def noisy(price: PriceWork, factor: float, seed: int = 0) -> Belief:
    """Every work's price is off by a factor of its own: the given one or its inverse are one
    standard deviation away. The same work is always off by the same.
    """

    def off(work: MachineWork) -> int:
        scale: float = factor ** Random(f"{seed} {work}").gauss(0.0, 1.0)
        return min(U64_MAX, round(price(work) * scale))

    return Belief(name=f"noise ×{factor:g}", price=off)


def copies_dearer(price: PriceWork, factor: float) -> Belief:
    """Copies are believed to take so many times what they do; prefill is priced right."""

    def off(work: MachineWork) -> int:
        copies_ns = price(MachineWork(transfers=work.transfers))
        return min(U64_MAX, round(copies_ns * factor) + price(MachineWork(prefill=work.prefill)))

    return Belief(name=f"copies ×{factor:g}", price=off)


def free() -> Belief:
    """Nothing takes any time."""
    return Belief(name="everything is free", price=lambda work: 0)


def saturated() -> Belief:
    """Whatever there is to do takes for ever."""
    return Belief(name="everything is saturated", price=lambda work: U64_MAX)


# ── one problem, every target ───────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedUnder:
    """Every target of one problem, judged under one belief.

    Attributes:
        fits: For each target of the graph, in one fixed order, whether it can be adopted.
        true_costs_ns: For the same targets, what each really costs.
        taken: Ordinal of the one that a search under this belief takes.
        words: That one in words.
    """

    belief: str
    fits: tuple[bool, ...]
    true_costs_ns: tuple[int, ...]
    taken: int
    words: str

    @property
    def taken_true_ns(self) -> int:
        """What the taken one really costs."""
        return self.true_costs_ns[self.taken]


def judged_under(
    problem: DecisionProblem, true_price: PriceWork, beliefs: Iterable[Belief]
) -> tuple[JudgedUnder, ...]:
    """One for each belief.

    Raises:
        OptionsError: The problem has more targets than can be looked at.
    """
    return tuple(_judged_under(problem, true_price, belief) for belief in beliefs)


def _judged_under(problem: DecisionProblem, true_price: PriceWork, belief: Belief) -> JudgedUnder:
    posed = open_problem(problem, belief.price)
    targets, _ = walked(posed.session)
    judged = [judge(posed, target) for target in targets]
    decision = look(problem, belief.price)
    taken = decision.posed.session.sketch(decision.best.target)
    return JudgedUnder(
        belief=belief.name,
        fits=tuple(each.is_adoptable for each in judged),
        true_costs_ns=tuple(cost_under(posed, true_price, e).total_ns for e in judged),
        taken=[posed.session.sketch(target) for target in targets].index(taken),
        words=decision.words(decision.best.target),
    )


# ── many problems, errors of growing size ───────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Misjudged:
    """Many problems decided under one belief, or one kind of belief, each drawn anew.

    Attributes:
        others_count: Decisions that took another target than under the truth.
        worse: How much more than the best each really costs, as a part of it, ascending.
        unfit_count: Decisions whose target does not fit.
    """

    belief: str
    factor: float | None
    others_count: int
    unfit_count: int
    worse: tuple[float, ...]

    @property
    def others_share(self) -> float:
        return self.others_count / len(self.worse)

    def quantile(self, part: float) -> float:
        """What this part of the decisions stays at or below."""
        return self.worse[min(len(self.worse) - 1, int(part * len(self.worse)))]

    def __str__(self) -> str:
        return (
            f"{self.belief}: another target in {self.others_share:.0%}, median"
            f" {self.quantile(0.5):.1%} above the best, p95 {self.quantile(0.95):.1%},"
            f" most {self.worse[-1]:.0%}; {self.unfit_count} that do not fit"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """A problem with the truth about it."""

    right: Decision
    best_ns: int

    @property
    def problem(self) -> DecisionProblem:
        return self.right.problem


class MisjudgedStudy:
    """The same problems, decided under one belief after another.

    Args:
        true_price: What work really takes.
        problems_count: Of the small worlds, from the first seed on.
        shows_progress: Bars, over problems and over errors.
    """

    def __init__(
        self, true_price: PriceWork, problems_count: int, *, shows_progress: bool = False
    ) -> None:
        self._true_price = true_price
        self._shows_progress = shows_progress
        self._known: list[_Known] = []
        posed = [*islice(problems(SMALL_WORLDS), problems_count)]
        for problem in counted(posed, "problem", is_shown=shows_progress):
            right = look(problem, true_price)
            best = truth_of(problem, true_price, right.found).best
            if best is not None:
                self._known.append(_Known(right=right, best_ns=best.cost.total_ns))

    def noise(self, factors: Sequence[float]) -> tuple[Misjudged, ...]:
        """By size, another draw for every problem."""
        return tuple(
            self._misjudged(
                [noisy(self._true_price, f, seed) for seed in range(len(self._known))], f
            )
            for f in counted(factors, "error", is_shown=self._shows_progress)
        )

    def copies(self, factors: Sequence[float]) -> tuple[Misjudged, ...]:
        """By how many times too dear copies seem."""
        return tuple(
            self._misjudged([copies_dearer(self._true_price, f)] * len(self._known), f)
            for f in counted(factors, "error", is_shown=self._shows_progress)
        )

    def under(self, belief: Belief) -> Misjudged:
        """All problems under one and the same."""
        return self._misjudged([belief] * len(self._known), None)

    def _misjudged(self, beliefs: Sequence[Belief], factor: float | None) -> Misjudged:
        others = unfit = 0
        worse = []
        for known, belief in zip(self._known, beliefs, strict=True):
            decision = look(known.problem, belief.price)
            others += _sketch(decision) != _sketch(known.right)
            unfit += not decision.best.is_adoptable
            true_ns = cost_under(decision.posed, self._true_price, decision.best).total_ns
            worse.append((true_ns - known.best_ns) / max(1, known.best_ns))
        return Misjudged(
            belief=beliefs[0].name,
            factor=factor,
            others_count=others,
            unfit_count=unfit,
            worse=tuple(sorted(worse)),
        )


def _sketch(decision: Decision) -> object:
    """The taken target as a value that two sessions have in common."""
    return decision.posed.session.sketch(decision.best.target)
