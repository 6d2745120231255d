"""Which targets were seen for one request, and what became of each?

Owns the report of one choice: light values without prompts, so that a recording can keep them all.
Does not know how the search went about it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

from ninfer_lab.contract.candidate import ReusePath, SourceDisposition
from ninfer_lab.contract.ids import CheckpointId, OwnerId
from ninfer_lab.contract.machine_work import MachineWork
from ninfer_lab.contract.target import Assessment, Stage, StateTransition, Violation
from ninfer_lab.contract.target_cost import TargetCost


class TargetVerdict(NamedTuple):
    """One target as it was judged.

    Attributes:
        owner: Whose checkpoint it starts from; `None` for root.
        evicted: Owners it would release.
        degraded: Owners that would stay with fewer or other replicas.
        deleted: Checkpoints that would end of owners that stay.
        stages: Every ordered stage with its occupancy; none where they are no longer told
            (`SearchReport.decision`).
        work: Its copies, and what is left to prefill.
        has_publication_slot: Whether its result could be catalogued (CAP-3).
        violations: Every inequality that fails, in stage order; empty if it fits.
        cost: J, term by term; `None` where nobody has priced it.
    """

    path: ReusePath
    owner: OwnerId | None
    disposition: SourceDisposition | None
    reuse_tokens: int
    prefill_tokens: int
    evicted: tuple[OwnerId, ...]
    degraded: tuple[OwnerId, ...]
    deleted: tuple[CheckpointId, ...]
    state: StateTransition
    cow_pages: int
    stages: tuple[Stage, ...]
    work: MachineWork
    has_publication_slot: bool
    violations: tuple[Violation, ...]
    cost: TargetCost | None = None

    @classmethod
    def of(
        cls,
        assessment: Assessment,
        *,
        has_publication_slot: bool,
        cost: TargetCost | None = None,
    ) -> TargetVerdict:
        """The verdict on an assessed target."""
        target, candidate = assessment.target, assessment.target.candidate
        source = candidate.source
        return cls(
            path=candidate.path,
            owner=None if source is None else source.owner.id,
            disposition=None if source is None else source.disposition,
            reuse_tokens=candidate.reuse_tokens,
            prefill_tokens=candidate.prefill_tokens,
            evicted=tuple(owner.id for owner in target.evicted),
            degraded=tuple(owner.id for owner in target.degraded),
            deleted=tuple(
                sorted(
                    checkpoint.id
                    for outcome in target.outcomes
                    if not outcome.is_eviction
                    for checkpoint in outcome.deleted
                )
            ),
            state=assessment.state,
            cow_pages=assessment.cow_pages,
            stages=assessment.stages,
            work=assessment.work,
            has_publication_slot=has_publication_slot,
            violations=assessment.violations,
            cost=cost,
        )

    @property
    def is_identity(self) -> bool:
        """It changes no owner but its source (TGT-4)."""
        return not self.evicted and not self.degraded

    @property
    def is_feasible(self) -> bool:
        """Every stage fits."""
        return not self.violations

    @property
    def is_adoptable(self) -> bool:
        """Physically feasible and logically publishable."""
        return self.is_feasible and self.has_publication_slot

    @property
    def judgement(self) -> str:
        """Why it cannot be carried out, or that it can."""
        if self.violations:
            others = len(self.violations) - 1
            return f"does not fit: {self.violations[0]}" + (
                f" (and {others} more)" if others else ""
            )
        return "fits" if self.has_publication_slot else "no catalog slot"

    def __str__(self) -> str:
        how = "" if self.disposition is None else f", {self.disposition.value} owner {self.owner}"
        gone = f", evict {len(self.evicted)}" if self.evicted else ""
        less = f", degrade {len(self.degraded)}" if self.degraded else ""
        copied = sum(b.payload_bytes for b in self.work.transfers if b.crosses_tiers)
        moved = f", move {copied:,} bytes between tiers" if copied else ""
        return (
            f"{self.path.value}{how}{gone}{less}: reuse {self.reuse_tokens},"
            f" compute {self.prefill_tokens}, {self.state.value}{moved} — {self.judgement}"
        )


class SearchStop(Enum):
    """Why the search went no further (SRCH-9). None of them says that the best was found."""

    NO_PRESSURE = "no_pressure"
    QUEUE_EXHAUSTED = "queue_exhausted"
    TARGET_BUDGET = "target_budget"
    EXPANSION_CAPACITY = "expansion_capacity"
    TIME_BUDGET = "time_budget"
    WORK_BUDGET = "work_budget"
    INSUFFICIENT_EXPECTED_GAIN = "insufficient_expected_gain"


class Resort(Enum):
    """How much was given up for the winner."""

    IDENTITY = "an identity target: nothing is released"
    PRESSURE = "other owners are degraded or gone"
    MAXIMAL = "root, with everything unprotected released"
    NOTHING_FITS = "not even root with everything unprotected released fits now"


class SearchFacts(NamedTuple):
    """How a search went.

    Attributes:
        initial_ns: J of what would have been done without looking any further.
        spent_ns: Of the boundary's allowance, by the fixed prices of work units (SRCH-7).
        renewals_count: How often its window was renewed.
        licence: Owners that might be fully evicted, ascending; `None` without an order of recency,
            when everybody might (SRCH-4).
    """

    stop: SearchStop
    initial_ns: int
    spent_ns: int
    renewals_count: int
    licence: tuple[OwnerId, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetCounts:
    """How many targets were seen, and how far each came."""

    seen: int
    feasible: int
    adoptable: int


DECISION_VERDICTS = 3
"""The winner, the best identity and the deepest offer, where they are three."""

NO_TARGETS = TargetCounts(seen=0, feasible=0, adoptable=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchReport:
    """The targets seen, in the order they were seen.

    Attributes:
        verdicts: All of them, or those that tell the decision (`decision()`).
        chosen: Ordinal of the target that was carried out; `None` if the request stayed blocked.
        omitted: Those that were seen and are no longer told.
        search: `None` for a design that does not search.
    """

    verdicts: tuple[TargetVerdict, ...]
    chosen: int | None
    omitted: TargetCounts = NO_TARGETS
    search: SearchFacts | None = None

    @property
    def counts(self) -> TargetCounts:
        """Of every target seen, told or not."""
        return TargetCounts(
            seen=len(self.verdicts) + self.omitted.seen,
            feasible=sum(v.is_feasible for v in self.verdicts) + self.omitted.feasible,
            adoptable=sum(v.is_adoptable for v in self.verdicts) + self.omitted.adoptable,
        )

    @property
    def winner(self) -> TargetVerdict | None:
        """The target that was carried out; `None` if the request stayed blocked."""
        return None if self.chosen is None else self.verdicts[self.chosen]

    @property
    def best_offered_tokens(self) -> int:
        """Deepest reuse any candidate offered: 0 says identity, more says room or policy."""
        return max((verdict.reuse_tokens for verdict in self.verdicts), default=0)

    @property
    def best_identity(self) -> int | None:
        """Ordinal of the adoptable identity target with most reuse; of equals the first."""
        identities = [i for i, v in enumerate(self.verdicts) if v.is_adoptable and v.is_identity]
        return max(identities, key=lambda i: (self.verdicts[i].reuse_tokens, -i), default=None)

    @property
    def resort(self) -> Resort:
        """How much was given up for the winner."""
        if self.chosen is None:
            return Resort.NOTHING_FITS
        if self.maximal_fallback:
            return Resort.MAXIMAL
        identity = self.verdicts[self.chosen].is_identity
        return Resort.IDENTITY if identity else Resort.PRESSURE

    @property
    def maximal_fallback(self) -> bool:
        """Whether it came to root with owners released and none kept in a lesser form (SRCH-3)."""
        winner = self.winner
        return (
            winner is not None
            and winner.owner is None
            and bool(winner.evicted)
            and not winner.degraded
        )

    def decision(self) -> SearchReport:
        """The same choice without the crowd: winner, best identity, deepest offer, and counts.

        What it answers (`counts`, `best_offered_tokens`, `resort`) stays as it was. Stages are
        told of the winner alone: of the others their violations say what was short.
        """
        if len(self.verdicts) <= DECISION_VERDICTS:
            winner = self.winner
            if not any(v.stages for v in self.verdicts if v is not winner):
                return self
            brief = self._with_stages_of_winner(self.verdicts)
            return replace(self, verdicts=brief)
        deepest = next(
            (i for i, v in enumerate(self.verdicts) if v.reuse_tokens == self.best_offered_tokens),
            None,
        )
        told = sorted({i for i in (self.chosen, self.best_identity, deepest) if i is not None})
        verdicts = self._with_stages_of_winner(tuple(self.verdicts[i] for i in told))
        all_of, told_of = self.counts, SearchReport(verdicts=verdicts, chosen=None).counts
        return replace(
            self,
            verdicts=verdicts,
            chosen=None if self.chosen is None else told.index(self.chosen),
            omitted=TargetCounts(
                seen=all_of.seen - told_of.seen,
                feasible=all_of.feasible - told_of.feasible,
                adoptable=all_of.adoptable - told_of.adoptable,
            ),
        )

    def _with_stages_of_winner(
        self, verdicts: tuple[TargetVerdict, ...]
    ) -> tuple[TargetVerdict, ...]:
        winner = self.winner
        return tuple(
            [v if v is winner or not v.stages else v._replace(stages=()) for v in verdicts]
        )

    def __str__(self) -> str:
        lines = [
            f"{'→' if i == self.chosen else ' '} {verdict}"
            for i, verdict in enumerate(self.verdicts)
        ]
        if self.omitted.seen:
            lines.append(f"  … and {self.omitted.seen} more, {self.omitted.feasible} of which fit")
        return "\n".join(lines)
