"""Has a transition reached exactly the end that was played?

Owns the comparison of Program's picture after a commit with the brute force's end, content by
content; what an admission has made is recognised by the part that it plays, for its ids are
Program's to give. Owns no rule of its own.
"""

from __future__ import annotations

from ninfer_lab.contract.capacity import Axis
from ninfer_lab.contract.options import PAGE_TOKENS, pages_of_tokens
from ninfer_lab.contract.placement import LedgerSnapshot, OwnerPlacement, SequencePlacement
from ninfer_lab.contract.result import Committed
from ninfer_lab.contract.target import StageName, StateTransition
from small_worlds.filled_world import FilledWorld
from small_worlds.outcomes import Outcome
from small_worlds.plain_sets import (
    NEW,
    Content,
    Kind,
    Move,
    Played,
    Replica,
    Uses,
    lineage_of,
    pages_of,
    places_in,
    replicas_in,
)
from small_worlds.targets import Target


def uses_of(picture: LedgerSnapshot) -> Uses:
    """What every axis uses in a picture."""
    uses = (picture.occupancy.on(axis) for axis in Axis)
    return tuple((use.allocated_count, use.reserved_count) for use in uses)


def require_end(
    filled: FilledWorld, target: Target, move: Move, played: Played, result: Committed
) -> None:
    """Compares Program's ledger, which has just committed, with the played end.

    Raises:
        AssertionError: On the first difference.
    """
    before, after = filled.picture, filled.program.snapshot()
    assert after.transition is None
    assert uses_of(after) == played.stages[StageName.COMMITTED]
    assert (result.state, result.cow_pages) == (played.state, played.cow_pages)
    (active,) = (s for s in after.sequences if s.sequence == result.handle.id)
    names = _names(active, played)
    there, granules = replicas_in(after)
    assert {Replica(names.get(c, c), tier) for c, tier in there} == played.there
    assert {names.get(c, c): first for c, first in granules.items()} == played.granules
    _require_sequence(filled, move, played, active)
    assert after.owners == tuple(_owners(before, target, move))
    others = [s for s in after.sequences if s is not active]
    assert others == list(before.sequences)
    _require_unmoved(before, after, set(names))


def _names(active: SequencePlacement, played: Played) -> dict[Content, Content]:
    """What the admission has made, by its name in the play."""
    names = {}
    if played.write_image.id == NEW:
        names[Content(Kind.IMAGE, active.write_image)] = played.write_image
    for space in active.spaces:
        pages = pages_of(space, space.pool)
        for page, expected in zip(pages, played.spaces[space.pool], strict=True):
            if expected.id == NEW:
                names[page] = expected
            else:
                assert page == expected
    return names


def _require_sequence(
    filled: FilledWorld, move: Move, played: Played, active: SequencePlacement
) -> None:
    coverage = filled.options.coverage_tokens
    assert active.frontier_tokens == move.frontier_tokens
    assert active.borrowed_read is (played.state is StateTransition.FORK)
    if played.read_image is None:
        assert active.read_image is None
    elif played.read_image.id == NEW:
        assert active.read_image == active.write_image
    else:
        assert active.read_image == played.read_image.id
    for space in active.spaces:
        entitled_pages = pages_of_tokens(coverage(space.pool, move.entitled_tokens))
        assert space.entitled_pages == entitled_pages
        assert space.reserved_pages == entitled_pages - len(space.pages)
        assert space.immutable_pages == coverage(space.pool, move.frontier_tokens) // PAGE_TOKENS
    assert active.checkpoints == lineage_of(filled.picture, move)


def _owners(before: LedgerSnapshot, target: Target, move: Move) -> list[OwnerPlacement]:
    """Every inactive owner there should be, with what is left of it."""
    left = []
    for owner in before.owners:
        outcome = target.outcomes.get(owner.owner)
        if move.is_consumed and owner.owner == move.owner:
            continue
        if outcome is None:
            left.append(owner)
        elif outcome[1]:
            left.append(_less(owner, outcome))
    return left


def _less(owner: OwnerPlacement, outcome: Outcome) -> OwnerPlacement:
    kept = tuple(c for c in owner.checkpoints if c.summary.ref not in outcome[0])
    return OwnerPlacement(
        owner=owner.owner, history_tokens=kept[-1].summary.frontier_tokens, checkpoints=kept
    )


def _require_unmoved(before: LedgerSnapshot, after: LedgerSnapshot, made: set[Content]) -> None:
    """A replica that is still there is where it was."""
    now, was = places_in(after), places_in(before)
    for content in (now.keys() & was.keys()) - made:
        for place, former in zip(now[content], was[content], strict=True):
            assert place == former or None in (place, former)
