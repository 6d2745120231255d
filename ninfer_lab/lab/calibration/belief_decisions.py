"""Which single decisions does a wrong belief turn, and what does each cost in truth?

Owns the study of decisions one by one: each generated problem is decided by a planner that is right
and by planners that are wrong, from the same state, so that a flip is the belief's doing alone and
not the history's. Problems are drawn by seed; truth and beliefs are handed in. Does not know how a
decision is searched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import polars as pl

from ninfer_lab.cost.machine_cost_model import MachineCostModel
from ninfer_lab.engine.decision_problem import DecisionProblem
from ninfer_lab.engine.decision_under_belief import DecidedUnderBelief, decide_under
from ninfer_lab.lab.calibration.beliefs import Belief
from ninfer_lab.lab.calibration.progress import progress
from ninfer_lab.lab.planner_problems import SMALL, Shape
from ninfer_lab.lab.regret import Family, problems

LONG_OWNERS = Family(name="long", shape=SMALL, fewest_targets=2, most_targets=1 << 10)
"""Contexts of up to sixty pages, where computing again is dearer than anything."""

SHORT_OWNERS = Family(
    name="short",
    shape=Shape(
        owners=(2, 4),
        checkpoints=(1, 2),
        pages=(1, 12),
        host_share=100,
        new_pages=8,
        free_share=0.8,
    ),
    fewest_targets=2,
    most_targets=1 << 10,
)
"""Contexts of up to twelve pages, all with a Host to go to: the StateImage weighs as much as what
it saves, and which is cheaper is a question.
"""

STUDY_BUDGET_TARGETS = 512
"""Enough to look at every target of a small problem."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """One problem decided by a belief and by the truth.

    Attributes:
        belief: By its name.
        has_flipped: Whether another target was taken.
        right_ns: True cost of what a planner that is right takes.
        taken_ns: True cost of what this belief takes.
        believed_ns: What the belief thinks that it costs.
    """

    family: str
    problem: str
    belief: str
    has_flipped: bool
    right_ns: int
    taken_ns: int
    believed_ns: int

    @property
    def loss_ns(self) -> int:
        """What the belief costs; below zero where the bounded search of a planner that is right
        missed something better.
        """
        return self.taken_ns - self.right_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class BeliefStudy:
    """Every belief on every problem.

    Attributes:
        flips: Problem by problem, in the order of the beliefs.
    """

    flips: tuple[Flip, ...]

    @property
    def by_problem(self) -> pl.DataFrame:
        """One row for each belief and problem."""
        schema = {
            "family": pl.String,
            "problem": pl.String,
            "belief": pl.String,
            "flipped": pl.Boolean,
            "right_ms": pl.Float64,
            "taken_ms": pl.Float64,
            "believed_ms": pl.Float64,
        }
        rows = [
            {
                "family": flip.family,
                "problem": flip.problem,
                "belief": flip.belief,
                "flipped": flip.has_flipped,
                "right_ms": flip.right_ns / 1e6,
                "taken_ms": flip.taken_ns / 1e6,
                "believed_ms": flip.believed_ns / 1e6,
            }
            for flip in self.flips
        ]
        return pl.DataFrame(rows, schema=schema)

    @property
    def by_belief(self) -> pl.DataFrame:
        """One row for each family and belief: how many flips, and what they cost of the true J."""
        table = self.by_problem
        loss = (pl.col("taken_ms") - pl.col("right_ms")).sum()
        return table.group_by("family", "belief", maintain_order=True).agg(
            pl.len().alias("decisions"),
            pl.col("flipped").sum().alias("flipped"),
            (loss / 1e3).round(3).alias("lost_s"),
            (loss / pl.col("right_ms").sum()).round(4).alias("lost_part_of_J"),
            (pl.col("believed_ms").sum() / pl.col("taken_ms").sum())
            .round(3)
            .alias("believed_over_true"),
        )

    def of(self, belief: str) -> tuple[Flip, ...]:
        """One belief's decisions."""
        return tuple(flip for flip in self.flips if flip.belief == belief)


def study_beliefs(
    truth: MachineCostModel,
    beliefs: Sequence[Belief],
    families: Iterable[Family] = (LONG_OWNERS, SHORT_OWNERS),
    *,
    problem_count: int = 40,
    shows_progress: bool = True,
) -> BeliefStudy:
    """Decides generated problems by each belief and prices every decision by the truth.

    Args:
        truth: What work really takes.
        beliefs: Looked at in turn; the truth itself need not be among them.
        families: Kinds of problems.
        problem_count: Of each family.
        shows_progress: Whether a bar is drawn.
    """
    posed = [
        (family, problem)
        for family in families
        for problem in islice(problems(family), problem_count)
    ]
    flips: list[Flip] = []
    with progress("decisions", len(posed), is_shown=shows_progress) as tick:
        for family, problem in posed:
            flips.extend(_decided(family, problem, truth, beliefs))
            tick()
    return BeliefStudy(flips=tuple(flips))


def _decided(
    family: Family, problem: DecisionProblem, truth: MachineCostModel, beliefs: Sequence[Belief]
) -> Iterator[Flip]:
    right = _under(problem, truth, truth)
    if right is None:
        return
    for belief in beliefs:
        taken = _under(problem, belief.model, truth)
        assert taken is not None, "what fits does not hang on a belief"
        yield Flip(
            family=family.name,
            problem=problem.name,
            belief=belief.name,
            has_flipped=taken.target != right.target,
            right_ns=right.true.total_ns,
            taken_ns=taken.true.total_ns,
            believed_ns=taken.believed.total_ns,
        )


def _under(
    problem: DecisionProblem, belief: MachineCostModel, truth: MachineCostModel
) -> DecidedUnderBelief | None:
    return decide_under(problem, belief.work_ns, truth.work_ns, target_budget=STUDY_BUDGET_TARGETS)
