"""What has been made ready of the ledger at this revision, and which targets have been projected?

Owns what all targets of one revision share (the replicas everybody keeps, the counts of now), and
the projections behind the assessments given out, so that the one that is sealed need not be derived
again when it starts. Good until the revision moves or pages are mapped; a stale one is thrown away
whole. Pure. Does not know which assessment is taken.
"""

from __future__ import annotations

from typing import NamedTuple

from ninfer_lab.contract.options import ResolvedOptions
from ninfer_lab.contract.target import Assessment, TargetSketch
from ninfer_lab.program.planning.resource_projection import Projector
from ninfer_lab.program.planning.stage_order import StageUse
from ninfer_lab.program.planning.transfer_work import machine_work, prefill_work
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
    """

    def __init__(self, ledger: Ledger, options: ResolvedOptions, resource_revision: int) -> None:
        self.projector = Projector(ledger, options)
        self._ledger = ledger
        self._options = options
        self._resource_revision = resource_revision
        self._order = self.projector.order
        self._assessed: dict[int, tuple[Assessment, Projected]] = {}

    def is_current(self, resource_revision: int) -> bool:
        """Whether it still tells the ledger as it is."""
        return (
            self._resource_revision == resource_revision
            and self.projector.present == self._ledger.present
        )

    def assess(self, target: TargetSketch) -> Assessment:
        """Projects a target and says what it takes, and whether it fits."""
        projected, order = self._project(target), self._order
        uses, post = projected.uses, projected.post
        assessment = Assessment(
            target=target,
            resource_revision=self._resource_revision,
            state=post.state,
            cow_pages=post.copied_tail_pages,
            stages=order.stages(uses),
            work=machine_work(
                self._ledger,
                self._options,
                projected.lineage.source,
                post,
                prefill_work(self._options, target.candidate),
            ),
            violations=() if projected.fits else order.violations(uses, post),
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
        candidate = self.projector.candidate(target.candidate)
        post = candidate.project(target.outcomes)
        uses = self._order.uses(post)
        return Projected(candidate.lineage, post, uses, self._order.fits(uses, post))
