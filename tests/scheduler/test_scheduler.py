"""Law: the head alone is tried, again only when the revision has moved, and nobody overtakes it;
prefill and decode take turns while both are wanted.
"""

from __future__ import annotations

from ninfer_lab.contract.ids import LaneId, RequestId
from ninfer_lab.contract.work import ForwardPhase
from ninfer_lab.scheduler.scheduler import Scheduler

PREFILL, DECODE = ForwardPhase.PREFILL, ForwardPhase.DECODE


def scheduler_of(*waiting: int, lanes: int = 2) -> Scheduler:
    scheduler = Scheduler(lanes_count=lanes, limit_waiting=8)
    for request in waiting:
        scheduler.submit(RequestId(request))
    return scheduler


def admit(scheduler: Scheduler, request: int, lane: int) -> None:
    scheduler.admitted(RequestId(request), LaneId(lane))


def chosen(scheduler: Scheduler) -> tuple[ForwardPhase, list[int]]:
    choice = scheduler.next_forward()
    assert choice is not None
    return choice.phase, [active.request for active in choice.lanes]


def test_the_head_is_offered_with_every_free_lane() -> None:  # spec: ROLE-1
    scheduler = scheduler_of(4, 5)
    assert scheduler.next_admission(0) == (4, (0, 1))
    admit(scheduler, 4, 1)
    assert scheduler.next_admission(1) == (5, (0,))


def test_a_blocked_head_is_not_tried_at_the_same_revision() -> None:  # spec: RES-1
    scheduler = scheduler_of(4, 5)
    scheduler.blocked(RequestId(4), 7)
    assert scheduler.next_admission(7) is None
    assert scheduler.next_admission(8) == (4, (0, 1))
    scheduler.blocked(RequestId(4), 8)
    assert scheduler.next_admission(8) is None


def test_nobody_overtakes_a_blocked_head() -> None:  # spec: INV-1
    scheduler = scheduler_of(4, 5, 6)
    scheduler.blocked(RequestId(4), 0)
    scheduler.withdraw(RequestId(5))
    assert scheduler.next_admission(0) is None
    assert scheduler.next_admission(1) == (4, (0, 1))


def test_a_block_is_the_head_s_own() -> None:
    scheduler = scheduler_of(4, 5)
    scheduler.blocked(RequestId(4), 7)
    scheduler.withdraw(RequestId(4))
    assert scheduler.next_admission(7) == (5, (0, 1))


def test_without_a_free_lane_nobody_is_offered() -> None:
    scheduler = scheduler_of(4, 5, lanes=1)
    admit(scheduler, 4, 0)
    assert scheduler.next_admission(1) is None
    scheduler.settled(LaneId(0))
    assert scheduler.next_admission(1) == (5, (0,))


def test_one_prefills_at_a_time_the_oldest_first() -> None:
    scheduler = scheduler_of(4, 5)
    admit(scheduler, 4, 1)
    admit(scheduler, 5, 0)
    assert [chosen(scheduler) for _ in range(3)] == [(PREFILL, [4])] * 3
    scheduler.start_decode(LaneId(1))
    assert chosen(scheduler) == (DECODE, [4])
    assert chosen(scheduler) == (PREFILL, [5])


def test_prefill_and_decode_take_turns_while_both_are_wanted() -> None:
    scheduler = scheduler_of(4, 5, 6, lanes=3)
    for lane, request in enumerate((4, 5, 6)):
        admit(scheduler, request, lane)
    for lane in (0, 1):
        scheduler.start_decode(LaneId(lane))
    turns = [chosen(scheduler) for _ in range(4)]
    assert turns == [(PREFILL, [6]), (DECODE, [4, 5])] * 2
    scheduler.start_decode(LaneId(2))
    assert [chosen(scheduler) for _ in range(2)] == [(DECODE, [4, 5, 6])] * 2


def test_idle_means_nothing_waits_and_nothing_runs() -> None:
    scheduler = scheduler_of(4)
    seen = [(scheduler.is_idle, scheduler.waiting_count, scheduler.active_count)]
    admit(scheduler, 4, 0)
    seen.append((scheduler.is_idle, scheduler.waiting_count, scheduler.active_count))
    scheduler.settled(LaneId(0))
    seen.append((scheduler.is_idle, scheduler.waiting_count, scheduler.active_count))
    assert seen == [(False, 1, 0), (False, 0, 1), (True, 0, 0)]
    assert scheduler.next_forward() is None
