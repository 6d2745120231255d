"""Law: events are kept in order of emission, and only the oldest are ever lost."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.events import Event, RequestBlocked
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.search_report import SearchReport
from ninfer_lab.engine.recorder import Recorder


def event(number: int) -> Event:
    return RequestBlocked(
        at_ns=number,
        request=RequestId(number),
        revision=0,
        reason="",
        report=SearchReport(verdicts=(), chosen=None),
    )


def recorder_of(count: int, retained: int = 10) -> Recorder:
    recorder = Recorder(retained)
    for number in range(count):
        recorder.emit(event(number))
    return recorder


@pytest.mark.parametrize(("count", "kept"), [(0, 0), (9, 9), (10, 10), (11, 10), (25, 10)])
def test_the_newest_are_kept(count: int, kept: int) -> None:  # spec: RCD-1
    recorder = recorder_of(count)
    assert [e.at_ns for e in recorder] == list(range(count - kept, count))
    assert (recorder.emitted_count, len(recorder)) == (count, kept)


@pytest.mark.parametrize(
    ("since", "expected"), [(25, []), (23, [23, 24]), (15, list(range(15, 25))), (3, None)]
)
def test_what_came_since_is_told_as_far_as_it_is_kept(
    since: int, expected: list[int] | None
) -> None:
    told = [e.at_ns for e in recorder_of(25).since(since)]
    assert told == (list(range(15, 25)) if expected is None else expected)
