"""What changes in a target when one owner's outcome does?

Owns the incremental form of projection. The target is projected and counted once as if the owner
kept nothing; what its outcome alone keeps or has made is then added to the stages it is there in,
and only where that moves an extent are extents placed again. An outcome that touches the source is
projected whole, for it may change the state transition and the destinations. Equal to whole
projection, always. Pure. Source: spec REC-2, STG-1, STG-2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.replicas import NOTHING, ReplicaSet
from ninfer_lab.contract.target import OwnerOutcome
from ninfer_lab.program.planning.resource_projection import CandidateProjector
from ninfer_lab.program.planning.stage_order import StageOrder, StageUse
from ninfer_lab.program.storage.post_state import Extent, PostState
from ninfer_lab.program.storage.replica_layout import ReplicaLayout


class _Without(NamedTuple):
    """The target as if one owner kept nothing.

    Attributes:
        rest: What all others keep.
        post: The post-state.
        uses: Its stages.
        extent_bytes: Of the arena, held for its demotions.
    """

    rest: int
    post: PostState
    uses: tuple[StageUse, ...]
    extent_bytes: int


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
        self._source_marks = candidate.source_marks
        self._keeps = {outcome.owner.id: outcome.keeps for outcome in outcomes}
        kept = candidate.kept_by_others(outcomes)
        owners, before = list(kept), [int(candidate.active)]
        for owner in owners:
            before.append(before[-1] | kept[owner])
        self._rest: dict[OwnerId, int] = {}
        after = 0
        for index in range(len(owners) - 1, -1, -1):
            self._rest[owners[index]] = before[index] | after
            after |= kept[owners[index]]
        present = candidate.present
        self._makers = [owner for owner, keeps in self._keeps.items() if keeps & ~present]
        self._without: dict[OwnerId, _Without] = {}

    def uses(self, changed: OwnerOutcome) -> tuple[StageUse, ...] | None:
        """Every stage with another outcome for one owner; `None` where an extent finds no hole."""
        without = self._without.get(changed.owner.id) or self._leave_out(changed.owner.id)
        order, post = self._order, without.post
        alone = changed.keeps & ~without.rest
        if alone & self._source_marks:
            post = self.project(changed)
            return order.uses(post) if post.is_placed else None
        made = alone & ~self._candidate.present
        if made or changed.keeps & post.pending or alone & self._layout.granules.mask:
            return self._placed_again(changed, without, alone, made)
        if not post.is_placed:
            return None
        if not alone:
            return without.uses
        later = order.units(alone)
        # What the others demote stays on the Device until it is published, whoever keeps it.
        released = order.units(alone & ~post.released) if post.pending else later
        return order.added(without.uses, released, later)

    def project(self, changed: OwnerOutcome) -> PostState:
        """The whole post-state with another outcome for one owner."""
        owner = changed.owner.id
        survivors = self._rest[owner] | changed.keeps
        return self._candidate.post_state(survivors, self._placing(owner, changed.keeps))

    def _placed_again(
        self, changed: OwnerOutcome, without: _Without, alone: int, made: int
    ) -> tuple[StageUse, ...] | None:
        """The stages where this outcome has Host replicas made, or moves those of others.

        Until their copies are published, Device replicas of what is demoted stay, so what comes to
        RELEASED is not what comes to the stages behind DEMOTED.
        """
        order, layout, post = self._order, self._layout, without.post
        demoting = layout.on_device(layout.contents(made)) if made else NOTHING
        released = (alone | demoting) & self._candidate.present & ~post.released
        pending = post.pending | made
        extents: tuple[Extent, ...] = ()
        held = None
        if pending:
            placing = self._placing(changed.owner.id, changed.keeps)
            extents = self._candidate.extents(post.released | released, pending, placing)
            held = order.held_for_demotion(pending, extents)
        if any(extent.first is None for extent in extents):
            return None
        device, host, pages, backend_pages, host_bytes = order.units(alone)
        if held is not None:
            host_bytes += held[4] - without.extent_bytes
        later = (device, host, pages, backend_pages, host_bytes)
        return order.added(without.uses, order.units(released), later, held)

    def _leave_out(self, owner: OwnerId) -> _Without:
        rest = self._rest[owner]
        post = self._candidate.post_state(rest, self._placing(owner, NOTHING))
        held = self._order.held_for_demotion(post.pending, post.extents)
        without = _Without(rest, post, self._order.uses(post), held[4])
        self._without[owner] = without
        return without

    def _placing(self, owner: OwnerId, keeps: ReplicaSet) -> list[ReplicaSet]:
        """What each outcome keeps that has Host replicas made, ascending by owner."""
        placing = [other for other in self._makers if other != owner]
        placing.append(owner)
        placing.sort()
        return [keeps if other == owner else self._keeps[other] for other in placing]
