"""Law: where a prefill is cut is chosen once the candidate is fixed, is looked at when the plan is
sealed, and is final from then on: the forwards that are told are the forwards that run.
"""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.errors import PlanRefused
from ninfer_lab.contract.ids import LaneId
from ninfer_lab.contract.plan import ActivationIntent, FinalScheduleIntent
from ninfer_lab.contract.planned_capture import CaptureTerms
from ninfer_lab.contract.result import Committed
from ninfer_lab.contract.target import Assessment, TargetSketch
from simulation.engine_world import prepared
from simulation.program_world import CONSUME, ProgramWorld, Start, closure_at, planned

ANCHOR = CheckpointKind.LONG_ANCHOR
PLANNED = (planned(ANCHOR, 30), closure_at(70))


def world_of() -> ProgramWorld:
    return ProgramWorld(extra_slots=4, pages=16, chunk_tokens=20)


def sealed_with(world: ProgramWorld, assessment: Assessment, chosen: FinalScheduleIntent) -> None:
    intent = ActivationIntent(lane=LaneId(0), destination=world.new_owner(), schedule=chosen)
    world.program.seal(assessment, intent)


def test_the_forwards_that_are_sealed_are_those_that_run() -> None:  # spec: CPT-4
    """Cut at 30, 45, 50 and 70, 100 tokens are 20+10, 15, 5, 20 and 20+10: seven forwards."""
    world = world_of()
    start = Start(owner=world.new_owner(), captures=PLANNED, offers=(45,))
    plan = world.seal(world.request(prepared(range(100), cuts=(50,))), start)
    assert plan.schedule.cuts_tokens == (30, 45, 50, 70)
    result = world.run(world.program.start(plan))
    world.look()
    assert isinstance(result, Committed)
    assert result.schedule is plan.schedule
    ends = []
    while world.sequence(result).frontier_tokens < 100:
        world.forward(result)
        ends.append(world.sequence(result).frontier_tokens)
    assert ends == [20, 30, 45, 50, 70, 90, 100]
    assert plan.schedule.prefill.chunk_count == len(ends)


def test_without_an_owner_to_leave_the_cuts_of_captures_are_not_made() -> None:  # spec: CPT-4
    world = world_of()
    assessment = world.assess(world.request(range(100)), Start(captures=PLANNED))
    assert assessment.work.prefill is not None
    assert assessment.work.prefill.chunk_count == 6  # 20+10, 20+20, 20+10
    plan = world.program.seal(assessment, ActivationIntent(lane=LaneId(0), destination=None))
    assert (plan.schedule.cuts_tokens, plan.schedule.prefill.chunk_count) == ((), 5)


@pytest.mark.parametrize(
    ("chosen", "refused"),
    [
        (FinalScheduleIntent(captures=PLANNED[:1]), "those the candidate was priced with"),
        (FinalScheduleIntent(captures=(*PLANNED, closure_at(90))), "priced with"),
        (FinalScheduleIntent(terms_at_start=CaptureTerms()), "a consumed endpoint is to stay"),
        (FinalScheduleIntent(offers_tokens=(60, 40)), r"ascending frontiers in \[0, 100\]"),
        (FinalScheduleIntent(offers_tokens=(40, 40)), "ascending frontiers"),
        (FinalScheduleIntent(offers_tokens=(101,)), r"found \(101,\)"),
    ],
)
def test_a_choice_that_the_candidate_does_not_bear_is_refused(  # spec: CPT-4
    chosen: FinalScheduleIntent, refused: str
) -> None:
    world = world_of()
    assessment = world.assess(world.request(range(100)), Start(captures=PLANNED))
    before = world.ledger
    with pytest.raises(PlanRefused, match=refused):
        sealed_with(world, assessment, chosen)
    assert world.ledger == before
    sealed_with(world, assessment, FinalScheduleIntent(captures=PLANNED))


def test_nothing_is_captured_by_a_request_that_leaves_nothing() -> None:  # spec: CPT-4, MODE-2
    world = world_of()
    assessment = world.assess(world.request(range(100)), Start(captures=PLANNED))
    chosen = FinalScheduleIntent(captures=PLANNED)
    with pytest.raises(PlanRefused, match="none, for the request may leave nothing behind"):
        world.program.seal(
            assessment, ActivationIntent(lane=LaneId(0), destination=None, schedule=chosen)
        )


def test_what_lies_behind_the_start_is_no_cut() -> None:  # spec: CPT-4
    world = world_of()
    owner = world.published(range(60))
    start = Start(checkpoint=world.deepest(owner))
    candidate = world.candidate(world.request(range(100)), start)
    behind = replace(candidate, captures=(planned(ANCHOR, 30),))
    assessment = world.program.assess(TargetSketch(candidate=behind))
    with pytest.raises(PlanRefused, match=r"ascending frontiers in \[60, 100\]"):
        sealed_with(world, assessment, FinalScheduleIntent(captures=behind.captures))
    with pytest.raises(PlanRefused, match=r"found \(59,\)"):
        sealed_with(world, assessment, FinalScheduleIntent(offers_tokens=(59,)))


def test_an_anchor_at_the_start_comes_with_its_terms() -> None:  # spec: CPT-4, ANC-3
    world = world_of()
    owner = world.published(range(60))
    start = Start(
        checkpoint=world.deepest(owner), disposition=CONSUME, captures=(planned(ANCHOR, 60),)
    )
    assessment = world.assess(world.request(range(100)), start)
    chosen = FinalScheduleIntent(captures=start.captures)
    with pytest.raises(PlanRefused, match="a consumed endpoint is to stay as an anchor"):
        sealed_with(world, assessment, chosen)
    sealed_with(world, assessment, replace(chosen, terms_at_start=CaptureTerms()))


def test_a_sealed_schedule_cannot_be_changed() -> None:  # spec: CPT-4, INV-10
    world = world_of()
    start = Start(owner=world.new_owner(), captures=PLANNED)
    plan = world.seal(world.request(range(100)), start)
    with pytest.raises(FrozenInstanceError):
        plan.schedule = plan.schedule._replace(cuts_tokens=())  # type: ignore[misc]
    fewer = replace(plan.intent, schedule=FinalScheduleIntent())
    before = world.ledger
    for forged in (
        replace(plan, intent=fewer),
        replace(plan, schedule=plan.schedule._replace(cuts_tokens=())),
    ):
        with pytest.raises(PlanRefused, match="a plan Program sealed"):
            world.program.start(forged)
    assert world.ledger == before
    world.program.start(plan)
