"""Law: a step by any unit halts where that unit does, back and forth; a jump tells what stood, from
one keyframe and few events, however long the run.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from ninfer_lab.contract.events import (
    ForwardRan,
    LedgerChanged,
    RequestAdmitted,
    RequestFinished,
    RequestSubmitted,
    TransitionEnded,
    TransitionStarted,
)
from ninfer_lab.contract.recording_options import PlacementDetail, RecordingOptions
from ninfer_lab.contract.target import StageName
from ninfer_lab.lab import worlds
from ninfer_lab.lab.recording.recording import Recording
from ninfer_lab.lab.timeline import FOLLOWED_EVERY_EVENTS, Position, Timeline, Unit

KEYFRAME_EVERY_CHANGES = 32


@pytest.fixture(scope="module")
def recording() -> Recording:
    options = RecordingOptions(
        placements=PlacementDetail.CHANGES, keyframe_every_changes=KEYFRAME_EVERY_CHANGES
    )
    return worlds.run("27b-short-turns", recording=options).recording


@pytest.fixture(scope="module")
def timeline(recording: Recording) -> Timeline:
    return Timeline.of(recording)


def walked(timeline: Timeline, unit: Unit) -> list[Position]:
    """Every halt from the first event on."""
    found, at = [], Position(0)
    while (after := timeline.next(at, unit)) != at:
        found.append(after)
        at = after
    return found


@pytest.mark.parametrize("unit", Unit)
def test_every_step_on_is_taken_back(timeline: Timeline, unit: Unit) -> None:  # spec: W-4
    on = walked(timeline, unit)
    assert len(on) > 3
    assert on == sorted(on)
    back, at = [on[-1]], on[-1]
    while (before := timeline.previous(at, unit)) != at and before > Position(0):
        back.append(before)
        at = before
    assert back[::-1] == on


def test_each_unit_halts_at_what_it_is_named_for(timeline: Timeline) -> None:  # spec: W-4
    events = timeline.recording.events
    at_request = [events[p.event] for p in walked(timeline, Unit.REQUEST)]
    admitted = [event for event in events if isinstance(event, RequestAdmitted)]
    assert [e for e in at_request if isinstance(e, RequestAdmitted)] == admitted
    at_phase = {p.event for p in walked(timeline, Unit.PHASE)}
    for i, event in enumerate(events):
        if isinstance(event, TransitionStarted | TransitionEnded):
            assert i in at_phase
    in_flight = [
        e.change.transition.phase
        for i in at_phase
        if isinstance(e := events[i], LedgerChanged) and e.change.transition is not None
    ]
    assert in_flight, "the phases of copies are halts of their own"
    assert all(not isinstance(events[p.event], LedgerChanged) for p in walked(timeline, Unit.EVENT))


def test_a_cycle_has_at_most_one_forward(timeline: Timeline) -> None:
    events = timeline.recording.events
    stops = [*timeline.stops[Unit.CYCLE], len(events)]
    forwards = [sum(isinstance(e, ForwardRan) for e in events[a:b]) for a, b in pairwise(stops)]
    assert max(forwards) == 1
    assert sum(forwards) == sum(isinstance(e, ForwardRan) for e in events)
    ends = [i for i, e in enumerate(events) if isinstance(e, RequestFinished)]
    for end in ends:  # what a forward brings to its end ends in the forward's own cycle
        start = timeline.previous(Position(end), Unit.CYCLE).event
        assert any(isinstance(e, ForwardRan) for e in events[start:end])


def test_stages_are_stepped_with_their_peaks(timeline: Timeline) -> None:  # spec: W-4
    events = timeline.recording.events
    walked_stages = walked(timeline, Unit.STAGE)
    names = []
    for at in walked_stages:
        event, moment = events[at.event], timeline.moment(at)
        assert moment.stage is not None
        assert moment.stage.occupancy == moment.occupancy
        assert moment.stage.name.value in str(moment)
        names.append(moment.stage.name)
        if not isinstance(event, LedgerChanged):
            assert moment.stage.name is StageName.COMMITTED
            assert timeline.moment(Position(at.event)).stage is moment.stage, (
                "its first is its last"
            )
        else:  # the ledger of that very stage
            assert isinstance(event, LedgerChanged)
            assert moment.ledger is not None
            assert moment.ledger.transition is not None
            assert moment.ledger.transition.stage is moment.stage.name
    assert set(names) >= {StageName.RELEASED, StageName.DEMOTED, StageName.COMMITTED}
    with pytest.raises(IndexError, match="stage 99"):
        timeline.moment(Position(walked_stages[0].event, 99))


def test_without_ledgers_the_stages_of_a_plan_are_stepped_at_its_commit() -> None:  # spec: W-4
    timeline = Timeline.of(worlds.run("tiny-side-request").recording)
    on = walked(timeline, Unit.STAGE)
    plans = [e.report.winner for e in timeline.recording.events if isinstance(e, RequestAdmitted)]
    planned = [stage for winner in plans if winner is not None for stage in winner.stages]
    assert [timeline.moment(at).stage for at in on] == planned
    assert timeline.previous(on[-1], Unit.STAGE) == on[-2]


def test_a_jump_tells_what_a_walk_from_the_start_tells(timeline: Timeline) -> None:  # spec: W-4
    recording = timeline.recording
    waiting: set[int] = set()
    active: dict[int, int] = {}
    ended_count = 0
    for i, event in enumerate(recording.events):
        match event:
            case RequestAdmitted():
                waiting.discard(event.request)
                active[event.request] = event.reuse_tokens
            case ForwardRan():
                active |= {row.request: row.end_tokens for row in event.rows}
            case RequestFinished():
                waiting.discard(event.request)
                active.pop(event.request, None)
                ended_count += 1
            case RequestSubmitted():
                waiting.add(event.request)
            case _:
                pass
        if i % 7 == 0:
            moment = timeline.moment(i)
            following = moment.following
            assert set(following.waiting) == waiting
            assert {r.request: r.frontier_tokens for r in following.running} == active
            assert following.finished_count == ended_count
            assert moment.ledger == (recording.ledger_at(i) if i >= timeline.keyframes[0] else None)


def test_a_jump_over_fifty_thousand_events_reads_few(recording: Recording) -> None:  # spec: W-4
    """The work is counted, not timed: one keyframe, its changes, and the events of one stretch."""
    last = max(i for i, event in enumerate(recording.events) if isinstance(event, ForwardRan))
    padded = (*recording.events[:last], *[recording.events[last]] * 50_000)
    timeline = Timeline.of(replace(recording, events=padded))
    bound = FOLLOWED_EVERY_EVENTS + KEYFRAME_EVERY_CHANGES
    counts = [timeline.moment(i).read_count for i in range(0, len(padded), 997)]
    assert len(padded) > 50_000
    assert max(counts) <= bound
    assert timeline.moment(len(padded) - 1).ledger == recording.ledger_at(last)


def test_without_placements_a_moment_knows_its_occupancy() -> None:
    timeline = Timeline.of(worlds.run("tiny-side-request").recording)
    moment = timeline.moment(len(timeline) - 1)
    assert moment.ledger is None
    assert moment.occupancy is not None
    assert ("ended", "3") in moment.lines
    assert "<table>" in moment._repr_html_()
    with pytest.raises(IndexError, match="event 99999 of"):
        timeline.moment(99_999)
