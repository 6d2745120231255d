"""One client tells any story to any machine: histories, arrivals and ends are the story's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ninfer_lab.contract.cache_controller import CacheController
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.events import ForwardRan, RequestAdmitted, RequestSubmitted
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import ContextCache, ResolvedOptions
from ninfer_lab.contract.output import FinishReason
from ninfer_lab.contract.recording_options import RecordingOptions
from ninfer_lab.contract.work import ForwardPhase
from ninfer_lab.cost.machine_cost_model import MachineCostModel
from ninfer_lab.engine.assembly import catalog_design
from ninfer_lab.lab import cli, stories, worlds
from ninfer_lab.lab.story import Ask, StoryError
from ninfer_lab.lab.story_client import Told, stream_tokens
from ninfer_lab.lab.worlds import Machine, Run, World

TINY = worlds.named("tiny-side-request")
LARGE = worlds.named("27b-agent")
SECOND_NS = 10**9


def told(body: str, *, on: World = LARGE) -> Run:
    """Runs a story's body in the setting of a shipped world."""
    return worlds.run(replace(on, story=stories.parse(f"story t\nsetting s\n{body}")))


def by_request(run: Run) -> list[Told]:
    return sorted(run.told, key=lambda each: each.request)


def paths(run: Run) -> list[str]:
    return [event.path.value for event in run.events if isinstance(event, RequestAdmitted)]


def said(run: Run) -> dict[Ask, tuple[int, tuple[int, ...]]]:
    """Length of the prompt and answer to each request."""
    return {
        each.ask: (each.outcome.log.prompt_tokens, each.outcome.output_tokens) for each in run.told
    }


# ── what a conversation carries along ───────────────────────────────────────────────────────────


def test_a_turn_brings_the_answer_before_it_along() -> None:
    run = told(
        "tokens a\n  prompt: x[90]\n  answer: out[4]\ntokens a\n  prompt: y[10]\n  answer: out[3]\n"
    )
    first, second = by_request(run)
    assert first.outcome.output_tokens == tuple(stream_tokens("out", 4, 248_320))
    assert second.outcome.log.prompt_tokens == 90 + 4 + 10
    assert second.outcome.log.prefix_cache_hit_tokens == 90 + 3, "all but the token drawn last"
    assert second.outcome.output_tokens == first.outcome.output_tokens[:3], "equal names"


def test_an_edit_takes_the_end_of_the_history_back() -> None:
    body = "tokens a\n  prompt: x[90]\n  answer: out[4]\n"
    run = told(f"{body}tokens a\n  drop: 4 tokens\n  answer: out[4]\n")
    assert [each.outcome.log.prompt_tokens for each in by_request(run)] == [90, 90]
    with pytest.raises(StoryError, match=r"line 6, drop: found 95 tokens; legal: .* 94 tokens"):
        told(f"{body}tokens a\n  drop: 95 tokens\n  answer: out[4]\n")


def test_a_chat_repeats_its_messages_and_a_side_request_may_begin_with_them() -> None:
    ask = "chat a\n  user: Hello.\n  answer: Hello.\n"
    more = "  user: Thank you.\n  answer: You are welcome.\n"
    again = "  drop: 1 messages\n  answer: Noted.\n"
    aside = "chat b\n  session: -\n  from: a\n  user: Hello.\n  answer: Hello.\n"
    run = told(f"{ask}chat a\n{more}chat a\n{again}{aside}", on=TINY)
    first, second, third, fourth = by_request(run)
    assert [each.outcome.text for each in by_request(run)] == [
        "Hello.",
        "You are welcome.",
        "Noted.",
        "Hello.",
    ]
    assert third.outcome.log.prompt_tokens == second.outcome.log.prompt_tokens
    assert first.outcome.log.prompt_tokens < second.outcome.log.prompt_tokens
    assert fourth.outcome.log.prompt_tokens > third.outcome.log.prompt_tokens, "with its history"


def test_a_copied_history_goes_its_own_way() -> None:
    run = told(
        "tokens a\n  prompt: x[50]\n  answer: out[4]\n"
        "tokens b\n  from: a\n  drop: 4 tokens\n  prompt: y[7]\n  answer: out[2]\n"
        "tokens a\n  prompt: z[9]\n  answer: out[1]\n"
        "tokens b\n  prompt: z[9]\n  answer: out[1]\n"
    )
    lengths_tokens = [each.outcome.log.prompt_tokens for each in by_request(run)]
    assert lengths_tokens == [50, 50 + 7, 54 + 9, 57 + 2 + 9]


