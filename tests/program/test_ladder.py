"""Law: a ladder goes down from little to everything; every rung is a whole end state that can be
had, and none keeps what one above it has given up.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ninfer_lab.contract.errors import InvariantBroken, PlanRefused
from ninfer_lab.contract.ids import OwnerRef
from ninfer_lab.contract.options import SpeculativeBackend
from ninfer_lab.contract.result import SequenceEnd
from ninfer_lab.contract.target import OwnerOutcome
from ninfer_lab.program.storage.replica_layout import Holdings
from program.scenes import branch, doubled, ledger_of
from simulation.program_world import (
    CONSUME,
    ProgramWorld,
    Start,
    closure_at,
    small_options,
)

Built = Callable[[], tuple[ProgramWorld, OwnerRef]]


def on_device(host_slots: int, host_granules: int) -> tuple[ProgramWorld, OwnerRef]:
    world = ProgramWorld(
        extra_slots=4, pages=10, host_slots=host_slots, host_granules=host_granules
    )
    return world, world.published(range(150), captures=(closure_at(70),))


def in_both_tiers() -> tuple[ProgramWorld, OwnerRef]:
    world, owner = on_device(4, 10)
    world.degrade(doubled(world, owner))
    return world, owner


def half_restored() -> tuple[ProgramWorld, OwnerRef]:
    """Two full pages have come back for a Fork."""
    world, owner = on_device(4, 10)
    world.demote(owner)
    result = world.admit(world.request(range(180)), Start(checkpoint=world.deepest(owner)))
    world.prefill(result)
    return world, owner


def shared() -> tuple[ProgramWorld, OwnerRef]:
    world, owner = on_device(4, 10)
    branch(world, owner, 200)
    return world, owner


def with_a_backend() -> tuple[ProgramWorld, OwnerRef]:
    options = small_options(
        extra_slots=4, pages=6, host_slots=4, host_granules=40, backend=SpeculativeBackend()
    )
    world = ProgramWorld(options=options)
    return world, world.published(range(150), captures=(closure_at(70),))


WORLDS: dict[str, Built] = {
    "no Host": lambda: on_device(0, 0),
    "no Host pages": lambda: on_device(4, 0),
    "no Host images": lambda: on_device(0, 10),
    "on the Device": lambda: on_device(4, 10),
    "in both tiers": in_both_tiers,
    "half restored": half_restored,
    "shared": shared,
    "with a backend": with_a_backend,
}


def marks(world: ProgramWorld, replicas: int) -> tuple[int, ...]:
    """Replicas without the granules they lie on."""
    return (replicas & ~ledger_of(world).layout.granules.mask,)


def holdings(world: ProgramWorld, owner: OwnerRef) -> Holdings:
    return ledger_of(world).continuations.require(world.current(owner)).holdings


@pytest.mark.parametrize("name", WORLDS)
def test_what_a_rung_has_given_up_no_lower_one_keeps(name: str) -> None:  # spec: TGT-5
    world, owner = WORLDS[name]()
    rungs = world.program.ladder(world.current(owner))
    layout = ledger_of(world).layout
    above: int = ledger_of(world).replicas_of(holdings(world, owner))
    given_up, deleted = 0, frozenset[object]()
    for rung in rungs:
        assert not rung.keeps & given_up
        assert rung.deleted >= deleted
        given_up |= above & ~rung.keeps & ~layout.granules.mask
        above, deleted = rung.keeps, rung.deleted
    assert rungs[-1].is_eviction
    assert rungs[-1].deleted == {c.ref for c in world.checkpoints(owner)}
    assert len(set(rungs)) == len(rungs)


@pytest.mark.parametrize("name", WORLDS)
def test_a_checkpoint_that_stays_has_all_it_needs_on_every_rung(name: str) -> None:  # spec: OWN-7
    world, owner = WORLDS[name]()
    layout = ledger_of(world).layout
    continuation = ledger_of(world).continuations.require(world.current(owner))
    for rung in world.program.ladder(world.current(owner)):
        kept = layout.contents(rung.keeps)
        for checkpoint in continuation.checkpoints:
            if checkpoint.summary.ref not in rung.deleted:
                assert checkpoint.holdings.joined(kept) == kept


@pytest.mark.parametrize("name", WORLDS)
def test_every_rung_is_an_end_that_is_reached(name: str) -> None:  # spec: TXN-5, KV-5
    rungs_count = len(WORLDS[name]()[0].program.ladder(_only(WORLDS[name])))
    for ordinal in range(rungs_count):
        world, owner = WORLDS[name]()
        rung = world.program.ladder(world.current(owner))[ordinal]
        left = {c.ref for c in world.checkpoints(owner)} - rung.deleted
        others = _kept_by_others(world, owner)
        lane = len(world.ledger.sequences)
        if lane == world.options.max_concurrency:
            _end_all(world)
        world.degrade(rung)
        if rung.is_eviction:
            assert owner.id not in [o.owner for o in world.ledger.owners]
            continue
        assert {c.ref for c in world.checkpoints(owner)} == left
        there = ledger_of(world).replicas_of(holdings(world, owner))
        # What others keep of the same contents is there as well.
        assert marks(world, there & ~others) == marks(world, rung.keeps & ~others)


def _only(build: Built) -> OwnerRef:
    world, owner = build()
    return world.current(owner)


def _end_all(world: ProgramWorld) -> None:
    for sequence in world.ledger.sequences:
        handle = next(
            s.handle
            for s in ledger_of(world).sequences.values()
            if s.handle.id == sequence.sequence
        )
        world.program.finish(handle, SequenceEnd.DISCARD)
        del world.machine.truth[handle.lane]
        world.look()


def _kept_by_others(world: ProgramWorld, owner: OwnerRef) -> int:
    ledger = ledger_of(world)
    kept = 0
    for other in ledger.continuations.all():
        if other.ref.id != owner.id:
            kept |= ledger.replicas_of(other.holdings)
    return kept


def frontiers_left(world: ProgramWorld, owner: OwnerRef, rung: OwnerOutcome) -> list[int]:
    return [c.frontier_tokens for c in world.checkpoints(owner) if c.ref not in rung.deleted]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # (checkpoints left, Device images, Host images, Device pages, Host pages)
        ("no Host", [([150], 1, 0, 3, 0), ([], 0, 0, 0, 0)]),
        (
            "on the Device",
            [
                ([70, 150], 0, 2, 4, 0),
                ([70, 150], 0, 2, 0, 4),
                ([150], 0, 1, 0, 3),
                ([], 0, 0, 0, 0),
            ],
        ),
        (
            "in both tiers",
            [([70, 150], 0, 2, 0, 4), ([150], 0, 1, 0, 3), ([], 0, 0, 0, 0)],
        ),
        (
            "no Host images",
            [([70, 150], 2, 0, 0, 4), ([150], 1, 0, 0, 3), ([], 0, 0, 0, 0)],
        ),
        (
            "no Host pages",
            [([70, 150], 0, 2, 4, 0), ([150], 0, 1, 3, 0), ([], 0, 0, 0, 0)],
        ),
    ],
)
def test_the_rungs_of_one_history(
    name: str, expected: list[tuple[list[int], int, int, int, int]]
) -> None:
    world, owner = WORLDS[name]()
    layout = ledger_of(world).layout
    main = next(iter(layout.device_pages))
    assert [
        (
            frontiers_left(world, owner, rung),
            layout.device_images.count(rung.keeps),
            layout.host_images.count(rung.keeps),
            layout.device_pages[main].count(rung.keeps),
            layout.host_pages[main].count(rung.keeps),
        )
        for rung in world.program.ladder(world.current(owner))
    ] == expected


def test_an_owner_on_the_host_can_only_lose_checkpoints() -> None:
    world, owner = on_device(4, 10)
    world.demote(owner)
    rungs = world.program.ladder(world.current(owner))
    assert [frontiers_left(world, owner, rung) for rung in rungs] == [[150], []]


def test_a_ladder_is_of_one_generation() -> None:  # spec: REV-4
    world, owner = on_device(4, 10)
    old = world.program.ladder(owner)[0]
    world.demote(owner)
    with pytest.raises(InvariantBroken, match="not inactive at this generation"):
        world.program.ladder(owner)
    with pytest.raises(PlanRefused, match="inactive at this generation"):
        world.assess(world.request(range(900, 903)), Start(outcomes=(old,)))


def test_an_evicted_source_is_no_outcome() -> None:
    world, owner = on_device(4, 10)
    rung = world.program.ladder(owner)[-1]
    start = Start(checkpoint=world.deepest(owner), disposition=CONSUME, outcomes=(rung,))
    with pytest.raises(PlanRefused, match="the source's own"):
        world.assess(world.request(range(180)), start)
