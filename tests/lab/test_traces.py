"""Law: a trace says of its requests what its file says, in one form for every format."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from lab.trace_files import AZURE_HEADER, Line, agent, moon, read, turn, written
from ninfer_lab.lab.traces.reading import FOLDER_VARIABLE, PUBLIC_TRACES, read_trace
from ninfer_lab.lab.traces.trace import BlockIds, Trace
from ninfer_lab.lab.traces.weka import read_weka


def conversations(trace: Trace) -> list[str | None]:
    return [request.conversation for request in trace.requests]


def followers(trace: Trace) -> list[int | None]:
    return [request.followed_by for request in trace.requests]


def blocks(trace: Trace) -> list[list[int]]:
    return [list(request.blocks) for request in trace.requests]


# ── block ids ───────────────────────────────────────────────────────────────────────────────────


def test_equal_ids_are_equal_values_however_they_were_joined() -> None:
    ids = BlockIds.of([5, 6, 7, 1, 2, 2])
    assert ids.runs == (range(5, 8), range(1, 3), range(2, 3))
    assert ids == BlockIds.joined((range(5, 6), range(3, 3), range(6, 8))) + BlockIds.of([1, 2, 2])
    assert list(ids) == [5, 6, 7, 1, 2, 2]
    assert len(ids) == 6


def test_a_part_of_ids_is_what_a_slice_of_their_list_is() -> None:
    ids = BlockIds.of([5, 6, 7, 1, 2, 2])
    for start in range(8):
        for stop in range(start, 9):
            assert list(ids.between(start, stop)) == list(ids)[start:stop], (start, stop)
    assert ids.starts_with(BlockIds.of([5, 6]))
    assert ids.starts_with(BlockIds())
    assert not ids.starts_with(BlockIds.of([5, 7]))
    assert not BlockIds.of([5]).starts_with(BlockIds.of([5, 6]))


# ── Mooncake ────────────────────────────────────────────────────────────────────────────────────


def test_requests_come_in_the_order_of_their_arrivals_counted_from_the_first(
    tmp_path: Path,
) -> None:
    late, early = moon([1], tokens=5, answer=7, at_ms=90), moon([2, 3], tokens=513, at_ms=50)
    trace = read(tmp_path, [late, "", early, moon([4], tokens=9, at_ms=90)])
    assert [request.line for request in trace.requests] == [3, 1, 4]
    assert [request.arrival_ns for request in trace.requests] == [0, 40_000_000, 40_000_000]
    assert [request.input_tokens for request in trace.requests] == [513, 5, 9]
    assert [request.output_tokens for request in trace.requests] == [1, 7, 1]
    assert blocks(trace) == [[2, 3], [1], [4]]
    assert (trace.input_tokens, trace.output_tokens, trace.duration_ns) == (527, 9, 40_000_000)


def test_a_partial_block_is_the_beginning_of_the_block_that_its_follower_has_there(
    tmp_path: Path,
) -> None:
    first = moon([0, 1], tokens=600, answer=10)
    second = moon([0, 2], tokens=700, answer=10, at_ms=1)
    third = moon([0, 3, 4], tokens=1_100, at_ms=2)
    trace = read(tmp_path, [first, second, third])
    assert conversations(trace) == ["0", "0", "0"]
    assert followers(trace) == [1, 2, None]
    assert blocks(trace) == [[0, 3], [0, 3], [0, 3, 4]]


def test_who_has_only_the_system_prompt_in_common_goes_on_with_nobody(tmp_path: Path) -> None:
    lines = [
        moon([0, 9, 8], tokens=1_100),
        moon([0, 1], tokens=600, at_ms=1),
        moon([0, 2, 3], tokens=1_300, at_ms=2),
    ]
    trace = read(tmp_path, lines)
    assert conversations(trace) == ["0", "1", "2"]
    assert followers(trace) == [None, None, None]
    assert blocks(trace) == [[0, 9, 8], [0, 1], [0, 2, 3]]


def test_conversations_with_one_system_prompt_each_go_on_with_their_own(tmp_path: Path) -> None:
    lines = [
        moon([0, 9, 8], tokens=1_100),
        moon([0, 1, 2], tokens=1_200, at_ms=1),
        moon([0, 1, 3, 4], tokens=1_600, at_ms=2),
        moon([0, 9, 7, 6], tokens=1_700, at_ms=3),
    ]
    trace = read(tmp_path, lines)
    assert conversations(trace) == ["0", "1", "1", "0"]
    assert followers(trace) == [3, 2, None, None]


def test_a_prompt_too_short_for_the_answer_is_another_question(tmp_path: Path) -> None:
    document = moon([5, 1], tokens=600, answer=50)
    for tokens, follower in ((649, None), (650, 1)):
        trace = read(tmp_path, [document, moon([5, 2], tokens=tokens, at_ms=1)])
        assert followers(trace) == [follower, None]


def test_a_prompt_that_is_sent_again_is_the_same_prompt(tmp_path: Path) -> None:
    again = [moon([0, 1], tokens=600, answer=10, at_ms=ms) for ms in (0, 1)]
    trace = read(tmp_path, [*again, moon([0, 2], tokens=800, at_ms=2)])
    assert conversations(trace) == ["0", "0", "0"]
    assert followers(trace) == [None, 2, None]
    assert blocks(trace) == [[0, 2], [0, 2], [0, 2]]


def test_the_latest_of_a_conversation_is_gone_on_from(tmp_path: Path) -> None:
    lines = [
        moon([0, 1], tokens=1_024, answer=10),
        moon([0, 1, 2], tokens=1_536, answer=10, at_ms=1),
        moon([0, 1, 7], tokens=1_600, at_ms=2),
    ]
    lines[2]["hash_ids"] = [0, 1, 7, 8]
    trace = read(tmp_path, lines)
    assert conversations(trace) == ["0", "0", "1"]  # the third leaves out what the second said
    assert followers(trace) == [1, None, None]


# ── Azure ───────────────────────────────────────────────────────────────────────────────────────


def test_times_are_exact_and_no_two_prompts_share_a_block(tmp_path: Path) -> None:
    lines = [
        AZURE_HEADER,
        "2023-11-16 23:59:59.9799600,600,10",
        "2023-11-17 00:00:00.0319600,3,0",
        "2023-11-17 00:00:01,512,8",
    ]
    trace = read(tmp_path, lines, "trace.csv")
    assert [request.arrival_ns for request in trace.requests] == [0, 52_000_000, 1_020_040_000]
    assert [request.input_tokens for request in trace.requests] == [600, 3, 512]
    assert [request.output_tokens for request in trace.requests] == [10, 0, 8]
    assert blocks(trace) == [[0, 1], [2], [3]]
    assert conversations(trace) == [None, None, None]


# ── Weka ────────────────────────────────────────────────────────────────────────────────────────


def test_leading_ids_of_the_request_before_and_runs_are_all_ids(tmp_path: Path) -> None:
    short = [
        turn(0, [1, 3], tokens=12),
        turn(2, [9, 1, 4, 2], tokens=20, at_s=1.5),
        turn(5, [], tokens=20, at_s=3),
    ]
    plain: list[Line] = [
        {"t": t, "in": tokens, "out": 2, "hash_ids": ids}
        for t, tokens, ids in (
            (0, 12, [1, 2, 3]),
            (1.5, 20, [1, 2, 9, 4, 5]),
            (3, 20, [1, 2, 9, 4, 5]),
        )
    ]
    trace = read(tmp_path, [agent(short)])
    assert trace.block_tokens == 4
    assert trace.requests == read(tmp_path, [agent(plain)]).requests
    base = blocks(trace)[0][0] - 1
    assert [[id - base for id in ids] for ids in blocks(trace)] == [
        [1, 2, 3],
        [1, 2, 9, 4, 5],
        [1, 2, 9, 4, 5],
    ]
    assert [request.arrival_ns for request in trace.requests] == [0, 1_500_000_000, 3_000_000_000]


def test_ids_of_two_conversations_mean_nothing_to_each_other(tmp_path: Path) -> None:
    lines = [agent([turn(0, [1, 3], tokens=12)], name=name) for name in ("a", "b")]
    trace = read_weka(written(tmp_path, lines), start_window_s=0)
    assert conversations(trace) == ["a", "b"]
    assert set(blocks(trace)[0]).isdisjoint(blocks(trace)[1])


def test_equal_tools_and_system_prompts_are_equal_first_blocks(tmp_path: Path) -> None:
    lines = [
        agent([turn(0, [1, 5], tokens=20)], name="a", tools=9, system=8),
        agent([turn(0, [7, 5], tokens=20)], name="b", tools=9, system=8),
        agent([turn(0, [1, 5], tokens=20)], name="c", tools=9, system=7),
        agent([turn(0, [1, 5], tokens=20)], name="d", tools=13, system=4),
    ]
    first, same, other_system, other_tools = blocks(
        read_weka(written(tmp_path, lines), start_window_s=0)
    )
    assert first[:4] == same[:4]
    assert first[4] != same[4]
    assert first[:2] == other_system[:2]
    assert set(first[2:]).isdisjoint(other_system[2:])
    assert set(first).isdisjoint(other_tools)


def test_a_head_stays_shared_in_later_requests(tmp_path: Path) -> None:
    lines = [
        agent(
            [turn(0, [1, 3], tokens=12), turn(2, [8, 2], tokens=16)],
            name=name,
            tools=8,
        )
        for name in ("a", "b")
    ]
    trace = read_weka(written(tmp_path, lines), start_window_s=0)
    by_name = {
        name: [ids for ids, each in zip(blocks(trace), conversations(trace), strict=True)
               if each == name]
        for name in ("a", "b")
    }  # fmt: skip
    for mine, others in zip(by_name["a"], by_name["b"], strict=True):
        assert mine[:2] == others[:2]
        assert set(mine[2:]).isdisjoint(others[2:])


def test_tokens_behind_the_last_whole_block_are_the_followers(tmp_path: Path) -> None:
    lines = [
        agent(
            [
                turn(0, [1, 2], tokens=9),
                turn(2, [3, 2], tokens=18, at_s=1),
                turn(3, [6, 2], tokens=21, at_s=2),
            ]
        )
    ]
    trace = read(tmp_path, lines)
    first, second, third = blocks(trace)
    assert followers(trace) == [1, None, None]  # the third leaves out a block of the second
    assert first == second[:3]
    assert (len(second), len(third)) == (5, 6)
    assert second[4] not in third
    assert third[5] not in first + second


def test_a_sub_agent_is_a_conversation_that_begins_later(tmp_path: Path) -> None:
    inner: Line = {
        "t": 10,
        "agent_id": "x",
        "tool_tokens": 4,
        "system_tokens": 0,
        "requests": [turn(0, [20, 2], tokens=8), turn(2, [22, 1], tokens=12, at_s=2)],
    }
    trace = read(tmp_path, [agent([turn(0, [1, 1], tokens=4), inner, turn(1, [], tokens=5)])])
    assert conversations(trace) == ["a", "a", "a/x", "a/x"]
    assert [request.arrival_ns for request in trace.requests] == [0, 0, 10 * 10**9, 12 * 10**9]
    assert followers(trace) == [1, None, 3, None]


def test_conversations_are_spread_over_a_window(tmp_path: Path) -> None:
    lines = [agent([turn(0, [1, 1], tokens=4)], name=str(name)) for name in range(30)]
    path = written(tmp_path, lines, "trace.jsonl.gz")
    trace = read_trace(path, start_window_s=100)
    assert trace == read_trace(path, start_window_s=100)
    assert 60 * 10**9 < trace.duration_ns <= 100 * 10**9
    assert [request.line for request in trace.requests] != list(range(1, 31))


# ── the public traces ───────────────────────────────────────────────────────────────────────────

PUBLISHED = {
    "mooncake-conversation": (12_031, 144_793_823, 4_122_048),
    "mooncake-synthetic": (3_993, 61_194_628, 595_432),
    "azure-code": (8_819, 18_059_974, 245_896),
    "azure-conversation": (19_366, 22_361_870, 4_088_665),
    "weka-claude-code": (49_334, 6_037_445_403, 21_709_920),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLIC_TRACES)
def test_a_public_trace_is_read_whole(name: str) -> None:
    if not os.environ.get(FOLDER_VARIABLE):
        pytest.skip(f"{FOLDER_VARIABLE} names no folder with the public traces")
    trace = read_trace(name)
    found = (len(trace.requests), trace.input_tokens, trace.output_tokens)
    assert found == PUBLISHED[name]
    for request in trace.requests:
        assert len(request.blocks) == -(-request.input_tokens // trace.block_tokens)
        if request.followed_by is not None:
            follower = trace.requests[request.followed_by]
            assert follower.conversation == request.conversation
            assert follower.blocks.starts_with(request.blocks)


def test_a_text_form_says_what_is_in_it(tmp_path: Path) -> None:
    trace = read(tmp_path, [moon([0], tokens=5, answer=3), moon([1], tokens=6, at_ms=2_000)])
    assert json.loads(json.dumps(str(trace))) == (
        "trace.jsonl: 2 requests in 2 s, 11 tokens in and 4 out, 2 conversations,"
        " blocks of 512 tokens"
    )
