"""Law: leased growth is held in windows: whole where there is room, at the least what the next
forward needs, and nothing at all where even that is short.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from ninfer_lab.contract.options import EngineOptions, SpeculativeBackend
from ninfer_lab.contract.result import Committed, SequenceEnd
from program.scenes import Pressed
from simulation.program_world import ProgramWorld, Start, small_options


def leased(*, window: int = 64, pages: int = 6, lanes: int = 2) -> ProgramWorld:
    options = small_options(lanes=lanes, extra_slots=1, pages=pages, host_slots=2, host_granules=4)
    return ProgramWorld(options=replace(options, lease_window_tokens=window))


def held(world: ProgramWorld, result: Committed) -> tuple[int, int, int]:
    """(mapped, reserved, entitled) pages."""
    space = world.sequence(result).spaces[0]
    return len(space.pages), space.reserved_pages, space.entitled_pages


def test_by_default_the_whole_output_is_held() -> None:  # spec: ACT-4
    assert EngineOptions().resolve().lease_window_tokens is None
    world = ProgramWorld(pages=6)
    result = world.admit(world.request(range(10), output=300))
    assert held(world, result) == (0, 5, 5)
    assert world.program.grow_lease(result.handle)
    assert held(world, result) == (0, 5, 5)


@pytest.mark.parametrize(
    ("prefill_chunk_tokens", "window_tokens"), [(1_024, 4_096), (5_000, 5_000)]
)
def test_a_window_is_at_least_one_chunk(  # spec: ACT-4
    prefill_chunk_tokens: int, window_tokens: int
) -> None:
    options = EngineOptions(kv_lease_growth=True, prefill_chunk_tokens=prefill_chunk_tokens)
    assert options.resolve().lease_window_tokens == window_tokens


def test_an_admission_holds_the_prompt_and_one_window() -> None:  # spec: ACT-4
    world = leased()
    assert held(world, world.admit(world.request(range(10), output=300))) == (0, 2, 2)
    short = world.admit(world.request(range(20, 30), output=5), Start(lane=1))
    assert held(world, short) == (0, 1, 1)


def decoded(world: ProgramWorld, result: Committed, frontier_tokens: int) -> None:
    while world.sequence(result).frontier_tokens < frontier_tokens:
        assert world.program.grow_lease(result.handle)
        world.look()
        world.forward(result)


def test_the_next_window_is_held_when_the_last_one_is_used_up() -> None:  # spec: ACT-4, REV-2
    world = leased()
    result = world.admit(world.request(range(10), output=300))
    decoded(world, result, 128)
    assert held(world, result) == (2, 0, 2)
    revision = world.program.resource_revision
    assert world.program.grow_lease(result.handle)
    # The next forward ends at 129, a window later is 193: two pages.
    assert held(world, result) == (2, 2, 4)
    assert world.program.resource_revision == revision + 1
    assert world.program.grow_lease(result.handle)
    assert world.program.resource_revision == revision + 1


def test_no_window_goes_beyond_the_longest_answer() -> None:  # spec: ACT-4
    world = leased(window=200)
    result = world.admit(world.request(range(10), output=250))
    assert held(world, result) == (0, 4, 4)  # 210 tokens
    decoded(world, result, 256)
    assert world.program.grow_lease(result.handle)
    assert held(world, result) == (4, 1, 5)  # 260 tokens in all


def test_what_there_is_of_a_window_is_taken() -> None:  # spec: ACT-4
    world = leased(window=200, pages=5)
    other = world.admit(world.request(range(20, 30), output=5), Start(lane=1))
    result = world.admit(world.request(range(10), output=310))
    decoded(world, result, 256)
    world.finish(other, SequenceEnd.DISCARD)
    assert world.program.grow_lease(result.handle)
    assert held(world, result) == (4, 1, 5)


def test_where_the_next_forward_does_not_fit_nothing_is_taken() -> None:  # spec: ACT-4, INV-8
    world = leased(window=200, pages=5)
    world.admit(world.request(range(20, 30), output=5), Start(lane=1))  # one page, not mapped
    result = world.admit(world.request(range(10), output=310))
    decoded(world, result, 256)
    before = world.ledger
    assert not world.program.grow_lease(result.handle)
    assert world.ledger == before


def test_every_pool_has_its_own_window() -> None:  # spec: ACT-4, KV-1
    options = small_options(lanes=1, pages=6, backend=SpeculativeBackend(lag_tokens=40))
    world = ProgramWorld(options=replace(options, lease_window_tokens=64))
    result = world.admit(world.request(range(10), output=300))
    assert [space.reserved_pages for space in world.sequence(result).spaces] == [2, 1]
    decoded(world, result, 104)  # 64 of them in the backend
    assert world.program.grow_lease(result.handle)
    # To 169 in Main, three pages; to 129 in the backend, three as well.
    assert [space.entitled_pages for space in world.sequence(result).spaces] == [3, 3]


def test_beside_an_open_transition_nothing_more_is_leased() -> None:  # spec: TXN-7, INV-9
    scene = Pressed.of(lanes=2)
    options = replace(scene.world.options, lease_window_tokens=64)
    world = ProgramWorld(options=options)
    victim = world.published(range(300, 430))
    result = world.admit(world.request(range(10), output=300), Start(lane=1))
    decoded(world, result, 128)
    transaction = world.open(world.request(range(9)), Start(outcomes=(world.demoted(victim),)))
    assert world.advance(transaction) is None
    assert not world.program.can_run(result.handle)
    before = world.ledger
    assert not world.program.grow_lease(result.handle)
    assert world.ledger == before
    world.run(transaction)
    assert world.program.grow_lease(result.handle)
    assert world.program.can_run(result.handle)
