"""Law: a target is sealed exactly when every stage fits every axis and every extent finds its run;
what is held for a copy counts beside what is copied, so the end alone proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ninfer_lab.contract.candidate import AdmissionRequest
from ninfer_lab.contract.capacity import Axis
from ninfer_lab.contract.errors import PlanRefused
from ninfer_lab.contract.ids import OwnerRef
from ninfer_lab.contract.options import ResolvedOptions, SpeculativeBackend
from ninfer_lab.contract.target import Assessment, StageName
from program.scenes import Pressed
from simulation.engine_world import BACKEND_PAGE_BYTES, MAIN_PAGE_BYTES
from simulation.program_world import (
    CONSUME,
    ProgramWorld,
    Start,
    small_options,
    stage_uses,
)

PAGE = MAIN_PAGE_BYTES

Target = Callable[[ResolvedOptions], tuple[ProgramWorld, AdmissionRequest, Start]]
"""A world with these options, and the admission that is asked of it."""


def less_one(options: ResolvedOptions, axis: Axis) -> ResolvedOptions:
    """An engine with one unit less of one axis; of the arena a granule."""
    capacity = options.capacity
    match axis:
        case Axis.DEVICE_STATE:
            less = replace(capacity, device_state_slots=capacity.device_state_slots - 1)
        case Axis.HOST_STATE:
            less = replace(capacity, host_state_slots=capacity.host_state_slots - 1)
        case Axis.DEVICE_KV:
            less = replace(capacity, device_kv_pages=capacity.device_kv_pages - 1)
        case Axis.DEVICE_BACKEND_KV:
            less = replace(capacity, device_backend_kv_pages=capacity.device_backend_kv_pages - 1)
        case Axis.HOST_KV:
            granules = capacity.host_kv.granules_count - 1
            less = replace(capacity, host_kv=replace(capacity.host_kv, granules_count=granules))
    return replace(options, capacity=less)


def runs_at_need_only(
    options: ResolvedOptions, axis: Axis, target: Target, stage: StageName
) -> None:
    """With exactly what it needs a target runs; with one unit less of an axis it is refused, for
    that axis and in that stage.
    """
    world, request, start = target(options)
    world.admit(request, start)
    world, request, start = target(less_one(options, axis))
    found: Assessment = world.assess(request, start)
    assert [v.axis for v in found.violations][:1] == [axis]
    assert found.violations[0].stage is stage
    before = world.ledger
    with pytest.raises(PlanRefused, match="assessment"):
        world.seal(request, start)
    assert world.ledger == before


def forked(options: ResolvedOptions) -> tuple[ProgramWorld, AdmissionRequest, Start]:
    """A Fork with a copied tail in both pools and growth."""
    world = ProgramWorld(options=options)
    owner = world.published(range(70))
    return world, world.request(range(190), output=60), Start(checkpoint=world.deepest(owner))


@pytest.mark.parametrize("axis", [Axis.DEVICE_STATE, Axis.DEVICE_KV, Axis.DEVICE_BACKEND_KV])
def test_a_fork_needs_every_destination_beside_its_source(axis: Axis) -> None:  # spec: STG-1, CAP-2
    options = small_options(extra_slots=1, pages=5, backend=SpeculativeBackend())
    # 250 tokens are four pages; the source keeps its tail.
    world, request, start = forked(options)
    assert stage_uses(world.assess(request, start))[StageName.COMMITTED] == (2, 0, 5, 5, 0)
    runs_at_need_only(options, axis, forked, StageName.DESTINATIONS_RESERVED)


def exchanged(options: ResolvedOptions) -> tuple[ProgramWorld, AdmissionRequest, Start]:
    """A victim goes to the Host for a source that comes from there and leaves nothing behind."""
    world = ProgramWorld(options=options)
    source = world.published(range(60))
    world.demote(source)
    victim = world.published(range(300, 360))
    start = Start(
        checkpoint=world.deepest(source), disposition=CONSUME, outcomes=(world.demoted(victim),)
    )
    return world, world.request(range(64)), start


@pytest.mark.parametrize("axis", [Axis.HOST_STATE, Axis.HOST_KV])
def test_the_net_end_does_not_hide_what_is_held_before_the_old_goes(
    axis: Axis,
) -> None:  # spec: STG-1, STG-2
    options = small_options(extra_slots=1, pages=4, host_slots=2, host_granules=2)
    world, request, start = exchanged(options)
    uses = stage_uses(world.assess(request, start))
    # One image and one page on the Host before and after, two of each in between.
    assert uses[StageName.NOW][1::3] == uses[StageName.COMMITTED][1::3] == (1, PAGE)
    assert uses[StageName.DEMOTION_RESERVED][1::3] == (2, 2 * PAGE)
    runs_at_need_only(options, axis, exchanged, StageName.DEMOTION_RESERVED)


def test_a_demotion_is_on_both_tiers_until_it_is_published() -> None:  # spec: STG-2, ACC-1
    pressed = Pressed.of()
    world = pressed.world
    found = world.assess(world.request(range(pressed.tokens)), pressed.start)
    assert stage_uses(found) == {
        StageName.NOW: (2, 2, 4, 0, 4 * PAGE),
        StageName.RELEASED: (1, 2, 3, 0, 4 * PAGE),
        StageName.DEMOTION_RESERVED: (1, 3, 3, 0, 7 * PAGE),
        StageName.DEMOTED: (0, 3, 0, 0, 7 * PAGE),
        StageName.DESTINATIONS_RESERVED: (1, 3, 4, 0, 7 * PAGE),
        StageName.COMMITTED: (1, 3, 4, 0, 7 * PAGE),
    }
    held = {stage.name: stage.occupancy for stage in found.stages}[StageName.DEMOTION_RESERVED]
    assert (held.host_state.reserved_count, held.host_kv.reserved_count) == (1, 3 * PAGE)


def test_without_a_demotion_there_are_no_stages_of_one() -> None:
    world = ProgramWorld()
    found = world.assess(world.request(range(9)), Start())
    assert [stage.name for stage in found.stages] == [
        StageName.NOW,
        StageName.RELEASED,
        StageName.DESTINATIONS_RESERVED,
        StageName.COMMITTED,
    ]


# ── Host geometry ───────────────────────────────────────────────────────────────────────────────


def holes(*released: int) -> tuple[ProgramWorld, OwnerRef]:
    """Three owners of one, one and two pages on a Host of five granules; some of them are gone.
    One of two pages is on the Device.
    """
    world = ProgramWorld(extra_slots=4, pages=8, host_slots=6, host_granules=5)
    owners = [world.published(range(n, n + size)) for n, size in ((100, 64), (200, 64), (300, 128))]
    for owner in owners:
        world.demote(owner)
    for ordinal in released:
        world.release(owners[ordinal])
    return world, world.published(range(128))


def demotion(world: ProgramWorld, victim: OwnerRef) -> Assessment:
    return world.assess(world.request(range(500, 510)), Start(outcomes=(world.demoted(victim),)))


def test_free_bytes_do_not_prove_that_an_extent_fits() -> None:  # spec: CAP-2, STG-1
    world, victim = holes(1)  # granules 1 and 4 are free, and no two in a row
    assert world.ledger.occupancy.host_kv.free_count == 2 * PAGE
    found = demotion(world, victim)
    assert len(found.violations) == 1
    (violation,) = found.violations
    assert (violation.used_count, violation.capacity_count) == (5 * PAGE, 5 * PAGE)
    assert (violation.run_bytes, violation.largest_hole_bytes) == (2 * PAGE, PAGE)
    assert str(found) == (
        "does not fit: at “Host places reserved” host KV bytes: an extent of 800 bytes finds no"
        " hole; the largest has 400"
    )
    with pytest.raises(PlanRefused):
        world.seal(world.request(range(500, 510)), Start(outcomes=(world.demoted(victim),)))


@pytest.mark.parametrize(("released", "first"), [((0, 1), 0), ((2,), 2), ((1, 2), 1)])
def test_an_extent_lies_in_the_lowest_hole_that_holds_it(  # spec: CAP-2
    released: tuple[int, ...], first: int
) -> None:
    world, victim = holes(*released)
    assert demotion(world, victim).is_feasible
    world.demote(victim)
    (checkpoint,) = world.owner(victim).checkpoints
    granules = [page.host_granule for page in world.ledger.pages if page.page in checkpoint.pages]
    assert granules == [first, first + 1]


def test_extents_are_placed_one_after_the_other_in_the_order_of_owners() -> None:  # spec: CAP-2
    world = ProgramWorld(extra_slots=4, pages=8, host_slots=4, host_granules=4)
    small, large = world.published(range(64)), world.published(range(300, 428))
    more = world.published(range(500, 628))
    both = Start(outcomes=(world.demoted(small), world.demoted(large)))
    assert world.assess(world.request(range(900, 903)), both).is_feasible
    three = replace(both, outcomes=(*both.outcomes, world.demoted(more)))
    found = world.assess(world.request(range(900, 903)), three)
    # The bytes themselves do not do: 5 granules of 4; and the last extent finds one, not two.
    assert [(v.axis, v.run_bytes, v.largest_hole_bytes) for v in found.violations] == [
        (Axis.HOST_KV, None, None),
        (Axis.HOST_KV, None, None),
        (Axis.HOST_KV, None, None),
        (Axis.HOST_KV, None, None),
        (Axis.HOST_KV, 2 * PAGE, PAGE),
    ]


def test_pools_of_one_owner_have_extents_of_their_own() -> None:  # spec: KV-5
    world = ProgramWorld(
        options=small_options(
            extra_slots=3, pages=4, host_slots=4, host_granules=11, backend=SpeculativeBackend()
        )
    )
    blocker = world.published(range(40))  # four granules and one
    world.demote(blocker)
    victim = world.published(range(300, 340))
    found = demotion(world, victim)
    # Six are free: four in a row for the Main page, one for the backend's.
    assert found.is_feasible
    world.demote(victim)
    (page,) = (
        p for p in world.ledger.pages if p.page == world.owner(victim).checkpoints[0].pages[0]
    )
    (backend_page,) = (
        p
        for p in world.ledger.backend_pages
        if p.page == world.owner(victim).checkpoints[0].backend_pages[0]
    )
    assert (page.host_granule, backend_page.host_granule) == (5, 9)
    assert world.used[4] == 2 * (MAIN_PAGE_BYTES + BACKEND_PAGE_BYTES)
