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
    Counts,
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
        copies: Reserved while they are made.
        before: Outcomes whose extents are placed before the owner's.
        behind: The others, in order.
        placed: Extents of them alone, by the granules that are taken.
    """

    post: PostState
    allocated: StageCounts
    destinations: Destinations
    copies: Counts
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
        self._readied = projector.readied
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
        owner = changed.owner.id
        without = self._without.get(owner) or self._leave_out(owner)
        mine = alone = self._readied.of(changed)
        if self._candidate.anchors_its_start:
            return self._whole(mine, without)
        if mine.is_shared:
            alone = self._alone(mine)
            if alone.keeps & self._source_marks:
                return self._whole(mine, without)
        base, allocated, destinations, copies, _, _, _ = without
        _, keeps, _, made, copied, _, held_units, units, places, _ = alone
        post = _exchanged(base, keeps, made, copied)
        # Extents lie elsewhere by pages of its own, and by granules that it keeps.
        if mine.runs or (held_units[4] and post.pending):
            post = _placed(post, self._extents(without, mine, post))
        if made:
            copies = total(copies, places)
        uses = self._order.staged(allocated.joined(held_units, units), destinations, copies)
        return _neighbour((post, uses))

    def _extents(
        self, without: _Without, mine: ReadiedOutcome, post: PostState
    ) -> tuple[Extent, ...]:
        """Placed again with an outcome in its turn; without one, once for an arena."""
        place = self._candidate.extents
        if mine.runs:
            return place(post.demoted, post.pending, (*without.before, mine, *without.behind))
        taken = self._granules.of(post.demoted)
        known = without.placed.get(taken)
        if known is None:
            placing = (*without.before, *without.behind)
            known = without.placed[taken] = place(post.demoted, post.pending, placing)
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
            post = _exchanged(itself.post, alone.keeps, alone.made, alone.copied)
            if theirs.runs or (alone.held_units[4] and post.pending):
                placing = (*before, *behind)
                post = _placed(post, self._candidate.extents(post.demoted, post.pending, placing))
            allocated = itself.allocated.joined(
                difference(NONE, alone.held_units), difference(NONE, alone.units)
            )
            copies = difference(itself.copies, alone.places)
            without = _Without(post, allocated, itself.destinations, copies, before, behind, {})
        self._without[owner] = without
        return without

    def _counted(
        self,
        post: PostState,
        before: tuple[ReadiedOutcome, ...],
        behind: tuple[ReadiedOutcome, ...],
    ) -> _Without:
        order = self._order
        destinations, copies = order.destinations(post), order.copies(post.pending)
        allocated = order.allocated(post, destinations, copies)
        return _Without(post, allocated, destinations, copies, before, behind, {})

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
            others.kept_anyway_units = self._readied.units(kept_anyway)
        keeps, made, copied, places = outcome.keeps ^ kept_anyway, 0, 0, NONE
        units = held_units = difference(outcome.units, others.kept_anyway_units)
        if outcome.made or others.hold is not None:
            hold = others.keep if others.hold is None else others.hold
            held = outcome.held ^ (outcome.held & hold)
            if held != keeps:
                held_units = self._order.units(held)
                made = outcome.made & keeps
                copied = held ^ keeps ^ made
                places = outcome.places if made == outcome.made else self._order.places(made)
        owner, moved, runs = outcome.owner, outcome.moved, outcome.runs
        return readied_of(
            (owner, keeps, moved, made, copied, True, held_units, units, places, runs)
        )

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


def _exchanged(base: PostState, keeps: int, made: int, copied: int) -> PostState:
    """A post-state with, or again without, what one owner alone keeps; its extents stay."""
    state, now, demoted, pending, others_copied, leaving, extents, needs, stale, slots = base
    return post_state_of(
        (
            state,
            now,
            demoted ^ keeps,
            pending ^ made if made else pending,
            others_copied ^ copied if copied else others_copied,
            leaving,
            extents,
            needs,
            stale,
            slots,
        )
    )


def _placed(post: PostState, extents: tuple[Extent, ...]) -> PostState:
    """A post-state with its extents where they come to lie."""
    state, now, demoted, pending, copied, leaving, _, needs, stale, slots = post
    return post_state_of(
        (state, now, demoted, pending, copied, leaving, extents, needs, stale, slots)
    )
