"""Law: however a request ends, every slot, page and promise is accounted for and the next request
is served; what its state truly consumed may be used again, and nothing else.
"""

from __future__ import annotations

import os
import signal

import pytest

from ninfer_lab.contract.candidate import ReusePath
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.events import (
    ForwardRan,
    RequestAdmitted,
    RequestFinished,
    TransitionEnded,
    TransitionEnding,
)
from ninfer_lab.contract.ids import RequestId, SequenceHandle
from ninfer_lab.contract.options import CacheMode, EngineOptions
from ninfer_lab.contract.output import FinishReason
from ninfer_lab.contract.result import SequenceEnd, Settlement
from ninfer_lab.contract.work import ForwardPhase
from ninfer_lab.engine.admission_boundary import ADMISSION_ATTEMPTS
from ninfer_lab.scheduler.waiting_queue import WaitingQueue
from simulation.content_machine import answer_to
from simulation.engine_world import EngineWorld, engine_world, prepared

CLOSURE, ENDPOINT = CheckpointKind.TURN_CLOSURE, CheckpointKind.SESSION_ENDPOINT


def world_of(*, lanes: int = 2, with_text: bool = False) -> EngineWorld:
    return engine_world(
        EngineOptions(
            max_concurrency=lanes,
            max_context_tokens=256,
            kv_capacity_tokens=64 * 16,
            device_state_slots=4,
            prefill_chunk_tokens=64,
        ),
        with_text=with_text,
    )


def kept(world: EngineWorld) -> list[tuple[CheckpointKind, int]]:
    """Kind and frontier of every checkpoint in the catalog."""
    return [(c.kind, c.frontier_tokens) for e in world.snapshot.catalog for c in e.checkpoints]


def is_empty(world: EngineWorld) -> bool:
    """Nothing is held on any axis."""
    return not any(use.used_count for use in world.snapshot.ledger.occupancy.axes)


def promises_nothing(world: EngineWorld) -> bool:
    """No unit of any axis is reserved."""
    return not any(use.reserved_count for use in world.snapshot.ledger.occupancy.axes)


def serves_on(world: EngineWorld) -> None:
    """A fresh request is answered as ever."""
    world.machine.failing_forwards.clear()
    request = world.submit(range(700, 760), output=3)
    assert world.finish(request).output_tokens == answer_to(range(700, 760), 3)


# ── stop strings ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("drawn", "stop", "text", "left"),
    [
        # The state has consumed what came before the last drawn token: "a", "b".
        ("abc", ("bc",), "a", [(CLOSURE, 70)]),  # cut below the state: no endpoint
        ("abc", ("c",), "ab", [(CLOSURE, 70), (ENDPOINT, 102)]),  # cut exactly at the state
        ("a", ("a",), "", [(CLOSURE, 70), (ENDPOINT, 100)]),  # nothing of the answer was consumed
        ("xyz", ("xyz",), "", [(CLOSURE, 70)]),
    ],
)
def test_a_stop_string_that_cuts_below_the_state_publishes_no_endpoint(
    drawn: str, stop: tuple[str, ...], text: str, left: list[tuple[CheckpointKind, int]]
) -> None:
    world = world_of(with_text=True)
    world.machine.script.extend(map(ord, drawn))
    request = world.submit(prepared(range(100), closure=70), output=20, session="a", stop=stop)
    outcome = world.finish(request)
    assert (outcome.answer.finished, outcome.answer.text) == (FinishReason.STOP_STRING, text)
    assert kept(world) == left


def test_a_cut_answer_is_gone_on_with_from_its_closure() -> None:
    world = world_of(with_text=True)
    world.machine.script.extend(map(ord, "abc"))
    first = world.submit(prepared(range(100), closure=70), output=20, session="a", stop=("bc",))
    world.finish(first)
    answered = prepared([*range(100), ord("a"), 5, 6], closure=70)
    second = world.submit(answered, output=1, session="a")
    world.finish(second)
    assert world.admission_of(second).path is ReusePath.PRIVATE_TURN_CLOSURE
    assert world.admission_of(second).reuse_tokens == 70


def test_without_any_checkpoint_a_cut_answer_leaves_nothing() -> None:
    world = world_of(with_text=True)
    world.machine.script.extend(map(ord, "abc"))
    world.finish(world.submit(range(100), output=20, session="a", stop=("bc",)))
    assert (kept(world), is_empty(world)) == ([], True)


