"""Law: a bundle without a lane has one owner, comes out once, and gives way by what it is worth."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.errors import InvariantBroken, OptionsError
from ninfer_lab.contract.ids import LaneId, OwnerId, OwnerRef
from ninfer_lab.policies.lane_owned.bundle import LaneBundle
from ninfer_lab.policies.lane_owned.detached_registry import DetachedRegistry
from ninfer_lab.policies.lane_owned.switches import DETACHED_REGISTRY, LaneSwitches
from policies.bundles import CLOSURE, asking, bundle, saved
from policies.lane_world import lane_world, next_turn, opening
from simulation.engine_world import prepared


def holding(owner: int, tokens: int, *, closure: int) -> LaneBundle:
    kept = bundle(prepared(range(tokens)), rewrite=saved(closure, CLOSURE, 1))
    return LaneBundle(
        owner=OwnerRef(id=OwnerId(owner), generation=1),
        fingerprint=kept.fingerprint,
        pages=kept.pages,
        frontier=kept.frontier,
        rewrite=kept.rewrite,
        publication_order=owner,
    )


def test_an_entry_goes_in_once_and_comes_out_once() -> None:  # spec: REG-2
    registry = DetachedRegistry(2)
    entry = holding(1, 100, closure=60)
    registry.detach(entry)
    with pytest.raises(InvariantBroken, match="REG-2"):
        registry.detach(entry)
    assert registry.attach(OwnerId(1)) is entry
    with pytest.raises(InvariantBroken, match="REG-2"):
        registry.attach(OwnerId(1))


def test_the_entry_that_spares_most_is_matched_and_of_equals_the_first() -> None:  # spec: RT-3
    registry = DetachedRegistry(3)
    for owner, closure in ((1, 60), (2, 70), (3, 70)):
        registry.detach(holding(owner, 100, closure=closure))
    found = registry.match(asking(prepared([*range(90), 7])))
    assert found is not None
    assert (found[0].owner.id, found[1].reuse_tokens) == (2, 70)
    assert registry.match(asking(prepared([7, 8]))) is None


def test_the_least_reusable_gives_way_and_of_equals_the_older() -> None:  # spec: RT-3
    registry = DetachedRegistry(2)
    for owner, tokens in ((1, 90), (3, 80), (2, 80)):
        registry.detach(holding(owner, tokens, closure=60))
    assert registry.is_over_limit
    leaving = []
    while (least := registry.least_reusable()) is not None:
        leaving.append(least.owner.id)
        registry.attach(least.owner.id)
    assert leaving == [2, 3, 1]


def test_a_registry_of_less_than_nothing_is_refused() -> None:
    with pytest.raises(OptionsError, match="detached_entries_count"):
        LaneSwitches(detached_entries_count=-1)


def test_a_detached_state_is_written_by_no_lane() -> None:  # spec: REG-1
    world = lane_world(DETACHED_REGISTRY)
    home = opening(range(100, 200))
    world.run(home)
    kept = set(world.controller.store.retained[LaneId(0)].slots)
    world.ask(opening(range(300, 420)), output=20)
    written: set[int] = set()
    while not world.world.engine.is_idle:
        world.world.engine.step()
        written.update(row.write_slot for row in world.controller.ledger.rows)
    assert len(kept) == 2
    assert not kept & written


def test_a_detached_bundle_holds_its_pages() -> None:  # spec: REG-2
    world = lane_world(DETACHED_REGISTRY)
    world.run(opening(range(100, 200)))
    (kept,) = world.controller.store.bundles
    world.run([900, 901])
    (other,) = world.controller.store.retained.values()
    assert not set(kept.pages) & set(other.pages)
    assert world.controller.ledger.pages.taken_count == len(kept.pages) + len(other.pages)


def test_at_attach_the_state_is_where_its_frontier_says() -> None:  # spec: REG-3
    """The machine refuses a forward whose state has consumed anything but the prompt's own
    beginning; here it is also read off the forward itself.
    """
    world = lane_world(DETACHED_REGISTRY)
    home = opening(range(100, 200))
    world.run(home)
    kept = world.controller.store.retained[LaneId(0)]
    world.run([900, 901])
    assert kept.rewrite is not None
    world.run(next_turn(home, [5, 6]))
    first = next(
        step.rows[0].cut
        for step in world.world.machine.steps[::-1]
        if step.rows[0].cut.start_tokens == kept.rewrite.frontier_tokens
    )
    assert first.state_read_slot == kept.rewrite.slot


def test_the_registry_never_takes_what_belongs_to_a_lane() -> None:  # spec: RT-3, REG-1
    """Two slots for each lane: with two there is no third for anybody without one."""
    world = lane_world(DETACHED_REGISTRY, extra_slots=1)
    world.run(opening(range(100, 200)))
    world.run([900, 901])
    assert world.controller.store.detached == ()
    assert world.controller.ledger.slots.free_count == 1
