"""Law: a long run keeps its newest events and no more memory than they take."""

from __future__ import annotations

import gc
import resource
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.recorded_runs import drive, recording_of, simulated_engine
from ninfer_lab.contract.recording_options import PlacementDetail, RecordingOptions

SLACK_BYTES = 200_000
"""What dictionaries that grow in steps may still move; a request that left all its events behind
would leave some 10 kB, a hundred and fifty of them 1.5 MB.
"""

SLACK_BLOCKS = 5_000
"""One object left behind by every tenth of fifty thousand requests. The same run, caught at two
moments, differs by some hundred, for the newest events are now of other kinds.
"""

SLACK_RESIDENT_BYTES = 16_000_000
"""What an allocator may still take for itself; fifty thousand requests that left one kB each behind
would take 50 MB.
"""

STATM = Path("/proc/self/statm")


def grown(requests: int, measure: Callable[[], int], monkeypatch: pytest.MonkeyPatch) -> int:
    """What the second half of so many requests leaves behind, once all bounds are met."""
    monkeypatch.setattr("ninfer_lab.engine.retained_outcomes.RETAINED_OUTCOMES", 50)
    options = RecordingOptions(
        placements=PlacementDetail.CHANGES, retained_events=1_000, remembered_tokens=10_000
    )
    engine = simulated_engine(recording=options)
    drive(engine, 1, 200)
    found = []
    for seed in (2, 3):
        drive(engine, seed, requests // 2)
        gc.collect()
        found.append(measure())
    recording = recording_of(engine)
    assert len(recording) == 1_000
    assert recording.lost_events_count > 5 * requests
    return found[1] - found[0]


@pytest.mark.slow
def test_memory_is_flat_over_three_hundred_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    tracemalloc.start()
    try:
        left_bytes = grown(300, lambda: tracemalloc.get_traced_memory()[0], monkeypatch)
    finally:
        tracemalloc.stop()
    assert left_bytes < SLACK_BYTES


@pytest.mark.soak
def test_memory_is_flat_over_a_hundred_thousand_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in objects and in pages of the process: to trace every allocation of so many requests
    would take four times as long.
    """
    resident_bytes: list[int] = []

    def blocks() -> int:
        if STATM.is_file():
            resident_bytes.append(int(STATM.read_text().split()[1]) * resource.getpagesize())
        return sys.getallocatedblocks()

    left_blocks = grown(100_000, blocks, monkeypatch)
    print(f"{left_blocks} blocks more, resident {resident_bytes}")  # shown by `pytest -s`
    assert left_blocks < SLACK_BLOCKS
    if resident_bytes:
        assert resident_bytes[1] - resident_bytes[0] < SLACK_RESIDENT_BYTES
