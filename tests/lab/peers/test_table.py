"""Law: what was measured stands unchanged beside what is computed now, request by request."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lab.peers.measurements import llama_cpp_run, measurements, vllm_run
from ninfer_lab.lab.bench.peers.streams import STREAMS, cycle, edits
from ninfer_lab.lab.bench.peers.table import columns_of, render


def lines_of(text: str) -> list[list[str]]:
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ]


def test_each_run_has_three_lines_and_each_request_a_column() -> None:
    text = render(measurements(vllm_run("edits", cached=(0, 1, 2, 3, 40_000))))
    heads, _, measured, predicted, ours = lines_of(text)
    assert heads == [
        *("cached tokens of", "turn 1 (900)", "turn 2 (1,530)", "turn 2, edited (1,530)"),
        *("turn 2, edited again (1,530)", "turn 3 (1,600)"),
    ]
    assert measured == ["**vLLM**, 256 blocks", "0", "1", "2", "3", "40,000"]
    assert predicted == ["predicted", "0", "768", "768", "768", "1,152"]
    assert ours[0] == "catalog engine, 96.0 MiB"


def test_requests_of_one_label_are_summed() -> None:
    counts = [0] * 12 + list(range(12))
    text = render(measurements(llama_cpp_run("cycle", pool_mib=24, cached=counts)))
    heads, _, measured, *_ = lines_of(text)
    assert heads == ["cached tokens of", "round 1 (12 × 1,500)", "round 2 (12 × 1,500)"]
    assert measured == ["**llama.cpp**, 1 slot, RAM pool 24 MiB", "0", "66"]


@pytest.mark.parametrize("name", STREAMS)
def test_every_request_stands_in_exactly_one_column(name: str) -> None:
    stream = STREAMS[name]()
    indices = [
        index
        for _, requests in columns_of(stream)
        for index in range(len(stream.requests))[requests]
    ]
    assert indices == list(range(len(stream.requests)))
    assert len(columns_of(edits())) == 5
    assert len(columns_of(cycle())) == 2


def test_the_same_weights_are_counted_by_first_tokens() -> None:
    run = replace(vllm_run("first-tokens"), first_tokens=(1, 2, 3, 4, 5, 6, 7, 8))
    text = render(measurements(run, own_first_tokens=(1, 2, 3, 4, 5, 6, 7, 9)))
    assert "vLLM draws the same first token as this engine behind 7 of 8 prompts." in text
    assert lines_of(text) == []


def test_a_run_of_other_requests_says_so() -> None:
    stale = replace(vllm_run("edits"), digest="0" * 16)
    _, _, _, predicted, ours = lines_of(render(measurements(stale)))
    assert predicted[0] == "predicted (other requests than today's)"
    assert ours[0].endswith("(other requests than today's)")


def test_day_versions_and_machine_stand_above() -> None:
    first, *_ = render(measurements(vllm_run("edits"))).splitlines()
    assert first == "Measured 2026-01-02 · vLLM 9.9 · A Processor, 2 cores, Linux."
