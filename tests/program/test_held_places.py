"""Law: a place that is held is reserved until it is filled or given back, exactly once."""

from __future__ import annotations

from ninfer_lab.contract.capacity import AxisUse
from ninfer_lab.contract.target import TargetSketch
from ninfer_lab.program.planning.resource_projection import Projector
from ninfer_lab.program.storage.post_state import PostState
from ninfer_lab.program.transactions.held_places import HeldPlaces
from program.scenes import Pressed, ledger_of
from simulation.engine_world import MAIN_PAGE_BYTES


def projected() -> tuple[Pressed, HeldPlaces, PostState]:
    """A post-state with demotions, a restoration and growth, and nothing held yet."""
    scene = Pressed.of()
    world, ledger = scene.world, ledger_of(scene.world)
    # Two pages to grow into behind the source's three.
    request = world.request(range(scene.tokens), output=100)
    sketch: TargetSketch = world.assess(request, scene.start).target
    post = Projector(ledger, world.options).candidate(sketch.candidate).project(sketch.outcomes)
    return scene, HeldPlaces(ledger), post


def reserved(scene: Pressed) -> list[int]:
    uses: tuple[AxisUse, ...] = ledger_of(scene.world).occupancy().axes
    return [use.reserved_count for use in uses]


def test_held_places_are_reservations() -> None:  # spec: ACC-1, STG-2
    scene, held, post = projected()
    assert reserved(scene) == [0, 0, 0, 0, 0]
    held.hold_host(post)
    assert reserved(scene) == [0, 1, 0, 0, 3 * MAIN_PAGE_BYTES]
    assert held.host_granules == (4, 5, 6), "one for each page, behind what lies there"
    held.hold_device(post)
    # Two full pages come back, the tail is copied, two pages are to grow into.
    assert reserved(scene) == [1, 1, 5, 0, 3 * MAIN_PAGE_BYTES]


def test_what_is_given_back_is_as_if_it_had_never_been_held() -> None:  # spec: TXN-6
    scene, held, post = projected()
    before = scene.world.ledger
    held.hold_host(post)
    held.hold_device(post)
    held.give_back()
    assert scene.world.ledger == before
    held.give_back()
    assert scene.world.ledger == before


def test_what_is_filled_is_not_given_back() -> None:  # spec: ACC-2
    scene, held, post = projected()
    held.hold_host(post)
    slots, extents = held.host_slots, held.extents
    held.host_is_filled()
    held.give_back()
    ledger = ledger_of(scene.world)
    assert (len(slots), [extent.run_granules for extent in extents]) == (1, [3])
    # Nothing fills them here, so they are still taken, and counted.
    assert reserved(scene) == [0, 1, 0, 0, 3 * MAIN_PAGE_BYTES]
    assert ledger.states.host_places.taken_count == 3


def test_growth_is_a_number_and_no_places() -> None:  # spec: ACT-1, ACT-2
    scene, held, post = projected()
    held.hold_device(post)
    (pages,) = held.device_pages.values()
    assert (len(held.device_slots), len(pages)) == (1, 3)
    assert list(ledger_of(scene.world).held_growth_pages.values()) == [2]
