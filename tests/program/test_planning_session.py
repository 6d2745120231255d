"""Law: one decision's targets are judged by the evaluator that seals them, and only read."""

from __future__ import annotations

import pytest

from context_cache.decisions import decided, owner, price, problem, walk
from ninfer_lab.contract.candidate import SourceDisposition
from ninfer_lab.contract.capacity import Axis
from ninfer_lab.contract.planning import STAYS, PlanningSession, TargetHandle
from ninfer_lab.engine.decision_problem import DecisionProblem, Where
from ninfer_lab.engine.decision_room import open_problem
from ninfer_lab.lab.planner_problems import generated

RETAIN, CONSUME = SourceDisposition.RETAIN, SourceDisposition.CONSUME


def session_of(written: DecisionProblem) -> PlanningSession:
    return open_problem(written, price).session


@pytest.mark.parametrize("seed", range(12))
def test_a_judged_target_is_the_assessed_one(seed: int) -> None:  # spec: SRCH-10, TGT-3
    session = session_of(generated(seed))
    for target in walk(session, seed):
        verdict, found = session.judge(target), session.assess(target)
        assert verdict.is_feasible == found.is_feasible
        assert verdict.work == found.work
        worst = [max(s.occupancy.on(axis).used_count for s in found.stages) for axis in Axis]
        room = [found.stages[0].occupancy.on(axis).capacity_count for axis in Axis]
        assert verdict.balance == tuple(w - r for w, r in zip(worst, room, strict=True))


def test_looking_changes_nothing() -> None:  # spec: SRCH-6
    session = session_of(generated(24))
    way = walk(session, 1)
    before = [session.assess(target) for target in way]
    for seed in range(5):
        for target in walk(session, seed):
            session.judge(target)
            session.relief(target, session.steps(target))
    assert [session.assess(target) for target in way] == before


def test_the_sources_owner_has_no_step() -> None:  # spec: SRCH-10, TGT-2
    written = problem(owner(640), owner(640), continued=((0, 0, RETAIN),), pages=30)
    session = session_of(written)
    assert {step.owner for step in session.steps(session.identity(0))} == {0, 1}
    assert {step.owner for step in session.steps(session.identity(1))} == {1}
    assert session.maximal(1).choices[0] == STAYS
    assert [session.is_eligible(1, o) for o in (0, 1)] == [False, True]


def test_identity_is_the_root_of_the_graph_and_maximal_its_end() -> None:  # spec: TGT-4
    session = session_of(problem(owner(640), owner(320, 640), pages=30))
    identity, maximal = session.identity(0), session.maximal(0)
    assert session.sketch(identity).is_identity
    assert not session.facts(identity)
    assert [o.id for o in session.sketch(maximal).evicted] == [0, 1]
    assert not session.steps(maximal)


@pytest.mark.parametrize("seed", range(8))
def test_two_orders_of_the_same_steps_are_one_target(seed: int) -> None:  # spec: TGT-1, TGT-5
    session = session_of(generated(seed))
    steps = session.steps(session.identity(0))
    for one in steps:
        for other in steps:
            if one.owner == other.owner:
                continue
            ways = [session.identity(0).after(a).after(b) for a, b in ((one, other), (other, one))]
            assert ways[0] == ways[1]
            assert session.sketch(ways[0]) == session.sketch(ways[1])


def test_what_frees_nothing_alone_is_a_step_all_the_same() -> None:  # spec: TGT-6, REC-2
    # Owner 1 goes on from owner 0 at an aligned frontier: one page of its own, ten in common.
    written = problem(owner(640), owner(704, branches_from=(0, 0)), pages=12)
    session = session_of(written)
    identity = session.identity(0)
    ends = [step for step in session.steps(identity) if step.facts.is_eviction]
    freed = [units[2] for units in session.relief(identity, ends)]
    assert [step.owner for step in ends] == [0, 1]
    assert freed == [0, 1]
    both = identity.after(ends[0])
    assert session.relief(both, [ends[1]])[0][2] == 11


def test_relief_counts_what_a_step_takes() -> None:
    written = problem(owner(640), pages=12, host_slots=1, host_pages=10)
    session = session_of(written)
    identity = session.identity(0)
    reliefs = dict(
        zip(session.steps(identity), session.relief(identity, session.steps(identity)), strict=True)
    )
    assert (1, -1, 0, 0, 0) in reliefs.values()  # the image
    assert (0, 0, 5, 0, -5_000) in reliefs.values()  # half of the pages
    assert (0, 0, 10, 0, -10_000) in reliefs.values()  # all of them
    moved = next(s for s, units in reliefs.items() if units[2] == 10 and units[4])
    gone = [s for s in session.steps(identity.after(moved)) if s.facts.is_eviction]
    # Its pages are on the Host only in the plan, and would need no room there any more.
    assert session.relief(identity.after(moved), gone) == [(1, 0, 0, 0, 10_000)]


def test_as_many_pages_leave_as_a_candidate_misses() -> None:  # spec: TGT-5
    """Of 21 pages 20 are taken. From root the prompt takes 13 and misses 12, which nobody has; from
    the first owner's end it takes 3 and misses 2.
    """
    written = problem(owner(640), owner(640), continued=((0, 0, RETAIN),), pages=21, host_pages=20)
    session = session_of(written)
    assert [session.judge(session.identity(c)).balance[2] for c in (0, 1)] == [12, 2]
    for candidate in (0, 1):  # the same outcomes, whoever asks
        identity = session.identity(candidate)
        steps = session.steps_of(identity, 1)
        leaving = {units[2] for units in session.relief(identity, steps) if units[4] < 0}
        assert leaving == {2, 5, 10}


