"""Law: a forward moves pages from promised to mapped and nothing else, so nobody outside notices;
only the end of a Fork pin is a change of global facts.
"""

from __future__ import annotations

import pytest

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.options import SpeculativeBackend
from ninfer_lab.contract.result import SequenceEnd
from ninfer_lab.contract.work import StateAccess
from program.scenes import Pressed
from simulation.program_world import ProgramWorld, Start, closure_at, small_options


def test_pages_come_out_of_the_guarantee_one_by_one() -> None:  # spec: ACT-1, ACT-2
    world = ProgramWorld(pages=4, chunk_tokens=64)
    result = world.admit(world.request(range(130), output=100))
    seen = []
    for _ in range(3):
        world.forward(result)
        (space,) = world.sequence(result).spaces
        seen.append((len(space.pages), space.reserved_pages))
        assert world.used == (1, 0, 4, 0, 0)
    assert seen == [(1, 3), (2, 2), (3, 1)]


def test_no_forward_of_a_root_moves_the_revision() -> None:  # spec: REV-3
    world = ProgramWorld(chunk_tokens=64)
    result = world.admit(world.request(range(130), output=70))
    revision = world.program.resource_revision
    for _ in range(60):
        world.forward(result)
    assert world.program.resource_revision == revision


def test_a_fork_reads_its_source_once_and_then_its_own_image() -> None:  # spec: STATE-2, STATE-3
    world = ProgramWorld(lanes=1, extra_slots=1)
    owner = world.published(range(70))
    source = world.owner(owner).checkpoints[0]
    result = world.admit(world.request(range(90), output=3), Start(checkpoint=source.summary.ref))
    placed = world.sequence(result)
    assert (placed.read_image, placed.borrowed_read) == (source.image, True)
    revision = world.program.resource_revision
    world.forward(result)
    placed = world.sequence(result)
    assert (placed.read_image, placed.borrowed_read) == (placed.write_image, False)
    assert world.program.resource_revision == revision + 1
    world.forward(result)
    assert world.program.resource_revision == revision + 1
    first, second = (step.rows[0].cut for step in world.machine.steps[-2:])
    assert (first.state_access, second.state_access) == (StateAccess.FORK, StateAccess.IN_PLACE)


def test_a_restored_state_is_advanced_where_it_was_put() -> None:  # spec: STATE-2, STATE-4
    world = ProgramWorld(extra_slots=1, pages=8, host_slots=1, host_granules=2)
    owner = world.published(range(70))
    world.demote(owner)
    result = world.admit(world.request(range(90)), Start(checkpoint=world.deepest(owner)))
    placed = world.sequence(result)
    assert (placed.read_image, placed.borrowed_read) == (placed.write_image, False)
    revision = world.program.resource_revision
    world.forward(result)
    assert world.machine.steps[-1].rows[0].cut.state_access is StateAccess.IN_PLACE
    assert world.program.resource_revision == revision


def test_the_machine_has_the_pages_before_the_forward_runs() -> None:
    world = ProgramWorld(chunk_tokens=100)
    result = world.admit(world.request(range(100)))
    lane = result.handle.lane
    assert world.machine.row_table(lane, KvPool.MAIN) == ()
    world.program.next_cut(result.handle)
    assert world.machine.row_table(lane, KvPool.MAIN) == (0, 1)


def test_every_pool_grows_by_what_its_own_frontier_needs() -> None:  # spec: KV-1
    options = small_options(pages=4, chunk_tokens=64, backend=SpeculativeBackend(lag_tokens=65))
    world = ProgramWorld(options=options)
    result = world.admit(world.request(range(192), output=10))
    seen = []
    for _ in range(3):
        world.forward(result)
        seen.append([len(space.pages) for space in world.sequence(result).spaces])
    assert seen == [[1, 0], [2, 1], [3, 2]]
    assert world.used[2:4] == (4, 3)


def test_every_known_token_is_consumed_once() -> None:
    world = ProgramWorld()
    result = world.admit(world.request(range(10), output=5))
    cut = world.program.next_cut(result.handle)
    world.program.commit(result.handle)
    assert cut.end_tokens == 10
    with pytest.raises(AssertionError, match="every known token has been consumed"):
        world.program.next_cut(result.handle)


# ── beside an open transition ───────────────────────────────────────────────────────────────────


