"""Law: pass 1 takes the first of the greatest among lanes that can be admitted; pass 2 is reached
only if there is none, and nobody else marks a bundle for eviction.
"""

from __future__ import annotations

import pytest

from ninfer_lab.contract.candidate import AdmissionRequest
from ninfer_lab.contract.ids import LaneId, OwnerId, OwnerRef, PageId
from ninfer_lab.policies.lane_owned.bundle import LaneBundle
from ninfer_lab.policies.lane_owned.lane_selection import LanesNow, Selection, select_lane
from ninfer_lab.policies.lane_owned.switches import (
    AS_IT_WAS,
    LANE_SELECTION,
    EvictionOrder,
    LaneKey,
    LaneSwitches,
)
from ninfer_lab.policies.lane_owned.trace import Line, LineRan
from policies.bundles import CLOSURE, asking, bundle, saved
from simulation.engine_world import prepared

HOME, OTHER = range(100), [9, *range(1, 100)]
BY_RETENTION_ALONE = LaneSwitches(eviction_order=EvictionOrder.RETENTION)
BY_KEY_ALONE = LaneSwitches(lane_key=LaneKey.REUSE_THEN_DESTRUCTION)


def holding(tokens: list[int] | range, *, pages: int, owner: int = 1) -> LaneBundle:
    """A bundle whose ledger is these tokens, with so many pages."""
    kept = bundle(prepared(tokens), rewrite=saved(len(tokens) - 40, CLOSURE, 1))
    return LaneBundle(
        owner=OwnerRef(id=OwnerId(owner), generation=1),
        fingerprint=kept.fingerprint,
        pages=tuple(map(PageId, range(pages))),
        frontier=kept.frontier,
        rewrite=kept.rewrite,
        publication_order=owner,
    )


def on_lanes(*lanes: int, tokens: list[int]) -> AdmissionRequest:
    """A request while those lanes are idle."""
    request = asking(prepared(tokens))
    return AdmissionRequest(
        request=request.request,
        prompt=request.prompt,
        max_output_tokens=5,
        mode=request.mode,
        session_key=None,
        publication_order=1,
        free_lanes=tuple(map(LaneId, lanes)),
    )


def select(
    request: AdmissionRequest,
    retained: dict[int, LaneBundle],
    *,
    lanes: int = 2,
    entitled: int = 2,
    spare: int = 4,
    switches: LaneSwitches = AS_IT_WAS,
) -> tuple[Selection | None, tuple[LineRan, ...]]:
    now = LanesNow(
        lanes=tuple(map(LaneId, range(lanes))),
        retained={LaneId(lane): kept for lane, kept in retained.items()},
        entitled_pages=entitled,
        spare_pages=spare,
    )
    return select_lane(request, now, switches)


def lane_of(selection: Selection | None) -> tuple[int, int, tuple[int, ...]]:
    assert selection is not None
    return selection.lane, selection.plan.reuse_tokens, selection.evicted


SIDE = [500, 501, 502]


def test_of_equal_reuse_the_first_lane_is_taken_though_it_holds_a_conversation() -> None:
    # spec: LANE-4, NOT-3
    for lanes in (1, 2, 4, 8):
        request = on_lanes(*range(lanes), tokens=SIDE)
        selection, lines = select(request, {0: holding(HOME, pages=2)}, lanes=lanes)
        assert lane_of(selection) == (0, 0, ())
        said = [each.line for each in lines]
        assert said == [Line.TAKEN, *[Line.NOT_GREATER] * (lanes - 1), Line.RETURNED]


def test_a_later_lane_is_taken_for_strictly_more() -> None:  # spec: LANE-4
    request = on_lanes(0, 1, 2, tokens=[*HOME, 7])
    retained = {1: holding(HOME, pages=2), 2: holding(HOME, pages=2, owner=2)}
    selection, lines = select(request, retained, lanes=3)
    assert lane_of(selection) == (1, 100, ())
    said = [each.line for each in lines]
    assert said == [Line.TAKEN, Line.TAKEN, Line.NOT_GREATER, Line.RETURNED]


def test_a_busy_lane_is_passed_over() -> None:  # spec: LANE-4, LANE-6
    request = on_lanes(1, tokens=[*HOME, 7])
    selection, lines = select(request, {1: holding(OTHER, pages=2)})
    assert lane_of(selection) == (1, 0, ())
    assert [each.line for each in lines] == [Line.BUSY, Line.TAKEN, Line.RETURNED]


