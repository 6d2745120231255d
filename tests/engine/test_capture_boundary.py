"""Law: while a shared prefix is on its way to the Host its request rests and the others run; it can
be taken back in the middle, and a copy that fails costs nobody an answer.
"""

from __future__ import annotations

from context_cache.shared_worlds import (
    HEAD_TOKENS,
    STRUCTURE,
    head,
    shared_frontiers,
    shared_world,
    tail,
)
from ninfer_lab.contract.events import CaptureTried, ForwardRan, RequestFinished, SharedCaptureEnded
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.output import FinishReason
from ninfer_lab.contract.shared_report import SharedOutcome
from simulation.content_machine import answer_to
from simulation.engine_world import EngineWorld, prepared


def submit(world: EngineWorld, ordinal: int, *, output: int = 3) -> RequestId:
    tokens = [*head(ordinal), *tail(ordinal)]
    return world.submit(prepared(tokens, shared={HEAD_TOKENS: STRUCTURE}), output=output)


def under_way(world: EngineWorld) -> RequestId:
    """Steps until a capture's copies are in flight."""
    for _ in range(200):
        world.engine.step()
        for event in world.events(CaptureTried):
            shared = event.result.shared
            if shared is not None and shared.outcome is SharedOutcome.UNDER_WAY:
                return event.request
    raise AssertionError("nobody's prefix goes to the Host")


def on_the_way(lanes: int = 1) -> tuple[EngineWorld, RequestId]:
    """A world in which an idle owner has the spare slot, so that the next head must leave."""
    world = shared_world(extra=1, lanes=lanes)
    world.finish(submit(world, 0))
    world.machine.transfer_ns = 30_000
    submit(world, 1)
    return world, under_way(world)


def test_the_request_goes_on_where_it_was_and_answers_rightly() -> None:  # spec: CPT-2
    world, request = on_the_way()
    before = [e for e in world.events(ForwardRan) if e.rows[0].request == request][-1]
    assert before.rows[0].end_tokens == HEAD_TOKENS
    outcome = world.finish(request)
    assert outcome.output_tokens == answer_to([*head(1), *tail(1)], 3)
    (ended,) = world.events(SharedCaptureEnded)
    assert ended.told.outcome is SharedOutcome.PUBLISHED
    assert ended.at_ns >= ended.started_ns + 30_000
    after = next(
        e
        for e in world.events(ForwardRan)
        if e.rows[0].request == request and e.rows[0].start_tokens == HEAD_TOKENS
    )
    assert after.at_ns > ended.at_ns
    assert shared_frontiers(world) == [HEAD_TOKENS] * 2


def test_it_can_be_taken_back_in_the_middle() -> None:  # spec: TXN-4, TXN-6
    world, request = on_the_way()
    world.engine.cancel(request)
    assert world.engine.has_ended(request)
    assert world.engine.outcome(request).answer.finished is FinishReason.CANCELLED
    (ended,) = world.events(SharedCaptureEnded)
    assert ended.told.outcome is SharedOutcome.ABORTED
    assert shared_frontiers(world) == [HEAD_TOKENS]
    assert world.snapshot.ledger.transition is None
    world.finish(submit(world, 2))
    assert world.engine.close().ledger.sequences == ()


def test_a_copy_that_fails_costs_nobody_an_answer() -> None:  # spec: INV-15
    world, request = on_the_way()
    world.machine.failing_transfers = set(range(len(world.machine.transfers) + 5))
    outcome = world.finish(request)
    assert outcome.output_tokens == answer_to([*head(1), *tail(1)], 3)
    (ended,) = world.events(SharedCaptureEnded)
    assert ended.told.outcome is SharedOutcome.ABORTED
    assert "failed" in ended.told.detail
    assert shared_frontiers(world) == [HEAD_TOKENS]


def test_others_run_and_end_only_when_it_is_closed() -> None:  # spec: TXN-7, ACT-5
    world = shared_world(extra=1, lanes=2)
    world.finish(submit(world, 0))
    world.machine.transfer_ns = 30_000
    first = submit(world, 1, output=6)
    second = world.submit([*head(5), *tail(5)], output=6)
    request = under_way(world)
    world.settle()
    (ended, *_) = world.events(SharedCaptureEnded)
    beside = [e for e in world.events(ForwardRan) if ended.started_ns < e.at_ns < ended.at_ns]
    assert beside, "nobody runs meanwhile"
    assert all(request not in [row.request for row in e.rows] for e in beside)
    finished = {e.request: e.at_ns for e in world.events(RequestFinished)}
    assert all(not ended.started_ns < at_ns < ended.at_ns for at_ns in finished.values())
    for asked, tokens in ((first, [*head(1), *tail(1)]), (second, [*head(5), *tail(5)])):
        assert world.engine.outcome(asked).output_tokens == answer_to(tokens, 6)
