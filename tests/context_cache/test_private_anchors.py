"""Law: a history keeps a few of its earlier points, and a request that leaves it at one of them
goes on from there: beside the conversation where both fit, else in its place.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from ninfer_lab.contract.candidate import ReusePath
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.events import (
    CaptureTried,
    ForwardRan,
    TransitionEnded,
    TransitionEnding,
)
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.options import EngineOptions, RequestOptions, SpeculativeBackend
from ninfer_lab.contract.prompt import PreparedPrompt, TokenPrompt
from ninfer_lab.contract.result import CaptureOutcome
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.contract.token_span import TokenSpan
from simulation.content_machine import answer_to
from simulation.engine_world import EngineWorld, engine_world, prepared

ANCHOR, ENDPOINT = CheckpointKind.LONG_ANCHOR, CheckpointKind.SESSION_ENDPOINT
CLOSURE = CheckpointKind.TURN_CLOSURE
FORK, MOVE, RESTORE = StateTransition.FORK, StateTransition.MOVE, StateTransition.RESTORE
AT_ANCHOR, AT_ENDPOINT = ReusePath.PRIVATE_LONG_ANCHOR, ReusePath.PRIVATE_ENDPOINT

OPTIONS = EngineOptions(
    max_context_tokens=512,
    kv_capacity_tokens=4_096,
    prefill_chunk_tokens=512,
    max_private_continuations=4,
    host_state_slots=0,
    host_kv_capacity_bytes=0,
)
"""One lane, and by default one slot beside it."""

FIRST = list(range(100))
ANSWER = list(answer_to(FIRST, 3))
SECOND = [*FIRST, *ANSWER, 7, 8]
"""Goes on from the first one's endpoint, which is at 102: the last token is drawn, not consumed."""

SIBLING = [*FIRST, *ANSWER, 9, 9, 9]
"""Leaves the conversation where the first turn had ended."""

Kept = list[tuple[int, str | None, list[tuple[CheckpointKind, int]]]]


def world_of(options: EngineOptions = OPTIONS, *, gain: int | None = 50) -> EngineWorld:
    return engine_world(options, endpoint_gain_tokens=gain)


def run(
    world: EngineWorld, prompt: PreparedPrompt | list[int], session: str | None = "a"
) -> RequestId:
    request = world.submit(prompt, output=3, session=session)
    outcome = world.finish(request)
    tokens = list(prompt.tokens) if isinstance(prompt, PreparedPrompt) else prompt
    assert outcome.output_tokens == answer_to(tokens, 3)
    return request


def kept(world: EngineWorld) -> Kept:
    """(owner, session, checkpoints) of every entry."""
    return [
        (e.owner, e.session_key, [(c.kind, c.frontier_tokens) for c in e.checkpoints])
        for e in world.snapshot.catalog
    ]


def start_of(world: EngineWorld, request: RequestId) -> tuple[ReusePath, StateTransition, int]:
    admitted = world.admission_of(request)
    return admitted.path, admitted.state, admitted.reuse_tokens


def captures_of(world: EngineWorld, request: RequestId) -> list[tuple[CaptureOutcome, int]]:
    return [
        (event.result.outcome, event.result.frontier_tokens)
        for event in world.events(CaptureTried)
        if event.request == request
    ]


def cuts_of(world: EngineWorld, request: RequestId) -> list[int]:
    """Where its forwards over the prompt ended."""
    prompt_tokens = world.engine.outcome(request).log.prompt_tokens
    rows = [row for e in world.events(ForwardRan) for row in e.rows if row.request == request]
    return [row.end_tokens for row in rows if row.end_tokens <= prompt_tokens]


def on_host(options: EngineOptions = OPTIONS, *, slots: int = 2) -> EngineOptions:
    """Without a Device slot beside the lane's, and with some on the Host."""
    return replace(
        options, device_state_slots=0, host_state_slots=slots, host_kv_capacity_bytes=8_000
    )


# ── message boundaries ──────────────────────────────────────────────────────────────────────────


def test_a_rewritten_history_starts_from_an_anchor() -> None:  # spec: ANC-1, OWN-4, CAND-1
    world = world_of(replace(OPTIONS, device_state_slots=6))
    run(world, prepared(range(100), anchors=(30, 60), closure=90))
    points = [(ANCHOR, 30), (ANCHOR, 60), (CLOSURE, 90), (ENDPOINT, 102)]
    assert kept(world) == [(1, "a", points)]
    rewritten = run(world, [*range(70), *range(600, 630)])
    assert start_of(world, rewritten) == (AT_ANCHOR, FORK, 60)
    deeper = run(world, [*range(40), 5, 5], "b")
    assert start_of(world, deeper) == (AT_ANCHOR, FORK, 30)