def test_what_lies_on_the_lane_itself_counts_as_room() -> None:  # spec: LANE-4
    request = on_lanes(0, 1, tokens=SIDE)
    for spare, lane in ((1, 0), (0, 0)):
        retained = {0: holding(HOME, pages=2)}
        selection, _ = select(request, retained, spare=spare)
        assert lane_of(selection) == (lane, 0, ())
    selection, lines = select(request, {1: holding(HOME, pages=2)}, spare=1)
    assert lane_of(selection) == (1, 0, ())
    assert lines[0].line is Line.NO_ROOM


def test_with_one_lane_pass_2_cannot_be_reached() -> None:  # spec: DES-1, LANE-4
    """Room for the request is there, or it is not once the lane's own bundle is counted."""
    request = on_lanes(0, tokens=SIDE)
    for pages in range(5):
        for spare in range(5):
            retained = {0: holding(HOME, pages=pages)} if pages else {}
            selection, lines = select(request, retained, lanes=1, entitled=4, spare=spare)
            assert (selection is None) == (pages + spare < 4)
            assert not any(each.line is Line.EVICT_RETAINED for each in lines)


def test_pass_2_marks_bundles_from_lane_0_up_and_no_more_than_it_must() -> None:  # spec: LANE-4
    request = on_lanes(0, 1, 2, tokens=[*HOME, 7])
    home = holding(HOME, pages=2)
    retained = {0: home, 1: holding(OTHER, pages=1), 2: holding(SIDE * 20, pages=1)}
    selection, lines = select(request, retained, lanes=3, entitled=3, spare=0)
    assert lane_of(selection) == (1, 0, (0,)), "the conversation itself goes first"
    marked = [each.lane for each in lines if each.line is Line.EVICT_RETAINED]
    assert marked == [0]
    assert [each.line for each in lines][:3] == [Line.NO_ROOM] * 3


def test_by_retention_the_least_worth_keeping_goes_and_the_prefix_is_found() -> None:  # spec: RT-4
    request = on_lanes(0, 1, 2, tokens=[*HOME, 7])
    retained = {
        0: holding(HOME, pages=2),
        1: holding(OTHER, pages=1),
        2: holding([8, *range(50)], pages=1),
    }
    for switches in (BY_RETENTION_ALONE, LANE_SELECTION):
        selection, _ = select(request, retained, lanes=3, entitled=3, spare=0, switches=switches)
        assert lane_of(selection) == (0, 100, (2,))
    selection, _ = select(request, retained, lanes=3, entitled=3, spare=0, switches=BY_KEY_ALONE)
    assert lane_of(selection)[2] == (0,)


def test_where_eviction_gains_nothing_nothing_is_marked() -> None:
    request = on_lanes(1, 2, tokens=SIDE)
    retained = {1: holding(HOME, pages=2), 2: holding(OTHER, pages=2)}
    selection, lines = select(request, retained, lanes=3, entitled=6, spare=1)
    assert selection is None
    assert [each.line for each in lines][-1] is Line.BLOCKED
    assert not any(each.line is Line.EVICT_RETAINED for each in lines)


@pytest.mark.parametrize(
    ("pages", "lane"), [((2, 0), 1), ((0, 2), 0), ((2, 1), 1), ((1, 2), 0), ((2, 2), 0)]
)
def test_the_key_breaks_ties_by_what_would_be_destroyed(  # spec: RT-4
    pages: tuple[int, int], lane: int
) -> None:
    request = on_lanes(0, 1, tokens=SIDE)
    retained = {
        at: holding(HOME, pages=count, owner=at + 1) for at, count in enumerate(pages) if count
    }
    selection, _ = select(request, retained, switches=BY_KEY_ALONE)
    assert lane_of(selection) == (lane, 0, ())


def test_destruction_is_looked_at_only_where_reuse_is_equal() -> None:  # spec: RT-4
    request = on_lanes(0, 1, tokens=[*HOME, 7])
    retained = {0: holding(HOME, pages=3)}
    selection, _ = select(request, retained, switches=LANE_SELECTION)
    assert lane_of(selection) == (0, 100, ())
