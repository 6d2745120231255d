"""Law: a forward ends at one chunk, at the prompt's end, or at a cut, whichever comes first; after
the prompt it is one token.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ninfer_lab.contract.checkpoint import CheckpointKind
from simulation.engine_world import prepared
from simulation.program_world import ProgramWorld, Start, closure_at, planned


def cuts_of(
    world: ProgramWorld, tokens: int, start: Start, *, cuts: Sequence[int] = ()
) -> list[int]:
    """The frontiers at which a prompt's prefill stops."""
    result = world.admit(world.request(prepared(range(tokens), cuts=cuts), output=3), start)
    world.prefill(result)
    return [step.rows[0].cut.end_tokens for step in world.machine.steps]


def test_a_prompt_is_read_chunk_by_chunk() -> None:
    world = ProgramWorld(chunk_tokens=40)
    assert cuts_of(world, 100, Start()) == [40, 80, 100]


def test_a_forward_never_crosses_a_cut() -> None:  # spec: IDN-3
    world = ProgramWorld(chunk_tokens=40)
    assert cuts_of(world, 100, Start(), cuts=(10, 50, 90)) == [10, 50, 90, 100]


@pytest.mark.parametrize("frontier_tokens", [1, 39, 40, 41, 99])
def test_a_forward_stops_where_a_checkpoint_is_wanted(frontier_tokens: int) -> None:
    world = ProgramWorld(chunk_tokens=40)
    captures = (planned(CheckpointKind.RESPONSE_REPLAY, frontier_tokens),)
    ends = cuts_of(world, 100, Start(owner=world.new_owner(), captures=captures))
    assert frontier_tokens in ends
    assert ends[-1] == 100
    starts = [step.rows[0].cut.start_tokens for step in world.machine.steps]
    assert starts == [0, *ends[:-1]]


def test_a_cut_behind_the_start_is_not_made_again() -> None:
    world = ProgramWorld(extra_slots=2, chunk_tokens=100)
    owner = world.published(prepared(range(50), cuts=(20,)), captures=(closure_at(20),))
    ref = world.checkpoints(owner)[-1].ref
    world.machine.steps.clear()
    assert cuts_of(world, 90, Start(checkpoint=ref), cuts=(20, 60)) == [60, 90]


def test_after_the_prompt_comes_one_token_at_a_time() -> None:
    world = ProgramWorld(chunk_tokens=100)
    result = world.admit(world.request(range(50), output=4))
    for _ in range(3):
        world.forward(result)
    cuts = [step.rows[0].cut for step in world.machine.steps]
    assert [(cut.start_tokens, cut.end_tokens) for cut in cuts] == [(0, 50), (50, 51), (51, 52)]
    assert world.sequence(result).history_tokens == 53
    assert world.sequence(result).frontier_tokens == 52


def test_a_forward_is_settled_before_the_next_is_given_out() -> None:
    world = ProgramWorld()
    result = world.admit(world.request(range(50)))
    world.program.next_cut(result.handle)
    with pytest.raises(AssertionError, match="has not been settled"):
        world.program.next_cut(result.handle)