def test_an_anchor_leaves_the_last_slot_to_the_turn_closure() -> None:  # spec: ANC-1, OWN-5
    world = world_of(replace(OPTIONS, device_state_slots=2))
    run(world, list(range(500, 520)), "b")
    first = run(world, prepared(range(100), anchors=(30, 60), closure=90))
    # Two slots are beside the lane's, so one anchor is planned; one of them is another owner's.
    assert captures_of(world, first) == [
        (CaptureOutcome.NO_STATE_SLOT, 60),
        (CaptureOutcome.CAPTURED, 90),
    ]
    assert kept(world)[1:] == [(2, "a", [(CLOSURE, 90), (ENDPOINT, 102)])]


def test_with_one_slot_no_forward_is_cut_in_vain() -> None:  # spec: ANC-1
    world = world_of()
    first = run(world, prepared(range(100), anchors=(30, 60), closure=90))
    assert captures_of(world, first) == [(CaptureOutcome.CAPTURED, 90)]
    assert cuts_of(world, first) == [90, 100]


def test_a_history_keeps_no_more_than_it_may() -> None:  # spec: ANC-1, CAP-3
    world = world_of(replace(OPTIONS, device_state_slots=6))
    run(world, prepared(range(100), anchors=(10, 40, 50, 95)))
    # At 50 the one at 10 covers 10 tokens, the one at 40 covers 30; at 95 the ones at 40 and 50
    # cover 40 and 10.
    assert kept(world) == [(1, "a", [(ANCHOR, 40), (ANCHOR, 95), (ENDPOINT, 102)])]


def test_what_was_proposed_is_no_identity() -> None:  # spec: ANC-1, IDN-3
    world = world_of(replace(OPTIONS, device_state_slots=4))
    run(world, prepared(FIRST, anchors=(30,)))
    second = run(world, prepared(SECOND, anchors=(50,)))
    assert start_of(world, second) == (AT_ENDPOINT, MOVE, 102)


def test_an_anchor_below_other_cuts_is_not_taken() -> None:  # spec: IDN-3
    world = world_of(replace(OPTIONS, device_state_slots=4))
    run(world, prepared(FIRST, anchors=(30, 60), cuts=(40,)))
    uncut = run(world, [*range(70), 5, 5], "b")
    assert start_of(world, uncut) == (AT_ANCHOR, FORK, 30)
    cut_alike = run(world, prepared([*range(70), 6, 6], cuts=(40,)), "c")
    assert start_of(world, cut_alike) == (AT_ANCHOR, FORK, 60)


def test_without_anchors_everything_is_as_it_was() -> None:
    old = replace(OPTIONS, max_long_anchors_per_continuation=0, device_state_slots=4)
    world = world_of(old)
    run(world, prepared(FIRST, anchors=(30, 60), closure=90))
    assert kept(world) == [(1, "a", [(CLOSURE, 90), (ENDPOINT, 102)])]
    assert cuts_of(world, RequestId(1)) == [90, 100]


# ── the end of a raw prompt ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("asked", "start", "cuts"), [(True, 99, [100]), (False, 0, [100])])
def test_the_same_raw_prompt_again_computes_one_token(  # spec: ANC-2
    asked: bool, start: int, cuts: list[int]
) -> None:
    world = world_of(replace(OPTIONS, device_state_slots=3))
    prompt = TokenPrompt(tokens=TokenSpan(FIRST), anchor_prompt_end=asked)
    options = RequestOptions(max_output_tokens=3)
    for _ in range(2):
        last = world.engine.submit(prompt, options)
        world.finish(last)
    assert world.admission_of(last).reuse_tokens == start
    assert world.engine.outcome(last).log.computed_prefill_tokens == 100 - start
    assert cuts_of(world, RequestId(1)) == ([99, 100] if asked else [100])
    assert cuts_of(world, last) == cuts
    # It is no identity: what goes on from the answer finds the endpoint.
    assert start_of(world, run(world, SECOND, None))[::2] == (AT_ENDPOINT, 102)


# ── endpoints ───────────────────────────────────────────────────────────────────────────────────


