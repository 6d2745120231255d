"""Law: the design hands each call to the authority that answers it, and captures where a request
starts before anything has run.
"""

from __future__ import annotations

import pytest

from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.events import CaptureTried
from ninfer_lab.contract.ids import SequenceHandle
from ninfer_lab.contract.options import EngineOptions
from ninfer_lab.contract.result import CaptureOutcome
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.contract.work import StateAccess
from simulation.content_machine import answer_to
from simulation.engine_world import EngineWorld, engine_world, prepared


def world_of(extra: int) -> EngineWorld:
    return engine_world(
        EngineOptions(max_context_tokens=256, kv_capacity_tokens=64 * 8, device_state_slots=extra)
    )


def test_a_moved_source_is_captured_before_the_first_forward() -> None:
    world = world_of(2)
    world.finish(world.submit(range(70), output=2, session="a"))
    answer = answer_to(range(70), 1)
    world.submit(prepared([*range(70), *answer, 5, 6], closure=71), output=2, session="a")
    world.engine.step()
    (capture,) = world.events(CaptureTried)
    assert (capture.result.outcome, capture.result.frontier_tokens) == (CaptureOutcome.CAPTURED, 71)
    assert world.admission_of(capture.request).state is StateTransition.MOVE
    assert world.machine.steps[-1].rows[0].cut.state_access is StateAccess.FORK
    assert len(world.machine.copies) == 1


def test_a_capture_that_finds_no_room_is_told_and_blocks_nobody() -> None:  # spec: INV-15, ACT-6
    world = world_of(0)
    request = world.submit(prepared(range(100), closure=70), output=3)
    assert world.finish(request).output_tokens == answer_to(range(100), 3)
    (capture,) = world.events(CaptureTried)
    assert capture.result.outcome is CaptureOutcome.NO_STATE_SLOT


def test_a_settled_sequence_is_unknown_to_the_design() -> None:
    world = world_of(1)
    request = world.submit(range(50), output=9)
    world.engine.step()
    (sequence,) = world.snapshot.ledger.sequences
    world.engine.cancel(request)
    dead = SequenceHandle(id=sequence.sequence, lane=sequence.lane)
    with pytest.raises(InvariantBroken, match="is not active"):
        world.controller.next_cut(dead)
    with pytest.raises(InvariantBroken, match="is not active"):
        world.controller.on_forward(dead)
