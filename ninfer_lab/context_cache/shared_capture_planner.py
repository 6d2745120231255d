"""Is a shared prefix at this frontier worth everything that would have to give way? (CPT-2, VAL-7)

Owns the search of one capture: a scenario for every way to a catalog slot, in each of them complete
physical targets at the current revision, and Skip as the incumbent, which only a strictly positive
net gain replaces. Targets are looked at by what they are known to lose: nothing that gives more way
loses less, so where even that leaves no gain the looking ends. Reads only.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

from ninfer_lab.context_cache.portfolio_value import saving_ns
from ninfer_lab.context_cache.public_worth import SharedWorth, Standing
from ninfer_lab.context_cache.valuation import Valuation
from ninfer_lab.contract.fixed_point import saturated_product, saturated_sum
from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.planning import TargetHandle
from ninfer_lab.contract.shared_capture import CaptureSession
from ninfer_lab.contract.shared_report import CaptureGain, CaptureScenario, SlotSource

CAPTURE_TARGETS = 4_096
"""Targets of one capture, shared evenly by its scenarios (CPT-3)."""


class SlotWay(NamedTuple):
    """A way to a catalog slot."""

    slot: SlotSource
    entry: OwnerId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureProblem:
    """One chance.

    Attributes:
        valuation: Over the session; it knows the window's demands, this request's among them.
        worth: Of the owner to come.
        ways: To a slot, in a fixed order; none means that it cannot be published.
        may_press: Whether owners may give way (EVD-1).
        blocked_count: Other requests that wait while its copies run.
        must_be_immediate: Whether only what needs no copy between the tiers will do.
    """

    session: CaptureSession
    valuation: Valuation
    worth: SharedWorth
    ways: Sequence[SlotWay]
    may_press: bool
    blocked_count: int
    must_be_immediate: bool = False


class CaptureDecision(NamedTuple):
    """The target to carry out, `None` for Skip.

    Attributes:
        scenarios: One for each way, with its best target.
        chosen: Ordinal of the scenario.
    """

    target: TargetHandle | None
    chosen: int | None
    scenarios: tuple[CaptureScenario, ...]


def plan_shared_capture(problem: CaptureProblem) -> CaptureDecision:
    """The target with the largest net gain; of equals the first way, then the first met."""
    ways = problem.ways if problem.session.forms else ()
    searched = [_Search(problem, way).run() for way in ways]
    best: tuple[int, int] | None = None
    for ordinal, each in enumerate(searched):
        gain = each.scenario.gain
        if gain is not None and gain.net_ns > 0 and (best is None or gain.net_ns > best[0]):
            best = gain.net_ns, ordinal
    scenarios = tuple(each.scenario for each in searched)
    if best is None:
        return CaptureDecision(None, None, scenarios)
    return CaptureDecision(searched[best[1]].target, best[1], scenarios)


class _Searched(NamedTuple):
    target: TargetHandle | None
    scenario: CaptureScenario


class _Search:
    """The targets of one scenario."""

    def __init__(self, problem: CaptureProblem, way: SlotWay) -> None:
        self._problem = problem
        self._way = way
        self._session, self._valuation = problem.session, problem.valuation
        self._budget = max(1, CAPTURE_TARGETS // len(problem.ways))
        self._judged_count = 0
        self._best: tuple[TargetHandle, CaptureGain] | None = None
        identity = self._session.identity(0)
        self._before_ns = self._valuation.public_value_ns(identity)

    def run(self) -> _Searched:
        """By what is lost, least first, the forms side by side."""
        serial = count()
        queue: list[tuple[int, int, TargetHandle]] = []
        met: set[TargetHandle] = set()

        def wait_for(target: TargetHandle) -> None:
            if target not in met:
                met.add(target)
                heapq.heappush(queue, (-self._value_ns(target), next(serial), target))

        for candidate in range(len(self._session.forms)):
            root = self._root(candidate)
            if root is not None:
                wait_for(root)
        while queue and self._judged_count < self._budget:
            negative_ns, _, target = heapq.heappop(queue)
            # The first is judged all the same, so that it is told why nothing is gained.
            if self._judged_count and -negative_ns <= self._floor_ns:
                break
            self._judge(target)
            if self._problem.may_press and len(met) < self._budget:
                for step in self._session.steps(target):
                    wait_for(target.after(step))
        return self._searched()

    def _root(self, candidate: int) -> TargetHandle | None:
        """Everybody stays, but for an entry that is to be replaced."""
        identity = self._session.identity(candidate)
        if self._way.slot is not SlotSource.REPLACED:
            return identity
        owners = [owner.id for owner in self._session.owners]
        assert self._way.entry is not None
        owner = owners.index(self._way.entry)
        return identity.with_choice(owner, self._session.maximal(candidate).choices[owner])

    @property
    def _floor_ns(self) -> int:
        """What a target has to be worth more than, before its copies are paid."""
        return 0 if self._best is None else self._best[1].net_ns

    def _judge(self, target: TargetHandle) -> None:
        self._judged_count += 1
        verdict = self._session.judge(target)
        crosses = any(batch.crosses_tiers for batch in verdict.work.transfers)
        if not verdict.is_feasible or (crosses and self._problem.must_be_immediate):
            return
        copies_ns = self._valuation.work_ns(verdict.work)
        gain = CaptureGain(
            public_before_ns=self._before_ns,
            public_after_ns=self._after_ns(target),
            private_loss_ns=self._valuation.loss_ns(target),
            immediate_ns=saturated_product(1 + self._problem.blocked_count, copies_ns),
        )
        if self._best is None or gain.net_ns > self._best[1].net_ns:
            self._best = target, gain

    def _value_ns(self, target: TargetHandle) -> int:
        """Net gain before copies."""
        lost_ns = saturated_sum(self._before_ns, self._valuation.loss_ns(target))
        return self._after_ns(target) - lost_ns

    def _after_ns(self, target: TargetHandle) -> int:
        listed = self._session.new_recoveries(target.candidate)
        price = self._valuation.work_ns
        saving = saving_ns(price(listed.rebuild), min(map(price, listed.recipes)))
        return self._valuation.public_value_ns(target, Standing(self._problem.worth, saving))

    def _searched(self) -> _Searched:
        target, gain = (None, None) if self._best is None else self._best
        form = None if target is None else self._session.forms[target.candidate]
        return _Searched(
            target,
            CaptureScenario(
                slot=self._way.slot,
                entry=self._way.entry,
                targets_count=self._judged_count,
                form=form,
                gain=gain,
            ),
        )
