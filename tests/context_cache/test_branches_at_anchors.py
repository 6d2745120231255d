"""Law: a branch stands beside its conversation where both fit, else takes its place from the anchor
on; whoever must keep the source leaves it as it is.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from context_cache.test_private_anchors import (
    ANCHOR,
    AT_ANCHOR,
    AT_ENDPOINT,
    ENDPOINT,
    FIRST,
    FORK,
    MOVE,
    OPTIONS,
    SECOND,
    SIBLING,
    captures_of,
    kept,
    run,
    start_of,
    world_of,
)
from ninfer_lab.contract.candidate import ReusePath
from ninfer_lab.contract.options import EngineOptions
from ninfer_lab.contract.prompt import AnchorOrigin, AnchorProposal
from ninfer_lab.contract.shared_prefix import Evidence
from ninfer_lab.contract.target import StateTransition
from simulation.content_machine import answer_to
from simulation.engine_world import EngineWorld, prepared


def two_turns(options: EngineOptions) -> EngineWorld:
    """An anchor at 102 and an endpoint at 107, of session a."""
    world = world_of(options)
    run(world, FIRST)
    run(world, SECOND)
    assert kept(world) == [(1, "a", [(ANCHOR, 102), (ENDPOINT, 107)])]
    return world


def test_a_branch_that_fits_stands_beside_its_conversation() -> None:  # spec: ANC-4
    world = two_turns(replace(OPTIONS, device_state_slots=2))
    assert start_of(world, run(world, SIBLING)) == (AT_ANCHOR, FORK, 102)
    assert kept(world) == [
        (1, None, [(ANCHOR, 102), (ENDPOINT, 107)]),
        (2, "a", [(ENDPOINT, 108)]),
    ]


def test_without_a_state_slot_the_conversation_is_rewritten() -> None:  # spec: ANC-4
    world = two_turns(OPTIONS)
    assert start_of(world, run(world, SIBLING)) == (AT_ANCHOR, FORK, 102)
    assert kept(world) == [(1, "a", [(ANCHOR, 102), (ENDPOINT, 108)])]


def test_without_a_vacant_place_the_conversation_is_rewritten() -> None:  # spec: ANC-4
    world = two_turns(replace(OPTIONS, device_state_slots=2, max_private_continuations=1))
    assert start_of(world, run(world, SIBLING)) == (AT_ANCHOR, FORK, 102)
    assert kept(world) == [(1, "a", [(ANCHOR, 102), (ENDPOINT, 108)])]


def test_another_session_never_rewrites_it() -> None:  # spec: ANC-4
    world = two_turns(replace(OPTIONS, device_state_slots=2, max_private_continuations=2))
    assert start_of(world, run(world, SIBLING, "b")) == (AT_ANCHOR, FORK, 102)
    assert [(owner, session) for owner, session, _ in kept(world)] == [(1, "a"), (2, "b")]


@pytest.mark.parametrize(
    ("evidence", "state"),
    [(Evidence.EXPLICIT_BOUNDARY, FORK), (Evidence.ENGINE_STRUCTURAL, MOVE)],
)
def test_who_declares_a_boundary_where_it_starts_keeps_its_source(  # spec: ANC-4
    evidence: Evidence, state: StateTransition
) -> None:
    world = world_of(replace(OPTIONS, device_state_slots=3, max_shared_prefixes=0))
    run(world, FIRST)
    second = run(world, prepared(SECOND, shared={102: evidence}))
    assert start_of(world, second) == (AT_ENDPOINT, state, 102)


def test_so_does_who_marks_its_own_place_there() -> None:  # spec: ANC-4, SHR-2
    world = world_of(replace(OPTIONS, device_state_slots=3, max_shared_prefixes=0))
    run(world, FIRST)
    marked = AnchorProposal(frontier_tokens=102, origin=AnchorOrigin.CALLER)
    second = run(world, replace(prepared(SECOND), private_anchors=(marked,)))
    assert start_of(world, second) == (AT_ENDPOINT, FORK, 102)
    assert captures_of(world, second) == []  # it stays where it is


def test_a_sibling_costs_the_old_branch_its_endpoint_and_not_its_prefill() -> None:
    # spec: ANC-5
    world = two_turns(OPTIONS)  # one lane and one slot beside it: the default
    occupied = world.snapshot.ledger.occupancy.device_state
    assert (occupied.used_count, occupied.free_count) == (2, 0)
    sibling = run(world, SIBLING)
    assert start_of(world, sibling) == (AT_ANCHOR, FORK, 102)
    assert world.engine.outcome(sibling).log.computed_prefill_tokens == len(SIBLING) - 102
    back = run(world, [*SECOND, *answer_to(SECOND, 3), 5])
    assert start_of(world, back) == (AT_ANCHOR, FORK, 102)
    assert world.engine.outcome(back).log.prefix_reuse_path is ReusePath.PRIVATE_LONG_ANCHOR
    assert kept(world) == [(1, "a", [(ANCHOR, 102), (ENDPOINT, 111)])]
