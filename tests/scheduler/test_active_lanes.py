"""Law: a lane has one request at most; it prefills, then decodes, and is free once settled."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.ids import LaneId, RequestId
from ninfer_lab.scheduler.active_lanes import ActiveLanes


def test_a_taken_lane_is_not_free_until_it_is_released() -> None:
    lanes = ActiveLanes(3)
    lanes.take(LaneId(1), RequestId(7))
    assert lanes.free() == (0, 2)
    assert len(lanes) == 1
    lanes.release(LaneId(1))
    assert lanes.free() == (0, 1, 2)


def test_phases_list_the_oldest_admission_first() -> None:
    lanes = ActiveLanes(3)
    for lane, request in ((2, 5), (0, 6), (1, 7)):
        lanes.take(LaneId(lane), RequestId(request))
    lanes.start_decode(LaneId(0))
    lanes.start_decode(LaneId(2))
    assert [each.request for each in lanes.decoding] == [5, 6]
    assert [each.request for each in lanes.prefilling] == [7]


def test_requests_are_told_oldest_admission_first() -> None:
    lanes = ActiveLanes(3)
    for lane, request in ((2, 7), (0, 5)):
        lanes.take(LaneId(lane), RequestId(request))
    assert lanes.requests() == (7, 5)


def test_a_lane_is_not_taken_twice() -> None:
    lanes = ActiveLanes(1)
    lanes.take(LaneId(0), RequestId(1))
    with pytest.raises(AssertionError):
        lanes.take(LaneId(0), RequestId(2))
    assert [each.request for each in lanes.prefilling] == [1]