def test_a_cancelled_answer_does_not_join_the_history() -> None:
    run = told(
        "tokens a\n  prompt: x[90]\n  answer: out[9]\n  cancel: 2 tokens\n"
        "tokens a\n  prompt: x[90]\n  answer: out[1]\n"
    )
    first, second = by_request(run)
    assert first.outcome.answer.finished is FinishReason.CANCELLED
    assert len(first.outcome.output_tokens) == 2
    assert second.outcome.log.prompt_tokens == 90


# ── when requests come ──────────────────────────────────────────────────────────────────────────


def test_an_idle_engine_waits_for_the_next_arrival() -> None:
    run = told("tokens\n  prompt: x[9]\n  answer: a[1]\n  at: 5 s\n")
    (only,) = run.told
    assert only.arrival_ns == 5 * SECOND_NS
    assert only.outcome.log.queue_wait_ns == 0
    assert run.end_ns == 5 * SECOND_NS + only.outcome.log.total_ns


def test_who_comes_while_a_forward_runs_is_taken_in_when_it_ends() -> None:
    body = "tokens\n  prompt: x[900]\n  answer: a[1]\n"
    run = told(f"options\n  max_concurrency: 2\n{body}{body}  at: 1 ms\n")
    late = by_request(run)[1]
    (prefill, *_) = [event for event in run.events if isinstance(event, ForwardRan)]
    submitted = [event for event in run.events if isinstance(event, RequestSubmitted)]
    assert late.arrival_ns == SECOND_NS // 1000 < prefill.at_ns
    assert submitted[1].at_ns == prefill.at_ns


def test_by_default_a_request_comes_when_the_one_before_it_has_ended() -> None:
    body = "tokens\n  prompt: x[9]\n  answer: a[2]\n"
    run = told(f"{body}{body}  after: 1 s\n")
    first, second = by_request(run)
    assert first.arrival_ns == 0
    assert second.arrival_ns == first.outcome.log.total_ns + SECOND_NS


def test_a_conversation_waits_for_its_own_answer_and_for_no_other() -> None:
    turn = "  prompt: x[200]\n  answer: out[20]\n  at: 0 s\n"
    body = f"options\n  max_concurrency: 2\ntokens a\n{turn}tokens b\n{turn}tokens a\n{turn}"
    first, other, second = by_request(told(body))
    assert (first.arrival_ns, other.arrival_ns) == (0, 0)
    assert second.arrival_ns == first.outcome.log.at_ns
    decodes = [
        {row.request for row in event.rows}
        for event in told(body).events
        if isinstance(event, ForwardRan) and event.phase is ForwardPhase.DECODE
    ]
    assert {first.request, other.request} in decodes, "side by side"


# ── mistakes ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("body", "on", "error"),
    [
        (
            "options\n  max_context_tokens: 64\ntokens\n  prompt: x[64]\n  answer: a[1]\n",
            LARGE,
            "27b-agent.story, line 5, prompt: found 64 tokens; legal: at most 63 tokens",
        ),
        ("tokens\n  prompt: x[9]\n", LARGE, "27b-agent.story, line 3, answer: found none"),
        ("chat\n  user: Hello.\n", TINY, "tiny-side-request.story, line 3, answer: found none"),
        ("chat\n  user: x\n  answer: x\n", LARGE, "27b-agent.story, line 3, answer: found none"),
    ],
)
def test_a_request_that_cannot_be_sent_is_named(body: str, on: World, error: str) -> None:
    with pytest.raises(StoryError) as refused:  # spec: BAD-1
        told(body, on=on)
    assert str(refused.value).startswith(error)


def test_a_recording_too_short_to_see_who_ended_is_refused() -> None:
    ask = "tokens\n  prompt: x[9]\n  at: 0 s\n  answer: a"
    head = "story t\nsetting s\noptions\n  max_concurrency: 2\n"
    story = stories.parse(f"{head}{ask}[4]\n{ask}[3]\n")  # so that both end in one forward
    with pytest.raises(OptionsError, match=r"recording\.retained_events: found too few"):
        worlds.run(replace(LARGE, story=story), recording=RecordingOptions(retained_events=1))


def test_an_answer_that_ends_too_early_fails_the_request_alone() -> None:
    run = told("tokens\n  prompt: x[9]\n  answer: a[1]\n  max_output: 2 tokens\n")
    assert run.told[0].outcome.log.error == (
        "StoryError: answer: found 1 tokens; legal: `max_output` within the answer, or an answer"
        " that ends itself"
    )


def test_a_world_without_weights_runs_on_no_tensors() -> None:
    with pytest.raises(OptionsError, match="real tensors of 27b-agent; legal: simulated"):
        worlds.run(LARGE, Machine.TORCH)


