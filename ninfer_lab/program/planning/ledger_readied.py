"""What has been made ready of the ledger at this revision, and which targets have been projected?

Owns what all targets of one revision share (the replicas everybody keeps, the counts of now), and
the projections behind the assessments given out, so that the one that is sealed need not be derived
again when it starts. Good until the revision moves or pages are mapped; a stale one is thrown away
whole. Pure. Does not know which assessment is taken.
"""

from __future__ import annotations

from typing import NamedTuple

from ninfer_lab.contract.candidate import AdmissionCandidate
from ninfer_lab.contract.machine_work import MachineWork
from ninfer_lab.contract.options import ResolvedOptions
from ninfer_lab.contract.target import Assessment, OwnerOutcome, TargetSketch
from ninfer_lab.program.planning.resource_projection import CandidateProjector, Projector
from ninfer_lab.program.planning.stage_order import StageOrder, StageUse
from ninfer_lab.program.planning.transfer_work import machine_work
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.storage.post_state import PostState
from ninfer_lab.program.storage.source_lineage import SourceLineage


class Projected(NamedTuple):
    """One target, projected and counted."""

    lineage: SourceLineage
    post: PostState
    uses: tuple[StageUse, ...]
    fits: bool


class LedgerReadied:
    """The ledger at one revision.

    Attributes:
        projector: What everybody keeps, joined for any target.
        order: How stages are counted.
    """

    def __init__(self, ledger: Ledger, options: ResolvedOptions, resource_revision: int) -> None:
        self.ledger = ledger
        self.options = options
        self.resource_revision = resource_revision
        self.projector = Projector(ledger, options)
        self.order = StageOrder(ledger)
        self._assessed: dict[int, tuple[Assessment, Projected]] = {}

    def is_current(self, resource_revision: int) -> bool:
        """Whether it still tells the ledger as it is."""
        return (
            self.resource_revision == resource_revision
            and self.projector.present == self.ledger.present
        )

    def assess(self, target: TargetSketch) -> Assessment:
        """Projects a target and says what it takes, and whether it fits."""
        projected = self._project(target)
        return self.assessment(target, projected, self.work(target.candidate, projected))

    def project(
        self, candidate: CandidateProjector, outcomes: tuple[OwnerOutcome, ...]
    ) -> Projected:
        """One target, counted at every stage."""
        post = candidate.project(outcomes)
        uses = self.order.uses(post)
        return Projected(candidate.lineage, post, uses, self.order.fits(uses, post))

    def work(self, candidate: AdmissionCandidate, projected: Projected) -> MachineWork:
        """Its copies, then what is left to prefill."""
        source, post = projected.lineage.source, projected.post
        return machine_work(self.ledger, self.options, candidate, source, post)

    def assessment(
        self, target: TargetSketch, projected: Projected, work: MachineWork
    ) -> Assessment:
        """What is known of a projected target, as a value; remembers the projection behind it."""
        uses, post = projected.uses, projected.post
        assessment = Assessment(
            target=target,
            resource_revision=self.resource_revision,
            state=post.state,
            cow_pages=post.copied_tail_pages,
            stages=self.order.stages(uses),
            work=work,
            violations=() if projected.fits else self.order.violations(uses, post),
        )
        self._assessed[id(assessment)] = (assessment, projected)
        return assessment

    def projected(self, assessment: Assessment) -> Projected:
        """The projection behind an assessment; derived again for one that was not given out here,
        equal or not.
        """
        known = self._assessed.get(id(assessment))
        return self._project(assessment.target) if known is None else known[1]

    def _project(self, target: TargetSketch) -> Projected:
        return self.project(self.projector.candidate(target.candidate), target.outcomes)
