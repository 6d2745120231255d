"""Which target is taken for the request the Scheduler picked? (SRCH, VAL-6)

Owns one decision from candidates and victims to the assessment that is sealed, and the report of
what was looked at. Opens Program's session, prices by one belief, searches, and tells. Reserves
nothing (INV-17).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ninfer_lab.context_cache.judged_targets import Judged, Problem
from ninfer_lab.context_cache.resource_search import Found, search
from ninfer_lab.context_cache.search_budget import BoundaryAllowance
from ninfer_lab.context_cache.valuation import OwnerWorth, Valuation
from ninfer_lab.contract.candidate import AdmissionCandidate, SourceDisposition
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
from ninfer_lab.cost.machine_cost_model import MachineCostModel


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetChoice:
    """The target taken, `None` if not even root fits, and what was looked at."""

    chosen: Assessment | None
    report: SearchReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What is to be decided.

    Attributes:
        candidates: Root first.
        victims: Owners that nobody leans on, with what is known of them.
        session_owner: What the request's session is bound to.
        has_vacancy: Whether the catalog has a slot that nobody holds or is promised.
        publishes: Whether the request may leave anything behind.
        recency: Victims, the one to give way first in front; `None` without the ladder (SRCH-4).
        tells_targets: Whether every target that is looked at is told.
    """

    candidates: Sequence[AdmissionCandidate]
    victims: Mapping[OwnerRef, OwnerWorth]
    session_owner: OwnerId | None
    has_vacancy: bool
    publishes: bool
    recency: tuple[OwnerId, ...] | None
    tells_targets: bool


def choose_target(
    program: ProgramApi,
    cost_model: MachineCostModel,
    decision: Decision,
    allowance: BoundaryAllowance,
) -> TargetChoice:
    """The best target a bounded search can verify."""
    owners = sorted(decision.victims, key=lambda ref: ref.id)
    session = program.plan(decision.candidates, owners)
    worth = {ref.id: worth for ref, worth in decision.victims.items()}
    ordinals = {ref.id: i for i, ref in enumerate(session.owners)}
    found = search(
        Problem(
            session=session,
            valuation=Valuation(session, cost_model.work_ns, worth),
            worth=worth,
            has_slot=_slot_rule(session, decision),
            session_owner=decision.session_owner,
            recency=(
                None
                if decision.recency is None
                else tuple(ordinals[owner] for owner in decision.recency)
            ),
        ),
        allowance,
    )
    chosen = None if found.best is None else session.assess(found.best.target)
    return TargetChoice(
        chosen=chosen, report=_report(session, found, tells_all=decision.tells_targets)
    )


def consumes(candidate: AdmissionCandidate) -> bool:
    """Whether the source's owner becomes the active lineage."""
    return (
        candidate.source is not None and candidate.source.disposition is SourceDisposition.CONSUME
    )


def _slot_rule(session: PlanningSession, decision: Decision) -> Callable[[TargetHandle], bool]:
    """Whether a target's result could be catalogued (CAP-3): a consumed owner goes on in its own
    slot, an evicted one leaves its slot behind.
    """
    always = decision.has_vacancy or not decision.publishes
    own_slot = [always or consumes(candidate) for candidate in decision.candidates]

    def has_slot(target: TargetHandle) -> bool:
        if own_slot[target.candidate]:
            return True
        return any(facts.is_eviction for _, facts in session.facts(target))

    return has_slot


def _report(session: PlanningSession, found: Found, *, tells_all: bool) -> SearchReport:
    """Everything that was judged, or what tells the decision: the winner, and the identities."""
    told = [
        judged
        for judged in found.judged
        if tells_all or judged is found.best or judged.target.is_identity
    ]
    omitted = [judged for judged in found.judged if judged not in told] if not tells_all else []
    return SearchReport(
        verdicts=tuple(_verdict(session, judged) for judged in told),
        chosen=next((i for i, judged in enumerate(told) if judged is found.best), None),
        omitted=TargetCounts(
            seen=len(omitted),
            feasible=sum(judged.verdict.is_feasible for judged in omitted),
            adoptable=sum(judged.is_adoptable for judged in omitted),
        ),
        search=SearchFacts(
            stop=found.stop,
            fell_back=found.fell_back,
            initial_ns=found.initial_ns,
            spent_ns=found.spent_ns,
            renewals_count=found.renewals_count,
        ),
    )


def _verdict(session: PlanningSession, judged: Judged) -> TargetVerdict:
    return TargetVerdict.of(
        session.assess(judged.target), has_publication_slot=judged.has_slot, cost=judged.cost
    )