# ── cancelled ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("steps", "left"),
    [
        (0, []),  # it still waited
        (1, [(ENDPOINT, 64)]),  # in the middle of the prompt
        (2, [(CLOSURE, 70)]),  # just captured: that state is kept once
        (3, [(CLOSURE, 70), (ENDPOINT, 100)]),
        (6, [(CLOSURE, 70), (ENDPOINT, 103)]),
    ],
)
def test_a_cancelled_request_leaves_what_its_state_consumed(
    steps: int, left: list[tuple[CheckpointKind, int]]
) -> None:
    world = world_of()
    request = world.submit(prepared(range(100), closure=70), output=40, session="a")
    for _ in range(steps):
        world.engine.step()
    world.engine.cancel(request)
    assert world.engine.outcome(request).answer.finished is FinishReason.CANCELLED
    assert kept(world) == left
    assert world.engine.is_idle
    assert promises_nothing(world)
    serves_on(world)


def test_a_cancelled_disabled_request_leaves_nothing() -> None:  # spec: MODE-2
    world = world_of()
    request = world.submit(
        prepared(range(100), closure=70), output=40, mode=CacheMode.DISABLED, session="a"
    )
    for _ in range(5):
        world.engine.step()
    world.engine.cancel(request)
    assert (kept(world), is_empty(world)) == ([], True)


def test_cancelling_one_lane_leaves_the_others_alone() -> None:
    world = world_of()
    keep = world.submit(range(50), output=20)
    drop = world.submit(range(300, 350), output=20)
    for _ in range(5):
        world.engine.step()
    world.engine.cancel(drop)
    assert world.finish(keep).output_tokens == answer_to(range(50), 20)


def test_a_stream_that_is_given_up_cancels_its_request() -> None:
    world = world_of(with_text=True)
    world.machine.script.extend(map(ord, "abcdef"))
    request = world.submit(range(50), output=6)
    stream = world.engine.stream(request)
    assert (next(stream), next(stream)) == ("a", "b")
    stream.close()
    assert world.engine.outcome(request).answer.finished is FinishReason.CANCELLED
    assert kept(world) == [(ENDPOINT, 51)]


# ── failed ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("forward", "left"),
    [
        (0, []),  # the first chunk
        (1, []),  # the one that ends at the closure
        (2, [(CLOSURE, 70)]),  # the fork after the capture
        (3, [(CLOSURE, 70)]),  # a decode, in place
        (5, [(CLOSURE, 70)]),
    ],
)
def test_a_torn_state_is_never_published_older_checkpoints_are(
    forward: int, left: list[tuple[CheckpointKind, int]]
) -> None:
    world = world_of()
    world.machine.failing_forwards.add(forward)
    request = world.submit(prepared(range(100), closure=70), output=40, session="a")
    outcome = world.finish(request)
    assert outcome.answer.finished is FinishReason.FAILED
    assert outcome.log.error == f"MachineFault: forward {forward} failed"
    assert kept(world) == left
    assert promises_nothing(world)
    serves_on(world)


def test_a_failed_batch_fails_its_rows_and_nobody_else() -> None:
    world = world_of(lanes=3)
    decoding = [world.submit(range(n, n + 50), output=30) for n in (0, 100)]
    for _ in range(4):
        world.engine.step()
    prefilling = world.submit(range(300, 500), output=3)
    while world.events(ForwardRan)[-1].phase is not ForwardPhase.PREFILL:
        world.engine.step()
    world.machine.failing_forwards.add(len(world.machine.steps))  # a decode is next
    world.settle()
    assert [world.engine.outcome(r).answer.finished for r in decoding] == [FinishReason.FAILED] * 2
    assert world.engine.outcome(prefilling).output_tokens == answer_to(range(300, 500), 3)


def test_a_failed_reuse_leaves_its_retained_source_whole() -> None:
    world = world_of()
    world.finish(world.submit(range(100), output=2, session="a"))
    before = world.snapshot.ledger.owners
    prompt = [*range(100), answer_to(range(100), 1)[0], 5]
    world.machine.failing_forwards.add(len(world.machine.steps))
    world.finish(world.submit(prompt, output=2, session="b"))
    assert world.snapshot.ledger.owners == before
    again = world.submit(prompt, output=4, session="b")
    assert world.finish(again).output_tokens == answer_to(prompt, 4)
    assert world.admission_of(again).reuse_tokens == 101


