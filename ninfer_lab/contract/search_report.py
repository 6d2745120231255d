"""Which targets were seen for one request, and what became of each?

Owns the report of one choice: light values without prompts, so that a recording can keep them all.
Does not know how the search went about it.
"""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchReport:
    """Every target seen, in the order it was seen.

    Attributes:
        chosen: Ordinal of the target that was carried out; `None` if the request stayed blocked.
    """

    verdicts: tuple[TargetVerdict, ...]
    chosen: int | None

    @property
    def best_offered_tokens(self) -> int:
        """Deepest reuse any candidate offered: 0 says identity, more says room or policy."""
        return max((verdict.reuse_tokens for verdict in self.verdicts), default=0)

    @property
    def maximal_fallback(self) -> bool:
        """Whether everything unprotected had to go (SRCH-3)."""
        return self.chosen is not None and bool(self.verdicts[self.chosen].evicted)

    def __str__(self) -> str:
        return "\n".join(
            f"{'→' if i == self.chosen else ' '} {verdict}"
            for i, verdict in enumerate(self.verdicts)
        )
