"""Law: each copy goes from where its content lies to a place that is held for it, and nothing is
published before it has arrived.
"""

from __future__ import annotations

import pytest

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.machine_work import TransferDirection
from ninfer_lab.contract.options import SpeculativeBackend
from ninfer_lab.contract.transfer import Transfer
from program.scenes import Pressed, branch, image_only_on_host
from simulation.program_world import CONSUME, RETAIN, ProgramWorld, Start, small_options

D2H, H2D = TransferDirection.D2H, TransferDirection.H2D


def places(transfer: Transfer) -> tuple[list[tuple[int, int]], list[tuple[str, int, int]]]:
    """(Device, Host) of every image, and with its pool of every page."""
    return (
        [(state.device_slot, state.host_slot) for state in transfer.states],
        [(page.pool.value, page.device_page, page.host_granule) for page in transfer.pages],
    )


def test_a_demotion_copies_what_lies_here_to_what_is_held_there() -> None:  # spec: STG-2
    scene = Pressed.of()
    world = scene.world
    (victim,) = world.owner(scene.victim).checkpoints
    lay_at = {page.page: page.device_page for page in world.ledger.pages}
    image = next(i for i in world.ledger.images if i.image == victim.image)
    transaction = world.open(world.request(range(scene.tokens)), scene.start)
    assert world.advance(transaction) is None
    open_ = world.ledger.transition
    assert open_ is not None
    (transfer,) = world.machine.transfers
    assert transfer.direction is D2H
    states, pages = places(transfer)
    assert states == [(image.device_slot, open_.host_slots[0])]
    # The lowest hole of the arena, in the order of the pages' ids.
    assert pages == [
        ("main", lay_at[page], 4 + ordinal) for ordinal, page in enumerate(sorted(victim.pages))
    ]
    # Nothing is published yet: the victim has no replica on the Host.
    assert {p.host_granule for p in world.ledger.pages if p.page in victim.pages} == {None}
    world.run(transaction)
    assert [p.host_granule for p in world.ledger.pages if p.page in victim.pages] == [4, 5, 6]


@pytest.mark.parametrize("disposition", [RETAIN, CONSUME])
def test_a_restoration_brings_full_pages_and_the_tail_each_to_its_place(  # spec: KV-5
    disposition: object,
) -> None:
    scene = Pressed.of(consumed=disposition is CONSUME)
    world = scene.world
    source = world.owner(scene.source).checkpoints[-1]
    granules = {page.page: page.host_granule for page in world.ledger.pages}
    host_slots = {image.image: image.host_slot for image in world.ledger.images}
    result = world.admit(world.request(range(scene.tokens)), scene.start)
    restoration = world.machine.transfers[-1]
    assert restoration.direction is H2D
    states, pages = places(restoration)
    slots = {image.image: image.device_slot for image in world.ledger.images}
    assert states == [(slots[world.sequence(result).write_image], host_slots[source.image])]
    table = world.machine.row_table(result.handle.lane, KvPool.MAIN)
    assert table is not None
    assert pages == [
        ("main", place, granules[page]) for page, place in zip(source.pages, table, strict=True)
    ]
    assert world.machine.copies == []


def test_a_tail_in_both_tiers_is_copied_within_the_device() -> None:  # spec: KV-4
    world = ProgramWorld(extra_slots=3, pages=8, host_slots=3, host_granules=8)
    owner = world.published(range(150))
    world.degrade(image_only_on_host(world, owner))
    result = world.admit(world.request(range(200)), Start(checkpoint=world.deepest(owner)))
    restoration = world.machine.transfers[-1]
    assert places(restoration)[1] == []
    assert len(restoration.states) == 1
    (copy,) = world.machine.copies
    (endpoint,) = world.owner(owner).checkpoints
    lies_at = {page.page: page.device_page for page in world.ledger.pages}
    assert copy.source == lies_at[endpoint.pages[-1]]
    assert copy.destination == lies_at[world.sequence(result).pages[-1]]


def test_a_page_that_two_victims_share_is_copied_once() -> None:  # spec: ACC-2, REC-2
    world = ProgramWorld(extra_slots=3, pages=8, host_slots=3, host_granules=8)
    first = world.published(range(130))
    second = branch(world, first, 150)
    world.demote(first, second)
    (transfer,) = world.machine.transfers
    assert len(transfer.states) == 2
    # Three of the first, and of the second only the tail of its own.
    assert [page.host_granule for page in transfer.pages] == [0, 1, 2, 3]
    assert len({page.device_page for page in transfer.pages}) == 4


def test_every_pool_has_its_copies() -> None:  # spec: KV-1, KV-5
    options = small_options(
        extra_slots=3,
        pages=6,
        host_slots=3,
        host_granules=30,
        backend=SpeculativeBackend(lag_tokens=30),
    )
    world = ProgramWorld(options=options)
    owner = world.published(range(150))  # 120 tokens of the backend
    world.demote(owner)
    (demotion,) = world.machine.transfers
    assert places(demotion)[1] == [
        ("main", 0, 0),
        ("main", 1, 4),
        ("main", 2, 8),
        ("backend", 0, 12),
        ("backend", 1, 13),
    ]
    world.admit(world.request(range(200)), Start(checkpoint=world.deepest(owner)))
    restored = places(world.machine.transfers[-1])[1]
    assert [(pool, granule) for pool, _, granule in restored] == [
        ("main", 0),
        ("main", 4),
        ("main", 8),
        ("backend", 12),
        ("backend", 13),
    ]
