"""Law: a replay sends every request of a trace once, when it is due and its turn has come, or says
that it cannot; what its table says adds up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lab.trace_files import AZURE_HEADER, Line, agent, moon, read, turn, written
from ninfer_lab import lab
from ninfer_lab.contract.cache_controller import CacheController
from ninfer_lab.contract.clock import VirtualClock
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import EngineOptions, ResolvedOptions
from ninfer_lab.contract.output import FinishReason
from ninfer_lab.contract.recording_options import RecordingOptions
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.cost.machine_cost_model import MachineCostModel
from ninfer_lab.engine.assembly import catalog_design
from ninfer_lab.lab.cli import MISTAKE_EXIT_CODE, main
from ninfer_lab.lab.traces.command import options_with
from ninfer_lab.lab.traces.prompts import TracePrompts
from ninfer_lab.lab.traces.replay import Replay, replay
from ninfer_lab.lab.traces.replay_client import HeldBy, ReplayAnswers, ReplayClient, Served
from ninfer_lab.lab.traces.replay_world import REPLAY_OPTIONS, dense_27b
from ninfer_lab.lab.traces.trace import Trace

OPTIONS = EngineOptions(max_concurrency=2, max_context_tokens=4_096, max_private_continuations=8)
LATER_MS = 600_000
"""By then everything before has ended."""


def played(trace: Trace, *, options: EngineOptions = OPTIONS, time_scale: float = 1.0) -> Replay:
    return replay(trace, options=options, time_scale=time_scale, shows_progress=False)


def served(found: Replay, ordinal: int) -> Served:
    each = found.replayed[ordinal].served
    assert each is not None
    return each


def test_a_follower_starts_from_the_end_of_the_request_before(tmp_path: Path) -> None:
    lines = [
        moon([0, 1], tokens=600, answer=40),
        moon([5], tokens=300, at_ms=10),
        moon([0, 2, 3], tokens=1_200, answer=30, at_ms=LATER_MS),
    ]
    found = played(read(tmp_path, lines))
    assert [each.hit_tokens for each in found.served] == [0, 0, 639]
    assert [each.computed_prefill_tokens for each in found.served] == [600, 300, 561]
    assert [each.output_tokens for each in found.served] == [40, 1, 30]
    assert (found.hit_tokens, found.prompt_tokens, found.refused_count) == (639, 2_100, 0)


def test_requests_are_sent_when_they_are_due(tmp_path: Path) -> None:
    trace = read(tmp_path, [moon([id], tokens=100, at_ms=id * 1_000_000) for id in range(3)])
    for time_scale in (1.0, 2.5):
        found = played(trace, time_scale=time_scale)
        moments_ns = [round(time_scale * n * 10**12) for n in range(3)]
        assert [each.due_ns for each in found.replayed] == moments_ns
        assert [each.sent_ns for each in found.served] == moments_ns
        assert {each.held_by for each in found.served} == {None}
        assert found.end_ns == moments_ns[2] + served(found, 2).total_ns


def test_all_at_once_is_a_scale_of_nothing(tmp_path: Path) -> None:
    trace = read(tmp_path, [moon([id], tokens=100, at_ms=id * 1_000_000) for id in range(3)])
    found = played(trace, time_scale=0.0)
    assert [each.sent_ns for each in found.served] == [0, 0, 0]


def test_nobody_asks_on_before_he_is_answered(tmp_path: Path) -> None:
    lines = [
        moon([0, 1], tokens=600, answer=40),
        moon([0, 2, 3], tokens=1_200, answer=2, at_ms=1),
        moon([7], tokens=100, at_ms=2),
    ]
    found = played(read(tmp_path, lines))
    first, second, other = found.served
    assert second.sent_ns == first.sent_ns + first.total_ns
    assert second.held_by is HeldBy.CONVERSATION
    assert second.hit_tokens == 639
    assert other.sent_ns < second.sent_ns
    assert other.held_by is None
    row = found.requests.row(1, named=True)
    assert row["held_by"] == "conversation"
    assert row["held_ms"] == (second.sent_ns - 1_000_000) / 1e6
    assert "1 sent later than they were due: the request before" in str(found)


def test_a_full_queue_holds_back_and_loses_nobody(tmp_path: Path) -> None:
    trace = read(tmp_path, [moon([id], tokens=100, answer=5) for id in range(12)])
    options = replace(OPTIONS, max_concurrency=1, max_pending_requests=2)
    found = played(trace, options=options)
    assert len(found.served) == 12
    assert [each.held_by for each in found.served] == [None] * 2 + [HeldBy.QUEUE] * 10
    sent_ns = [each.sent_ns for each in found.served]
    assert sent_ns == sorted(sent_ns)
    assert sent_ns[2] < found.served[0].total_ns  # who is served waits no more
    assert "10 sent later than they were due: the engine's queue was full" in str(found)


def test_a_prompt_beyond_the_context_is_counted_and_named(tmp_path: Path) -> None:
    lines = [
        moon(range(10, 18), tokens=4_096, answer=9),
        moon(range(20, 28), tokens=4_095, answer=9, at_ms=1),
        moon([30], tokens=50, answer=9, at_ms=2),
    ]
    found = played(read(tmp_path, lines))
    assert found.replayed[0].served is None
    assert [served(found, ordinal).output_tokens for ordinal in (1, 2)] == [1, 9]
    assert (found.refused_count, found.prompt_tokens) == (1, 4_145)
    said = str(found)
    assert "1 not sent: their prompts have 4,096 tokens or more" in said
    assert "1 answered with fewer tokens than in the trace" in said
    first = found.requests.row(0, named=True)
    assert (first["finish_reason"], first["prompt_tokens"], first["ttft_ms"]) == (
        "not sent",
        4_096,
        None,
    )


def test_the_rest_of_a_conversation_is_sent_behind_a_prompt_that_cannot_be(tmp_path: Path) -> None:
    turns = [turn(0, [1, 1_024], tokens=4_096), turn(10, [], tokens=40), turn(10, [], tokens=41)]
    found = played(read(tmp_path, [agent(turns)]))
    assert [each.served is None for each in found.replayed] == [True, False, False]


def test_the_table_has_a_row_per_request_in_the_order_of_the_trace(tmp_path: Path) -> None:
    lines = [
        moon([0, 1], tokens=600, answer=40, at_ms=5),
        moon([9], tokens=90, answer=2, at_ms=0),
        moon([0, 2, 3], tokens=1_200, answer=2, at_ms=LATER_MS),
    ]
    found = played(read(tmp_path, lines))
    table = found.requests
    assert table["line"].to_list() == [2, 1, 3]
    assert table["conversation"].to_list() == ["0", "1", "1"]
    assert table["prefix_reuse_path"].to_list() == ["root", "root", "private_endpoint"]
    assert table["prefix_cache_hit_tokens"].sum() == found.hit_tokens
    assert table["prompt_tokens"].sum() == found.prompt_tokens
    assert (table["prefix_cache_hit_tokens"] + table["computed_prefill_tokens"]).to_list() == [
        90,
        600,
        1_200,
    ]
    assert f"{found.hit_tokens:,} of {found.prompt_tokens:,} prompt tokens reused" in str(found)


def test_a_replay_shows_its_table_and_its_totals(tmp_path: Path) -> None:
    shown = played(read(tmp_path, [moon([0], tokens=77), moon([1], tokens=88)]))._repr_html_()
    assert "<td>77</td>" in shown
    assert "0 of 165 prompt tokens reused (0.00%), 2 tokens answered" in shown


def test_an_answer_of_no_tokens_is_one_token(tmp_path: Path) -> None:
    found = played(read(tmp_path, [AZURE_HEADER, "2023-11-16 18:17:03,70,0"], "trace.csv"))
    assert served(found, 0).output_tokens == 1
    assert served(found, 0).finish_reason is FinishReason.LENGTH


def test_a_limit_plays_the_beginning(tmp_path: Path) -> None:
    trace = read(tmp_path, [moon([id], tokens=100) for id in range(5)])
    found = replay(trace, options=OPTIONS, limit_requests=2, shows_progress=False)
    assert [each.asked.line for each in found.replayed] == [1, 2]
    assert "2 of 5 requests" in str(found)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"time_scale": -1.0}, "time_scale: found -1.0; legal: a number from 0 on"),
        ({"time_scale": float("nan")}, "time_scale: found nan; legal: a number from 0 on"),
        ({"limit_requests": 0}, "limit_requests: found 0; legal: None or >= 1"),
    ],
)
def test_options_that_mean_nothing_are_refused(
    tmp_path: Path, bad: dict[str, float], message: str
) -> None:
    trace = read(tmp_path, [moon([0], tokens=5)])
    with pytest.raises(OptionsError, match=message):
        replay(trace, shows_progress=False, **bad)  # type: ignore[arg-type]  # a row per option


def mixed(folder: Path) -> Trace:
    """Conversations that get into each other's way, on a device that holds few of them."""
    lines: list[Line] = []
    for round_number in range(3):
        for name in range(6):
            ids = [100 * name + block for block in range(round_number + 1)]
            lines.append(
                moon(
                    [*ids, 100 * name + 50 + round_number],
                    tokens=512 * (round_number + 1) + 30,
                    answer=20 + name,
                    at_ms=1_000 * round_number + 37 * name,
                )
            )
    return read(folder, lines)


