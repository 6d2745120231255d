"""Which targets of a decision have been judged, and which of them is the best so far? (SRCH-6)

Owns a decision as it is searched: the problem, every verdict with its price, the incumbent, what
may still be spent and who may be evicted. Only a target that Program has judged feasible and that
has a publication slot becomes the incumbent, and only by a smaller key. Reads only; does not know
which target to look at next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from heapq import merge
from typing import NamedTuple

from ninfer_lab.context_cache.search_budget import SearchBudget
from ninfer_lab.context_cache.target_order import TargetKey, target_key
from ninfer_lab.context_cache.valuation import Valuation, WorthOf
from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.machine_work import (
    MachineWork,
    TransferBatch,
    TransferDirection,
    TransferPhase,
)
from ninfer_lab.contract.planning import DegradationStep, PlanningSession, TargetHandle, Verdict
from ninfer_lab.contract.target_cost import TargetCost

ARENA_TARGETS = 4_096
"""Targets that one session may hold beside identities and the maximal one (CFG-3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One decision.

    Attributes:
        has_slot: Whether a target's result could be catalogued (CAP-3).
        session_owner: What the request's session is bound to.
        recency: Owners of the session, the one to give way first in front; `None` without the
            recency ladder (SRCH-4).
        target_budget: Targets that may be judged within the budget.
        work_limit: Steps of any kind; `None` is what arena and owners bring.
    """

    session: PlanningSession
    valuation: Valuation
    worth: WorthOf
    has_slot: Callable[[TargetHandle], bool]
    session_owner: OwnerId | None
    recency: tuple[int, ...] | None = None
    target_budget: int = ARENA_TARGETS
    work_limit: int | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """One target with everything that is known of it.

    Attributes:
        problem: It was judged for; no part of what was found.
    """

    problem: Problem = field(compare=False, repr=False)
    target: TargetHandle
    verdict: Verdict
    has_slot: bool
    cost: TargetCost

    @property
    def is_adoptable(self) -> bool:
        """Physically feasible and logically publishable."""
        return self.verdict.is_feasible and self.has_slot

    @property
    def key(self) -> TargetKey:
        """Its place in the order, should it be adoptable. Told on demand: most targets do not fit,
        and most of those that do differ in J.
        """
        problem, target = self.problem, self.target
        session, bound = problem.session, problem.session_owner
        return target_key(session, problem.worth, bound, target, self.verdict, self.cost)

    def beats(self, other: Judged) -> bool:
        """Whether it comes first of the two (SRCH-8)."""
        mine_ns, theirs_ns = self.cost.total_ns, other.cost.total_ns
        return mine_ns < theirs_ns if mine_ns != theirs_ns else self.key < other.key


def judge(problem: Problem, target: TargetHandle) -> Judged:
    """Program's word on a target, and its price by the same key as every other's."""
    verdict = problem.session.judge(target)
    cost = problem.valuation.cost(target, verdict)
    return Judged(problem, target, verdict, problem.has_slot(target), cost)


class ForecastStep(NamedTuple):
    """A step with what it is forecast to lose."""

    loss_ns: int
    owner: int
    choice: int
    step: DegradationStep


class JudgedTargets:
    """One decision under search.

    Attributes:
        best: The incumbent.
        licence: Owners that may be evicted; `None` is all of them (SRCH-4).
        budget: Set once the mandatory judgements are done.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.session = problem.session
        self.best: Judged | None = None
        self.licence: frozenset[int] | None = None
        self.budget: SearchBudget | None = None
        self._judged: dict[TargetHandle, Judged] = {}
        self._fixed: dict[int, set[int]] = {}
        self._steps_from: dict[tuple[int, int], list[ForecastStep]] = {}
        self._improvable: dict[int, bool] = {}

    @property
    def in_order(self) -> tuple[Judged, ...]:
        """Everything judged, first to last."""
        return tuple(self._judged.values())

    @property
    def limit_ns(self) -> int:
        """What the incumbent costs: whatever is dearer does not come first (SRCH-8)."""
        assert self.best is not None
        return self.best.cost.total_ns

    def known(self, target: TargetHandle) -> Judged | None:
        return self._judged.get(target)

    def judge(self, target: TargetHandle) -> Judged:
        """Outside any budget; a target is judged once."""
        known = self._judged.get(target)
        if known is not None:
            return known
        judged = self._judged[target] = judge(self.problem, target)
        if judged.is_adoptable and (self.best is None or judged.beats(self.best)):
            self.best = judged
            if self.budget is not None:
                self.budget.improved()
        return judged

    def judge_within(self, target: TargetHandle, gain_ns: int) -> Judged | None:
        """Within the budget; `None` once it is spent.

        Args:
            gain_ns: What it is hoped to be better than the incumbent by.
        """
        known = self._judged.get(target)
        if known is not None:
            return known
        assert self.budget is not None
        return self.judge(target) if self.budget.may_judge(gain_ns) else None

    def gain_ns(self, optimistic_ns: int) -> int:
        """What the incumbent costs more than that: a forecast, no bound (SRCH-1)."""
        assert self.best is not None
        return max(0, self.best.cost.total_ns - optimistic_ns)

    def avoidable_ns(self, judged: Judged) -> int:
        """What of a target's copies somebody's giving way may spare: those within the Device, and
        the candidate's own to the Host (SRCH-2). A forecast, no bound.
        """
        own = [batch for batch in judged.verdict.work.transfers if _is_avoidable(batch)]
        if not own or not self._can_be_improved(judged.target.candidate):
            return 0
        return self.problem.valuation.work_ns(MachineWork.of(own))

    def _can_be_improved(self, candidate: int) -> bool:
        known = self._improvable.get(candidate)
        if known is None:
            known = self._improvable[candidate] = self.session.can_be_improved(candidate)
        return known

    def licensed(self, steps: Iterable[DegradationStep]) -> list[DegradationStep]:
        """Without a ladder every step; with one, evictions of licensed owners only (SRCH-4)."""
        licence = self.licence
        return [
            s for s in steps if licence is None or s.owner in licence or not s.facts.is_eviction
        ]

    def steps_by_loss(self, target: TargetHandle) -> Iterator[ForecastStep]:
        """Every step that may be taken, the least loss first: of whoever stays they are always the
        same.
        """
        fixed = self._ineligible(target.candidate)
        given = {owner for owner, choice in enumerate(target.choices) if choice} - fixed
        passed_over = given | fixed
        staying = (each for each in self._first_steps if each.owner not in passed_over)
        further = sorted(step for owner in given for step in self._further_steps(target, owner))
        return merge(staying, further) if further else staying

    def _ineligible(self, candidate: int) -> set[int]:
        known = self._fixed.get(candidate)
        if known is None:
            session = self.session
            owners = range(len(session.owners))
            known = {o for o in owners if not session.is_eligible(candidate, o)}
            self._fixed[candidate] = known
        return known

    @cached_property
    def _first_steps(self) -> list[ForecastStep]:
        """Of owners that stay, whoever's source they are."""
        identity = self.session.identity(0)
        owners = range(len(self.session.owners))
        return self._by_loss(s for o in owners for s in self.session.steps_of(identity, o))

    def _further_steps(self, target: TargetHandle, owner: int) -> list[ForecastStep]:
        """Of an owner that has given way: the same from the same outcome."""
        choice = target.choices[owner]
        known = self._steps_from.get((owner, choice))
        if known is None:
            known = self._by_loss(self.session.steps_of(target, owner))
            self._steps_from[owner, choice] = known
        return known

    def _by_loss(self, steps: Iterable[DegradationStep]) -> list[ForecastStep]:
        loss_ns = self.problem.valuation.step_loss_ns
        return sorted(ForecastStep(loss_ns(s), s.owner, s.choice, s) for s in self.licensed(steps))


def _is_avoidable(batch: TransferBatch) -> bool:
    direction = batch.direction
    return batch.phase is TransferPhase.CANDIDATE and direction is not TransferDirection.H2D
