"""Which target is taken, as long as no planner weighs them?

Owns a plain order of preference: what needs nobody to give way, deepest reuse first; then the same
with everybody else on the Host; then root, with the oldest owners gone one after the other. Root
with everything unprotected released is always the last (SRCH-3, INV-12). Every target is proved by
Program before it is preferred; no price is read. Reads only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ninfer_lab.contract.candidate import AdmissionCandidate, SourceDisposition
from ninfer_lab.contract.ids import OwnerId, OwnerRef
from ninfer_lab.contract.program_api import ProgramApi
from ninfer_lab.contract.search_report import SearchReport, TargetVerdict
from ninfer_lab.contract.target import Assessment, OwnerOutcome, TargetSketch


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetChoice:
    """The target taken, `None` if not even root fits, and everything that was looked at."""

    chosen: Assessment | None
    report: SearchReport


def choose_target(
    program: ProgramApi,
    candidates: Sequence[AdmissionCandidate],
    victims: Iterable[OwnerRef],
    has_slot: Callable[[TargetSketch], bool],
) -> TargetChoice:
    """The first adoptable target in order of preference.

    Args:
        candidates: Root first.
        victims: Inactive owners that nobody leans on, oldest publication first; asked for, once,
            only where no identity target will do.
        has_slot: Whether a target's result could be catalogued (CAP-3).
    """
    assessed: list[tuple[Assessment, bool]] = []

    def adoptable(target: TargetSketch) -> Assessment | None:
        assessment = program.assess(target)
        assessed.append((assessment, has_slot(target)))
        return assessment if assessment.is_feasible and assessed[-1][1] else None

    chosen = _best_identity(candidates, adoptable)
    if chosen is None:
        outcomes = _Outcomes(program, tuple(victims))
        chosen = next(filter(None, map(adoptable, _under_pressure(candidates, outcomes))), None)
        if chosen is None:
            # Without a publication slot even then, it runs all the same and ends by Discard
            # (SES-2).
            maximal = TargetSketch(candidate=candidates[0], outcomes=outcomes.gone())
            assessment = program.assess(maximal)
            assessed.append((assessment, True))
            chosen = assessment if assessment.is_feasible else None
    return TargetChoice(
        chosen=chosen,
        report=SearchReport(
            verdicts=tuple(
                TargetVerdict.of(assessment, has_publication_slot=slot)
                for assessment, slot in assessed
            ),
            chosen=next((i for i, (a, _) in enumerate(assessed) if a is chosen), None),
        ),
    )


def consumes(candidate: AdmissionCandidate) -> bool:
    """Whether the source's owner becomes the active lineage."""
    return (
        candidate.source is not None and candidate.source.disposition is SourceDisposition.CONSUME
    )


def _best_identity(
    candidates: Sequence[AdmissionCandidate],
    adoptable: Callable[[TargetSketch], Assessment | None],
) -> Assessment | None:
    """The adoptable identity target with most reuse; of equals the first in shortlist order."""
    identities = [adoptable(TargetSketch(candidate=candidate)) for candidate in candidates]
    fitting = [assessment for assessment in identities if assessment is not None]
    return max(fitting, key=lambda a: a.target.candidate.reuse_tokens, default=None)


def _under_pressure(
    candidates: Sequence[AdmissionCandidate], outcomes: _Outcomes
) -> Iterator[TargetSketch]:
    """Every source with the others on the Host, deepest first; then root with more and more of the
    oldest gone.
    """
    for candidate in sorted(candidates[1:], key=lambda c: -c.reuse_tokens):
        assert candidate.source is not None
        yield TargetSketch(
            candidate=candidate, outcomes=outcomes.demoted(besides=candidate.source.owner.id)
        )
    for gone_count in range(outcomes.victims_count):
        yield TargetSketch(candidate=candidates[0], outcomes=outcomes.oldest_gone(gone_count))


class _Outcomes:
    """What victims can become, asked of Program once."""

    def __init__(self, program: ProgramApi, victims: Sequence[OwnerRef]) -> None:
        ladders = [program.ladder(victim) for victim in victims]
        self._gone = tuple(rungs[-1] for rungs in ladders)
        self._demoted = tuple(_deepest_keeping_all(rungs) for rungs in ladders)

    @property
    def victims_count(self) -> int:
        return len(self._gone)

    def gone(self) -> tuple[OwnerOutcome, ...]:
        """Every victim is evicted."""
        return _canonical(self._gone)

    def demoted(self, *, besides: OwnerId | None = None) -> tuple[OwnerOutcome, ...]:
        """Every victim keeps its checkpoints with as little on the Device as it can."""
        outcomes = (outcome for outcome in self._demoted if outcome is not None)
        return _canonical(outcome for outcome in outcomes if outcome.owner.id != besides)

    def oldest_gone(self, gone_count: int) -> tuple[OwnerOutcome, ...]:
        """The oldest are evicted, the rest is demoted."""
        rest = (outcome for outcome in self._demoted[gone_count:] if outcome is not None)
        return _canonical((*self._gone[:gone_count], *rest))


def _canonical(outcomes: Iterable[OwnerOutcome]) -> tuple[OwnerOutcome, ...]:
    return tuple(sorted(outcomes, key=lambda outcome: outcome.owner.id))


def _deepest_keeping_all(rungs: Sequence[OwnerOutcome]) -> OwnerOutcome | None:
    """The last rung on which no checkpoint has ended; `None` if the owner can only stay or go."""
    keeping = [rung for rung in rungs if not rung.deleted]
    return keeping[-1] if keeping else None
