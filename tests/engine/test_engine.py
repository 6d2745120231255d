"""Law: a request is served in its turn, answers as if it were alone, and says what happened."""

from __future__ import annotations

import pytest

from ninfer_lab.context_cache.resource_manager import ResourceManager
from ninfer_lab.contract.cache_controller import Admission, CacheController, TemporarilyBlocked
from ninfer_lab.contract.candidate import AdmissionRequest, ReusePath
from ninfer_lab.contract.errors import InvariantBroken, NinferLabError, PromptError
from ninfer_lab.contract.events import (
    CaptureTried,
    ForwardRan,
    OwnerPublished,
    RequestAdmitted,
    RequestFinished,
    RequestSubmitted,
)
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import EngineOptions, RequestOptions, ResolvedOptions
from ninfer_lab.contract.output import FinishReason
from ninfer_lab.contract.prompt import TokenPrompt
from ninfer_lab.contract.result import CaptureOutcome
from ninfer_lab.contract.search_report import SearchReport
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.contract.work import ForwardPhase, StateAccess
from ninfer_lab.cost.machine_cost_model import MachineCostModel
from ninfer_lab.engine.catalog_controller import CatalogController
from ninfer_lab.program.program import Program
from simulation.content_machine import FORWARD_NS, answer_to
from simulation.engine_world import EngineWorld, engine_world, prepared

PREFILL, DECODE = ForwardPhase.PREFILL, ForwardPhase.DECODE


def lanes_world(lanes: int, *, pages: int = 32, chunk: int = 64, pending: int = 16) -> EngineWorld:
    return engine_world(
        EngineOptions(
            max_concurrency=lanes,
            max_context_tokens=256,
            kv_capacity_tokens=64 * pages,
            prefill_chunk_tokens=chunk,
            max_pending_requests=pending,
        )
    )


# ── answers ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("lanes", range(1, 9))
def test_every_lane_answers_as_if_it_were_alone(lanes: int) -> None:  # spec: CFG-2, IDN-6
    world = lanes_world(lanes, pages=40)
    prompts = [range(n * 100, n * 100 + 20 + 13 * n) for n in range(lanes)]
    requests = [world.submit(prompt, output=20 + n) for n, prompt in enumerate(prompts)]
    world.settle()
    for n, (request, prompt) in enumerate(zip(requests, prompts, strict=True)):
        assert world.engine.outcome(request).output_tokens == answer_to(prompt, 20 + n)
    assert max(len(event.rows) for event in world.events(ForwardRan)) == lanes


def test_a_reused_prefix_changes_no_token() -> None:  # spec: IDN-6
    world = lanes_world(1)
    world.finish(world.submit(range(100), output=3, session="a"))
    prompt = [*range(100), *answer_to(range(100), 3), 1, 2, 3]
    request = world.submit(prompt, output=20, session="a")
    assert world.finish(request).output_tokens == answer_to(prompt, 20)
    assert world.engine.outcome(request).log.prefix_cache_hit_tokens == 102


def test_long_prompts_are_read_in_chunks_between_decodes() -> None:
    world = lanes_world(2, chunk=64)
    first = world.submit(range(30), output=8)
    world.engine.step()
    world.submit(range(300, 500), output=2)
    world.finish(first)
    turns = [(event.phase, len(event.rows)) for event in world.events(ForwardRan)]
    assert turns[:6] == [(PREFILL, 1), (DECODE, 1), *[(PREFILL, 1), (DECODE, 1)] * 2]


def test_requests_are_admitted_in_the_order_they_came() -> None:  # spec: INV-1
    world = lanes_world(2)
    requests = [world.submit(range(n, n + 50), output=1 + n % 3) for n in range(6)]
    world.settle()
    assert [event.request for event in world.events(RequestAdmitted)] == requests


def test_an_answer_streams_as_it_becomes_final() -> None:
    world = engine_world(with_text=True)
    world.machine.script.extend(map(ord, "abcd"))
    pieces = list(world.engine.stream(world.submit(range(50), output=4)))
    assert pieces == ["a", "b", "c", "d"]


def test_a_finished_answer_can_be_streamed_again_at_once() -> None:
    world = engine_world(with_text=True)
    world.machine.script.extend(map(ord, "ab"))
    request = world.submit(range(50), output=2)
    assert world.engine.run(request).answer.text == "ab"
    assert list(world.engine.stream(request)) == ["ab"]


def test_output_is_limited_by_what_the_context_still_holds() -> None:
    world = engine_world()
    request = world.engine.submit(TokenPrompt(tokens=TokenSpan(range(250))), RequestOptions())
    outcome = world.finish(request)
    assert (len(outcome.output_tokens), outcome.answer.finished) == (6, FinishReason.LENGTH)