# ── the shipped worlds ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("machine", [Machine.SIMULATED, Machine.TORCH, Machine.TORCH_WALL_TIME])
def test_a_design_is_told_what_the_world_s_planner_believes(machine: Machine) -> None:
    believed: list[MachineCostModel] = []

    def design(
        options: ResolvedOptions, machine: MachineApi, belief: MachineCostModel
    ) -> CacheController:
        believed.append(belief)
        return catalog_design(options, machine, belief)

    slow = replace(TINY.belief.prefill, chunk_ns=7 * SECOND_NS)
    wrong = replace(TINY, belief=replace(TINY.belief, prefill=slow))
    worlds.run(wrong, machine, design=design)
    assert believed == [wrong.belief]


def test_a_side_request_costs_the_conversation_its_cache_only_without_a_slot_to_spare() -> None:
    assert paths(worlds.run(TINY)) == ["root", "root", "private_endpoint"]
    bare = replace(
        TINY.story.options, device_state_slots=0, host_state_slots=0, host_kv_capacity_bytes=0
    )
    run = worlds.run(replace(TINY, story=replace(TINY.story, options=bare)))
    assert paths(run) == ["root", "root", "root"]


@pytest.mark.parametrize("name", worlds.names())
def test_every_shipped_world_is_served_whole_and_the_same_each_time(name: str) -> None:
    world = worlds.named(name)
    run = worlds.run(world)
    assert len(run.told) == world.story.asks_count
    assert run.lost_events_count == 0
    assert {each.outcome.log.error for each in run.told} == {None}
    again = worlds.run(world)
    assert (again.events, again.end_ns) == (run.events, run.end_ns)


def test_a_run_shows_its_requests() -> None:
    run = worlds.run(TINY)
    lines = str(run).splitlines()
    assert lines[0] == f"tiny-side-request (simulated): {TINY.story.title}"
    assert [line.split()[:2] for line in lines[1:-1]] == [
        ["request", "conversation"],
        ["1", "home"],
        ["2", "-"],
        ["3", "home"],
    ]
    assert lines[-1].endswith("33 of 111 prompt tokens reused (29.7%)")
    assert run.requests["prompt_tokens"].to_list() == [28, 30, 53]


# ── the command ─────────────────────────────────────────────────────────────────────────────────


def command(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        cli.main(["run", *arguments])
    assert isinstance(end.value.code, int | None)
    return end.value.code or 0


def test_the_command_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert command("tiny-side-request") == 0  # spec: CLI-1
    assert capsys.readouterr().out == f"{worlds.run(TINY)}\n"


def test_the_command_lists_every_world(capsys: pytest.CaptureFixture[str]) -> None:
    assert command("--list") == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == list(worlds.names())


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "world: found none; legal: 27b-agent, 27b-eight-lanes"),
        (("nowhere",), "story: found nowhere; legal: 27b-agent, 27b-eight-lanes"),
        (("27b-agent", "--machine=gpu"), "--machine: found gpu; legal: simulated, torch"),
        (("27b-agent", "--machine=torch"), "machine: found real tensors of 27b-agent"),
        (("MINE",), "mine.story, line 3, chat: found no message"),
        (("ELSEWHERE",), "setting: found moon; legal: tiny or tiny-thinking or 27b"),
    ],
)
def test_a_mistake_is_one_line(
    arguments: tuple[str, ...], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine, elsewhere = tmp_path / "mine.story", tmp_path / "elsewhere.story"
    mine.write_text("story t\nsetting tiny\nchat\n")
    elsewhere.write_text("story t\nsetting moon\nchat\n  user: x\n")
    paths_of = {"MINE": str(mine), "ELSEWHERE": str(elsewhere)}
    assert command(*(paths_of.get(each, each) for each in arguments)) == 2  # spec: BAD-1, CLI-1
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert said.err.startswith(f"ninfer-lab: {line}")


@pytest.mark.parametrize("name", ["tiny-two-sessions", "27b-eight-lanes"])
def test_a_world_run_again_is_recorded_in_the_same_bytes(name: str, tmp_path: Path) -> None:
    first, again = tmp_path / "first", tmp_path / "again"  # spec: RCD-2
    for path in (first, again):
        worlds.run(name).recording.save(path)
    assert first.read_bytes() == again.read_bytes()


@pytest.mark.parametrize("name", worlds.names())
def test_without_a_cache_the_answers_are_the_same_and_nothing_is_kept(name: str) -> None:
    world = worlds.named(name)  # spec: MODE-3
    options = replace(
        world.story.options,
        context_cache=ContextCache.DISABLED,
        device_state_slots=None,
        host_state_slots=None,
        max_private_continuations=None,
        max_shared_prefixes=None,
    )
    cached = worlds.run(world)
    cold = worlds.run(replace(world, story=replace(world.story, options=options)))
    assert said(cold) == said(cached)
    assert set(paths(cold)) == {"root"}
    assert (cold.snapshot.ledger.owners, cold.snapshot.catalog) == ((), ())