def test_a_forward_inside_its_own_guarantee_runs_beside_a_transfer() -> None:  # spec: TXN-7, REV-3
    scene = Pressed.of(lanes=2)
    world = scene.world
    running = world.admit(world.request(range(600, 610), output=100), Start(lane=1))
    world.prefill(running)
    transaction = world.open(world.request(range(scene.tokens)), scene.start)
    revision = world.program.resource_revision
    transfers = 0
    while world.advance(transaction) is None:
        transfers += 1
        assert world.program.can_run(running.handle)
        for _ in range(30):
            world.forward(running)
        assert world.program.resource_revision == revision
        world.arrive()
    assert transfers == 2
    assert world.sequence(running).frontier_tokens == 10 + 60
    assert world.program.resource_revision == revision + 1


@pytest.mark.parametrize("frontier_tokens", [640, 635])
def test_what_captures_next_waits_for_the_end_of_a_transition(  # spec: TXN-7
    frontier_tokens: int,
) -> None:
    scene = Pressed.of(lanes=2)
    world = scene.world
    captures = (closure_at(frontier_tokens - 600),)
    running = world.admit(
        world.request(range(600, 645)),
        Start(lane=1, owner=world.new_owner(), captures=captures),
    )
    transaction = world.open(world.request(range(scene.tokens)), scene.start)
    assert world.advance(transaction) is None
    assert not world.program.can_run(running.handle)
    world.run(transaction)
    assert world.program.can_run(running.handle)
    assert world.forward(running).checkpoint is not None


def test_a_pin_does_not_end_beside_a_transition() -> None:  # spec: STATE-3
    scene = Pressed.of(lanes=2)
    world = scene.world
    owner = world.published(range(700, 770))
    reader = world.admit(
        world.request(range(700, 790)), Start(checkpoint=world.deepest(owner), lane=1)
    )
    transaction = world.open(world.request(range(scene.tokens)), scene.start)
    assert world.advance(transaction) is None
    assert not world.program.can_run(reader.handle)
    with pytest.raises(InvariantBroken, match="the end of a Fork pin beside an open transition"):
        world.forward(reader)


def test_nothing_settles_and_nobody_is_released_beside_a_transition() -> None:  # spec: INV-9
    scene = Pressed.of(lanes=2)
    world = scene.world
    bystander = world.published(range(700, 710))
    running = world.admit(world.request(range(600, 610)), Start(lane=1))
    transaction = world.open(world.request(range(scene.tokens)), scene.start)
    assert world.advance(transaction) is None
    before = world.ledger
    with pytest.raises(InvariantBroken, match="INV-9 one transition: a settlement"):
        world.program.finish(running.handle, SequenceEnd.DISCARD)
    with pytest.raises(InvariantBroken, match="INV-9 one transition: an inactive release"):
        world.program.release(world.current(bystander))
    assert world.ledger == before
    world.run(transaction)
    world.finish(running, SequenceEnd.DISCARD)
    world.release(bystander)


def test_nothing_inactive_moves_while_others_decode() -> None:  # spec: TGT-8
    world = ProgramWorld(lanes=2, extra_slots=5, pages=16, host_slots=4, host_granules=8)
    here, there = world.published(range(130)), world.published(range(300, 430))
    world.demote(there)
    # The one lies on the Host and would have room on the Device, the other the other way round.
    running = world.admit(world.request(range(600, 670), output=150))
    forked = world.admit(
        world.request(range(140), output=150), Start(checkpoint=world.deepest(here), lane=1)
    )
    world.forward(running)
    world.forward(forked)
    owners, images = world.ledger.owners, world.ledger.images
    pages = {each.page: each for each in world.ledger.pages}
    revision = world.program.resource_revision
    for _ in range(140):
        world.forward(running)
        world.forward(forked)
        assert (world.ledger.owners, world.ledger.images) == (owners, images)
        now = {each.page: each for each in world.ledger.pages}
        assert {page: now[page] for page in pages} == pages
    grown = [page for page in now.values() if page.page not in pages]
    assert len(grown) == 4, "what they have written since, and nothing else"
    assert all(page.host_granule is None for page in grown)
    assert world.program.resource_revision == revision
    assert (len(world.machine.transfers), len(world.machine.copies)) == (1, 1)