def test_a_failed_tail_copy_is_tried_again_and_its_source_stays_whole() -> None:  # spec: TXN-6
    world = world_of()
    world.finish(world.submit(range(100), output=2, session="a"))
    before = world.snapshot.ledger.owners
    prompt = [*range(100), answer_to(range(100), 1)[0], 5]
    world.machine.failing_copies.update(range(ADMISSION_ATTEMPTS - 1))
    request = world.submit(prompt, output=2, session="b")
    assert world.finish(request).output_tokens == answer_to(prompt, 2)
    assert world.admission_of(request).cow_pages == 1
    assert world.snapshot.ledger.owners[: len(before)] == before


def test_a_request_whose_tail_can_never_be_copied_fails_and_the_next_is_served() -> None:
    world = world_of()
    world.finish(world.submit(range(100), output=2, session="a"))
    prompt = [*range(100), answer_to(range(100), 1)[0], 5]
    world.machine.failing_copies.update(range(ADMISSION_ATTEMPTS))
    request = world.submit(prompt, output=2, session="b")
    outcome = world.finish(request)
    assert outcome.answer.finished is FinishReason.FAILED
    assert outcome.log.error is not None
    assert outcome.log.error.startswith("d2d: MachineFault: copy")
    assert (outcome.log.queue_wait_ns, outcome.output_tokens) == (None, ())
    ended = world.events(TransitionEnded)
    assert [e.ending for e in ended] == [TransitionEnding.COPY_FAILED] * ADMISSION_ATTEMPTS
    assert {(e.started_ns, e.at_ns) for e in ended} == {(ended[0].at_ns, ended[0].at_ns)}
    assert kept(world) == [(ENDPOINT, 101)]
    assert promises_nothing(world)
    serves_on(world)


# ── interrupted ─────────────────────────────────────────────────────────────────────────────────


def test_an_interrupt_is_raised_when_the_step_is_over() -> None:
    world = world_of()
    request = world.submit(range(50), output=5)
    world.machine.interrupted_forwards.add(1)
    world.engine.step()
    with pytest.raises(KeyboardInterrupt):
        world.engine.step()
    assert len(world.events(ForwardRan)) == 2
    assert not world.engine.is_idle
    assert world.finish(request).output_tokens == answer_to(range(50), 5)


@pytest.mark.parametrize("forward", range(5))
def test_an_interrupted_run_cancels_its_request_and_leaves_a_usable_engine(forward: int) -> None:
    world = world_of()
    world.machine.interrupted_forwards.add(forward)
    request = world.submit(prepared(range(100), closure=70), output=40, session="a")
    with pytest.raises(KeyboardInterrupt):
        world.engine.run(request)
    assert world.engine.outcome(request).answer.finished is FinishReason.CANCELLED
    assert world.engine.is_idle
    assert promises_nothing(world)
    assert world.snapshot.ledger.sequences == ()
    serves_on(world)


def test_an_interrupt_in_the_middle_of_a_settlement_waits_for_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = world_of()
    request = world.submit(range(50), output=5)
    world.engine.step()
    finish = world.controller.finish

    def interrupted(handle: SequenceHandle, end: SequenceEnd) -> Settlement:
        os.kill(os.getpid(), signal.SIGINT)
        return finish(handle, end)

    monkeypatch.setattr(world.controller, "finish", interrupted)
    with pytest.raises(KeyboardInterrupt):
        world.engine.cancel(request)
    assert world.engine.outcome(request).answer.finished is FinishReason.CANCELLED
    assert world.engine.is_idle
    assert world.snapshot.ledger.sequences == ()


def test_an_interrupt_while_a_request_joins_the_queue_takes_it_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = world_of()
    push = WaitingQueue.push

    def interrupted(queue: WaitingQueue, request: RequestId) -> None:
        push(queue, request)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(WaitingQueue, "push", interrupted)
    with pytest.raises(KeyboardInterrupt):
        world.submit(range(50), output=5)
    monkeypatch.undo()
    assert world.engine.is_idle
    (ended,) = world.events(RequestFinished)
    assert ended.finish_reason is FinishReason.CANCELLED
    serves_on(world)


def test_every_request_ends_once() -> None:  # spec: INV-15
    world = world_of(lanes=2)
    requests = [world.submit(range(n, n + 60), output=5) for n in range(8)]
    world.machine.failing_forwards.update((3, 9))
    for n, request in enumerate(requests):
        if n % 3 == 2:
            world.engine.cancel(request)
    world.settle()
    assert sorted(event.request for event in world.events(RequestFinished)) == requests
    assert len(world.events(RequestAdmitted)) == 6