# ── what is said about it ───────────────────────────────────────────────────────────────────────


def test_one_request_in_its_events() -> None:
    world = lanes_world(1, chunk=64)
    request = world.submit(prepared(range(100), closure=70), output=2, session="a")
    world.settle()
    kinds = [type(event) for event in world.engine.events]
    assert kinds == [
        RequestSubmitted,
        RequestAdmitted,
        ForwardRan,
        ForwardRan,
        CaptureTried,
        ForwardRan,
        ForwardRan,
        OwnerPublished,
        RequestFinished,
    ]
    rows = [event.rows[0] for event in world.events(ForwardRan)]
    assert [(row.start_tokens, row.end_tokens) for row in rows] == [
        (0, 64),
        (64, 70),
        (70, 100),
        (100, 101),
    ]
    assert [row.state_access for row in rows] == [
        StateAccess.ROOT,
        StateAccess.IN_PLACE,
        StateAccess.FORK,
        StateAccess.IN_PLACE,
    ]
    assert [row.drawn_token for row in rows] == [None, None, *answer_to(range(100), 2)]
    (capture,) = world.events(CaptureTried)
    assert capture.result.outcome is CaptureOutcome.CAPTURED
    (owner,) = world.events(OwnerPublished)
    assert [c.frontier_tokens for c in owner.checkpoints] == [70, 101]
    log = world.engine.outcome(request).log
    assert log.finish_reason is FinishReason.LENGTH
    assert (log.prompt_tokens, log.completion_tokens) == (100, 2)
    assert (log.prefix_cache_hit_tokens, log.computed_prefill_tokens) == (0, 100)
    assert (log.queue_wait_ns, log.ttft_ns, log.total_ns) == (0, 3 * FORWARD_NS, 4 * FORWARD_NS)
    assert log.prefix_reuse_path is ReusePath.ROOT
    assert log.reconstruction_boundary_tokens == 2


def test_the_log_tells_reused_tokens_from_computed_ones() -> None:
    world = lanes_world(1)
    world.finish(world.submit(range(100), output=2, session="a"))
    prompt = [*range(100), answer_to(range(100), 1)[0], *range(600, 620)]
    log = world.finish(world.submit(prompt, output=1, session="a")).log
    assert (log.prefix_cache_hit_tokens, log.computed_prefill_tokens) == (101, 20)
    assert log.prefix_reuse_path is ReusePath.PRIVATE_ENDPOINT


def test_the_same_run_gives_the_same_events() -> None:
    def events_of_a_run() -> tuple[object, ...]:
        world = lanes_world(3)
        for n in range(6):
            world.submit(prepared(range(n, n + 90), closure=40 + n), output=4, session=f"{n % 2}")
        world.settle()
        return world.engine.events

    assert events_of_a_run() == events_of_a_run()


def test_a_step_reports_its_own_events() -> None:
    world = lanes_world(1)
    assert not world.engine.step().did_something
    world.submit(range(50), output=2)
    reports = [world.engine.step() for _ in range(3)]
    assert [len(report.events) for report in reports] == [2, 3, 0]
    assert reports[0].events + reports[1].events == world.engine.events[1:]


def test_a_step_that_only_waits_for_copies_has_done_something() -> None:
    world = lanes_world(1, pages=4)
    silent_count = 0
    opening = range(150)
    sequel = [*opening, *answer_to(opening, 2), 7]  # b goes to the Host, then a comes back
    for session, prompt in (("a", opening), ("b", range(500, 650)), ("a", sequel)):
        world.submit(prompt, output=2, session=session)
        while not world.engine.is_idle:
            report = world.engine.step()
            assert report.did_something, "a client takes a step without effect for the end"
            silent_count += not report.events
    assert silent_count > 0, "no two transfers followed each other in one transition"


# ── what is refused ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("tokens", "why"),
    [
        (range(0), "found no tokens; legal: at least one token"),
        (range(256), "found 256 tokens; legal: at most 255 tokens"),
        ([5, 1_000], "found token id 1000; legal: ids below the model's vocabulary of 1000"),
    ],
)
def test_a_prompt_that_can_not_be_served_leaves_nothing(tokens: range, why: str) -> None:
    world = engine_world()
    before = world.snapshot
    with pytest.raises(PromptError, match=why):
        world.submit(tokens)
    assert world.engine.is_idle
    assert (world.snapshot, world.engine.events) == (before, ())


