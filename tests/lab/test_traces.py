"""Law: a trace says of its requests what its file says, in one form for every format, and a file
that breaks its format is refused by file, line and field.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from lab.trace_files import AZURE_HEADER, Line, agent, moon, read, turn, written
from ninfer_lab.lab.traces.reading import FOLDER_VARIABLE, PUBLIC_TRACES, read_trace
from ninfer_lab.lab.traces.trace import BlockIds, Trace, TraceError
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


# ── what is refused ─────────────────────────────────────────────────────────────────────────────

GOOD = moon([0], tokens=5)

MALFORMED_MOON = [
    ({"timestamp": None}, "timestamp: found null; legal: a number of milliseconds"),
    ({"timestamp": -1}, r"timestamp: found -1; legal: a number of milliseconds in \[0, "),
    ({"timestamp": True}, "timestamp: found true; legal: a number of milliseconds"),
    ({"input_length": 0}, r"input_length: found 0; legal: a whole number in \[1, 2147483647\]"),
    ({"input_length": 5.0}, r"input_length: found 5.0; legal: a whole number"),
    ({"output_length": "7"}, r"output_length: found 7; legal: a whole number in \[0, "),
    ({"hash_ids": [1, 2]}, "hash_ids: found 2 ids; legal: 1 ids, one per 512 of 5 tokens"),
    ({"hash_ids": 3}, "hash_ids: found 3; legal: a list of whole numbers"),
    ({"hash_ids": [-3]}, r"hash_ids\[0\]: found -3; legal: a list of whole numbers in \[0, "),
]


@pytest.mark.parametrize(("change", "message"), MALFORMED_MOON)
def test_a_malformed_field_is_named(  # spec: BAD-1
    tmp_path: Path, change: Line, message: str
) -> None:
    with pytest.raises(TraceError, match=rf"trace.jsonl, line 2, {message}"):
        read(tmp_path, [GOOD, GOOD | change])


def test_a_missing_field_is_named(tmp_path: Path) -> None:  # spec: BAD-1
    line = {name: value for name, value in GOOD.items() if name != "timestamp"}
    with pytest.raises(TraceError, match="line 3, timestamp: found nothing; legal: a number"):
        read(tmp_path, [GOOD, "", line])


@pytest.mark.parametrize("text", ['{"timestamp": 0,', "[1]", "17", "word"])
def test_a_line_that_is_no_object_is_shown(tmp_path: Path, text: str) -> None:  # spec: BAD-1
    where = rf"trace.jsonl, line 2: found {re.escape(text)}; legal: one JSON object"
    with pytest.raises(TraceError, match=where):
        read(tmp_path, [GOOD, text])


MALFORMED_CSV = [
    ("2023-11-16 18:17:03,5", "line 2: found 2023-11-16 18:17:03,5; legal: 3 cells"),
    ("2023-11-36 18:17:03,5,1", "line 2, TIMESTAMP: found 2023-11-36 18:17:03; legal: as 2023"),
    ("yesterday,5,1", "line 2, TIMESTAMP: found yesterday; legal: as 2023"),
    ("2023-11-16 18:17:03,0,1", r"line 2, ContextTokens: found 0; legal: a whole number in \[1"),
    ("2023-11-16 18:17:03,5,-1", r"line 2, GeneratedTokens: found -1; legal: a whole number in"),
    ("2023-11-16 18:17:03,5,", "line 2, GeneratedTokens: found nothing; legal: a whole number"),
]


@pytest.mark.parametrize(("line", "message"), MALFORMED_CSV)
def test_a_malformed_cell_is_named(tmp_path: Path, line: str, message: str) -> None:  # spec: BAD-1
    with pytest.raises(TraceError, match=rf"trace.csv, {message}"):
        read(tmp_path, [AZURE_HEADER, line], "trace.csv")


def test_another_header_is_refused(tmp_path: Path) -> None:  # spec: BAD-1
    with pytest.raises(TraceError, match=r"line 1, header: found .*; legal: TIMESTAMP,Context"):
        read(tmp_path, ["TIMESTAMP,GeneratedTokens,ContextTokens"], "trace.csv")


FINE = turn(0, [1, 2], tokens=9)

MALFORMED_WEKA = [
    (agent([FINE], block_size=0), r"line 2, block_size: found 0; legal: a whole number in \[1"),
    (agent([FINE], name="b", block_size=8), "line 2, block_size: found 8; legal: 4, as on the"),
    (agent([FINE], name="first"), "line 2, id: found first; legal: another one for every"),
    (agent([FINE], name=""), "line 2, id: found ; legal: a text"),
    (agent([FINE], tools=-1), "line 2, tool_tokens: found -1; legal: a whole number"),
    (agent([]) | {"requests": 4}, "line 2, requests: found 4; legal: a list of objects"),
    (agent([]) | {"requests": [4]}, r"line 2, requests\[0\]: found 4; legal: an object"),
    (
        agent([FINE, turn(3, [], tokens=12)]),
        r"line 2, requests\[1\].lcp: found 3; legal: a whole number in \[0, 2\]",
    ),
    (agent([turn(0, [1], tokens=4)]), r"requests\[0\].tail: found 1 numbers; legal: pairs of"),
    (agent([turn(0, [1, 2**32], tokens=4)]), r"requests\[0\].tail\[1\]: found 4294967296; legal"),
    (agent([turn(0, [2**32 - 1, 9], tokens=36)]), r"requests\[0\].tail: found .*; legal: ids in"),
    (
        agent([FINE, turn(2, [], tokens=12)]),
        r"requests\[1\].lcp and tail: found 2 ids; legal: 3, one per 4 of 12 tokens",
    ),
    (
        agent([{"t": 0, "in": 4, "out": 1, "hash_ids": []}]),
        r"requests\[0\].hash_ids: found 0 ids; legal: 1, one per 4 of 4 tokens",
    ),
    (agent([FINE | {"t": "soon"}]), r"requests\[0\].t: found soon; legal: a number of seconds"),
    (
        agent([{"t": 0, "tool_tokens": 0, "system_tokens": 0, "requests": []}]),
        r"requests\[0\].agent_id: found nothing; legal: a text",
    ),
]


@pytest.mark.parametrize(("line", "message"), MALFORMED_WEKA)
def test_a_malformed_conversation_is_named(  # spec: BAD-1
    tmp_path: Path, line: Line, message: str
) -> None:
    with pytest.raises(TraceError, match=rf"trace.jsonl, .*{message}"):
        read(tmp_path, [agent([FINE], name="first"), line])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "found an empty file; legal: CSV with TIMESTAMP"),
        (b"\n \n", "found an empty file; legal: CSV with TIMESTAMP"),
        (b"prompt,answer\n", "line 1: found prompt,answer; legal: CSV with TIMESTAMP"),
        (b'{"prompt": "hi"}\n', "line 1: found an object with prompt; legal: CSV with TIMESTAMP"),
        (b"\xff\xfe\n", "line 1: found .*; legal: UTF-8 text, plain or as a whole gzip file"),
    ],
)
def test_a_file_of_no_format_is_told_the_formats(  # spec: BAD-1
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=rf"mine.jsonl.*{message}"):
        read_trace(path)


def test_a_gzip_file_cut_short_is_refused(tmp_path: Path) -> None:  # spec: BAD-1
    path = written(tmp_path, [moon([id], tokens=5) for id in range(500)], "trace.jsonl.gz")
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(TraceError, match=r"trace.jsonl.gz, line \d+: found .*; legal: UTF-8 text"):
        read_trace(path)


def test_a_long_value_is_shown_by_its_beginning(tmp_path: Path) -> None:
    with pytest.raises(TraceError) as refused:
        read(tmp_path, [GOOD | {"hash_ids": "7" * 1_000}])
    assert len(str(refused.value)) < 200


def test_who_names_no_trace_is_told_the_names(  # spec: BAD-1
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TraceError, match=r"trace: found no file .*; legal: .*mooncake-synthetic"):
        read_trace(tmp_path / "missing.jsonl")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    with pytest.raises(TraceError, match=r"trace: found no file .*azure2023_llm_code.csv"):
        read_trace("azure-code")
    monkeypatch.delenv(FOLDER_VARIABLE)
    with pytest.raises(
        TraceError, match=r"variable NINFER_LAB_TRACES: found unset; legal: the fol"
    ):
        read_trace("azure-code")


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
