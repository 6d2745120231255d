"""Law: a file that breaks the format of its trace is refused by file, line and field, with what was
found and what is legal.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lab.trace_files import AZURE_HEADER, Line, agent, moon, read, turn, written
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.lab.traces.reading import FOLDER_VARIABLE, read_trace
from ninfer_lab.lab.traces.trace import TraceError

GOOD = moon([0], tokens=5)

MALFORMED_MOON = [
    ({"timestamp": None}, "timestamp: found null; legal: a number of milliseconds"),
    ({"timestamp": -1}, r"timestamp: found -1; legal: a number of milliseconds in \[0, "),
    ({"timestamp": float("nan")}, r"timestamp: found NaN; legal: a number of milliseconds in"),
    ({"timestamp": 10**400}, r"timestamp: found 10*…; legal: a number of milliseconds in"),
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


def test_a_number_of_too_many_digits_is_no_object(tmp_path: Path) -> None:  # spec: BAD-1
    with pytest.raises(TraceError, match=r"line 1: found .{60}…; legal: one JSON object"):
        read(tmp_path, ['{"hash_ids": ' + "7" * 5_000 + "}"])


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
    (
        agent([turn(0, [0, 2**32 - 1], tokens=4)], tools=4),
        r"requests\[0\].lcp and tail: found 4294967295 ids; legal: 1, one per 4 of 4 tokens",
    ),
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


@pytest.mark.parametrize("window_s", [-1.0, float("nan"), float("inf")])
def test_a_window_that_is_no_time_is_refused(tmp_path: Path, window_s: float) -> None:
    with pytest.raises(OptionsError, match=r"start_window_s: found .*; legal: seconds in \[0, "):
        read_trace(written(tmp_path, [GOOD]), start_window_s=window_s)


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
