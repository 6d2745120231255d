"""Which targets were seen for one request, and what became of each?

Owns the report of one choice: light values without prompts, so that a recording can keep them all.
Does not know how the search went about it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ninfer_lab.contract.candidate import ReusePath, SourceDisposition
from ninfer_lab.contract.capacity import Occupancy
from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.target import Assessment, StateTransition


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetVerdict:
    """One target as it was judged.

    Attributes:
        owner: Whose checkpoint it starts from; `None` for root.
        evicted: Owners it would release; empty for an identity target.
        stages: Occupancy of every ordered stage.
        has_publication_slot: Whether its result could be catalogued (CAP-3).
        violation: The first inequality that fails, `None` if it fits.
    """

    path: ReusePath
    owner: OwnerId | None
    disposition: SourceDisposition | None
    reuse_tokens: int
    prefill_tokens: int
    evicted: tuple[OwnerId, ...]
    state: StateTransition
    cow_pages: int
    stages: tuple[Occupancy, ...]
    has_publication_slot: bool
    violation: str | None

    @classmethod
    def of(cls, assessment: Assessment, *, has_publication_slot: bool) -> TargetVerdict:
        """The verdict on an assessed target."""
        candidate, source = assessment.target.candidate, assessment.target.candidate.source
        return cls(
            path=candidate.path,
            owner=None if source is None else source.owner.id,
            disposition=None if source is None else source.disposition,
            reuse_tokens=candidate.reuse_tokens,
            prefill_tokens=candidate.prefill_tokens,
            evicted=tuple(owner.id for owner in assessment.target.evicted),
            state=assessment.state,
            cow_pages=assessment.cow_pages,
            stages=assessment.stages,
            has_publication_slot=has_publication_slot,
            violation=None if assessment.is_feasible else str(assessment),
        )

    @property
    def is_adoptable(self) -> bool:
        """Physically feasible and logically publishable."""
        return self.violation is None and self.has_publication_slot

    def __str__(self) -> str:
        how = "" if self.disposition is None else f", {self.disposition.value} owner {self.owner}"
        gone = f", evict {len(self.evicted)}" if self.evicted else ""
        verdict = self.violation or ("fits" if self.has_publication_slot else "no catalog slot")
        return (
            f"{self.path.value}{how}{gone}: reuse {self.reuse_tokens},"
            f" compute {self.prefill_tokens}, {self.state.value} — {verdict}"
        )


class StopReason(Enum):
    """Why no further target was looked at."""

    IDENTITY_FITS = "an identity target fits, so nothing is released"
    MAXIMAL_FITS = "no identity target fits; root does, with everything unprotected released"
    NOTHING_FITS = "not even root with everything unprotected released fits now"


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
    """

    verdicts: tuple[TargetVerdict, ...]
    chosen: int | None
    omitted: TargetCounts = NO_TARGETS

    @property
    def counts(self) -> TargetCounts:
        """Of every target seen, told or not."""
        return TargetCounts(
            seen=len(self.verdicts) + self.omitted.seen,
            feasible=sum(v.violation is None for v in self.verdicts) + self.omitted.feasible,
            adoptable=sum(v.is_adoptable for v in self.verdicts) + self.omitted.adoptable,
        )

    @property
    def best_offered_tokens(self) -> int:
        """Deepest reuse any candidate offered: 0 says identity, more says room or policy."""
        return max((verdict.reuse_tokens for verdict in self.verdicts), default=0)

    @property
    def best_identity(self) -> int | None:
        """Ordinal of the adoptable identity target with most reuse; of equals the first."""
        identities = [i for i, v in enumerate(self.verdicts) if v.is_adoptable and not v.evicted]
        return max(identities, key=lambda i: (self.verdicts[i].reuse_tokens, -i), default=None)

    @property
    def stop_reason(self) -> StopReason:
        """Why the search ended."""
        if self.chosen is None:
            return StopReason.NOTHING_FITS
        return StopReason.MAXIMAL_FITS if self.maximal_fallback else StopReason.IDENTITY_FITS

    @property
    def maximal_fallback(self) -> bool:
        """Whether everything unprotected had to go (SRCH-3)."""
        return self.chosen is not None and bool(self.verdicts[self.chosen].evicted)

    def decision(self) -> SearchReport:
        """The same choice without the crowd: winner, best identity, deepest offer, and counts.

        What it answers (`counts`, `best_offered_tokens`, `stop_reason`) stays as it was. A report
        that is no crowd stays whole.
        """
        if len(self.verdicts) <= DECISION_VERDICTS:
            return self
        deepest = next(
            (i for i, v in enumerate(self.verdicts) if v.reuse_tokens == self.best_offered_tokens),
            None,
        )
        told = sorted({i for i in (self.chosen, self.best_identity, deepest) if i is not None})
        verdicts = tuple(self.verdicts[i] for i in told)
        all_of, told_of = self.counts, SearchReport(verdicts=verdicts, chosen=None).counts
        return SearchReport(
            verdicts=verdicts,
            chosen=None if self.chosen is None else told.index(self.chosen),
            omitted=TargetCounts(
                seen=all_of.seen - told_of.seen,
                feasible=all_of.feasible - told_of.feasible,
                adoptable=all_of.adoptable - told_of.adoptable,
            ),
        )

    def __str__(self) -> str:
        lines = [
            f"{'→' if i == self.chosen else ' '} {verdict}"
            for i, verdict in enumerate(self.verdicts)
        ]
        if self.omitted.seen:
            lines.append(f"  … and {self.omitted.seen} more, {self.omitted.feasible} of which fit")
        return "\n".join(lines)
