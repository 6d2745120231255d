"""Law: a plan is Program's own, sealed at the present revision and used once; anything else is
refused before anything has happened.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import pytest

from ninfer_lab.contract.candidate import NotReusable, SourceDisposition
from ninfer_lab.contract.errors import InvariantBroken, PlanRefused
from ninfer_lab.contract.ids import CheckpointId, LaneId, OwnerId, PlanId
from ninfer_lab.contract.plan import ActivationIntent, ResourcePlan
from ninfer_lab.contract.result import Committed, SequenceEnd
from ninfer_lab.contract.target import (
    Assessment,
    StageName,
    StateTransition,
    TargetSketch,
    Violation,
)
from program.scenes import Pressed
from simulation.program_world import CONSUME, ProgramWorld, Start, closure_at, stage_uses


def refused_without_effect(world: ProgramWorld, plan: ResourcePlan, why: str) -> None:
    asked = len(world.machine.copies), len(world.machine.transfers)
    before = world.ledger
    with pytest.raises(PlanRefused, match=why):
        world.program.start(plan)
    assert world.ledger == before
    assert (len(world.machine.copies), len(world.machine.transfers)) == asked


def retold(
    assessment: Assessment,
    *,
    target: TargetSketch | None = None,
    violations: tuple[Violation, ...] | None = None,
) -> Assessment:
    """The same with another target, or with other violations: what Program has never said."""
    return Assessment(
        target=assessment.target if target is None else target,
        resource_revision=assessment.resource_revision,
        state=assessment.state,
        cow_pages=assessment.cow_pages,
        stages=assessment.stages,
        work=assessment.work,
        violations=assessment.violations if violations is None else violations,
    )


def test_a_plan_runs_once() -> None:  # spec: TXN-1, TXN-2
    world = ProgramWorld(lanes=2, extra_slots=0, pages=4)
    plan = world.seal(world.request(range(70)), Start(owner=world.new_owner()))
    world.program.start(plan)
    refused_without_effect(world, plan, "a plan Program sealed and has not yet run")


def test_a_forged_plan_is_refused_and_the_sealed_one_still_runs() -> None:  # spec: TXN-1
    world = ProgramWorld(lanes=2, extra_slots=0, pages=4)
    plan = world.seal(world.request(range(70)), Start(owner=world.new_owner()))
    other_lane = replace(plan, intent=replace(plan.intent, lane=LaneId(1)))
    other_target = replace(plan.assessment.target, outcomes=())
    swapped = replace(plan, assessment=retold(plan.assessment, target=other_target))
    strange = replace(plan, id=PlanId(999))
    for forgery in (other_lane, swapped, replace(plan), copy(plan), strange):
        refused_without_effect(world, forgery, "a plan Program sealed and has not yet run")
    assert _lane_of(world, plan) == 0


def _lane_of(world: ProgramWorld, plan: ResourcePlan) -> int:
    """Runs a plan that needs no copy."""
    result = world.advance(world.program.start(plan))
    assert isinstance(result, Committed)
    return result.handle.lane


def test_an_equal_plan_is_not_the_plan() -> None:  # spec: TXN-1
    world = ProgramWorld()
    plan = world.seal(world.request(range(70)), Start())
    twin = replace(plan)
    assert twin == plan
    refused_without_effect(world, twin, "a plan Program sealed")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("release", "assess again at the current revision"),
        ("capture", "assess again at the current revision"),
        ("end of a pin", "assess again at the current revision"),
        ("demotion", "a plan Program sealed"),  # by another plan, which replaces it
        ("admission", "a plan Program sealed"),
    ],
)
def test_every_stable_change_makes_a_plan_stale(  # spec: REV-1, REV-2, TXN-2
    change: str, why: str
) -> None:
    scene = Pressed.of(lanes=3)
    world = scene.world
    capturing = world.admit(
        world.request(range(600, 620)),
        Start(lane=1, owner=world.new_owner(), captures=(closure_at(10),)),
    )
    if change == "end of a pin":
        world.forward(capturing)
    request = world.request(range(scene.tokens))
    plan = world.seal(request, scene.start)
    match change:
        case "release":
            world.release(scene.gone)
        case "demotion":
            world.demote(scene.gone)
        case "admission":
            world.admit(world.request(range(900, 903)), Start(lane=2))
        case _:
            world.forward(capturing)
    refused_without_effect(world, plan, why)


def test_a_plan_that_was_overtaken_by_its_own_run_is_refused() -> None:  # spec: TXN-1, INV-10
    scene = Pressed.of(consumed=True)
    world = scene.world
    plan = world.seal(world.request(range(scene.tokens)), scene.start)
    transaction = world.program.start(plan)
    refused_without_effect(world, plan, "a plan Program sealed")
    assert world.advance(transaction) is None
    refused_without_effect(world, plan, "a plan Program sealed")
    world.run(transaction)
    refused_without_effect(world, plan, "a plan Program sealed")
    with pytest.raises(PlanRefused, match="the one that is open"):
        world.program.cancel(transaction)


def test_a_plan_goes_stale_with_the_revision() -> None:  # spec: REV-1, TXN-2, INV-10
    world = ProgramWorld(lanes=2, extra_slots=0, pages=4)
    running = world.admit(world.request(range(10)))
    plan = world.seal(world.request(range(70)), Start(lane=1))
    world.finish(running, SequenceEnd.DISCARD)
    refused_without_effect(world, plan, "assess again at the current revision")


def test_a_plan_survives_forwards_inside_a_guarantee() -> None:  # spec: REV-3
    world = ProgramWorld(lanes=2, extra_slots=0, pages=4, chunk_tokens=20)
    running = world.admit(world.request(range(60), output=30))
    plan = world.seal(world.request(range(70)), Start(lane=1))
    for _ in range(10):
        world.forward(running)
    assert _lane_of(world, plan) == 1


def test_an_assessment_is_sealed_only_at_its_revision() -> None:  # spec: REV-1
    world = ProgramWorld(lanes=2, extra_slots=0, pages=4)
    assessment = world.assess(world.request(range(70)), Start())
    world.admit(world.request(range(10)), Start(lane=1))
    intent = ActivationIntent(lane=LaneId(0), destination=None)
    with pytest.raises(PlanRefused, match="assess again at the current revision"):
        world.program.seal(assessment, intent)


def test_what_does_not_fit_is_never_sealed() -> None:  # spec: STG-1, INV-5
    world = ProgramWorld(lanes=1, extra_slots=0, pages=2)
    world.published(range(70))
    with pytest.raises(
        PlanRefused, match="at “destinations reserved” device state slots: 2 used > 1 there are"
    ):
        world.seal(world.request(range(500, 510)), Start())


def test_a_feasibility_that_was_made_up_does_nothing() -> None:  # spec: ROLE-3
    world = ProgramWorld(lanes=1, extra_slots=0, pages=2)
    world.published(range(70))
    assessment = world.assess(world.request(range(500, 510)), Start())
    made_up = retold(assessment, violations=())
    intent = ActivationIntent(lane=LaneId(0), destination=None)
    plan, before = world.program.seal(made_up, intent), world.ledger
    with pytest.raises(InvariantBroken, match="does not hold at its own revision"):
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
    assert _lane_of(world, second) == 0


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


def test_a_consumed_owner_is_no_source_any_more() -> None:  # spec: REV-4
    world = ProgramWorld(lanes=2, extra_slots=2, pages=8)
    owner = world.published(range(70))
    start = Start(
        checkpoint=world.deepest(owner), disposition=CONSUME, owner=world.next_generation(owner)
    )
    request = world.request(range(90))
    candidate = world.candidate(request, start)
    world.admit(request, start)
    with pytest.raises(PlanRefused, match=r"found owner 1\.1; legal: an owner inactive at this"):
        world.program.assess(TargetSketch(candidate=candidate))


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


def test_what_is_where_is_not_for_a_manager_to_say() -> None:  # spec: ROLE-3
    world = ProgramWorld(extra_slots=2, pages=6)
    owner = world.published(range(70))
    (endpoint,) = world.owner(owner).checkpoints
    found = world.assess(world.request(range(90)), Start(checkpoint=endpoint.summary.ref))
    assert (found.state, found.cow_pages) == (StateTransition.FORK, 1)
    # It would have a Move, no copy and fewer pages; what happens is what Program has projected.
    claimed = found._replace(state=StateTransition.MOVE, cow_pages=0, stages=found.stages[:1])
    intent = ActivationIntent(lane=LaneId(0), destination=None)
    result = world.run(world.program.start(world.program.seal(claimed, intent)))
    assert isinstance(result, Committed)
    placed = world.sequence(result)
    assert (result.state, result.cow_pages) == (StateTransition.FORK, 1)
    assert (placed.read_image, placed.borrowed_read) == (endpoint.image, True)
    assert placed.pages[1] != endpoint.pages[1]
    assert world.owner(owner).checkpoints == (endpoint,)
    assert world.used == stage_uses(found)[StageName.COMMITTED]
