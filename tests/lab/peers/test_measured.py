"""Law: measurements read back equal, people can read them, and a damaged file is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lab.peers.measurements import llama_cpp_run, measurements, vllm_run
from ninfer_lab.lab.bench.peers.measured import MeasuredError, read_measurements

FOUND = measurements(
    vllm_run("edits", cached=(0, 768, 768, 768, 1_152)), llama_cpp_run("edits", pool_mib=24)
)


def test_measurements_read_back_equal(tmp_path: Path) -> None:
    path = tmp_path / "measured.json"
    FOUND.write(path)
    assert read_measurements(path) == FOUND
    assert [each.name for each in tmp_path.iterdir()] == ["measured.json"]


def test_the_counts_of_a_run_stand_in_one_line(tmp_path: Path) -> None:
    FOUND.write(tmp_path / "measured.json")
    lines = (tmp_path / "measured.json").read_text().splitlines()
    assert '      "cached_tokens": [0, 768, 768, 768, 1152],' in lines


def test_a_stream_that_has_changed_since_is_told_apart() -> None:
    run = vllm_run("edits")
    assert run.is_of_today
    assert not replace(run, digest="0" * 16).is_of_today


@pytest.mark.parametrize(
    ("way", "value", "message"),
    [
        (("format",), "other", "found other; legal: ninfer-lab peers 1"),
        (("day",), 7, "measured.json day: found 7"),
        (("runs",), {}, "measured.json runs: found {}; legal: a list"),
        (("runs", 0, "peer"), "ours", "runs 0 peer: found ours; legal: vLLM or llama.cpp"),
        (("runs", 0, "settings"), {"blocks_count": 1}, "legal: blocks_count, context_tokens"),
        (("runs", 1, "settings", "slots_count"), True, "slots_count: found True"),
        (("runs", 1, "cached_tokens", 2), -1, "cached_tokens 2: found -1"),
        (("runs", 0, "facts"), None, "facts: found NoneType; legal: a JSON object"),
        (("versions", "vLLM"), 9.9, "versions vLLM: found 9.9; legal: a text"),
    ],
)
def test_a_damaged_file_is_refused_by_the_way_to_it(
    tmp_path: Path, way: tuple[str | int, ...], value: object, message: str
) -> None:
    path = tmp_path / "measured.json"
    FOUND.write(path)
    document = json.loads(path.read_text())
    place = document
    for step in way[:-1]:
        place = place[step]
    place[way[-1]] = value
    path.write_text(json.dumps(document))
    with pytest.raises(MeasuredError) as refused:
        read_measurements(path)
    assert message in str(refused.value)


@pytest.mark.parametrize("text", [None, "{", "[]"])
def test_what_is_no_such_file_is_refused(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "measured.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(MeasuredError, match=r"measured\.json"):
        read_measurements(path)
