"""Law: events are kept in order of emission, only the oldest are ever lost, and what is recorded
never changes what is decided.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ninfer_lab.contract.candidate import ReusePath, SourceDisposition
from ninfer_lab.contract.capacity import Axis, Capacity, Occupancy
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.events import Event, LedgerChanged, RequestAdmitted, RequestBlocked
from ninfer_lab.contract.ids import LaneId, OwnerId, RequestId
from ninfer_lab.contract.machine_work import MachineWork
from ninfer_lab.contract.placement import LedgerSnapshot, OwnerPlacement
from ninfer_lab.contract.placement_change import applied, empty_ledger
from ninfer_lab.contract.recording_options import (
    ALL_TARGETS,
    DECISIONS_ONLY,
    PlacementDetail,
    RecordingOptions,
)
from ninfer_lab.contract.search_report import Resort, SearchReport, TargetCounts, TargetVerdict
from ninfer_lab.contract.target import StageName, StateTransition, Violation
from ninfer_lab.engine.recorder import Recorder

CAPACITY = Capacity(device_state_slots=2, device_kv_pages=4)
EMPTY = empty_ledger(Occupancy.of(CAPACITY, ((0, 0), (0, 0), (0, 0), (0, 0), (0, 0))))


def event(number: int) -> Event:
    return RequestBlocked(
        at_ns=number,
        request=RequestId(number),
        revision=0,
        reason="",
        report=SearchReport(verdicts=(), chosen=None),
    )


def recorder_of(count: int, retained: int = 10) -> Recorder:
    recorder = Recorder(RecordingOptions(retained_events=retained), lambda: EMPTY)
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


@pytest.mark.parametrize(
    ("name", "build"),
    [
        ("keyframe_every_changes", lambda: RecordingOptions(keyframe_every_changes=0)),
        ("retained_events", lambda: RecordingOptions(retained_events=0)),
        ("remembered_tokens", lambda: RecordingOptions(remembered_tokens=0)),
    ],
)
def test_a_recorder_that_keeps_nothing_is_refused(
    name: str, build: Callable[[], RecordingOptions]
) -> None:
    with pytest.raises(OptionsError, match=rf"recording\.{name}: found 0"):
        build()


# ── how much of a search is kept ────────────────────────────────────────────────────────────────


NO_ROOM = Violation(stage=StageName.COMMITTED, axis=Axis.DEVICE_KV, used_count=5, capacity_count=4)


def verdict(reuse: int, *, evicted: int = 0, fits: bool = True, slot: bool = True) -> TargetVerdict:
    return TargetVerdict(
        path=ReusePath.PRIVATE_ENDPOINT,
        owner=OwnerId(1),
        disposition=SourceDisposition.RETAIN,
        reuse_tokens=reuse,
        prefill_tokens=100 - reuse,
        evicted=tuple(OwnerId(i) for i in range(evicted)),
        degraded=(),
        deleted=(),
        state=StateTransition.FORK,
        cow_pages=0,
        stages=(),
        work=MachineWork(),
        has_publication_slot=slot,
        violations=() if fits else (NO_ROOM,),
    )


CROWD = SearchReport(
    verdicts=(
        verdict(0),  # 0: fits
        verdict(90, fits=False),  # 1: the deepest offer
        verdict(40),  # 2: the best identity
        verdict(40),  # 3: as good, later
        verdict(60, slot=False),  # 4: fits, cannot be catalogued
        verdict(80, evicted=2),  # 5: the winner
        verdict(0, evicted=3)._replace(owner=None),  # 6: root with everything released
    ),
    chosen=5,
)


def admitted(request: int, report: SearchReport) -> RequestAdmitted:
    return RequestAdmitted(
        at_ns=0,
        request=RequestId(request),
        lane=LaneId(0),
        path=ReusePath.PRIVATE_ENDPOINT,
        state=StateTransition.FORK,
        reuse_tokens=80,
        cow_pages=0,
        evicted=(),
        report=report,
    )


def kept_report(options: RecordingOptions, request: int) -> SearchReport:
    recorder = Recorder(options, lambda: EMPTY)
    recorder.emit(admitted(request, CROWD))
    (kept,) = recorder
    assert isinstance(kept, RequestAdmitted)
    return kept.report


def test_a_decision_keeps_winner_best_identity_deepest_offer_and_counts() -> None:  # spec: RCD-1
    decision = kept_report(DECISIONS_ONLY, 1)
    assert [v.reuse_tokens for v in decision.verdicts] == [90, 40, 80]
    assert decision.verdicts[2] is CROWD.verdicts[5]
    assert (decision.chosen, decision.best_identity) == (2, 1)
    assert decision.verdicts[1] is CROWD.verdicts[2]
    assert decision.counts == CROWD.counts == TargetCounts(seen=7, feasible=6, adoptable=5)
    assert decision.omitted == TargetCounts(seen=4, feasible=4, adoptable=3)
    assert decision.best_offered_tokens == CROWD.best_offered_tokens == 90
    assert decision.resort is CROWD.resort is Resort.PRESSURE
    assert str(decision).endswith("… and 4 more, 4 of which fit")
    assert decision.decision() is decision


def test_all_targets_are_kept_of_a_run_or_of_the_requests_that_were_named() -> None:
    named = RecordingOptions(targets_of=frozenset({RequestId(7)}))
    assert kept_report(ALL_TARGETS, 1) is CROWD
    assert kept_report(named, 7) is CROWD
    assert kept_report(named, 8) == CROWD.decision()


@pytest.mark.parametrize(
    ("chosen", "resort"),
    [
        (None, Resort.NOTHING_FITS),
        (2, Resort.IDENTITY),
        (5, Resort.PRESSURE),
        (6, Resort.MAXIMAL),
    ],
)
def test_how_much_was_given_up_survives_the_reduction(chosen: int | None, resort: Resort) -> None:
    report = replace(CROWD, chosen=chosen)
    assert report.resort is report.decision().resort is resort


# ── the ledger before each event ────────────────────────────────────────────────────────────────


def owners(*ids: int) -> LedgerSnapshot:
    return replace(
        EMPTY,
        owners=tuple(
            OwnerPlacement(owner=OwnerId(i), history_tokens=i, checkpoints=()) for i in ids
        ),
    )


def test_each_change_of_the_ledger_stands_before_the_event_that_speaks_of_it() -> None:
    pictures = [EMPTY, EMPTY, owners(1), owners(1), owners(1, 2), owners(2)]
    shown = iter(pictures)
    options = RecordingOptions(placements=PlacementDetail.CHANGES, keyframe_every_changes=3)
    recorder = Recorder(options, lambda: next(shown))
    for number in range(len(pictures)):
        recorder.emit(event(number))

    told = [
        ("keyframe" if e.is_keyframe else "change") if isinstance(e, LedgerChanged) else e.at_ns
        for e in recorder
    ]
    assert told == ["keyframe", 0, 1, "change", 2, 3, "change", 4, "keyframe", 5]

    rebuilt, picture = [], EMPTY
    for each in recorder:
        if isinstance(each, LedgerChanged):
            picture = applied(EMPTY if each.is_keyframe else picture, each.change)
        else:
            rebuilt.append(picture)
    assert rebuilt == pictures


def test_a_ledger_that_nobody_wants_is_not_looked_at() -> None:
    def look() -> LedgerSnapshot:
        raise AssertionError("looked at")

    Recorder(DECISIONS_ONLY, look).emit(event(1))
