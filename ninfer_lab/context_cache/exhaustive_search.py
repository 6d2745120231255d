"""Which target of a decision is really the best? (SRCH-1)

Owns the truth that the bounded search is measured against: every target of a session looked at, or
as many as a bound leaves. The bound rests on losses and copies that only grow downwards, whoever
gives way next; what a copy's calls may save by becoming fewer is left out of it. Both need a price
that is never less for more work (COST-3). No part of the engine's way: it takes what it takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from ninfer_lab.context_cache.judged_targets import Judged, Problem, judge
from ninfer_lab.context_cache.portfolio_value import private_loss_ns, saving_ns
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.machine_work import MachineWork, TransferDirection, TransferPhase
from ninfer_lab.contract.planning import STAYS, PlanningSession, TargetHandle

EVERY_TARGET_LIMIT = 1 << 16
"""Targets up to which all are looked at."""

SEARCHABLE_TARGETS = 1 << 24
"""Targets up to which a bound is tried: it leaves a few thousand of a million."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """The best adoptable target there is.

    Attributes:
        best: `None` where none can be adopted.
        targets_count: In the whole graph of the session.
        judged_count: Looked at.
    """

    best: Judged | None
    targets_count: int
    judged_count: int


def every_target(problem: Problem, *, limit: int = EVERY_TARGET_LIMIT) -> Truth:
    """Looks at all of them.

    Raises:
        OptionsError: There are more than the limit.
    """
    session = problem.session
    domains = _Domains(session, limit)
    best: Judged | None = None
    for target in domains.targets():
        judged = judge(problem, target)
        if judged.is_adoptable and (best is None or judged.beats(best)):
            best = judged
    count = domains.targets_count
    return Truth(best=best, targets_count=count, judged_count=count)


def best_target(problem: Problem, incumbent: Judged | None = None) -> Truth:
    """Looks at those that could be better, by branch and bound.

    Args:
        incumbent: An adoptable target that is known, of any session over the same problem: it
            spares looking, and never decides.

    Raises:
        OptionsError: More targets than a bound is tried on.
    """
    return _BranchAndBound(problem, incumbent).run()


def targets_count(session: PlanningSession, limit: int = SEARCHABLE_TARGETS) -> int | None:
    """Of the whole graph; `None` where there are more than the limit."""
    try:
        return _Domains(session, limit).targets_count
    except OptionsError:
        return None


class _Domains:
    """The outcomes that each owner has, for every candidate that it may give way to.

    Raises:
        OptionsError: More targets than the limit.
    """

    def __init__(self, session: PlanningSession, limit: int) -> None:
        self._session = session
        self._limit = limit
        self.of_candidate = [
            [self._outcomes(c, owner) for owner in range(len(session.owners))]
            for c in range(len(session.candidates))
        ]
        self.targets_count = sum(
            prod(len(outcomes) for outcomes in owners) for owners in self.of_candidate
        )
        if self.targets_count > limit:
            raise self._too_many(self.targets_count)

    def targets(self) -> Iterator[TargetHandle]:
        for candidate, owners in enumerate(self.of_candidate):
            for choices in product(*owners):
                yield TargetHandle(candidate, choices)

    def _outcomes(self, candidate: int, owner: int) -> list[int]:
        """Every outcome that steps lead to, staying first."""
        session = self._session
        if not session.is_eligible(candidate, owner):
            return [STAYS]
        identity = session.identity(candidate)
        found = dict.fromkeys((STAYS,))
        waiting = [STAYS]
        while waiting:
            target = identity.with_choice(owner, waiting.pop())
            for step in session.steps(target):
                if step.owner == owner and step.choice not in found:
                    found[step.choice] = None
                    waiting.append(step.choice)
            if len(found) > self._limit:
                raise self._too_many(len(found))
        return list(found)

    def _too_many(self, count: int) -> OptionsError:
        return OptionsError("planning problem", found=f"{count} targets", legal=f"<= {self._limit}")


class _BranchAndBound:
    """Owners in turn, the dearest first; a node has decided for some, and the others stay."""

    def __init__(self, problem: Problem, incumbent: Judged | None) -> None:
        self._problem = problem
        self._session = problem.session
        self._domains = _Domains(problem.session, SEARCHABLE_TARGETS)
        self._limit_ns = None if incumbent is None else incumbent.cost.total_ns
        self._best: Judged | None = None
        self._judged_count = 0
        self._order: list[int] = []
        self._floors: dict[TargetHandle, int] = {}
        self._identity_savings: dict[tuple[int, int], tuple[int, ...]] = {}
        self._floor_savings: dict[tuple[int, object], tuple[int, ...]] = {}

    def run(self) -> Truth:
        session = self._session
        nodes = [session.identity(candidate) for candidate in range(len(session.candidates))]
        for identity in sorted(nodes, key=lambda node: (self._floor_ns(node), node)):
            gone = session.maximal(identity.candidate)
            self._order = sorted(
                (o for o, choice in enumerate(gone.choices) if choice != STAYS),
                key=lambda o: (-self._problem.valuation.own_loss_ns(o, gone.choices[o]), o),
            )
            self._descend(identity, gone, 0)
        return Truth(
            best=self._best,
            targets_count=self._domains.targets_count,
            judged_count=self._judged_count,
        )

    def _descend(self, staying: TargetHandle, gone: TargetHandle, decided_count: int) -> None:
        """Everything below a node.

        Args:
            staying: The node, with owners that are not decided for as they are: nothing below it is
                cheaper.
            gone: The same with those owners evicted: nothing below it takes less room.
        """
        if self._is_hopeless(staying) or not self._has_room(gone):
            return
        if decided_count == len(self._order):
            return
        owner = self._order[decided_count]
        choices = self._domains.of_candidate[staying.candidate][owner]
        nodes = [(self._floor_ns(staying.with_choice(owner, choice)), choice) for choice in choices]
        for _, choice in sorted(nodes):
            lower = staying.with_choice(owner, choice)
            self._descend(lower, gone.with_choice(owner, choice), decided_count + 1)

    def _is_hopeless(self, staying: TargetHandle) -> bool:
        """A target of the same J may still win by the rest of its key."""
        return self._limit_ns is not None and self._floor_ns(staying) > self._limit_ns

    def _has_room(self, gone: TargetHandle) -> bool:
        """By count alone: holes in the arena may close when less is put into it."""
        return all(over <= 0 for over in self._session.judge(gone).balance)

    def _floor_ns(self, target: TargetHandle) -> int:
        """Judges a target; what nothing below it can cost less than."""
        known = self._floors.get(target)
        if known is not None:
            return known
        judged = judge(self._problem, target)
        self._judged_count += 1
        if judged.is_adoptable and (self._best is None or judged.beats(self._best)):
            self._best = judged
            if self._limit_ns is None or judged.cost.total_ns < self._limit_ns:
                self._limit_ns = judged.cost.total_ns
        floor_ns = self._problem.valuation.work_ns(_floor(judged.verdict.work))
        for owner in range(len(target.choices)):
            floor_ns += self._floor_loss_ns(target, owner)
        self._floors[target] = floor_ns
        return floor_ns

    def _floor_loss_ns(self, target: TargetHandle, owner: int) -> int:
        session = self._session
        if not session.is_eligible(target.candidate, owner):
            return 0
        key = session.placement_key(target, owner)
        floor = self._floor_savings.get((owner, key))
        if floor is None:
            floor = self._floor_savings[owner, key] = self._savings(target, owner, is_floor=True)
        before = self._identity_savings.get((target.candidate, owner))
        if before is None:
            identity = session.identity(target.candidate)
            before = self._savings(identity, owner, is_floor=False)
            self._identity_savings[target.candidate, owner] = before
        weight = self._problem.worth(session.owners[owner].id).weight
        return private_loss_ns(weight, before, floor)

    def _savings(self, target: TargetHandle, owner: int, *, is_floor: bool) -> tuple[int, ...]:
        price = self._problem.valuation.work_ns
        unreachable = self._problem.worth(self._session.owners[owner].id).unreachable
        return tuple(
            0
            if each.checkpoint in unreachable
            else saving_ns(
                price(each.rebuild),
                min(price(_floor(r) if is_floor else r) for r in each.recipes),
            )
            for each in self._session.recoveries(target, owner)
        )


def _floor(work: MachineWork) -> MachineWork:
    """What the same work takes at the least once others have given way: bytes between the tiers
    only become more, but pages may come to lie in fewer runs, and neither a copy within the Device
    nor one of the candidate's own to the Host may turn out to be needed.
    """
    own = TransferPhase.CANDIDATE
    return replace(
        work,
        transfers=tuple(
            replace(batch, operation_count=min(1, batch.operation_count))
            for batch in work.transfers
            if batch.direction is not TransferDirection.D2D
            and not (batch.phase is own and batch.direction is TransferDirection.D2H)
        ),
    )
