"""What changes in a target when one owner's outcome does?

Owns the incremental form of projection. The target is told once as if the owner kept nothing; what
its outcome alone keeps and holds then comes to every set and every stage it is there in, and only
where that moves an extent are extents placed again. An outcome that touches the source is projected
whole, for it may change the state transition and the destinations; so is every outcome where the
candidate may save an image to the Host, which every slot decides. Equal to whole projection,
always: the same post-state and the same stages. Pure. Source: spec REC-2, STG-1, STG-2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, partial, reduce
from operator import or_
from typing import NamedTuple

from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.target import OwnerOutcome
from ninfer_lab.program.planning.readied_outcome import ReadiedOutcome, readied_of
from ninfer_lab.program.planning.resource_projection import CandidateProjector, Projector
from ninfer_lab.program.planning.stage_order import (
    NONE,
    Destinations,
    StageCounts,
    StageUse,
    difference,
    total,
)
from ninfer_lab.program.storage.post_state import Extent, PostState, post_state_of


class Neighbour(NamedTuple):
    """One target beside another, complete."""

    post: PostState
    uses: tuple[StageUse, ...]


_neighbour = partial(tuple.__new__, Neighbour)


class _Without(NamedTuple):
    """The target as if one owner kept nothing.

    Attributes:
        allocated: What is there at its stages.
        destinations: The candidate's own.
        extent_bytes: Of its extents.
        before: Outcomes whose extents are placed before the owner's.
        behind: The others, in order.
        placed: Extents of them alone, by the granules that are taken.
    """

    post: PostState
    allocated: StageCounts
    destinations: Destinations
    extent_bytes: int
    before: tuple[ReadiedOutcome, ...]
    behind: tuple[ReadiedOutcome, ...]
    placed: dict[int, tuple[Extent, ...]]


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
        """What is left of all without one of the sets, whatever else that has."""
        there = replicas & self.once
        return self.once ^ (there ^ (there & self.twice))


class _Others:
    """What all but one owner have of what is shared.

    Attributes:
        keep: In the target.
        hold: At RELEASED; `None` if that is the same.
        kept_anyway: Of the outcome looked at last: most of an owner's lose the same to others.
        kept_anyway_units: Its count.
    """

    __slots__ = ("hold", "keep", "kept_anyway", "kept_anyway_units")

    def __init__(self, keep: int, hold: int) -> None:
        self.keep = keep
        self.hold = None if hold == keep else hold
        self.kept_anyway = 0
        self.kept_anyway_units = NONE


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
        self._granules = projector.layout.granules
        self._source_marks: int = candidate.source_marks
        self._outcomes = dict(projector.staying)
        if candidate.lineage.consumed is not None:
            del self._outcomes[candidate.lineage.consumed.ref.id]
        changed = [projector.readied.of(outcome) for outcome in outcomes]
        self._outcomes.update({outcome.owner: outcome for outcome in changed})
        self._makers = [outcome for outcome in changed if outcome.runs]
        self._without: dict[OwnerId, _Without] = {}
        self._others: dict[OwnerId, _Others] = {}

    def tell(self, changed: OwnerOutcome) -> Neighbour:
        """The target with another outcome for one owner."""
        without = self._without.get(changed.owner.id) or self._leave_out(changed.owner.id)
        mine = alone = self._projector.readied.of(changed)
        if self._candidate.anchors_its_start:
            return self._whole(mine, without)
        if mine.is_shared:
            alone = self._alone(mine)
            if alone.keeps & self._source_marks:
                return self._whole(mine, without)
        base = without.post
        pending = base.pending | alone.made
        demoted, released = _joined_or_parted(base, alone)
        extents, units, extent_bytes = base.extents, alone.units, without.extent_bytes
        # They lie elsewhere by pages of its own, and by granules that it keeps.
        moves_extents = pending and (mine.runs or units[4])
        if moves_extents:
            extents = self._extents(without, mine, released, pending)
        post = _exchanged(base, alone.keeps, demoted, released, pending, extents)
        if moves_extents:
            extent_bytes = self._order.extent_bytes(post)
            units = total(units, (0, 0, 0, 0, extent_bytes - without.extent_bytes))
        uses = self._order.staged(
            without.allocated.joined(alone.held_units, units),
            without.destinations,
            pending,
            extent_bytes,
        )
        return _neighbour((post, uses))

    def _extents(
        self, without: _Without, mine: ReadiedOutcome, released: int, pending: int
    ) -> tuple[Extent, ...]:
        """Placed again with an outcome in its turn; without one, once for an arena."""
        candidate = self._candidate
        if mine.runs:
            placing = (*without.before, mine, *without.behind)
            return candidate.extents(released, pending, placing)
        taken = self._granules.of(released)
        known = without.placed.get(taken)
        if known is None:
            placing = (*without.before, *without.behind)
            known = without.placed[taken] = candidate.extents(released, pending, placing)
        return known

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
            itself = self._itself
            base = itself.post
            pending, extents = base.pending ^ alone.made, base.extents
            demoted, released = _joined_or_parted(base, alone)
            if base.pending and (theirs.runs or alone.units[4]):
                extents = self._candidate.extents(released, pending, (*before, *behind))
            post = _exchanged(base, alone.keeps, demoted, released, pending, extents)
            extent_bytes = self._order.extent_bytes(post)
            moved = (0, 0, 0, 0, extent_bytes - itself.extent_bytes)
            allocated = itself.allocated.joined(
                difference(NONE, alone.held_units), difference(moved, alone.units)
            )
            without = _Without(
                post, allocated, itself.destinations, extent_bytes, before, behind, {}
            )
        self._without[owner] = without
        return without

    def _counted(
        self,
        post: PostState,
        before: tuple[ReadiedOutcome, ...],
        behind: tuple[ReadiedOutcome, ...],
    ) -> _Without:
        order = self._order
        destinations, extent_bytes = order.destinations(post), order.extent_bytes(post)
        allocated = order.allocated(post, destinations, extent_bytes)
        return _Without(post, allocated, destinations, extent_bytes, before, behind, {})

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
            kept, held_by_all = self._joined
            others = _Others(kept.but(theirs.keeps), held_by_all.but(theirs.held))
            self._others[outcome.owner] = others
        kept_anyway = outcome.keeps & others.keep
        if kept_anyway != others.kept_anyway:
            others.kept_anyway = kept_anyway
            others.kept_anyway_units = self._order.units(kept_anyway)
        keeps = held = outcome.keeps ^ kept_anyway
        units = held_units = difference(outcome.units, others.kept_anyway_units)
        if outcome.made or others.hold is not None:
            hold = others.keep if others.hold is None else others.hold
            held = outcome.held ^ (outcome.held & hold)
            if held != keeps:
                held_units = self._order.units(held)
        made = outcome.made and keeps & self._projector.absent
        return readied_of((outcome.owner, keeps, held, made, True, held_units, units, outcome.runs))

    @cached_property
    def _joined(self) -> tuple[_Joined, _Joined]:
        """Kept, and held at RELEASED, as far as anybody shares: a consumed owner holds what it has,
        but keeps nothing.
        """
        shared = self._projector.readied.shared
        outcomes = [outcome for outcome in self._outcomes.values() if outcome.is_shared]
        active = self._projector.active & shared
        kept = _Joined.of(active, [outcome.keeps & shared for outcome in outcomes])
        active |= self._candidate.consumed & shared
        return kept, _Joined.of(active, [outcome.held & shared for outcome in outcomes])


def _joined_or_parted(base: PostState, alone: ReadiedOutcome) -> tuple[int, int]:
    """(demoted, released) with, or again without, what one owner alone keeps and holds: one set as
    long as nothing is demoted.
    """
    demoted = released = base.demoted ^ alone.keeps
    if base.released is not base.demoted or alone.held is not alone.keeps:
        released = base.released ^ alone.held
    return demoted, released


def _exchanged(
    base: PostState,
    alone: int,
    demoted: int,
    released: int,
    pending: int,
    extents: tuple[Extent, ...],
) -> PostState:
    """A post-state with, or again without, what one owner alone keeps."""
    # Where nothing is consumed three of the sets are one.
    destined = committed = demoted
    if base.destined is not base.demoted:
        destined = base.destined ^ alone
    if base.committed is not base.demoted:
        committed = base.committed ^ alone
    return post_state_of(
        (
            base.state,
            base.now,
            released,
            pending,
            demoted,
            destined,
            extents,
            base.needs,
            committed,
            base.snapshot_slots,
        )
    )
