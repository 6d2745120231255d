"""Law: a forward moves pages from promised to mapped and nothing else, so nobody outside notices;
only the end of a Fork pin is a change of global facts.
"""

from __future__ import annotations

import pytest

from ninfer_lab.contract.work import StateAccess
from simulation.program_world import ProgramWorld, Start


def test_pages_come_out_of_the_guarantee_one_by_one() -> None:  # spec: ACT-1, ACT-2
    world = ProgramWorld(pages=4, chunk_tokens=64)
    result = world.admit(world.request(range(130), output=100))
    seen = []
    for _ in range(3):
        world.forward(result)
        placed = world.sequence(result)
        seen.append((len(placed.pages), placed.reserved_pages))
        assert world.ledger.occupancy.device_kv.used_count == 4
    assert seen == [(1, 3), (2, 2), (3, 1)]


def test_no_forward_of_a_root_moves_the_revision() -> None:  # spec: REV-3
    world = ProgramWorld(chunk_tokens=64)
    result = world.admit(world.request(range(130), output=70))
    revision = world.program.resource_revision
    for _ in range(60):
        world.forward(result)
    assert world.program.resource_revision == revision


def test_a_fork_reads_its_source_once_and_then_its_own_slot() -> None:  # spec: STATE-2, STATE-3
    world = ProgramWorld(lanes=1, extra_slots=1)
    owner = world.published(range(70))
    source = world.owner(owner).checkpoints[0]
    result = world.admit(world.request(range(90), output=3), Start(checkpoint=source.summary.ref))
    assert world.pins == {source.state_slot: 1}
    revision = world.program.resource_revision
    world.forward(result)
    assert world.pins == {}
    assert world.program.resource_revision == revision + 1
    world.forward(result)
    assert world.program.resource_revision == revision + 1
    first, second = (step.rows[0].cut for step in world.machine.steps[-2:])
    assert (first.state_access, first.state_read_slot) == (StateAccess.FORK, source.state_slot)
    assert second.state_access is StateAccess.IN_PLACE


def test_the_machine_has_the_pages_before_the_forward_runs() -> None:
    world = ProgramWorld(chunk_tokens=100)
    result = world.admit(world.request(range(100)))
    assert world.machine.row_table(result.handle.lane) == ()
    world.program.next_cut(result.handle)
    assert world.machine.row_table(result.handle.lane) == (0, 1)


def test_every_known_token_is_consumed_once() -> None:
    world = ProgramWorld()
    result = world.admit(world.request(range(10), output=5))
    cut = world.program.next_cut(result.handle)
    world.program.commit(result.handle)
    assert cut.end_tokens == 10
    with pytest.raises(AssertionError, match="every known token has been consumed"):
        world.program.next_cut(result.handle)
