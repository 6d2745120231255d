"""Law: a plan is Program's own, sealed at the present revision and used once; anything else is
refused before anything has happened.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import pytest

from ninfer_lab.contract.candidate import NotReusable, SourceDisposition
from ninfer_lab.contract.errors import PlanRefused
from ninfer_lab.contract.ids import CheckpointId, LaneId, OwnerId, PlanId
from ninfer_lab.contract.plan import ActivationIntent, ResourcePlan
from ninfer_lab.contract.result import SequenceEnd
from simulation.program_world import ProgramWorld, Start, closure_at


def refused_without_effect(world: ProgramWorld, plan: ResourcePlan, why: str) -> None:
    before = world.ledger
    with pytest.raises(PlanRefused, match=why):
        world.program.start(plan)
    assert world.ledger == before
    assert world.machine.copies == []


def test_a_plan_runs_once() -> None:  # spec: TXN-1, TXN-2
    world = ProgramWorld(lanes=2, extra_slots=0, pages=4)
    plan = world.seal(world.request(range(70)), Start(owner=world.new_owner()))
    world.program.start(plan)
    refused_without_effect(world, plan, "a plan Program sealed and has not yet run")


def test_a_forged_plan_is_refused_and_the_sealed_one_still_runs() -> None:  # spec: TXN-1
    world = ProgramWorld(lanes=2, extra_slots=0, pages=4)
    plan = world.seal(world.request(range(70)), Start(owner=world.new_owner()))
    other_lane = replace(plan, intent=replace(plan.intent, lane=LaneId(1)))
    for forgery in (other_lane, replace(plan), copy(plan), replace(plan, id=PlanId(999))):
        refused_without_effect(world, forgery, "a plan Program sealed and has not yet run")
    assert world.program.start(plan).handle.lane == 0


def test_an_equal_plan_is_not_the_plan() -> None:  # spec: TXN-1
    world = ProgramWorld()
    plan = world.seal(world.request(range(70)), Start())
    twin = replace(plan)
    assert twin == plan
    refused_without_effect(world, twin, "a plan Program sealed")


def test_a_plan_goes_stale_with_the_revision() -> None:  # spec: REV-1, TXN-2, INV-10
    world = ProgramWorld(lanes=2, extra_slots=0, pages=4)
    running = world.admit(world.request(range(10)))
    plan = world.seal(world.request(range(70)), Start(lane=1))
    world.finish(running, SequenceEnd.DISCARD)
    refused_without_effect(world, plan, "seal again at the current revision")


def test_a_plan_survives_forwards_inside_a_guarantee() -> None:  # spec: REV-3
    world = ProgramWorld(lanes=2, extra_slots=0, pages=4, chunk_tokens=20)
    running = world.admit(world.request(range(60), output=30))
    plan = world.seal(world.request(range(70)), Start(lane=1))
    for _ in range(10):
        world.forward(running)
    assert world.program.start(plan).handle.lane == 1


def test_an_assessment_is_sealed_only_at_its_revision() -> None:  # spec: REV-1
    world = ProgramWorld(lanes=2, extra_slots=0, pages=4)
    assessment = world.assess(world.request(range(70)), Start())
    world.admit(world.request(range(10)), Start(lane=1))
    intent = ActivationIntent(lane=LaneId(0), destination=None, captures=())
    with pytest.raises(PlanRefused, match="assess again at the current revision"):
        world.program.seal(assessment, intent)


def test_what_does_not_fit_is_never_sealed() -> None:  # spec: STG-1, INV-5
    world = ProgramWorld(lanes=1, extra_slots=0, pages=2)
    world.published(range(70))
    with pytest.raises(PlanRefused, match="stage 2 does not fit: device state slots"):
        world.seal(world.request(range(500, 510)), Start())


def test_a_feasibility_that_was_made_up_does_nothing() -> None:
    world = ProgramWorld(lanes=1, extra_slots=0, pages=2)
    world.published(range(70))
    assessment = world.assess(world.request(range(500, 510)), Start())
    made_up = replace(assessment, stages=assessment.stages[:1])
    intent = ActivationIntent(lane=LaneId(0), destination=None, captures=())
    plan, before = world.program.seal(made_up, intent), world.ledger
    with pytest.raises(AssertionError, match="the same revision gives the same post-state"):
        world.program.start(plan)
    assert world.ledger == before


def test_a_taken_lane_is_refused() -> None:
    world = ProgramWorld(lanes=2, extra_slots=0, pages=4)
    world.admit(world.request(range(10)))
    with pytest.raises(PlanRefused, match=r"intent\.lane: found 0"):
        world.seal(world.request(range(70)), Start(lane=0))


def test_only_the_last_sealed_plan_can_run() -> None:  # spec: INV-9
    world = ProgramWorld(lanes=2, extra_slots=0, pages=4)
    first = world.seal(world.request(range(70)), Start())
    second = world.seal(world.request(range(70)), Start())
    refused_without_effect(world, first, "a plan Program sealed")
    world.program.start(second)


def test_a_checkpoint_is_verified_by_what_it_is_not_by_its_name() -> None:  # spec: CAND-2, IDN-4
    world = ProgramWorld()
    owner = world.published(range(70))
    (ref,) = (checkpoint.ref for checkpoint in world.checkpoints(owner))
    retain = SourceDisposition.RETAIN
    verify = world.program.verify
    assert verify(world.request(range(1, 90)), ref, retain) is NotReusable.TOKENS_DIFFER
    request = world.request(range(90))
    assert verify(request, replace(ref, owner=OwnerId(7)), retain) is NotReusable.STALE
    assert verify(request, replace(ref, id=CheckpointId(99)), retain) is NotReusable.STALE
    world.admit(request, Start(evicted=(owner,)))
    assert verify(request, ref, retain) is NotReusable.STALE


def test_a_candidate_reserves_nothing() -> None:  # spec: INV-17
    world = ProgramWorld()
    owner = world.published(range(70))
    before = world.ledger
    world.candidate(world.request(range(90)), Start(checkpoint=world.checkpoints(owner)[0].ref))
    assert world.ledger == before


@pytest.mark.parametrize(("tokens", "output", "fits"), [(200, 56, True), (200, 57, False)])
def test_what_can_never_run_is_known_before(tokens: int, output: int, fits: bool) -> None:
    world = ProgramWorld(pages=4)
    world.admit(world.request(range(150), output=100))  # what is in use does not matter
    request = world.request(range(tokens), output=output)
    assert world.program.can_ever_run(request) is fits  # spec: RES-1


def test_the_revision_counts_stable_changes() -> None:  # spec: REV-2, REV-4
    world = ProgramWorld(chunk_tokens=512)
    assert world.program.resource_revision == 0
    result = world.admit(
        world.request(range(100)), Start(owner=world.new_owner(), captures=(closure_at(70),))
    )
    assert (result.resource_revision, world.program.resource_revision) == (1, 1)
    world.prefill(result)  # a capture, then the end of its pin
    assert world.program.resource_revision == 3
    assert world.finish(result).resource_revision == 4
