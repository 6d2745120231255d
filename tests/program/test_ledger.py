"""Law: what nobody refers to is released in both tiers and what anybody refers to stays; every
place that is taken counts once, as a replica or as a promise.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from ninfer_lab.contract.capacity import Axis, ExclusiveResources, KvPool
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import OwnerId, SequenceId
from ninfer_lab.contract.options import SpeculativeBackend
from ninfer_lab.program.storage.replica_layout import Holdings
from program.scenes import branch, doubled, ledger_of
from simulation.engine_world import BACKEND_PAGE_BYTES, MAIN_PAGE_BYTES
from simulation.program_world import ProgramWorld, Start, closure_at, small_options


def exclusive(slots: int, pages: int, *, host_slots: int = 0, host_pages: int = 0) -> object:
    return ExclusiveResources(
        device_state_slots=slots,
        host_state_slots=host_slots,
        device_kv_pages=pages,
        device_backend_kv_pages=0,
        host_kv_bytes=host_pages * MAIN_PAGE_BYTES,
    )


def test_what_two_share_is_in_nobodys_exclusive_set() -> None:  # spec: ACC-3
    world = ProgramWorld(extra_slots=3, pages=8)
    first = world.published(range(130))  # two full pages and a tail
    second = branch(world, first, 140)  # the same full pages and a tail of its own
    assert world.used == (2, 0, 4, 0, 0)
    assert world.program.exclusive(first.id) == exclusive(1, 1)
    assert world.program.exclusive(second.id) == exclusive(1, 1)
    world.release(first)
    assert world.used == (1, 0, 3, 0, 0)
    assert world.program.exclusive(second.id) == exclusive(1, 3)


def test_exclusive_is_what_removing_it_alone_settles() -> None:  # spec: ACC-3, REC-2
    for removed in range(3):
        world = ProgramWorld(extra_slots=4, pages=12, host_slots=4, host_granules=12)
        owners = [world.published(range(130), captures=(closure_at(70),))]
        owners += [branch(world, owners[0], 140), world.published(range(300, 400))]
        world.demote(owners[1])
        owner, before = owners[removed], world.used
        alone = world.program.exclusive(owner.id)
        world.release(owner)
        settled = tuple(was - now for was, now in zip(before, world.used, strict=True))
        assert settled == (
            alone.device_state_slots,
            alone.host_state_slots,
            alone.device_kv_pages,
            alone.device_backend_kv_pages,
            alone.host_kv_bytes,
        )


def test_what_an_active_reader_needs_is_not_its_owners_alone() -> None:  # spec: ACC-3, STATE-4
    world = ProgramWorld(extra_slots=2, pages=8)
    owner = world.published(range(130))
    reader = world.admit(world.request(range(150)), Start(checkpoint=world.deepest(owner)))
    assert world.program.exclusive(owner.id) == exclusive(0, 1)
    world.prefill(reader)  # it has read the image and written its own
    assert world.program.exclusive(owner.id) == exclusive(1, 1)


def test_both_replicas_of_one_content_are_settled_with_it() -> None:
    world = ProgramWorld(extra_slots=2, pages=8, host_slots=1, host_granules=3)
    owner = world.published(range(70))
    world.degrade(doubled(world, owner))
    assert world.program.exclusive(owner.id) == exclusive(1, 2, host_slots=1, host_pages=2)


def test_only_an_inactive_owner_has_something_of_its_own() -> None:
    world = ProgramWorld()
    with pytest.raises(InvariantBroken, match="owner 7 is not inactive"):
        world.program.exclusive(OwnerId(7))


def test_an_allocation_counts_once_and_a_promise_is_none() -> None:  # spec: ACC-1, ACC-2
    world = ProgramWorld(lanes=2, extra_slots=2, pages=8, chunk_tokens=64)
    owner = world.published(range(128))
    start = Start(checkpoint=world.deepest(owner))
    result = world.admit(world.request(range(200), output=100), start)
    occupancy = world.ledger.occupancy
    # Two pages of the source, shared, and three promised ones; one image read and one to write.
    assert str(occupancy) == (
        "device state slots: 2 allocated + 0 reserved of 4;"
        " device KV pages: 2 allocated + 3 reserved of 8"
    )
    world.forward(result)
    assert str(world.ledger.occupancy.device_kv) == (
        "device KV pages: 3 allocated + 2 reserved of 8"
    )
    assert ledger_of(world).free_pages(KvPool.MAIN) == 3


def test_every_pool_counts_its_own_pages_and_the_arena_counts_bytes() -> None:  # spec: CAP-1, KV-1
    world = ProgramWorld(
        options=small_options(
            extra_slots=2,
            pages=4,
            host_slots=2,
            host_granules=20,
            backend=SpeculativeBackend(lag_tokens=7),
        )
    )
    owner = world.published(range(70))  # 63 tokens of it in the backend
    assert world.used == (1, 0, 2, 1, 0)
    world.demote(owner)
    assert world.used == (0, 1, 0, 0, 2 * MAIN_PAGE_BYTES + BACKEND_PAGE_BYTES)
    assert world.program.exclusive(owner.id).host_kv_bytes == world.used[4]
    assert world.ledger.occupancy.on(Axis.HOST_KV).capacity_count == 20 * BACKEND_PAGE_BYTES


def test_what_somebody_refers_to_is_not_released() -> None:  # spec: REC-1
    world = ProgramWorld(extra_slots=3, pages=8, host_slots=2, host_granules=8)
    first = world.published(range(130))
    branch(world, first, 140)
    ledger = ledger_of(world)
    everything = Holdings(0b11, 0b1111)
    assert ledger.unreferenced(everything) == Holdings()
    ledger.release_unreferenced(everything)
    assert world.used == (2, 0, 4, 0, 0)
    ledger.continuations.remove(world.current(first))
    assert ledger.unreferenced(everything).images.bit_count() == 1
    ledger.release_unreferenced(everything)
    assert world.used == (1, 0, 3, 0, 0)


def test_the_granules_of_pages_are_known_anew_after_a_change() -> None:
    world = ProgramWorld(extra_slots=3, pages=8, host_slots=3, host_granules=8)
    first, second = world.published(range(128)), world.published(range(300, 428))
    world.demote(first)
    ledger = ledger_of(world)
    kept = ledger.replicas_of(ledger.continuations.require(world.current(first)).holdings)
    assert ledger.layout.granules.of(kept) == 0b11
    world.release(first)
    world.demote(second)
    third = world.published(range(500, 628))
    world.demote(third)
    granules = [
        ledger.layout.granules.of(
            ledger.replicas_of(ledger.continuations.require(world.current(owner)).holdings)
        )
        for owner in (second, third)
    ]
    assert granules == [0b11, 0b1100]


def test_a_sequence_is_found_by_its_whole_handle() -> None:  # spec: REV-4
    world = ProgramWorld(lanes=2, pages=4)
    result = world.admit(world.request(range(70)))
    ledger = ledger_of(world)
    assert ledger.sequence(replace(result.handle)).handle == result.handle
    for other in (
        replace(result.handle, id=SequenceId(999)),
        replace(result.handle, lane=type(result.handle.lane)(1)),
    ):
        with pytest.raises(InvariantBroken, match="is not active"):
            ledger.sequence(other)
    assert (ledger.free_lanes, ledger.lane_is_taken(result.handle.lane)) == (1, True)
