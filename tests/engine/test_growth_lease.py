"""Law: where growth is leased, an answer has a window of pages ahead and takes the next one between
its forwards; idle owners give way, the least recently published first; what still finds no page
for its next token ends early and in order, and nobody else notices.
"""

from __future__ import annotations

import pytest

from ninfer_lab.contract.events import ForwardRan, RequestFinished, TransitionEnded
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.options import EngineOptions
from ninfer_lab.contract.output import FinishReason
from simulation.content_machine import FORWARD_NS, answer_to
from simulation.engine_world import MAIN_PAGE_BYTES, EngineWorld, engine_world

WINDOW_TOKENS = 64
PROMPT = range(60)


def world_of(
    *, lanes: int = 1, pages: int = 8, extra: int = 4, host_slots: int = 0, leases: bool = True
) -> EngineWorld:
    options = EngineOptions(
        max_concurrency=lanes,
        max_context_tokens=64 * pages,
        kv_capacity_tokens=64 * pages,
        prefill_chunk_tokens=64,
        device_state_slots=extra,
        host_state_slots=host_slots,
        host_kv_capacity_bytes=MAIN_PAGE_BYTES * 8 * bool(host_slots),
        max_private_continuations=6,
        kv_lease_growth=leases,
    )
    return engine_world(options, lease_window_tokens=WINDOW_TOKENS)


def entitled(world: EngineWorld) -> list[int]:
    """Main pages of every active sequence, mapped or promised."""
    return [s.spaces[0].entitled_pages for s in world.snapshot.ledger.sequences]


def kept(world: EngineWorld) -> list[str | None]:
    """Sessions of the owners that are still there, in slot order."""
    return [entry.session_key for entry in world.snapshot.catalog]


def idle_owners(world: EngineWorld, *names: str) -> None:
    """Published one after the other, two pages each."""
    for n, name in enumerate(names):
        world.finish(world.submit(range(300 + 100 * n, 370 + 100 * n), output=2, session=name))


def entitlements(world: EngineWorld, request: RequestId) -> list[int]:
    """What the one active request was entitled to, each time it changed."""
    seen: list[int] = []
    while not any(e.request == request for e in world.events(RequestFinished)):
        world.engine.step()
        for pages in entitled(world):
            if not seen or seen[-1] != pages:
                seen.append(pages)
    return seen


def test_without_leases_the_whole_answer_is_promised() -> None:  # spec: ACT-4, ACT-1
    world = world_of(leases=False)
    request = world.submit(PROMPT, output=200)
    assert entitlements(world, request) == [5]
    assert world.controller.leases_count == 0


def test_growth_is_promised_in_windows() -> None:  # spec: ACT-4
    world = world_of()
    request = world.submit(PROMPT, output=200)
    # 60 + 64 tokens; then [.., 129) and a window after it; then what is left of 260 tokens.
    assert entitlements(world, request) == [2, 4, 5]
    assert world.controller.leases_count == 2
    assert world.engine.outcome(request).output_tokens == answer_to(PROMPT, 200)


def test_of_a_window_that_does_not_fit_as_much_is_taken_as_there_is() -> None:  # spec: ACT-4
    world = world_of(lanes=2, pages=5)
    other = world.submit(range(500, 560), output=60)
    request = world.submit(PROMPT, output=120)
    while len(world.snapshot.ledger.sequences) < 2:
        world.engine.step()
    assert entitled(world) == [2, 2]
    world.finish(other)
    world.settle()
    assert world.engine.outcome(request).output_tokens == answer_to(PROMPT, 120)


def test_idle_owners_give_way_the_oldest_first_and_no_more_than_must() -> None:  # spec: ACT-4
    world = world_of(lanes=1, pages=8)
    idle_owners(world, "old", "young", "youngest")
    request = world.submit(PROMPT, output=100)
    world.engine.step()
    assert kept(world) == ["old", "young", "youngest"], "the first window fits"
    outcome = world.finish(request)
    assert outcome.output_tokens == answer_to(PROMPT, 100)
    assert kept(world) == ["young", "youngest", None]


def test_an_owner_that_somebody_leans_on_does_not_give_way() -> None:  # spec: ACT-4, ROLE-5
    world = world_of(lanes=2, pages=8)
    idle_owners(world, "old", "young")
    prompt = [*range(300, 370), answer_to(range(300, 370), 1)[0], 5]
    leaning = world.submit(prompt, output=110, session="another")
    request = world.submit(PROMPT, output=100)
    outcome = world.finish(request)
    assert outcome.output_tokens == answer_to(PROMPT, 100)
    assert world.admission_of(leaning).reuse_tokens == 71
    assert "old" in kept(world), "older, and leant on"
    assert "young" not in kept(world)
    assert world.finish(leaning).output_tokens == answer_to(prompt, 110)


def test_an_answer_without_a_page_for_its_next_token_ends_in_order() -> None:  # spec: ACT-4
    world = world_of(lanes=2, pages=5, extra=0)
    first = world.submit(PROMPT, output=250)
    second = world.submit(range(500, 560), output=250)
    world.settle()
    outcomes = [world.engine.outcome(request) for request in (first, second)]
    for outcome, prompt in zip(outcomes, (PROMPT, range(500, 560)), strict=True):
        assert outcome.output_tokens == answer_to(prompt, len(outcome.output_tokens))
        assert outcome.answer.finished is FinishReason.LENGTH
    # Both have two pages and one is free: who came first has it, and then all that are left. The
    # other has consumed 128 tokens and drawn one more.
    assert [len(outcome.output_tokens) for outcome in outcomes] == [250, 69]
    held = world.engine.close()
    assert held.ledger.occupancy.device_kv.reserved_count == 0


def test_an_answer_longer_than_the_engine_is_begun_and_ends_where_the_pages_do() -> None:
    world = world_of(pages=3)
    request = world.submit(PROMPT, output=132)
    assert world.finish(request).output_tokens == answer_to(PROMPT, 132)
    assert world.engine.outcome(request).answer.finished is FinishReason.LENGTH


def test_nothing_is_leased_beside_an_open_transition() -> None:  # spec: ACT-4, TXN-7
    world = world_of(lanes=2, pages=8, extra=0, host_slots=4)
    idle_owners(world, "old")
    growing = world.submit(PROMPT, output=200)
    while entitled(world) != [2] or world.snapshot.ledger.sequences[0].frontier_tokens < 126:
        world.engine.step()
    world.machine.transfer_ns = 20 * FORWARD_NS
    world.submit(range(700, 720), output=1)
    while not world.events(TransitionEnded):
        assert entitled(world) == [2]
        world.engine.step()
    (ended,) = world.events(TransitionEnded)
    rows = [
        row
        for event in world.events(ForwardRan)
        if ended.started_ns < event.at_ns <= ended.at_ns
        for row in event.rows
    ]
    assert [row.end_tokens for row in rows] == [127, 128], "then it needs a page, and rests"
    assert world.finish(growing).output_tokens == answer_to(PROMPT, 200)


@pytest.mark.parametrize("steps", [1, 70, 80, 140])
def test_a_leased_request_taken_back_returns_everything(steps: int) -> None:  # spec: ACT-5
    world = world_of()
    request = world.submit(PROMPT, output=200)
    for _ in range(steps):
        world.engine.step()
    world.engine.cancel(request)
    assert world.snapshot.ledger.occupancy.device_kv.reserved_count == 0
    assert entitled(world) == []