def test_a_continued_endpoint_stays_as_an_anchor() -> None:  # spec: ANC-3
    world = world_of()
    run(world, FIRST)
    second = run(world, SECOND)
    assert start_of(world, second) == (AT_ENDPOINT, MOVE, 102)
    assert captures_of(world, second) == [(CaptureOutcome.CAPTURED, 102)]
    assert kept(world) == [(1, "a", [(ANCHOR, 102), (ENDPOINT, 107)])]
    assert cuts_of(world, second) == [105]  # it adds no forward
    assert world.events(TransitionEnded) == []  # and no copy between the tiers


@pytest.mark.parametrize(("gain", "stays"), [(102, True), (103, False)])
def test_only_a_long_endpoint_does(gain: int, stays: bool) -> None:  # spec: ANC-3
    world = world_of(gain=gain)
    run(world, FIRST)
    assert bool(captures_of(world, run(world, SECOND))) == stays


@pytest.mark.parametrize(("gain", "stays"), [(5, True), (6, False)])
def test_it_is_measured_from_the_owner_s_deepest_anchor(  # spec: ANC-3
    gain: int, stays: bool
) -> None:
    world = world_of(replace(OPTIONS, device_state_slots=3), gain=gain)
    run(world, FIRST)
    run(world, SECOND)
    third = [*SECOND, *answer_to(SECOND, 3), 4]
    assert kept(world) == [(1, "a", [(ANCHOR, 102), (ENDPOINT, 107)])]
    assert bool(captures_of(world, run(world, third))) == stays


def test_by_default_it_must_lie_1024_tokens_above() -> None:  # spec: ANC-3
    for tokens, stays in ((1_021, False), (1_022, True)):
        world = world_of(replace(OPTIONS, max_context_tokens=1_100), gain=None)
        first = [token % 500 for token in range(tokens)]
        run(world, first)
        second = run(world, [*first, *answer_to(first, 3), 7])
        assert bool(captures_of(world, second)) == stays


def test_it_can_be_switched_off() -> None:  # spec: ANC-3
    world = world_of(replace(OPTIONS, endpoint_anchors=False))
    run(world, FIRST)
    assert captures_of(world, run(world, SECOND)) == []


def test_who_leaves_the_endpoint_where_it_is_captures_nothing_there() -> None:  # spec: ANC-3
    world = world_of(replace(OPTIONS, device_state_slots=4))
    run(world, FIRST)
    other = run(world, SECOND, "b")
    assert start_of(world, other) == (AT_ENDPOINT, FORK, 102)
    assert captures_of(world, other) == []


def test_an_endpoint_anchor_takes_the_place_of_the_one_that_covers_least() -> None:
    # spec: ANC-3, ANC-1
    world = world_of(
        replace(OPTIONS, device_state_slots=2, max_long_anchors_per_continuation=1), gain=1
    )
    run(world, FIRST)
    run(world, SECOND)
    third = run(world, [*SECOND, *answer_to(SECOND, 3), 4])
    (tried,) = [e.result for e in world.events(CaptureTried) if e.request == third]
    assert tried.replaced is not None
    assert kept(world) == [(1, "a", [(ANCHOR, 107), (ENDPOINT, 111)])]


# ── an endpoint saved to the Host ───────────────────────────────────────────────────────────────


def test_a_device_slot_is_taken_before_one_of_the_host() -> None:  # spec: ANC-3
    world = world_of(replace(on_host(), device_state_slots=1))
    run(world, FIRST)
    assert captures_of(world, run(world, SECOND)) == [(CaptureOutcome.CAPTURED, 102)]
    assert world.snapshot.ledger.occupancy.host_state.used_count == 0
    assert world.events(TransitionEnded) == []


@pytest.mark.parametrize("backend", [None, SpeculativeBackend(lag_tokens=1)])
def test_without_a_device_slot_the_image_is_saved_to_the_host(  # spec: ANC-3, STATE-2, KV-1
    backend: SpeculativeBackend | None,
) -> None:
    world = world_of(replace(on_host(), backend=backend))
    run(world, FIRST)
    second = run(world, SECOND)
    assert start_of(world, second) == (AT_ENDPOINT, MOVE, 102)
    assert captures_of(world, second) == [(CaptureOutcome.CAPTURED, 102)]
    assert kept(world) == [(1, "a", [(ANCHOR, 102), (ENDPOINT, 107)])]
    assert cuts_of(world, second) == [105]
    owner = world.snapshot.ledger.owners[0]
    replicas = {each.image: each for each in world.snapshot.ledger.images}
    anchor, endpoint = (replicas[checkpoint.image] for checkpoint in owner.checkpoints)
    assert (anchor.device_slot, endpoint.host_slot) == (None, None)
    (ended,) = world.events(TransitionEnded)
    assert ended.ending is TransitionEnding.COMMITTED
    sibling = run(world, SIBLING)
    assert start_of(world, sibling) == (AT_ANCHOR, RESTORE, 102)
    assert kept(world) == [(1, "a", [(ANCHOR, 102), (ENDPOINT, 108)])]