def test_the_same_trace_gives_the_same_bytes(tmp_path: Path) -> None:  # spec: RCD-2
    options = replace(OPTIONS, kv_capacity_tokens=4_096, device_state_slots=1)
    first, second = (played(mixed(tmp_path), options=options) for _ in range(2))
    first.recording.save(tmp_path / "first")
    second.recording.save(tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    assert first.replayed == second.replayed


def test_what_is_retained_of_the_recording_changes_no_row(tmp_path: Path) -> None:
    trace = mixed(tmp_path)
    little = replace(dense_27b(OPTIONS), recording=RecordingOptions(retained_events=40))
    found = replay(trace, world=little, shows_progress=False)
    assert len(found.events) == 40
    assert found.lost_events_count > 0
    assert found.replayed == played(trace).replayed


def test_a_recording_that_forgets_the_ends_is_refused(tmp_path: Path) -> None:
    little = replace(dense_27b(OPTIONS), recording=RecordingOptions(retained_events=1))
    lines = [moon([0], tokens=100, answer=4), moon([1], tokens=100, answer=3)]  # end together
    with pytest.raises(OptionsError, match=r"recording.retained_events: found too few"):
        replay(read(tmp_path, lines), world=little, shows_progress=False)


def test_a_design_holds_what_the_world_believes(tmp_path: Path) -> None:
    believed: list[MachineCostModel] = []

    def design(
        options: ResolvedOptions, machine: MachineApi, belief: MachineCostModel
    ) -> CacheController:
        believed.append(belief)
        return catalog_design(options, machine, belief)

    trace, world = read(tmp_path, [moon([0], tokens=5)]), dense_27b(OPTIONS)
    assert world.belief is not None
    wrong = replace(world.belief, prefill=replace(world.belief.prefill, chunk_ns=1))
    for each in (world.belief, wrong):
        replay(trace, world=replace(world, design=design, belief=each), shows_progress=False)
    assert believed == [world.belief, wrong]


class WatchedPrompts(TracePrompts):
    """Notes when each prompt was made."""

    def __init__(self, trace: Trace, now_ns: Callable[[], int]) -> None:
        super().__init__(trace, 1_000)
        self._now_ns = now_ns
        self.made_ns: list[tuple[int, int]] = []

    def prompt(self, ordinal: int) -> TokenSpan:
        self.made_ns.append((ordinal, self._now_ns()))
        return super().prompt(ordinal)


def test_a_prompt_is_made_once_and_not_before_it_is_sent(tmp_path: Path) -> None:
    trace = mixed(tmp_path)
    clock, answers = VirtualClock(), ReplayAnswers()
    prompts = WatchedPrompts(trace, clock.now_ns)
    with dense_27b(OPTIONS).engine(answers, clock) as engine:
        client = ReplayClient(
            trace.requests, prompts, engine, answers, clock, due_ns=lambda moment_ns: moment_ns
        )
        replayed = client.run(lambda _: None)
    sent_ns = {
        ordinal: each.served.sent_ns
        for ordinal, each in enumerate(replayed)
        if each.served is not None
    }
    assert dict(prompts.made_ns) == sent_ns
    assert len(prompts.made_ns) == len(trace.requests)


def test_every_end_is_told_to_the_progress_bar(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = read(tmp_path, [moon(range(9), tokens=4_100), moon([20], tokens=9)])
    replay(trace, options=OPTIONS)
    assert "2/2" in capsys.readouterr().err


def test_the_room_keeps_its_function_when_the_modules_are_loaded() -> None:
    assert lab.replay is replay
    assert callable(lab.read_trace)


# ── the command ─────────────────────────────────────────────────────────────────────────────────


def run_command(*arguments: str) -> int | str | None:
    with pytest.raises(SystemExit) as end:
        main(["replay", *arguments])
    return end.value.code


def test_the_command_prints_table_and_totals(  # spec: CLI-1
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [
        moon([0, 1], tokens=600, answer=40),
        moon([0, 2, 3], tokens=1_200, at_ms=LATER_MS),
    ]
    path, table = written(tmp_path, lines), tmp_path / "requests.csv"
    options = ("-omax_concurrency=1", "--option=kv_capacity_tokens=131072", "--time-scale=2")
    assert not run_command(str(path), f"--table={table}", *options)
    said = capsys.readouterr().out
    assert "| line | conversation | due_ms " in said
    assert "639 of 1,800 prompt tokens reused (35.50%)" in said
    rows = table.read_text().splitlines()
    assert [row.split(",")[:3] for row in rows[1:]] == [["1", "0", "0.0"], ["2", "0", "1200000.0"]]
    assert set(tmp_path.iterdir()) == {path, table}


def test_every_number_of_the_engine_can_be_chosen() -> None:
    chosen = options_with(REPLAY_OPTIONS, ("max_concurrency=3", "device_state_slots=5"))
    assert chosen == replace(REPLAY_OPTIONS, max_concurrency=3, device_state_slots=5)
    with pytest.raises(OptionsError, match="--option: found context_cache=0; legal: "):
        options_with(REPLAY_OPTIONS, ("context_cache=0",))


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("{folder}/none.jsonl",), "trace: found no file {folder}/none.jsonl; legal: a trace"),
        (("{folder}/bad.jsonl",), "bad.jsonl, line 1, timestamp: found nothing; legal: a number"),
        (
            ("{folder}/good.jsonl", "-omax_concurrency=9"),
            "options.max_concurrency: found 9; legal: 1 <=",
        ),
        (
            ("{folder}/good.jsonl", "-olanes=2"),
            "--option: found lanes=2; legal: automatic_private_anchors=N, device_",
        ),
        (
            ("{folder}/good.jsonl", "-omax_concurrency=two"),
            "--option max_concurrency: found two; legal: a number",
        ),
        (
            ("{folder}/good.jsonl", "--table={folder}/none/t.csv"),
            "--table: found no folder {folder}/none; legal: a file in a folder that is there",
        ),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(  # spec: CLI-1
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], line: str
) -> None:
    written(tmp_path, [moon([0], tokens=5)], "good.jsonl")
    written(tmp_path, [{"hash_ids": [0], "input_length": 5, "output_length": 1}], "bad.jsonl")
    before = set(tmp_path.iterdir())
    filled = [argument.format(folder=tmp_path) for argument in arguments]
    assert run_command(*filled) == MISTAKE_EXIT_CODE
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"ninfer-lab: {line.format(folder=tmp_path)}")
    assert said.err.count("\n") == 1
    assert set(tmp_path.iterdir()) == before
