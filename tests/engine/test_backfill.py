"""Law: a later request may run past a blocked head if the head is admitted all the same as soon as
those have ended that it waited for when it was blocked; whoever is let past counts for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ninfer_lab.contract.events import (
    Event,
    RequestAdmitted,
    RequestBlocked,
    RequestFinished,
    TransitionEnded,
    TransitionStarted,
)
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.options import EngineOptions
from ninfer_lab.contract.output import FinishReason
from simulation.content_machine import answer_to
from simulation.engine_world import MAIN_PAGE_BYTES, EngineWorld, engine_world, prepared
from simulation.watched_controller import Watch


def world_of(
    *,
    lanes: int = 3,
    pages: int = 5,
    backfill: bool = True,
    host_pages: int = 0,
    extra: int = 0,
    watch: Watch = Watch.EVERY_CALL,
) -> EngineWorld:
    return engine_world(
        EngineOptions(
            max_concurrency=lanes,
            max_context_tokens=64 * 5,
            kv_capacity_tokens=64 * pages,
            device_state_slots=extra,
            host_state_slots=host_pages,
            host_kv_capacity_bytes=MAIN_PAGE_BYTES * host_pages,
            prefill_chunk_tokens=64,
            max_private_continuations=lanes + 2,
            backfill=backfill,
        ),
        watch=watch,
    )


def order(world: EngineWorld) -> list[RequestId]:
    return [event.request for event in world.events(RequestAdmitted)]


def a_blocked_head(world: EngineWorld) -> tuple[RequestId, RequestId]:
    """(donor, head): one runs on three of five pages, the next would need four."""
    donor = world.submit(range(100, 160), output=100)
    world.engine.step()
    head = world.submit(range(200, 330), output=100)
    return donor, head


def test_a_small_request_runs_past_a_head_that_needs_what_the_donor_has() -> None:  # spec: BKF-1
    world = world_of()
    donor, head = a_blocked_head(world)
    small = world.submit(range(400, 440), output=10)
    world.engine.step()
    assert order(world) == [donor, small]
    assert world.finish(small).output_tokens == answer_to(range(400, 440), 10)
    assert order(world) == [donor, small], "the head waits for its donor still"
    assert world.finish(head).output_tokens == answer_to(range(200, 330), 100)


def test_who_would_leave_the_head_too_little_is_not_let_past() -> None:  # spec: BKF-1
    world = world_of()
    donor, head = a_blocked_head(world)
    large = world.submit(range(400, 440), output=40)
    world.settle()
    assert order(world) == [donor, head, large], "one page is spare beside the head, not two"


def test_a_chain_of_borrowers_cannot_put_the_head_off() -> None:  # spec: BKF-1
    world = world_of(lanes=4)
    donor, head = a_blocked_head(world)
    borrowers = [world.submit(range(n * 60, n * 60 + 40), output=20) for n in range(8)]
    while world.admission_count(head) == 0:
        world.engine.step()
    ended = [event.request for event in world.events(RequestFinished)]
    assert ended[-1] == donor
    past = [request for request in order(world) if request in borrowers]
    assert len(past) >= 2, "there was a chain"
    running = set(past) - set(ended)
    assert running, "a borrower runs still, and the head did not wait for it"
    world.settle()
    assert order(world).index(head) < order(world).index(borrowers[-1])


def test_without_the_option_nobody_overtakes() -> None:  # spec: INV-1
    world = world_of(backfill=False)
    a_blocked_head(world)
    for n in range(3):
        world.submit(range(400 + n, 440 + n), output=10)
    world.settle()
    assert order(world) == sorted(order(world))


def test_a_head_taken_back_leaves_no_trace_of_its_donors() -> None:
    world = world_of()
    donor, head = a_blocked_head(world)
    world.engine.step()
    next_head = world.submit(range(400, 530), output=100)
    small = world.submit(range(600, 640), output=10)
    world.engine.cancel(head)
    world.settle()
    assert order(world) == [donor, small, next_head]
    assert world.engine.outcome(head).answer.finished is FinishReason.CANCELLED


def test_a_borrower_may_make_room_for_itself_through_the_host() -> None:  # spec: BKF-1
    world = world_of(lanes=3, pages=6, host_pages=6)
    idle = world.submit(range(700, 780), output=3)
    world.finish(idle)
    donor, head = a_blocked_head(world)
    small = world.submit(range(400, 440), output=80)
    assert world.finish(small).output_tokens == answer_to(range(400, 440), 80)
    assert order(world) == [idle, donor, small]
    (ended,) = world.events(TransitionEnded)
    assert ended.request == small
    assert world.finish(head).output_tokens == answer_to(range(200, 330), 100)


def test_a_borrower_s_checkpoints_leave_the_head_its_room() -> None:  # spec: BKF-1
    world = world_of(lanes=3, extra=2)
    donor, head = a_blocked_head(world)
    capturing = world.submit(prepared(range(400, 440), closure=30), output=20)
    plain = world.submit(range(500, 540), output=20)
    world.settle()
    assert order(world) == [donor, plain, head, capturing], "its tail would be copied, too"


# ── over random small worlds ────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Small:
    """A world, and what is asked of it before it starts.

    Attributes:
        asked: For every request, its prompt tokens, its output, and the cycles before the next.
    """

    lanes: int
    pages: int
    host_pages: int
    extra: int
    asked: tuple[tuple[int, int, int], ...]


SMALL_WORLDS = st.builds(
    Small,
    lanes=st.integers(2, 5),
    pages=st.integers(5, 9),
    host_pages=st.sampled_from([0, 8]),
    extra=st.integers(0, 2),
    asked=st.lists(
        st.tuples(st.integers(10, 200), st.integers(1, 110), st.integers(0, 8)),
        min_size=3,
        max_size=9,
    ).map(tuple),
)


def run(small: Small, *, backfill: bool) -> EngineWorld:
    world = world_of(
        lanes=small.lanes,
        pages=small.pages,
        host_pages=small.host_pages,
        extra=small.extra,
        backfill=backfill,
        watch=Watch.EVERY_STEP,
    )
    for ordinal, (prompt_tokens, output, cycles) in enumerate(small.asked):
        world.submit(range(ordinal, ordinal + prompt_tokens), output=output)
        for _ in range(cycles):
            world.engine.step()
    world.settle()
    return world


@dataclass(slots=True)
class Wait:
    """A head that was blocked once.

    Attributes:
        donors: Who ran when it was blocked first.
        ended: Those of them that had ended when it was admitted, or its copies had begun.
    """

    donors: frozenset[RequestId]
    ended: frozenset[RequestId] = frozenset()


def waits(events: tuple[Event, ...]) -> dict[RequestId, Wait]:
    """Every blocked head, in order; fails where one still waits though its donors have ended.

    While somebody else's copies are under way nobody is admitted: that costs time, and no release.
    """
    found: dict[RequestId, Wait] = {}
    running: set[RequestId] = set()
    open_now: RequestId | None = None
    for event in events:
        match event:
            case RequestBlocked():
                wait = found.setdefault(event.request, Wait(frozenset(running)))
                assert wait.donors & running, f"{event.request} waits, and its donors have ended"
            case TransitionStarted():
                open_now = event.request
                _stop(found, event.request, running)
            case TransitionEnded():
                open_now = None
            case RequestAdmitted():
                _stop(found, event.request, running)
                running.add(event.request)
            case RequestFinished():
                running.discard(event.request)
            case _:
                pass
    assert open_now is None
    return found


def _stop(found: dict[RequestId, Wait], request: RequestId, running: set[RequestId]) -> None:
    if request in found and not found[request].ended:
        found[request].ended = found[request].donors - running


@settings(max_examples=100)
@given(SMALL_WORLDS)
@pytest.mark.slow
def test_no_head_waits_longer_than_for_its_donors(small: Small) -> None:  # spec: BKF-1
    patient, lively = run(small, backfill=False), run(small, backfill=True)
    without, beside = waits(patient.engine.events), waits(lively.engine.events)
    if without:
        head = min(without)  # up to here both have gone the same way
        assert min(beside) == head
        assert beside[head].donors == without[head].donors
        assert beside[head].ended <= without[head].ended, "it waited for one more"