def test_what_gives_way_does_so_in_the_transition_itself() -> None:  # spec: ANC-3, ANC-1
    world = world_of(replace(on_host(), max_long_anchors_per_continuation=1), gain=1)
    run(world, FIRST)
    run(world, SECOND)
    third = run(world, [*SECOND, *answer_to(SECOND, 3), 4])
    (tried,) = [e.result for e in world.events(CaptureTried) if e.request == third]
    assert (tried.outcome, tried.replaced is not None) == (CaptureOutcome.CAPTURED, True)
    assert kept(world) == [(1, "a", [(ANCHOR, 107), (ENDPOINT, 111)])]
    assert world.snapshot.ledger.occupancy.host_state.used_count == 1


def test_without_any_slot_there_is_no_anchor_and_no_harm() -> None:  # spec: ANC-3, INV-15
    world = world_of(on_host(slots=0))
    run(world, FIRST)
    second = run(world, SECOND)
    assert start_of(world, second) == (AT_ENDPOINT, MOVE, 102)
    assert captures_of(world, second) == [(CaptureOutcome.NO_STATE_SLOT, 102)]
    assert kept(world) == [(1, "a", [(ENDPOINT, 107)])]


def test_a_copy_that_does_not_arrive_is_no_anchor_and_no_abort() -> None:  # spec: ANC-3, INV-15
    world = world_of(on_host())
    run(world, FIRST)
    world.machine.failing_transfers.add(0)
    second = run(world, SECOND)
    assert start_of(world, second) == (AT_ENDPOINT, MOVE, 102)
    assert captures_of(world, second) == [(CaptureOutcome.NO_STATE_SLOT, 102)]
    assert kept(world) == [(1, "a", [(ENDPOINT, 107)])]
    assert world.snapshot.ledger.occupancy.host_state.used_count == 0


def test_who_is_taken_back_meanwhile_leaves_the_endpoint_where_it_was() -> None:
    # spec: ANC-3, TXN-6
    world = world_of(on_host())
    run(world, FIRST)
    before = world.snapshot.ledger.owners
    second = world.submit(SECOND, output=3, session="a")
    world.engine.step()
    assert world.controller.opening == second
    world.engine.cancel(second)
    assert world.snapshot.ledger.owners == before
    assert world.snapshot.ledger.occupancy.host_state.used_count == 0
    assert start_of(world, run(world, SECOND)) == (AT_ENDPOINT, MOVE, 102)


def test_who_is_taken_back_before_it_has_run_stands_once_where_it_began() -> None:
    """It was restored from an anchor that stays its own, and is there still: the endpoint takes the
    anchor's place, for both would be one state.
    """
    # spec: OWN-3, ACT-5, ANC-4
    world = world_of(
        replace(
            on_host(slots=4),
            max_concurrency=2,
            max_context_tokens=512,
            kv_capacity_tokens=1_024,
            prefill_chunk_tokens=32,
            host_kv_capacity_bytes=64_000,
        )
    )
    run(world, FIRST)
    run(world, SECOND)
    world.submit(range(500, 900), output=1)
    world.engine.step()
    sibling = world.submit(SIBLING, output=3, session="a")
    while not world.admission_count(sibling):
        world.engine.step()
    assert start_of(world, sibling)[0] is AT_ANCHOR
    ran = {row.request for event in world.events(ForwardRan) for row in event.rows}
    assert sibling not in ran, "the world is too quick"
    world.engine.cancel(sibling)
    assert kept(world) == [(1, "a", [(ENDPOINT, 102)])]
    world.settle()
    assert start_of(world, run(world, SECOND))[2] == 102


def test_an_unaligned_tail_that_cannot_be_copied_is_no_anchor() -> None:  # spec: ANC-3, KV-4
    world = world_of(replace(on_host(), max_context_tokens=128, kv_capacity_tokens=128))
    run(world, FIRST)
    second = run(world, SECOND)
    assert start_of(world, second) == (AT_ENDPOINT, MOVE, 102)
    assert captures_of(world, second) == [(CaptureOutcome.NO_KV_PAGE, 102)]
    assert kept(world) == [(1, "a", [(ENDPOINT, 107)])]
    assert world.snapshot.ledger.occupancy.host_state.used_count == 0
