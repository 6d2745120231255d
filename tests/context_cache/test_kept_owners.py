"""Law: a victim is a victim in whichever catalog it sits; what becomes of it is adopted there."""

from __future__ import annotations

from context_cache.shared_worlds import HEAD_TOKENS, SHARED, ask, reused, shared_world
from ninfer_lab.context_cache.resource_manager import ResourceManager
from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.engine.catalog_controller import CatalogController
from simulation.engine_world import EngineWorld


def manager_of(world: EngineWorld) -> ResourceManager:
    controller = world.controller._design
    assert isinstance(controller, CatalogController)
    return controller._manager


def kept(world: EngineWorld) -> list[tuple[int, bool]]:
    """(owner, whether private), private ones first."""
    owners = manager_of(world)._kept
    return [(owner.id, owners.is_private(owner.id)) for owner in owners.all()]


def test_both_catalogs_are_told_and_ranked_together() -> None:  # spec: SRCH-4, EVD-2
    world = shared_world()
    first = ask(world, 0, 0)
    second = ask(world, 1, 0)
    owners = manager_of(world)._kept
    by_kind = sorted(private for _, private in kept(world))
    assert by_kind == [False, False, True, True]
    assert [entry.owner for entry in world.snapshot.catalog] == [owner for owner, _ in kept(world)]
    victims = owners.victims()
    assert [owner.id for owner in victims] == sorted(owner for owner, _ in kept(world))
    order = [owners.recency(victims[i]) for i in owners.recency_order(victims)]
    assert order == sorted(order) == [first, first, second, second]
    third = ask(world, 0, 1)
    assert reused(world, third) == (SHARED, HEAD_TOKENS)
    assert max(owners.recency(owner) for owner in victims) == third


def test_idle_owners_of_both_kinds_go_in_the_order_of_their_use() -> None:  # spec: ACT-4
    world = shared_world()
    ask(world, 0, 0)
    ask(world, 1, 0)
    ask(world, 0, 1)  # the first head was used last
    manager = manager_of(world)
    gone: list[OwnerId] = []
    while kept(world):
        before = {owner for owner, _ in kept(world)}
        assert manager.release_idle()
        (released,) = before - {owner for owner, _ in kept(world)}
        gone.append(OwnerId(released))
    assert len(gone) == 5
    assert not manager.release_idle()
    assert world.snapshot.ledger.owners == ()
