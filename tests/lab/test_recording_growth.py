"""Law: a long run keeps its newest events and no more memory than they take."""

from __future__ import annotations

import gc
import tracemalloc

import pytest

from lab.recorded_runs import drive, recording_of, simulated_engine
from ninfer_lab.contract.recording_options import PlacementDetail, RecordingOptions
from ninfer_lab.engine.engine import Engine

SLACK_BYTES = 200_000
"""What dictionaries that grow in steps may still move; a request that left all its events behind
would leave some 10 kB, a thousand of them 10 MB.
"""


def held_after(engine: Engine, seed: int, requests: int) -> int:
    drive(engine, seed, requests)
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def grown_bytes(requests: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """What the second half of so many requests leaves behind, once all bounds are met."""
    monkeypatch.setattr("ninfer_lab.engine.retained_outcomes.RETAINED_OUTCOMES", 50)
    options = RecordingOptions(
        placements=PlacementDetail.CHANGES, retained_events=1_000, remembered_tokens=10_000
    )
    tracemalloc.start()
    try:
        engine = simulated_engine(recording=options)
        drive(engine, 1, 200)
        first = held_after(engine, 2, requests // 2)
        second = held_after(engine, 3, requests - requests // 2)
    finally:
        tracemalloc.stop()
    recording = recording_of(engine)
    assert len(recording) == 1_000
    assert recording.lost_events_count > 5 * requests
    return second - first


@pytest.mark.slow
def test_memory_is_flat_over_two_thousand_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    assert grown_bytes(2_000, monkeypatch) < SLACK_BYTES


@pytest.mark.soak
def test_memory_is_flat_over_a_hundred_thousand_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    assert grown_bytes(100_000, monkeypatch) < SLACK_BYTES
