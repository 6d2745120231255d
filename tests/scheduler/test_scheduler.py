"""Law: the head alone is tried, again only when the revision has moved, and nobody overtakes it
but whom a proof lets past; prefill and decode take turns while both are wanted.
"""

from __future__ import annotations

from ninfer_lab.contract.ids import LaneId, RequestId
from ninfer_lab.contract.work import ForwardPhase
from ninfer_lab.scheduler.scheduler import Scheduler

PREFILL, DECODE = ForwardPhase.PREFILL, ForwardPhase.DECODE


def scheduler_of(*waiting: int, lanes: int = 2, backfill: bool = False) -> Scheduler:
    scheduler = Scheduler(lanes_count=lanes, limit_waiting=8, backfill=backfill)
    for request in waiting:
        scheduler.submit(RequestId(request))
    return scheduler


def admit(scheduler: Scheduler, request: int, lane: int) -> None:
    scheduler.admitted(RequestId(request), LaneId(lane))


def chosen(scheduler: Scheduler, *resting: int) -> tuple[ForwardPhase, list[int]]:
    choice = scheduler.next_forward([LaneId(lane) for lane in resting])
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


# ── whom a proof may let past ───────────────────────────────────────────────────────────────────


def blocked_scheduler(*waiting: int, lanes: int = 3) -> Scheduler:
    """One runs, and the head cannot be admitted at revision 7."""
    scheduler = scheduler_of(1, *waiting, lanes=lanes, backfill=True)
    admit(scheduler, 1, 0)
    scheduler.blocked(RequestId(waiting[0]), 7)
    return scheduler


def borrower_of(scheduler: Scheduler, revision: int) -> tuple[list[int], int] | None:
    """(donors of the head, who may be let past)."""
    found = scheduler.next_borrower(revision)
    return None if found is None else (list(found[0].donors), found[1])


def test_those_behind_a_blocked_head_are_asked_about_oldest_first() -> None:  # spec: BKF-1
    scheduler = blocked_scheduler(4, 5, 6)
    assert borrower_of(scheduler, 7) == ([1], 5)
    scheduler.refused_past_head(RequestId(5), 7)
    assert borrower_of(scheduler, 7) == ([1], 6)
    scheduler.refused_past_head(RequestId(6), 7)
    assert borrower_of(scheduler, 7) is None
    assert borrower_of(scheduler, 8) == ([1], 5), "a proof is bound to its revision, so is a no"


def test_who_was_let_past_is_no_donor_of_the_head() -> None:  # spec: BKF-1
    scheduler = blocked_scheduler(4, 5, 6)
    admit(scheduler, 5, 1)
    scheduler.blocked(RequestId(4), 8)
    assert borrower_of(scheduler, 8) == ([1], 6)
    assert scheduler.next_admission(8) is None
    assert scheduler.next_admission(9) == (4, (2,))


def test_the_next_head_waits_for_whoever_runs_then() -> None:
    scheduler = blocked_scheduler(4, 5, 6, lanes=4)
    admit(scheduler, 4, 1)
    assert borrower_of(scheduler, 8) is None, "nobody is blocked now"
    scheduler.blocked(RequestId(5), 8)
    assert borrower_of(scheduler, 8) == ([1, 4], 6)


def test_nobody_is_let_past_without_a_lane_or_a_head_that_is_blocked() -> None:
    narrow = blocked_scheduler(4, 5, lanes=1)
    assert borrower_of(narrow, 7) is None
    gone = blocked_scheduler(4, 5)
    gone.withdraw(RequestId(4))
    assert borrower_of(gone, 7) is None
    assert gone.next_admission(7) == (5, (1, 2))


def test_nobody_is_let_past_unless_it_is_wanted() -> None:  # spec: INV-1
    scheduler = scheduler_of(1, 4, 5, lanes=3)
    admit(scheduler, 1, 0)
    scheduler.blocked(RequestId(4), 7)
    assert borrower_of(scheduler, 7) is None


# ── lanes and phases ────────────────────────────────────────────────────────────────────────────


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


def test_a_resting_lane_is_left_out_and_holds_nobody_up() -> None:  # spec: TXN-7
    scheduler = scheduler_of(4, 5, 6, lanes=3)
    for lane, request in enumerate((4, 5, 6)):
        admit(scheduler, request, lane)
    for lane in (0, 1):
        scheduler.start_decode(LaneId(lane))
    assert chosen(scheduler, 2) == (DECODE, [4, 5])
    assert chosen(scheduler, 0) == (PREFILL, [6])
    assert chosen(scheduler, 0) == (DECODE, [5])
    assert chosen(scheduler, 0, 1) == (PREFILL, [6])
    assert scheduler.next_forward([LaneId(lane) for lane in range(3)]) is None


def test_idle_means_nothing_waits_and_nothing_runs() -> None:
    scheduler = scheduler_of(4)
    seen = [(scheduler.is_idle, scheduler.waiting_count, scheduler.active_count)]
    admit(scheduler, 4, 0)
    seen.append((scheduler.is_idle, scheduler.waiting_count, scheduler.active_count))
    scheduler.settled(LaneId(0))
    seen.append((scheduler.is_idle, scheduler.waiting_count, scheduler.active_count))
    assert seen == [(False, 1, 0), (False, 0, 1), (True, 0, 0)]
    assert scheduler.next_forward() is None
