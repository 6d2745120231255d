"""Law: every store is as large as the resolved options make it, whatever happens in it; planning
depends on what is kept, never on the places where it lies.
"""

from __future__ import annotations

from random import Random

import pytest

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.ids import OwnerRef
from ninfer_lab.contract.options import EngineOptions, KvPageBytes, SpeculativeBackend
from ninfer_lab.contract.result import SequenceEnd
from ninfer_lab.program.storage import ledger as ledger_module
from ninfer_lab.program.storage.bitset import ordinals_of
from program.scenes import branch, ledger_of
from simulation.program_world import ProgramWorld, Start, closure_at


def churn(world: ProgramWorld, rounds: int, seed: int = 7) -> None:
    """Owners come, branch, move to the Host, come back and go."""
    chance, owners = Random(seed), list[OwnerRef]()
    for _ in range(rounds):
        if len(owners) == 3:
            world.release(owners.pop(chance.randrange(3)))
        if owners and chance.random() < 0.5:
            source = chance.choice(owners)
            tokens = world.owner(source).history_tokens
            start = Start(checkpoint=world.deepest(source))
            history = world.request(range(1_000 * source.id, 1_000 * source.id + tokens + 9))
            world.finish(world.admit(history, start), SequenceEnd.DISCARD)
        owners.append(_published(world, chance.randint(20, 130)))
        rung = world.program.ladder(world.current(chance.choice(owners)))[0]
        start = Start(outcomes=(rung,))
        if not rung.is_eviction and world.assess(world.request((1, 2)), start).is_feasible:
            world.degrade(rung)


def _published(world: ProgramWorld, tokens: int) -> OwnerRef:
    """An owner of a history that no other has."""
    owner = world.new_owner()
    first = 1_000 * owner.id
    start = Start(owner=owner, captures=(closure_at(tokens // 2),))
    result = world.admit(world.request(range(first, first + tokens)), start)
    world.prefill(result)
    world.finish(result)
    return owner


def test_contents_never_outnumber_the_places_they_can_have() -> None:  # spec: CFG-3
    world = ProgramWorld(extra_slots=8, pages=16, host_slots=6, host_granules=10)
    ledger = ledger_of(world)
    layout = ledger.layout
    for _ in range(5):
        churn(world, 8)
        for owner in [OwnerRef(id=o.owner, generation=0) for o in world.ledger.owners]:
            world.release(owner)
    images = ledger.states.on_device | ledger.states.on_host
    assert all(image < layout.images_count for image in ordinals_of(images))
    assert world.used == (0, 0, 0, 0, 0)
    # Everything there was is free again: as many as ever, and each once.
    assert sorted(ledger.states._free_ids) == list(range(layout.images_count))
    assert sorted(ledger.kv[KvPool.MAIN]._free_ids) == list(range(layout.pages_count[KvPool.MAIN]))
    assert ledger.arena.taken == 0


def test_only_the_last_sealed_plan_is_remembered() -> None:  # spec: CFG-3
    world = ProgramWorld()
    for _ in range(20):
        world.seal(world.request((1, 2)), Start())
    assert len(world.program._sealed) == 1


def test_what_is_remembered_of_granules_is_bounded(  # spec: CFG-3
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ledger_module, "REMEMBERED_GRANULE_SETS", 3)
    world = ProgramWorld(extra_slots=8, pages=16, host_slots=6, host_granules=10)
    for seed in range(4):
        churn(world, 12, seed)
        assert len(ledger_of(world)._granules) <= 4
        for owner in [OwnerRef(id=o.owner, generation=0) for o in world.ledger.owners]:
            world.release(owner)


def test_capacity_follows_from_the_model_that_is_served() -> None:  # spec: CAP-4
    options = EngineOptions(host_kv_capacity_bytes=1_000)
    small, large = (options.resolve(KvPageBytes(main=main)) for main in (100, 300))
    assert [o.capacity.host_pages(KvPool.MAIN) for o in (small, large)] == [10, 3]
    with_a_backend = EngineOptions(
        host_kv_capacity_bytes=1_000, backend=SpeculativeBackend()
    ).resolve(KvPageBytes(main=100, backend=50))
    assert with_a_backend.capacity.pools == (KvPool.MAIN, KvPool.BACKEND)
    assert with_a_backend.capacity.host_pages(KvPool.BACKEND) == 20


def test_a_target_does_not_depend_on_where_things_lie() -> None:  # spec: KV-2
    """The same owners after another past: other places, other ids, the same verdict."""

    def verdict(past: int) -> object:
        world = ProgramWorld(extra_slots=6, pages=14, host_slots=4, host_granules=8)
        gone = [world.published(range(n * 100, n * 100 + 70)) for n in range(50, 50 + past)]
        first = world.published(range(130))
        for owner in gone:
            world.release(owner)
        second = branch(world, first, 190)
        victim = world.published(range(300, 400))
        world.demote(second)
        start = Start(checkpoint=world.deepest(second), outcomes=(world.demoted(victim),))
        found = world.assess(world.request(range(200), output=40), start)
        bytes_of = [(b.phase, b.direction, b.payload_bytes) for b in found.work.transfers]
        assert found.is_feasible
        return found.state, found.cow_pages, found.stages, bytes_of

    assert verdict(0) == verdict(1) == verdict(3)
