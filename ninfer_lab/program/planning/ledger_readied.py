"""What has been made ready of the ledger at this revision, and which targets have been projected?

Owns what all targets of one revision share (the replicas everybody keeps, the counts of now), and
the projections behind the assessments given out, so that the one that is sealed need not be derived
again when it starts. Good until the revision moves or pages are mapped; a stale one is thrown away
whole. Pure. Does not know which assessment is taken.
"""

from __future__ import annotations

from typing import NamedTuple

from ninfer_lab.contract.machine_work import MachineWork, PrefillWork
from ninfer_lab.contract.options import ResolvedOptions
from ninfer_lab.contract.target import Assessment, OwnerOutcome, TargetSketch
from ninfer_lab.program.planning.resource_projection import CandidateProjector, Projector
from ninfer_lab.program.planning.stage_order import StageUse
from ninfer_lab.program.planning.transfer_work import machine_work, prefill_work
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.storage.post_state import PostState
from ninfer_lab.program.storage.source_lineage import SourceLineage


class Projected(NamedTuple):
    """One target, projected and counted.

    Attributes:
        balance: Used less capacity at the worst stage of each axis, in the order of `Axis`.
        unplaced_granules: Of extents that find no hole.
    """

    lineage: SourceLineage
    post: PostState
    uses: tuple[StageUse, ...]
    balance: tuple[int, ...]
    unplaced_granules: int

    @property
    def fits(self) -> bool:
        """Every stage fits every capacity, and every extent has found its place."""
        return not self.unplaced_granules and max(self.balance) <= 0


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
        self.order = self.projector.order
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
        prefill = prefill_work(self.options, target.candidate)
        return self.assessment(target, projected, self.work(projected, prefill))

    def project(
        self, candidate: CandidateProjector, outcomes: tuple[OwnerOutcome, ...]
    ) -> Projected:
        """One target, counted at every stage."""
        post = candidate.project(outcomes)
        uses = self.order.uses(post)
        balance, unplaced_granules = self.order.balance(uses), 0
        for extent in post.extents:
            if extent.first is None:
                unplaced_granules += extent.run_granules
        return Projected(candidate.lineage, post, uses, balance, unplaced_granules)

    def work(self, projected: Projected, prefill: PrefillWork) -> MachineWork:
        """Its copies, then what is left to prefill."""
        source, post = projected.lineage.source, projected.post
        return machine_work(self.ledger, self.options, source, post, prefill)

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
