"""Which target does an admission take, and what is told of the choice? (SRCH-2, SRCH-3)

Owns the way from what logical policy knows of a moment (candidates, victims with their worth, a
vacant slot or none) to one assessment that can be sealed, and the report of it. Program's session
lives no longer than this. Reads only: choosing reserves nothing (INV-17).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from ninfer_lab.context_cache.judged_targets import Judged, Problem
from ninfer_lab.context_cache.public_worth import PublicWorth
from ninfer_lab.context_cache.resource_search import Found, search
from ninfer_lab.context_cache.search_budget import BoundaryAllowance
from ninfer_lab.context_cache.valuation import PriceWork, Valuation, WorthOf
from ninfer_lab.contract.candidate import AdmissionCandidate
from ninfer_lab.contract.ids import OwnerId, OwnerRef
from ninfer_lab.contract.planning import PlanningSession, TargetHandle
from ninfer_lab.contract.program_api import ProgramApi
from ninfer_lab.contract.search_report import (
    SearchFacts,
    SearchReport,
    TargetCounts,
    TargetVerdict,
)
from ninfer_lab.contract.target import Assessment


def everybody(owner: OwnerId) -> bool:
    """Where only one kind of owner is kept."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionProblem:
    """What logical policy brings to one choice.

    Attributes:
        candidates: Root first.
        victims: Inactive owners that nobody leans on (TGT-2), ascending by id.
        worth: Of each of them.
        needs_slot: Whether the request publishes anything (CAP-3).
        has_vacant_slot: Whether the catalog has room for one more.
        session_owner: What the request's session is bound to.
        recency: Victims by ordinal, the one to go first in front; `None` where owners do not go in
            the order of their last use (SRCH-4).
        public: What shared owners are wanted for, those outside the choice among them.
        leaves_slot: Whether a victim's going makes room in the catalog.
    """

    candidates: Sequence[AdmissionCandidate]
    victims: Sequence[OwnerRef]
    worth: WorthOf
    needs_slot: bool
    has_vacant_slot: bool
    session_owner: OwnerId | None
    recency: tuple[int, ...] | None
    public: Callable[[], PublicWorth] = PublicWorth
    leaves_slot: Callable[[OwnerId], bool] = everybody


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The target taken, `None` if not even root fits, and what is told of the search.

    Attributes:
        candidates: Among which it was chosen, root first.
    """

    chosen: Assessment | None
    candidates: Sequence[AdmissionCandidate]
    report: SearchReport


def decide(
    program: ProgramApi,
    price: PriceWork,
    problem: AdmissionProblem,
    allowance: BoundaryAllowance,
    *,
    tells_targets: bool,
) -> Decision:
    """The best verified target.

    Args:
        price: What work is believed to take.
        allowance: Of the admission boundary; what is spent is taken from it.
        tells_targets: Whether the report holds every target that was judged.
    """
    session = program.plan(problem.candidates, problem.victims)
    worth = cache(problem.worth)
    found = search(
        Problem(
            session=session,
            valuation=Valuation(session, price, worth, problem.public),
            worth=worth,
            has_slot=publication_slot(
                session,
                needed=problem.needs_slot,
                vacant=problem.has_vacant_slot,
                leaves_slot=problem.leaves_slot,
            ),
            session_owner=problem.session_owner,
            recency=problem.recency,
        ),
        allowance,
    )
    return _decision(session, found, tells_targets=tells_targets)


def publication_slot(
    session: PlanningSession,
    *,
    needed: bool,
    vacant: bool,
    leaves_slot: Callable[[OwnerId], bool] = everybody,
) -> Callable[[TargetHandle], bool]:
    """Whether the result of a target could be catalogued (CAP-3): a consumed lineage goes on in its
    place; others need a slot that is vacant, or becomes so.

    Args:
        leaves_slot: Whether an evicted owner's slot is of the kind that is needed.
    """

    def has_slot(target: TargetHandle) -> bool:
        if vacant or not needed or session.candidates[target.candidate].is_consuming:
            return True
        return any(
            facts.is_eviction and leaves_slot(session.owners[owner].id)
            for owner, facts in session.facts(target)
        )

    return has_slot


# ── what is told ────────────────────────────────────────────────────────────────────────────────


def _decision(session: PlanningSession, found: Found, *, tells_targets: bool) -> Decision:
    judged, best = found.judged, found.best
    told: Sequence[int] = range(len(judged))
    if not tells_targets:
        told = _telling(session.candidates, judged, best)
    chosen: Assessment | None = None
    chosen_ordinal: int | None = None
    verdicts = []
    for ordinal, i in enumerate(told):
        each = judged[i]
        assessment = session.assess(each.target)
        verdict = TargetVerdict.of(
            assessment, has_publication_slot=each.has_slot or each is best, cost=each.cost
        )
        if each is best:
            chosen, chosen_ordinal = assessment, ordinal
        elif not tells_targets:
            verdict = verdict._replace(stages=())
        verdicts.append(verdict)
    report = SearchReport(
        verdicts=tuple(verdicts),
        chosen=chosen_ordinal,
        omitted=_counts([each for i, each in enumerate(judged) if i not in told]),
        search=search_facts(session, found),
    )
    return Decision(chosen=chosen, candidates=session.candidates, report=report)


def search_facts(session: PlanningSession, found: Found) -> SearchFacts:
    """How a search went, its licence by owners."""
    licence = found.licence
    return SearchFacts(
        stop=found.stop,
        initial_ns=found.initial_ns,
        spent_ns=found.spent_ns,
        renewals_count=found.renewals_count,
        licence=(
            None
            if licence is None
            else tuple(sorted(session.owners[ordinal].id for ordinal in licence))
        ),
    )


def _telling(
    candidates: Sequence[AdmissionCandidate], judged: Sequence[Judged], best: Judged | None
) -> list[int]:
    """The winner, the adoptable identity with most reuse and the deepest offer, in the order they
    were judged: what `SearchReport.decision` would leave.
    """
    deepest = identity = winner = None
    deepest_tokens = identity_tokens = -1
    for i, each in enumerate(judged):
        reuse_tokens = candidates[each.target.candidate].reuse_tokens
        if reuse_tokens > deepest_tokens:
            deepest, deepest_tokens = i, reuse_tokens
        if each.target.is_identity and each.is_adoptable and reuse_tokens > identity_tokens:
            identity, identity_tokens = i, reuse_tokens
        if each is best:
            winner = i
    return sorted({i for i in (deepest, identity, winner) if i is not None})


def _counts(judged: Sequence[Judged]) -> TargetCounts:
    return TargetCounts(
        seen=len(judged),
        feasible=sum(each.verdict.is_feasible for each in judged),
        adoptable=sum(each.is_adoptable for each in judged),
    )