def test_a_full_queue_refuses_and_goes_on() -> None:
    world = lanes_world(1, pending=2)
    requests = [world.submit(range(50), output=2) for _ in range(2)]
    with pytest.raises(PromptError, match=r"at most 2 \(options\.max_pending_requests\)"):
        world.submit(range(50))
    assert len(world.events(RequestSubmitted)) == 2
    world.settle()
    assert [world.engine.outcome(request).answer.finished for request in requests] == [
        FinishReason.LENGTH
    ] * 2
    assert world.finish(world.submit(range(50))).answer.finished is FinishReason.LENGTH


def test_a_stop_string_needs_text() -> None:
    world = engine_world(with_text=False)
    with pytest.raises(PromptError, match="an engine without tokenizer"):
        world.submit(range(50), stop=("x",))
    assert world.engine.is_idle


def test_only_an_ended_request_has_an_outcome() -> None:
    world = engine_world()
    request = world.submit(range(50), output=2)
    for unknown in (request, RequestId(99)):
        with pytest.raises(PromptError, match="running or unknown"):
            world.engine.outcome(unknown)


def test_cancelling_what_has_ended_changes_nothing() -> None:
    world = engine_world()
    request = world.submit(range(50), output=2)
    world.finish(request)
    before = world.snapshot, world.engine.events
    world.engine.cancel(request)
    assert (world.snapshot, world.engine.events) == before


# ── closing ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("steps", range(7))
def test_closing_ends_what_waits_and_what_runs(steps: int) -> None:  # spec: INV-15
    world = lanes_world(2)
    world.finish(world.submit(range(40), output=2, session="a"))
    requests = [
        world.submit(prepared(range(n * 100, n * 100 + 90), closure=70), output=30, session="a")
        for n in range(4)
    ]
    for _ in range(steps):
        world.engine.step()
    held = world.engine.close()
    assert (held.ledger.sequences, held.ledger.row_tables) == ((), ())
    assert not any(use.reserved_count for use in held.ledger.occupancy.axes)
    for request in requests:
        assert world.engine.outcome(request).answer.finished is FinishReason.CANCELLED
    assert world.engine.close() == held


def test_a_closed_engine_says_so() -> None:
    world = engine_world()
    with world.engine as engine:
        request = world.submit(range(50))
        engine.run(request)
    assert "closed" in repr(world.engine)
    for call in (lambda: world.submit(range(5)), world.engine.step):
        with pytest.raises(NinferLabError, match="found closed; legal: build a new engine"):
            call()
    assert world.engine.outcome(request).output_tokens == answer_to(range(50), 1)


def test_closing_with_a_lane_left_behind_is_a_broken_law(monkeypatch: pytest.MonkeyPatch) -> None:
    world = engine_world()
    world.submit(range(50), output=40)
    world.engine.step()
    busy = world.snapshot
    monkeypatch.setattr(world.controller, "describe", lambda: busy)
    with pytest.raises(InvariantBroken, match="INV-15 every lane ends"):
        world.engine.close()


# ── what an optional capture may not take ───────────────────────────────────────────────────────


def test_a_capture_leaves_every_free_lane_its_slot() -> None:  # spec: STATE-1
    options = EngineOptions(
        max_concurrency=2, device_state_slots=0, max_context_tokens=256, kv_capacity_tokens=2048
    )
    world = engine_world(options)
    first = world.submit(prepared(range(50), closure=40), output=30)
    for _ in range(3):
        world.engine.step()
    second = world.submit(prepared(range(500, 550), closure=40), output=2)
    world.finish(second)
    tried = [event.result.outcome for event in world.events(CaptureTried)]
    assert tried == [CaptureOutcome.NO_STATE_SLOT, CaptureOutcome.NO_STATE_SLOT]
    assert not world.engine.is_idle, "the second did not wait for the first"
    assert len(world.finish(first).output_tokens) == 30


# ── laws that end the engine ────────────────────────────────────────────────────────────────────


class NeverFits(CatalogController):
    """Blocks every request, whatever is free."""

    def admit(self, request: AdmissionRequest) -> Admission:
        report = SearchReport(verdicts=(), chosen=None)
        return TemporarilyBlocked(revision=self.revision, reason="no", report=report)


def never_fits(
    options: ResolvedOptions, machine: MachineApi, belief: MachineCostModel
) -> CacheController:
    program = Program(options, machine)
    return NeverFits(ResourceManager(options, program, belief), program)


def test_a_head_blocked_while_nothing_runs_stops_the_engine() -> None:  # spec: INV-15
    world = engine_world(design=never_fits)
    world.submit(range(10))
    with pytest.raises(InvariantBroken, match="INV-15"):
        world.engine.run_until_idle()
    with pytest.raises(NinferLabError, match="build a new engine"):
        world.submit(range(10))
