"""Which complete end state is the best that a bounded search can verify? (SRCH)

Owns the search over the targets of one session: identities first, outside any budget; where none
can be adopted, root with everything unprotected gone, or the gentlest rung of the recency ladder;
then, within the allowance, construction of good targets step by step, refinement upward, and the
ordinary alternatives best first. Only a target that Program has judged feasible and that has a
publication slot competes; an estimate never proves nor prunes anything. Reads only.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ninfer_lab.context_cache.search_budget import BoundaryAllowance, SearchBudget
from ninfer_lab.context_cache.target_order import TargetKey, target_key
from ninfer_lab.context_cache.valuation import OwnerWorth, Valuation
from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.planning import DegradationStep, PlanningSession, TargetHandle, Verdict
from ninfer_lab.contract.search_report import SearchStop
from ninfer_lab.contract.target_cost import TargetCost

CONSTRUCTION_STEPS_PER_OWNER = 4
"""Longest way of one construction, per eligible owner; the way down has an end anyhow."""

EXPANSION_SLICE = 8
"""Successors listed at a time: a parent with more goes back into the queue."""

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
    """

    session: PlanningSession
    valuation: Valuation
    worth: Mapping[OwnerId, OwnerWorth]
    has_slot: Callable[[TargetHandle], bool]
    session_owner: OwnerId | None
    recency: tuple[int, ...] | None = None
    target_budget: int = ARENA_TARGETS


class Judged(NamedTuple):
    """One target with everything that is known of it.

    Attributes:
        key: Its place in the order, should it be adoptable.
    """

    target: TargetHandle
    verdict: Verdict
    has_slot: bool
    cost: TargetCost
    key: TargetKey

    @property
    def is_adoptable(self) -> bool:
        """Physically feasible and logically publishable."""
        return self.verdict.is_feasible and self.has_slot


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """How a search ended.

    Attributes:
        best: `None` where not even the maximal target fits.
        judged: Every target judged, in order.
        fell_back: Whether no identity could be adopted.
        initial_ns: J of what would be done without any search.
    """

    best: Judged | None
    judged: tuple[Judged, ...]
    stop: SearchStop
    fell_back: bool
    initial_ns: int
    spent_ns: int
    renewals_count: int


def judge(problem: Problem, target: TargetHandle) -> Judged:
    """Program's word on a target, and its price by the same key as every other's."""
    session = problem.session
    verdict = session.judge(target)
    cost = problem.valuation.cost(target, verdict)
    key = target_key(session, problem.worth, problem.session_owner, target, verdict, cost)
    return Judged(target, verdict, problem.has_slot(target), cost, key)


def search(problem: Problem, allowance: BoundaryAllowance) -> Found:
    """The best verified target of a decision."""
    return _Search(problem, allowance).run()


