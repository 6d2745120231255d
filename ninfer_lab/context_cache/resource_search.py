"""Which complete end state is the best that a bounded search can verify? (SRCH)

Owns the search over the targets of one session: identities first, outside any budget; where none
can be adopted, root with everything unprotected gone, or the gentlest rung of the recency ladder;
then, within the allowance, good targets step by step, upward and by exchange
(`target_construction`), and the ordinary alternatives best first. An estimate never proves nor
prunes anything. Reads only.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import NamedTuple

from ninfer_lab.context_cache.judged_targets import (
    ARENA_TARGETS,
    ForecastStep,
    Judged,
    JudgedTargets,
    Problem,
)
from ninfer_lab.context_cache.search_budget import BoundaryAllowance, SearchBudget
from ninfer_lab.context_cache.target_construction import Construction
from ninfer_lab.contract.planning import TargetHandle
from ninfer_lab.contract.search_report import SearchStop

WORK_PER_TARGET = 16
"""Steps of any kind for every target of the arena, and again for every owner of each."""

EXPANSION_SLICE = 8
"""Successors listed at a time: a parent with more goes back into the queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """How a search ended.

    Attributes:
        best: `None` where not even the maximal target fits.
        judged: Every target judged, in order.
        fell_back: Whether no identity could be adopted.
        initial_ns: J of what would be done without any search.
        licence: Owners of the session that might be evicted; `None` without a ladder (SRCH-4).
    """

    best: Judged | None
    judged: tuple[Judged, ...]
    stop: SearchStop
    fell_back: bool
    initial_ns: int
    licence: frozenset[int] | None
    spent_ns: int
    renewals_count: int


def search(problem: Problem, allowance: BoundaryAllowance) -> Found:
    """The best verified target of a decision."""
    return _Search(problem, allowance).run()


class _Search:
    def __init__(self, problem: Problem, allowance: BoundaryAllowance) -> None:
        self._problem = problem
        self._session = problem.session
        self._allowance = allowance
        self._targets = JudgedTargets(problem)

    def run(self) -> Found:
        targets = self._targets
        identities = [
            targets.judge(self._session.identity(c)) for c in range(len(self._session.candidates))
        ]
        expandable = [
            judged
            for judged in identities
            if not judged.is_adoptable or self._session.can_be_improved(judged.target.candidate)
        ]
        fell_back = targets.best is None
        if fell_back:
            self._fall_back()
        elif self._problem.recency is not None:
            targets.licence = frozenset()
        best = targets.best
        initial_ns = 0 if best is None else best.cost.total_ns
        work_limit = self._problem.work_limit
        if work_limit is None:
            work_limit = ARENA_TARGETS * WORK_PER_TARGET * (1 + len(self._session.owners))
        budget = targets.budget = SearchBudget(
            self._allowance,
            initial_ns,
            work_limit=work_limit,
            target_budget=self._problem.target_budget,
        )
        stop = SearchStop.NO_PRESSURE
        if best is not None and expandable and self._session.owners:
            stop = self._look_further(expandable, budget)
        return Found(
            best=targets.best,
            judged=targets.in_order,
            stop=stop,
            fell_back=fell_back,
            initial_ns=initial_ns,
            licence=targets.licence,
            spent_ns=budget.spent_ns,
            renewals_count=budget.renewals_count,
        )

    # ── outside the budget ──────────────────────────────────────────────────────────────────────

    def _fall_back(self) -> None:
        """No identity can be adopted: something must go, and it is found without any budget."""
        if self._problem.recency is not None and self._gentlest_rung(self._problem.recency):
            return
        # Without a publication slot even then, it runs all the same and ends by Discard (SES-2).
        maximal = self._targets.judge(self._session.maximal(0))
        if maximal.verdict.is_feasible:
            self._targets.best = maximal

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
        self._targets.licence = frozenset(gone)
        return True

    def _adoptable_rung(self, gone: tuple[int, ...]) -> TargetHandle | None:
        """Some owners evicted and the rest on the Host, or the rest where it is."""
        for rest_leaves in (True, False):
            target = self._session.rung(0, gone, rest_leaves=rest_leaves)
            if self._targets.judge(target).is_adoptable:
                return target
        return None

    # ── within the budget ───────────────────────────────────────────────────────────────────────

    def _look_further(self, expandable: list[Judged], budget: SearchBudget) -> SearchStop:
        if not budget.is_open:
            return SearchStop.INSUFFICIENT_EXPECTED_GAIN
        by_promise = sorted(expandable, key=lambda judged: (judged.cost.total_ns, judged.target))
        construction = Construction(self._targets)
        for identity in by_promise:
            for prefers_value in (True, False):
                built = construction.construct(identity, prefers_value=prefers_value)
                if built is not None:
                    construction.refine(built)
        if self._targets.best is not None:
            construction.refine(self._targets.best)
        construction.exchange()
        construction.begin_otherwise(by_promise)
        return budget.stop or self._best_first(by_promise, budget)

    def _best_first(self, identities: list[Judged], budget: SearchBudget) -> SearchStop:
        """Alternatives by what they would cost if they fitted; what does fit goes no further, but
        where a copy could be spared by it.

        Whoever is forecast to cost more than the incumbent is not held: it would never be looked
        at. One that costs as much may still win by the rest of its key (SRCH-8).
        """
        targets = self._targets
        queue = [
            _Waiting(identity.cost.total_ns - targets.avoidable_ns(identity), identity.target)
            for identity in identities
        ]
        heapq.heapify(queue)
        held = {waiting.target for waiting in queue}
        unlisted: dict[TargetHandle, Iterator[ForecastStep]] = {}
        while queue:
            forecast_ns, target = heapq.heappop(queue)
            if forecast_ns > targets.limit_ns:
                return SearchStop.INSUFFICIENT_EXPECTED_GAIN
            gain_ns = targets.gain_ns(forecast_ns)
            judged = targets.judge_within(target, gain_ns)
            if judged is None:
                break
            avoidable_ns = targets.avoidable_ns(judged)
            if judged.is_adoptable and not avoidable_ns:
                continue
            if not budget.may_expand(gain_ns):
                break
            base_ns = self._problem.valuation.work_ns(judged.verdict.work)
            base_ns += judged.cost.future_loss_ns - avoidable_ns
            limit_ns = targets.limit_ns
            rest = unlisted.pop(target, None) or targets.steps_by_loss(target)
            for loss_ns, _, _, step in islice(rest, EXPANSION_SLICE):
                if base_ns + loss_ns > limit_ns:
                    continue
                successor = target.after(step)
                if successor in held:
                    continue
                if len(held) >= ARENA_TARGETS:
                    return SearchStop.EXPANSION_CAPACITY
                held.add(successor)
                heapq.heappush(queue, _Waiting(base_ns + loss_ns, successor))
            following = next(rest, None)
            if following is not None:
                unlisted[target] = chain((following,), rest)
                forecast_ns = max(forecast_ns, base_ns + following.loss_ns)
                heapq.heappush(queue, _Waiting(forecast_ns, target))
        return budget.stop or SearchStop.QUEUE_EXHAUSTED


class _Waiting(NamedTuple):
    """A target in the queue.

    Attributes:
        forecast_ns: What it, or what is still to be listed below it, would cost if it fitted.
    """

    forecast_ns: int
    target: TargetHandle