def test_who_must_make_room_for_little_gives_up_little() -> None:  # spec: TGT-5, SRCH-5
    """One page is missing, and the Host has room for two of ten: half of them would not fit."""
    found = decided(problem(owner(640), pages=12, host_pages=2))
    assert found.best is not None
    assert found.best.verdict.is_feasible
    assert found.best.verdict.balance[2] == 0
    assert [b.payload_bytes for b in found.best.verdict.work.transfers] == [1_000]


def test_a_source_that_nobody_shares_cannot_become_cheaper() -> None:
    alone = problem(owner(650), owner(640), continued=((0, 0, CONSUME),), pages=40)
    assert not session_of(alone).can_be_improved(1)
    assert not session_of(alone).can_be_improved(0)


def test_a_rung_evicts_some_and_moves_the_rest(  # spec: SRCH-4
) -> None:
    session = session_of(
        problem(owner(640), owner(320, 640), owner(640), pages=40, host_slots=9, host_pages=40)
    )
    stays = session.rung(0, [2], rest_leaves=False)
    assert stays.choices[:2] == (STAYS, STAYS)
    moved = session.rung(0, [2], rest_leaves=True)
    assert [facts.is_eviction for _, facts in session.facts(moved)] == [False, False, True]
    assert not any(facts.deleted for _, facts in session.facts(moved)[:2])
    end = session.assess(moved).stages[2].occupancy
    assert (end.device_state.used_count, end.host_state.reserved_count) == (3, 3)


def test_what_has_moved_is_recovered_by_copies() -> None:  # spec: VAL-2
    session = session_of(problem(owner(640), pages=30, host_slots=1, host_pages=20))
    target = session.rung(0, [], rest_leaves=True)
    (there,) = session.recoveries(session.identity(0), 0)
    (back,) = session.recoveries(target, 0)
    assert not there.recipes[0].transfers
    assert sum(b.payload_bytes for b in back.recipes[0].transfers) == 15_000
    assert back.rebuild == there.rebuild


def test_only_whom_a_target_touches_is_affected() -> None:
    written = problem(
        owner(640), owner(704, branches_from=(0, 0)), owner(640), pages=40, host_pages=20
    )
    session = session_of(written)
    identity = session.identity(0)
    moved = [s for s in session.steps(identity) if s.owner == 2 and not s.facts.is_eviction]
    assert session.affected(identity) == []
    assert session.affected(identity.after(moved[0])) == [2]


def test_whose_pages_another_moves_is_affected_too() -> None:  # spec: REC-2
    written = problem(
        owner(640), owner(704, branches_from=(0, 0)), owner(640), pages=40, host_pages=20
    )
    session = session_of(written)
    identity = session.identity(0)
    # Ten of the eleven pages are owner 0's as well, and get a second replica.
    (moved,) = [
        step
        for step, units in zip(
            session.steps_of(identity, 1),
            session.relief(identity, session.steps_of(identity, 1)),
            strict=True,
        )
        if units[4] == -11_000
    ]
    assert session.affected(identity.after(moved)) == [0, 1]


@pytest.mark.parametrize("seed", range(12))
def test_nobody_has_other_recoveries_unnoticed(seed: int) -> None:  # spec: VAL-2
    session = session_of(generated(seed))
    for target in walk(session, seed):
        affected, identity = session.affected(target), session.identity(target.candidate)
        for each in range(len(target.choices)):
            if session.is_eligible(target.candidate, each) and each not in affected:
                assert session.recoveries(target, each) == session.recoveries(identity, each)


def test_what_finds_no_hole_is_not_feasible_though_its_bytes_would_do() -> None:  # spec: CAP-2
    hosted = [owner(64, pages=Where.HOST) for _ in range(3)]
    written = problem(*hosted, owner(128), pages=12, host_slots=4, host_pages=3)
    session = session_of(written)
    holes = session.rung(0, [0, 2], rest_leaves=True)
    # Granules 0 and 2 are free, and the last one's two pages want to lie side by side.
    verdict = session.judge(holes)
    assert (verdict.is_feasible, verdict.unplaced_bytes) == (False, 2_000)
    assert max(verdict.balance) <= 0
    assert session.judge(session.rung(0, [0, 1], rest_leaves=True)).is_feasible


def test_the_answers_of_a_session_follow_from_its_problem_alone() -> None:  # spec: SRCH-6
    targets: list[list[tuple[TargetHandle, object]]] = []
    for _ in range(2):
        session = session_of(generated(24))
        targets.append([(t, session.judge(t)) for s in range(4) for t in walk(session, s)])
    assert targets[0] == targets[1]


def test_who_lies_on_the_host_already_takes_no_more_of_it() -> None:
    written = problem(owner(640, pages=Where.BOTH), pages=12, host_slots=1, host_pages=10)
    session = session_of(written)
    identity = session.identity(0)
    reliefs = session.relief(identity, session.steps(identity))
    assert (0, 0, 10, 0, 0) in reliefs  # the redundant Device replicas
    assert (0, 0, 0, 0, 10_000) in reliefs  # the redundant Host ones