class _Search:
    def __init__(self, problem: Problem, allowance: BoundaryAllowance) -> None:
        self._problem = problem
        self._session = problem.session
        self._allowance = allowance
        self._judged: dict[TargetHandle, Judged] = {}
        self._best: Judged | None = None
        self._licence: frozenset[int] | None = None
        self._budget: SearchBudget | None = None

    def run(self) -> Found:
        identities = [
            self._judge(self._session.identity(c)) for c in range(len(self._session.candidates))
        ]
        expandable = [
            judged
            for judged in identities
            if not judged.is_adoptable or self._session.can_be_improved(judged.target.candidate)
        ]
        fell_back = self._best is None
        if fell_back:
            self._fall_back()
        elif self._problem.recency is not None:
            self._licence = frozenset()
        best = self._best
        initial_ns = 0 if best is None else best.cost.total_ns
        budget = self._budget = SearchBudget(
            self._allowance,
            initial_ns,
            work_limit=ARENA_TARGETS * (16 + 16 * len(self._session.owners)),
            target_budget=self._problem.target_budget,
        )
        stop = SearchStop.NO_PRESSURE
        if best is not None and expandable and self._session.owners:
            stop = self._look_further(expandable, budget)
        return Found(
            best=self._best,
            judged=tuple(self._judged.values()),
            stop=stop,
            fell_back=fell_back,
            initial_ns=initial_ns,
            spent_ns=budget.spent_ns,
            renewals_count=budget.renewals_count,
        )

    # ── outside the budget ──────────────────────────────────────────────────────────────────────

    def _fall_back(self) -> None:
        """No identity can be adopted: something must go, and it is found without any budget."""
        if self._problem.recency is not None and self._gentlest_rung(self._problem.recency):
            return
        # Without a publication slot even then, it runs all the same and ends by Discard (SES-2).
        maximal = self._judge(self._session.maximal(0))
        if maximal.verdict.is_feasible:
            self._best = maximal

    def _gentlest_rung(self, recency: tuple[int, ...]) -> bool:
        """The adoptable rung with the fewest evictions, found by halving; its evictions become the
        licence, less those that turn out not to be needed.
        """
        low, high = 0, len(recency)
        found: tuple[int, TargetHandle] | None = None
        while low <= high:
            gone_count = (low + high) // 2
            target = self._adoptable_rung(recency[:gone_count])
            if target is None:
                low = gone_count + 1
            else:
                found, high = (gone_count, target), gone_count - 1
        if found is None:
            return False
        gone = set(recency[: found[0]])
        for spared in reversed(recency[: found[0]]):
            target = self._adoptable_rung(tuple(o for o in recency if o in gone - {spared}))
            if target is not None:
                gone.discard(spared)
        self._licence = frozenset(gone)
        return True

    def _adoptable_rung(self, gone: tuple[int, ...]) -> TargetHandle | None:
        """Some owners evicted and the rest on the Host, or the rest where it is."""
        for rest_leaves in (True, False):
            target = self._session.rung(0, gone, rest_leaves=rest_leaves)
            if self._judge(target).is_adoptable:
                return target
        return None

    # ── within the budget ───────────────────────────────────────────────────────────────────────

    def _look_further(self, expandable: list[Judged], budget: SearchBudget) -> SearchStop:
        if not budget.is_open:
            return SearchStop.INSUFFICIENT_EXPECTED_GAIN
        by_promise = sorted(expandable, key=lambda judged: (judged.cost.total_ns, judged.target))
        for identity in by_promise:
            for prefers_value in (True, False):
                self._construct(identity, budget, prefers_value=prefers_value)
        self._refine(budget)
        self._best_first(by_promise, budget)
        return budget.stop or SearchStop.QUEUE_EXHAUSTED

    def _construct(self, identity: Judged, budget: SearchBudget, *, prefers_value: bool) -> None:
        """One target, step by step, until it can be adopted; every step is judged exactly, so what
        it has brought is known and not assumed (SRCH-5).
        """
        current = identity
        limit = CONSTRUCTION_STEPS_PER_OWNER * len(self._session.owners)
        for _ in range(limit):
            if current.is_adoptable:
                return
            steps = self._licensed(self._session.steps(current.target))
            if not steps or not budget.may_forecast(len(steps), self._gain_ns(identity)):
                return
            step = self._most_promising(current, steps, prefers_value=prefers_value)
            judged = self._judge_within(budget, current.target.after(step), identity)
            if judged is None:
                return
            current = judged

    def _most_promising(
        self, current: Judged, steps: Sequence[DegradationStep], *, prefers_value: bool
    ) -> DegradationStep:
        """The step with the least loss per share of what is missing, or with the largest share.

        A missing publication slot is one more thing missing, that only an eviction can bring.
        """
        missing = current.verdict.deficits
        relief = self._session.relief(current.target, steps, [axis for axis, _ in missing])
        promises: list[tuple[int, float, float]] = []
        for step, units in zip(steps, relief, strict=True):
            share = sum(
                min(freed, lacking) / lacking
                for freed, (_, lacking) in zip(units, missing, strict=True)
            )
            if not current.has_slot and self._problem.has_slot(current.target.after(step)):
                share += 1.0
            loss_ns = self._problem.valuation.step_loss_ns(step)
            if not share:
                promises.append((2, loss_ns, 0.0))
            elif prefers_value:
                promises.append((1, loss_ns / share, -share))
            else:
                promises.append((1, -share, loss_ns))
        best = min(range(len(steps)), key=lambda i: (*promises[i], i))
        return steps[best]

    def _refine(self, budget: SearchBudget) -> None:
        """Upward from the incumbent: whoever has given way more than it takes gets it back."""
        improved = True
        while improved and self._best is not None:
            improved = False
            best = self._best
            for owner, _ in self._session.facts(best.target):
                for target in self._session.lesser(best.target, owner):
                    judged = self._judge_within(budget, target, best)
                    if judged is None:
                        return
                    if self._best is judged:
                        improved = True
                        break
                if improved:
                    break

    def _best_first(self, identities: list[Judged], budget: SearchBudget) -> None:
        """Alternatives by what they would cost if they fitted; what does fit goes no further."""
        queue: list[tuple[int, int, TargetHandle, int]] = []
        seen: set[TargetHandle] = set()

        def push(target: TargetHandle, bound_ns: int, skipped: int = 0) -> None:
            heapq.heappush(queue, (bound_ns, skipped, target, skipped))

        for identity in identities:
            push(identity.target, identity.cost.total_ns)
            seen.add(identity.target)
        while queue and self._best is not None:
            bound_ns, _, target, skipped = heapq.heappop(queue)
            gain_ns = self._best.cost.total_ns - bound_ns
            judged = self._judged.get(target)
            if judged is None:
                if gain_ns <= 0:
                    continue
                judged = self._judge_within(budget, target, self._best)
                if judged is None:
                    return
            if judged.is_adoptable:
                continue
            if not budget.may_expand(gain_ns):
                return
            steps = self._licensed(self._session.steps(target))
            now_ns = self._problem.valuation.work_ns(judged.verdict.work)
            for step in steps[skipped : skipped + EXPANSION_SLICE]:
                successor = target.after(step)
                if successor in seen:
                    continue
                if len(seen) >= ARENA_TARGETS:
                    budget.stop = SearchStop.EXPANSION_CAPACITY
                    return
                seen.add(successor)
                loss_ns = judged.cost.private_loss_ns + self._problem.valuation.step_loss_ns(step)
                push(successor, now_ns + loss_ns)
            if skipped + EXPANSION_SLICE < len(steps):
                push(target, bound_ns, skipped + EXPANSION_SLICE)

    # ── judging ─────────────────────────────────────────────────────────────────────────────────

    def _judge_within(
        self, budget: SearchBudget, target: TargetHandle, parent: Judged
    ) -> Judged | None:
        known = self._judged.get(target)
        if known is not None:
            return known
        if not budget.may_judge(self._gain_ns(parent)):
            return None
        return self._judge(target)

    def _judge(self, target: TargetHandle) -> Judged:
        """Program's word and the price of it; the incumbent is replaced only by a smaller key."""
        known = self._judged.get(target)
        if known is not None:
            return known
        judged = self._judged[target] = judge(self._problem, target)
        if judged.is_adoptable and (self._best is None or judged.key < self._best.key):
            self._best = judged
            if self._budget is not None:
                self._budget.improved()
        return judged

    def _gain_ns(self, optimistic: Judged) -> int:
        """What the incumbent costs more than a target could at best: a forecast, no bound."""
        assert self._best is not None
        return max(0, self._best.cost.total_ns - optimistic.cost.total_ns)

    def _licensed(self, steps: Sequence[DegradationStep]) -> Sequence[DegradationStep]:
        """Without a ladder every step; with one, evictions of licensed owners only (SRCH-4)."""
        licence = self._licence
        if licence is None:
            return steps
        return [s for s in steps if s.owner in licence or not s.facts.is_eviction]
