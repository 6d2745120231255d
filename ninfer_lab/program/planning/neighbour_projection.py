"""What changes in a target when one owner's outcome does?

Owns the incremental form of projection. What all others keep is joined once for every owner; the
stages without that owner are counted once; a neighbour then adds what its outcome alone keeps.
Where that touches what the rest decides (the source, a demotion, the arena's holes), it is
projected whole. Equal to whole projection, always. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.replicas import NOTHING, ReplicaSet
from ninfer_lab.contract.target import OwnerOutcome
from ninfer_lab.program.planning.resource_projection import CandidateProjector
from ninfer_lab.program.planning.stage_order import StageOrder, StageUse
from ninfer_lab.program.storage.post_state import PostState
from ninfer_lab.program.storage.replica_layout import ReplicaLayout


class _Without(NamedTuple):
    """The target as if one owner kept nothing.

    Attributes:
        rest: What all others keep.
        joint: Replicas that may not simply be added: with one of these the owner's outcome takes
            part in what the rest decides.
        uses: Every stage, counted.
        is_placed: Whether every extent has found a hole.
    """

    rest: int
    joint: int
    uses: tuple[StageUse, ...]
    is_placed: bool


class NeighbourProjector:
    """One target, made ready for those that differ from it in what becomes of one owner."""

    def __init__(
        self,
        candidate: CandidateProjector,
        layout: ReplicaLayout,
        order: StageOrder,
        outcomes: Sequence[OwnerOutcome],
    ) -> None:
        self._candidate = candidate
        self._layout = layout
        self._order = order
        self._outcomes = {outcome.owner.id: outcome for outcome in outcomes}
        kept = candidate.kept_by_others(outcomes)
        owners, before = list(kept), [int(candidate.active)]
        for owner in owners:
            before.append(before[-1] | kept[owner])
        self._rest: dict[OwnerId, int] = {}
        after = 0
        for index in range(len(owners) - 1, -1, -1):
            self._rest[owners[index]] = before[index] | after
            after |= kept[owners[index]]
        self._without: dict[OwnerId, _Without] = {}

    def uses(self, changed: OwnerOutcome) -> tuple[StageUse, ...] | None:
        """Every stage with another outcome for one owner; `None` where an extent finds no hole."""
        owner = changed.owner.id
        without = self._without.get(owner) or self._leave_out(owner)
        alone = changed.keeps & ~without.rest
        if alone & without.joint:
            post = self.project(changed)
            placed = all(extent.first is not None for extent in post.extents)
            return self._order.uses(post) if placed else None
        return self._order.added(without.uses, alone) if without.is_placed else None

    def project(self, changed: OwnerOutcome) -> PostState:
        """The whole post-state with another outcome for one owner."""
        survivors = self._rest[changed.owner.id] | changed.keeps
        return self._candidate.post_state(survivors, self._keeps(changed.owner.id, changed.keeps))

    def _leave_out(self, owner: OwnerId) -> _Without:
        rest = self._rest[owner]
        post = self._candidate.post_state(rest, self._keeps(owner, NOTHING))
        layout = self._layout
        joint: int = ~self._candidate.present | self._candidate.source_marks
        if post.pending:
            moving = layout.contents(post.pending)
            joint |= layout.on_device(moving) | layout.granules.mask
        without = _Without(
            rest=rest,
            joint=joint,
            uses=self._order.uses(post),
            is_placed=all(extent.first is not None for extent in post.extents),
        )
        self._without[owner] = without
        return without

    def _keeps(self, owner: OwnerId, keeps: ReplicaSet) -> list[ReplicaSet]:
        """What each outcome keeps, ascending by owner."""
        by_owner = {other: outcome.keeps for other, outcome in self._outcomes.items()}
        by_owner[owner] = keeps
        return [by_owner[each] for each in sorted(by_owner)]
