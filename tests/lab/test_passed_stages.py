"""Law: at every stage that it passes, a transition uses of every axis what its plan has proved."""

from __future__ import annotations

from collections import Counter

import pytest

from lab.recorded_runs import OPTIONS, random_run
from ninfer_lab.contract.events import (
    CaptureTried,
    LedgerChanged,
    RequestAdmitted,
    SharedCaptureEnded,
    TransitionEnded,
)
from ninfer_lab.contract.placement import LedgerSnapshot
from ninfer_lab.contract.recording_options import PlacementDetail, RecordingOptions
from ninfer_lab.contract.target import Stage, StageName
from ninfer_lab.lab.passed_stages import Ending, PassedStage, passed_stages
from ninfer_lab.lab.recording.recording import Recording

CHANGES = RecordingOptions(placements=PlacementDetail.CHANGES)
TOLD = (
    StageName.RELEASED,
    StageName.DEMOTION_RESERVED,
    StageName.DEMOTED,
    StageName.DESTINATIONS_RESERVED,
)
"""Stages in the middle: before the first stands what was, after the last what has come of it."""


@pytest.fixture(scope="module", params=[3, 5])
def run(request: pytest.FixtureRequest) -> Recording:
    return random_run(request.param, recording=CHANGES)


def reached(run: Recording) -> list[tuple[PassedStage, LedgerSnapshot]]:
    """Every stage in the middle, with the ledger as it was looked at there."""
    passed = passed_stages(run.events)
    return [(passed[i], ledger) for i, ledger in run.ledgers() if i in passed and passed[i].is_new]


def plan_of(ending: Ending) -> tuple[Stage, ...]:
    """Every stage of what an event says to have been chosen."""
    match ending:
        case RequestAdmitted(report=report) | TransitionEnded(report=report):
            assert report is not None
            assert report.winner is not None
            return report.winner.stages
        case SharedCaptureEnded(told=told):
            return told.stages
        case CaptureTried(result=result):
            assert result.shared is not None
            return result.shared.stages


def test_a_stage_is_reached_as_it_was_proved(run: Recording) -> None:  # spec: STG-1, STG-2, W-3
    seen: Counter[tuple[bool, StageName]] = Counter()
    for passed, ledger in reached(run):
        assert passed.ending is not None
        assert passed.last is not None
        planned = plan_of(passed.ending)[passed.last]
        assert planned.name is passed.name
        used = [use.used_count for use in ledger.occupancy.axes]
        assert used == [use.used_count for use in planned.occupancy.axes], passed
        is_capture = isinstance(passed.ending, CaptureTried | SharedCaptureEnded)
        seen[is_capture, passed.name] += 1
    assert all(seen[False, name] >= 3 for name in TOLD), seen
    assert all(seen[True, name] >= 1 for name in (TOLD[0], TOLD[-1])), seen


def test_every_stage_of_a_plan_is_told_once_and_in_its_order(run: Recording) -> None:  # spec: STG-2
    told: dict[int, list[StageName]] = {}
    endings: dict[int, Ending] = {}
    for passed, _ in reached(run):
        assert passed.ending is not None
        told.setdefault(id(passed.ending), []).append(passed.name)
        endings[id(passed.ending)] = passed.ending
    aborted_count = 0
    for id_of, names in told.items():
        planned = [stage.name for stage in plan_of(endings[id_of]) if stage.name in TOLD]
        assert names == planned[: len(names)]
        if isinstance(endings[id_of], TransitionEnded):
            aborted_count += len(names) < len(planned)
        else:
            assert names == planned
    admitted_count = sum(isinstance(event, RequestAdmitted) for event in run.events)
    assert len(told) > admitted_count > 20, "and captures"
    assert aborted_count > 0, "a copy that failed ends it between two stages"


def test_what_a_commit_has_come_to_is_shown_by_a_ledger_of_its_own(run: Recording) -> None:
    # spec: W-3
    passed = passed_stages(run.events)
    ends = [i for i, each in passed.items() if each.name is StageName.COMMITTED]
    ledgers = [i for i in ends if isinstance(run.events[i], LedgerChanged)]
    admitted = [i for i in ends if isinstance(run.events[i], RequestAdmitted)]
    assert len(admitted) == sum(isinstance(event, RequestAdmitted) for event in run.events)
    assert {id(passed[i].ending) for i in ledgers} >= {id(run.events[i]) for i in admitted}
    assert not any(passed[i].is_new for i in ledgers), "the event that tells of it is the halt"


def test_a_stage_in_the_middle_publishes_no_revision(run: Recording) -> None:  # spec: REV-4
    before = 0
    for passed, ledger in reached(run):
        assert ledger.transition is not None
        assert ledger.transition.stage is passed.name
        assert ledger.resource_revision >= before
        before = ledger.resource_revision
    transactions: dict[int, set[int]] = {}
    for _, ledger in reached(run):
        assert ledger.transition is not None
        revisions = transactions.setdefault(ledger.transition.transaction, set())
        revisions.add(ledger.resource_revision)
    assert all(len(revisions) == 1 for revisions in transactions.values())


def test_without_ledgers_an_admission_stands_for_all_its_stages() -> None:
    run = random_run(3, requests=12)
    passed = passed_stages(run.events)
    admitted = [i for i, event in enumerate(run.events) if isinstance(event, RequestAdmitted)]
    assert set(admitted) <= {i for i in passed if passed[i].stages}
    for i in admitted:
        assert (passed[i].first, passed[i].last) == (0, len(passed[i].stages) - 1)


def test_with_ledgers_an_admission_shows_its_last_stage(run: Recording) -> None:
    passed = passed_stages(run.events)
    for i, event in enumerate(run.events):
        if isinstance(event, RequestAdmitted):
            assert passed[i].name is StageName.COMMITTED
            assert passed[i].first == passed[i].last == len(passed[i].stages) - 1


def test_decisions_do_not_depend_on_who_looks(run: Recording) -> None:  # spec: RCD-1
    seed = run.facts.seed
    assert seed is not None
    unseen = random_run(seed, options=OPTIONS)
    told = tuple(event for event in run.events if not isinstance(event, LedgerChanged))
    assert told == unseen.events
