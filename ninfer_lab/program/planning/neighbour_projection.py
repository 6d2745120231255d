"""What changes in a target when one owner's outcome does?

Owns the incremental form of projection. The target is told once as if the owner kept nothing; what
its outcome alone keeps and holds then comes to every set and every stage it is there in, and only
where that moves an extent are extents placed again. An outcome that touches the source is projected
whole, for it may change the state transition and the destinations. Equal to whole projection,
always: the same post-state and the same stages. Pure. Source: spec REC-2, STG-1, STG-2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, reduce
from operator import or_
from typing import NamedTuple

from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.target import OwnerOutcome
from ninfer_lab.program.planning.readied_outcome import ReadiedOutcome
from ninfer_lab.program.planning.resource_projection import CandidateProjector, Projector
from ninfer_lab.program.planning.stage_order import (
    NONE,
    Destinations,
    StageCounts,
    StageUse,
    difference,
    total,
)
from ninfer_lab.program.storage.post_state import PostState


class Neighbour(NamedTuple):
    """One target beside another, complete."""

    post: PostState
    uses: tuple[StageUse, ...]


class _Without(NamedTuple):
    """The target as if one owner kept nothing.

    Attributes:
        allocated: What is there at its stages.
        destinations: The candidate's own.
        before: Outcomes whose extents are placed before the owner's.
        behind: The others, in order.
    """

    post: PostState
    allocated: StageCounts
    destinations: Destinations
    before: tuple[ReadiedOutcome, ...]
    behind: tuple[ReadiedOutcome, ...]


class _Joined(NamedTuple):
    """Replicas that somebody has, and those that more than one has."""

    once: int
    twice: int

    @classmethod
    def of(cls, first: int, sets: Iterable[int]) -> _Joined:
        """Of some sets."""
        once, twice = first, 0
        for replicas in sets:
            twice |= once & replicas
            once |= replicas
        return cls(once, twice)

    def but(self, replicas: int) -> int:
        """What is left of all without one of the sets."""
        return self.once ^ (replicas ^ (replicas & self.twice))


class NeighbourProjector:
    """One target, made ready for those that differ from it in what becomes of one owner.

    Args:
        outcomes: Of the target, ascending by owner.
    """

    def __init__(
        self,
        projector: Projector,
        candidate: CandidateProjector,
        outcomes: Sequence[OwnerOutcome],
    ) -> None:
        self._projector = projector
        self._candidate = candidate
        self._order = projector.order
        self._source_marks: int = candidate.source_marks
        self._outcomes = dict(projector.staying)
        if candidate.lineage.consumed is not None:
            del self._outcomes[candidate.lineage.consumed.ref.id]
        changed = [projector.readied.of(outcome) for outcome in outcomes]
        self._outcomes.update({outcome.owner: outcome for outcome in changed})
        self._makers = [outcome for outcome in changed if outcome.runs]
        self._without: dict[OwnerId, _Without] = {}
        self._others: dict[OwnerId, tuple[int, int]] = {}

    def tell(self, changed: OwnerOutcome) -> Neighbour:
        """The target with another outcome for one owner."""
        without = self._without.get(changed.owner.id) or self._leave_out(changed.owner.id)
        mine = alone = self._projector.readied.of(changed)
        if mine.is_shared:
            alone = self._alone(mine)
            if alone.keeps & self._source_marks:
                return self._whole(mine, without)
        base = without.post
        pending = base.pending | alone.made
        released = base.released | alone.held
        extents = base.extents
        # They lie elsewhere by pages of its own, and by granules that it keeps.
        if pending and (mine.runs or alone.units[4]):
            placing = (*without.before, mine, *without.behind)
            extents = self._candidate.extents(released, pending, placing)
        keeps = alone.keeps
        post = PostState(
            base.state,
            base.now,
            released,
            pending,
            base.demoted | keeps,
            base.destined | keeps,
            extents,
            base.needs,
            base.committed | keeps,
        )
        units = alone.units
        if extents is not base.extents:
            moved = difference(self._order.extents(post), self._order.extents(base))
            units = total(units, moved)
        allocated = without.allocated.joined(alone.held_units, units)
        return Neighbour(post, self._order.staged(allocated, without.destinations, post))

    # ── the target itself, whole and without an owner ───────────────────────────────────────────

    @cached_property
    def _itself(self) -> _Without:
        """Without nobody."""
        survivors: int = reduce(
            or_, [outcome.keeps for outcome in self._outcomes.values()], self._projector.active
        )
        post = self._candidate.post_state(survivors, self._makers)
        return self._counted(post, (), tuple(self._makers))

    def _leave_out(self, owner: OwnerId) -> _Without:
        theirs = alone = self._outcomes[owner]
        before = tuple([outcome for outcome in self._makers if outcome.owner < owner])
        behind = tuple([outcome for outcome in self._makers if outcome.owner > owner])
        if theirs.is_shared:
            alone = self._alone(theirs)
        if alone.keeps & self._source_marks:
            post = self._candidate.post_state(self._rest(owner), (*before, *behind))
            without = self._counted(post, before, behind)
        else:
            base, allocated, destinations, _, _ = self._itself
            pending, released = base.pending ^ alone.made, base.released ^ alone.held
            extents = base.extents
            if base.pending and (theirs.runs or alone.units[4]):
                extents = self._candidate.extents(released, pending, (*before, *behind))
            post = PostState(
                base.state,
                base.now,
                released,
                pending,
                base.demoted ^ alone.keeps,
                base.destined ^ alone.keeps,
                extents,
                base.needs,
                base.committed ^ alone.keeps,
            )
            moved = difference(self._order.extents(post), self._order.extents(base))
            allocated = allocated.joined(
                difference(NONE, alone.held_units), difference(moved, alone.units)
            )
            without = _Without(post, allocated, destinations, before, behind)
        self._without[owner] = without
        return without

    def _counted(
        self,
        post: PostState,
        before: tuple[ReadiedOutcome, ...],
        behind: tuple[ReadiedOutcome, ...],
    ) -> _Without:
        destinations = self._order.destinations(post)
        allocated = self._order.allocated(post, destinations)
        return _Without(post, allocated, destinations, before, behind)

    def _whole(self, mine: ReadiedOutcome, without: _Without) -> Neighbour:
        survivors = self._rest(mine.owner) | mine.keeps
        placing = (*without.before, mine, *without.behind)
        post = self._candidate.post_state(survivors, placing)
        return Neighbour(post, self._order.uses(post))

    def _rest(self, owner: OwnerId) -> int:
        """What all others keep."""
        kept = [outcome.keeps for id, outcome in self._outcomes.items() if id != owner]
        rest: int = reduce(or_, kept, self._projector.active)
        return rest

    # ── what an owner has alone ─────────────────────────────────────────────────────────────────

    def _alone(self, outcome: ReadiedOutcome) -> ReadiedOutcome:
        """What of a shared outcome nobody else keeps, or holds, in this target."""
        others = self._others.get(outcome.owner)
        if others is None:
            theirs = self._outcomes[outcome.owner]
            kept_by_all, held_by_all = self._joined
            others = kept_by_all.but(theirs.keeps), held_by_all.but(theirs.held)
            self._others[outcome.owner] = others
        keep, hold = others
        keeps = outcome.keeps ^ (outcome.keeps & keep)
        held = outcome.held ^ (outcome.held & hold)
        units = outcome.units if keeps == outcome.keeps else self._order.units(keeps)
        return ReadiedOutcome(
            outcome.owner,
            keeps,
            held,
            outcome.made and keeps & self._projector.absent,
            True,
            units if held == keeps else self._order.units(held),
            units,
            outcome.runs,
        )

    @cached_property
    def _joined(self) -> tuple[_Joined, _Joined]:
        """Kept, and held at RELEASED, as far as anybody shares: a consumed owner holds what it has,
        but keeps nothing.
        """
        shared = [outcome for outcome in self._outcomes.values() if outcome.is_shared]
        active, consumed = self._projector.active, self._candidate.consumed
        kept = _Joined.of(active, [outcome.keeps for outcome in shared])
        return kept, _Joined.of(active | consumed, [outcome.held for outcome in shared])
