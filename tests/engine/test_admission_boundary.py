"""Law: an admission may take time. Beside it decoding goes on and nobody else is admitted, settled
or captured; it is committed whole or given up at a stable boundary, and every request still ends.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from ninfer_lab.contract.cache_controller import ControllerSnapshot
from ninfer_lab.contract.errors import PromptError
from ninfer_lab.contract.events import (
    CaptureTried,
    ForwardRan,
    RequestAdmitted,
    RequestFinished,
    TransitionEnded,
    TransitionEnding,
    TransitionStarted,
)
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.machine_work import TransferDirection
from ninfer_lab.contract.options import EngineOptions
from ninfer_lab.contract.output import FinishReason
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.contract.transaction import TransactionPhase
from ninfer_lab.engine.admission_boundary import ADMISSION_ATTEMPTS
from simulation.content_machine import FORWARD_NS, answer_to
from simulation.engine_world import MAIN_PAGE_BYTES, EngineWorld, engine_world, prepared

LONG_NS = 1_000 * FORWARD_NS
D2H, H2D = TransferDirection.D2H, TransferDirection.H2D
OLD, OLDER = range(100), range(200, 300)
NEW = range(500, 560)


def world_of(*, lanes: int = 2, extra: int = 0, pages: int = 16) -> EngineWorld:
    """As many state slots as lanes: a published owner must make way for the last of them."""
    return engine_world(
        EngineOptions(
            max_concurrency=lanes,
            max_context_tokens=256,
            kv_capacity_tokens=64 * pages,
            device_state_slots=extra,
            prefill_chunk_tokens=64,
            host_state_slots=4,
            host_kv_capacity_bytes=MAIN_PAGE_BYTES * 16,
            max_private_continuations=4,
        )
    )


def continued(prompt: range, *tokens: int) -> list[int]:
    """A prompt with the two tokens it was answered, and more."""
    return [*prompt, *answer_to(prompt, 2), *tokens]


def demoting(world: EngineWorld, *, output: int = 40) -> tuple[RequestId, RequestId]:
    """(one that decodes, one whose admission copies an owner's state to the Host)."""
    world.finish(world.submit(OLD, output=2, session="old"))
    busy = world.submit(range(600, 650), output=output)
    world.engine.step()
    request = world.submit(NEW, output=3)
    world.engine.step()
    assert world.controller.opening == request
    return busy, request


def demoting_and_restoring(world: EngineWorld) -> RequestId:
    """One whose admission copies another owner to the Host and then its source back."""
    world.finish(world.submit(OLD, output=2, session="old"))
    world.submit(range(600, 650), output=120)
    world.engine.step()
    world.finish(world.submit(OLDER, output=2, session="older"))
    assert on_host(world) == [1, 0], "the first owner has made way for the second"
    request = world.submit(continued(OLD, 5), output=3, session="old")
    world.engine.step()
    assert world.controller.opening == request
    return request


def on_host(world: EngineWorld) -> list[int]:
    """For every owner, how many of its images lie on the Host alone."""
    ledger = world.snapshot.ledger
    alone = {i.image for i in ledger.images if i.device_slot is None}
    return [len(alone & {c.image for c in o.checkpoints}) for o in ledger.owners]


def ends(world: EngineWorld) -> list[tuple[TransitionEnding, TransactionPhase]]:
    return [(e.ending, e.phase) for e in world.events(TransitionEnded)]


def beside(world: EngineWorld) -> list[object]:
    """What happened while the last transition was under way."""
    events = world.engine.events
    start = max(i for i, e in enumerate(events) if isinstance(e, TransitionStarted))
    end = [i for i, e in enumerate(events) if isinstance(e, TransitionEnded)]
    return list(events[start + 1 : end[-1] if end else None])


def serves_on(world: EngineWorld) -> None:
    """Whatever was going on ends, and a fresh request is answered as ever."""
    world.machine.failing_transfers.clear()
    world.settle()
    request = world.submit(range(700, 760), output=3)
    assert world.finish(request).output_tokens == answer_to(range(700, 760), 3)
    held = world.engine.close()
    assert not any(use.reserved_count for use in held.ledger.occupancy.axes)


# ── what goes on beside it ──────────────────────────────────────────────────────────────────────


def test_decoding_goes_on_beside_an_admission_that_copies() -> None:  # spec: RES-1, TXN-7
    world = world_of()
    busy, request = demoting(world)
    assert world.finish(request).output_tokens == answer_to(NEW, 3)
    rows = [row for e in beside(world) if isinstance(e, ForwardRan) for row in e.rows]
    assert {row.request for row in rows} == {busy}
    assert len(rows) == 3, "as many as fit into the time of the copies"
    assert on_host(world)[0] == 1
    assert world.finish(busy).output_tokens == answer_to(range(600, 650), 40)


def test_nobody_else_is_admitted_meanwhile() -> None:  # spec: INV-9, INV-1
    world = world_of(lanes=3, extra=0)
    world.finish(world.submit(OLDER, output=2, session="older"))
    world.machine.transfer_ns = LONG_NS
    _, request = demoting(world, output=9)
    third = world.submit(range(800, 850), output=1)
    for _ in range(3):
        world.engine.step()
    assert world.controller.opening == request
    assert len(world.snapshot.ledger.sequences) == 1
    world.settle()
    admitted = [event.request for event in world.events(RequestAdmitted)]
    assert admitted == sorted(admitted)
    assert admitted[-1] == third


def test_who_ends_beside_it_keeps_everything_until_it_is_closed() -> None:  # spec: ACT-5, INV-8
    world = world_of()
    world.machine.transfer_ns = LONG_NS
    busy, request = demoting(world, output=4)
    before = world.snapshot.ledger
    for _ in range(4):
        world.engine.step()
        if world.controller.opening is None:
            break
        (sequence,) = world.snapshot.ledger.sequences
        assert sequence.spaces[0].entitled_pages == before.sequences[0].spaces[0].entitled_pages
        with pytest.raises(PromptError, match="running or unknown"):
            world.engine.outcome(busy)
    assert [type(e) for e in beside(world) if not isinstance(e, ForwardRan)] == []
    outcome = world.engine.outcome(busy)
    assert outcome.output_tokens == answer_to(range(600, 650), 4)
    assert outcome.log.at_ns >= LONG_NS
    assert world.finish(request).output_tokens == answer_to(NEW, 3)


def test_who_is_taken_back_beside_it_ends_when_it_is_closed() -> None:
    world = world_of()
    busy, request = demoting(world)
    for _ in range(2):
        world.engine.cancel(busy)
        assert not world.engine.has_ended(busy)
    assert len(world.snapshot.ledger.sequences) == 1
    assert world.finish(request).output_tokens == answer_to(NEW, 3)
    assert world.engine.has_ended(busy)
    (ended,) = [e for e in world.events(RequestFinished) if e.request == busy]
    assert ended.finish_reason is FinishReason.CANCELLED


def test_a_prefill_that_would_capture_rests() -> None:  # spec: TXN-7
    world = world_of(extra=1)
    for prompt, session in ((OLD, "old"), (OLDER, "older")):
        world.finish(world.submit(prompt, output=2, session=session))
    busy = world.submit(prepared(range(600, 700), closure=70), output=2)
    world.engine.step()
    request = world.submit(NEW, output=3)
    world.finish(request)
    assert any(isinstance(e, TransitionEnded) for e in world.engine.events)
    assert beside(world) == [], "the forward that ends where a checkpoint is wanted has waited"
    world.settle()
    assert [e.request for e in world.events(CaptureTried)] == [busy]
    assert world.engine.outcome(busy).output_tokens == answer_to(range(600, 700), 2)


def test_a_fork_s_first_forward_rests_and_its_source_stays_pinned() -> None:  # spec: STATE-3, TXN-7
    world = world_of(lanes=3)
    world.finish(world.submit(OLD, output=2, session="old"))
    world.finish(world.submit(OLDER, output=2, session="older"))
    fork = world.submit(continued(OLD, 5), output=3, session="another")
    request = world.submit(NEW, output=3)
    world.engine.step()
    assert world.admission_of(fork).state is StateTransition.FORK
    assert world.controller.opening == request
    (sequence,) = world.snapshot.ledger.sequences
    assert sequence.borrowed_read
    world.finish(request)
    assert beside(world) == []
    assert world.finish(fork).output_tokens == answer_to(continued(OLD, 5), 3)


def test_time_passes_where_nobody_may_run() -> None:
    world = world_of(lanes=1)
    world.finish(world.submit(OLD, output=2, session="old"))
    request = world.submit(NEW, output=3)
    report = world.engine.step()
    assert report.did_something
    assert world.controller.opening == request
    assert world.machine.transfer_ns == world.machine.clock.now_ns() - (
        world.events(TransitionStarted)[-1].at_ns
    )
    assert world.finish(request).log.queue_wait_ns == world.machine.transfer_ns


# ── to the Host and back ────────────────────────────────────────────────────────────────────────


def test_what_was_demoted_is_restored_and_goes_on_as_if_it_had_stayed() -> None:  # spec: STATE-2
    world = world_of()
    request = demoting_and_restoring(world)
    outcome = world.finish(request)
    assert outcome.output_tokens == answer_to(continued(OLD, 5), 3)
    assert world.admission_of(request).state is StateTransition.RESTORE
    assert outcome.log.prefix_cache_hit_tokens == 101
    assert [t.direction for t in world.machine.transfers[-2:]] == [D2H, H2D]
    assert on_host(world) == [0, 1], "each is where the other was"
    serves_on(world)


# ── taken back, or given up ─────────────────────────────────────────────────────────────────────


def steps_to_the_end(prepare: Callable[[EngineWorld], object]) -> range:
    """Cycles for which the transition is under way, once it has begun."""
    world = world_of()
    prepare(world)
    steps = 0
    while world.controller.opening is not None:
        world.engine.step()
        steps += 1
    return range(steps)


@pytest.mark.parametrize("prepare", [demoting, demoting_and_restoring])
def test_a_request_taken_back_at_any_boundary_leaves_what_was_published(
    prepare: Callable[[EngineWorld], object],
) -> None:  # spec: TXN-4, TXN-6
    phases = set()
    for steps in steps_to_the_end(prepare):
        world = world_of()
        prepare(world)
        for _ in range(steps):
            world.engine.step()
        request = world.controller.opening
        assert request is not None
        phase = transition_phase(world.snapshot)
        world.engine.cancel(request)
        assert world.engine.outcome(request).answer.finished is FinishReason.CANCELLED
        assert world.engine.outcome(request).log.queue_wait_ns is None
        assert ends(world)[-1] == (TransitionEnding.CANCELLED, TransactionPhase.COPY_PUBLICATION)
        assert world.snapshot.ledger.transition is None
        owners = len(world.snapshot.catalog)
        assert sum(on_host(world)) == owners, "demotions that have arrived are not copied back"
        phases.add(phase)
        serves_on(world)
    restores = prepare is demoting_and_restoring
    assert (TransactionPhase.COPY_PUBLICATION in phases) == restores
    assert TransactionPhase.COPIES_IN_FLIGHT in phases


def transition_phase(snapshot: ControllerSnapshot) -> TransactionPhase:
    assert snapshot.ledger.transition is not None
    return snapshot.ledger.transition.phase


@pytest.mark.parametrize("direction", [D2H, H2D])
def test_a_copy_that_fails_is_tried_again(direction: TransferDirection) -> None:  # spec: TXN-6
    world = world_of()
    prepare_failure(world, direction, times=ADMISSION_ATTEMPTS - 1)
    request = world.controller.opening
    assert request is not None
    prompt = continued(OLD, 5)
    assert world.finish(request).output_tokens == answer_to(prompt, 3)
    assert world.admission_of(request).state is StateTransition.RESTORE
    failed = [e for e in world.events(TransitionEnded) if e.request == request]
    assert [e.ending for e in failed] == [
        *[TransitionEnding.COPY_FAILED] * (ADMISSION_ATTEMPTS - 1),
        TransitionEnding.COMMITTED,
    ]
    assert failed[0].detail.startswith(f"{direction.value}: MachineFault: transfer")
    serves_on(world)


@pytest.mark.parametrize("direction", [D2H, H2D])
def test_a_request_whose_copies_never_arrive_fails_and_harms_nobody(
    direction: TransferDirection,
) -> None:  # spec: INV-15
    world = world_of()
    prepare_failure(world, direction, times=ADMISSION_ATTEMPTS)
    request = world.controller.opening
    assert request is not None
    outcome = world.finish(request)
    assert outcome.answer.finished is FinishReason.FAILED
    assert outcome.log.error is not None
    assert outcome.log.error.startswith(f"{direction.value}: MachineFault: transfer")
    world.machine.failing_transfers.clear()
    again = world.submit(continued(OLD, 5), output=3, session="old")
    assert world.finish(again).output_tokens == answer_to(continued(OLD, 5), 3)
    assert world.admission_of(again).reuse_tokens == 101, "the source is still whole"
    serves_on(world)


def prepare_failure(world: EngineWorld, direction: TransferDirection, *, times: int) -> None:
    """The transition under way loses its copy, and so do the ones tried instead of it."""
    demoting_and_restoring(world)
    first = len(world.machine.transfers) - (direction is D2H)
    world.machine.failing_transfers.update(range(first, first + times))


# ── ends of the engine, and interrupts ──────────────────────────────────────────────────────────


@pytest.mark.parametrize("steps", range(6))
def test_closing_takes_back_what_is_under_way(steps: int) -> None:  # spec: INV-15
    world = world_of()
    request = demoting_and_restoring(world)
    for _ in range(steps):
        world.engine.step()
    waiting = world.submit(range(800, 850), output=3)
    held = world.engine.close()
    assert held.ledger.sequences == ()
    assert held.ledger.transition is None
    assert not any(use.reserved_count for use in held.ledger.occupancy.axes)
    for each in (request, waiting):
        assert world.engine.outcome(each).answer.finished is FinishReason.CANCELLED


def test_an_interrupt_while_copies_are_under_way_takes_the_request_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = world_of(lanes=1)
    world.finish(world.submit(OLD, output=2, session="old"))
    request = world.submit(NEW, output=3)
    is_done = world.machine.transfer_is_done

    def interrupted() -> bool:
        os.kill(os.getpid(), signal.SIGINT)
        return is_done()

    monkeypatch.setattr(world.machine, "transfer_is_done", interrupted)
    with pytest.raises(KeyboardInterrupt):
        world.engine.run(request)
    monkeypatch.undo()
    assert world.engine.outcome(request).answer.finished is FinishReason.CANCELLED
    assert world.engine.is_idle
    assert ends(world) == [(TransitionEnding.CANCELLED, TransactionPhase.COPY_PUBLICATION)]
    serves_on(world)
