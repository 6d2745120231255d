"""Law: at every moment the story says of each place what the ledger says, and counts likewise."""

from __future__ import annotations

from collections import Counter

import pytest

from lab.recorded_runs import random_run
from ninfer_lab.contract.capacity import Axis
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.events import LedgerChanged, RequestAdmitted
from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.recording_options import PlacementDetail, RecordingOptions
from ninfer_lab.contract.target import StageName
from ninfer_lab.contract.transaction import TransactionPhase
from ninfer_lab.lab.experiments import two_aliases
from ninfer_lab.lab.placement_places import FREE, Mark
from ninfer_lab.lab.placement_story import PlacementStory, story_of, story_of_ledgers
from ninfer_lab.lab.recording.recording import Recording

CHANGES = RecordingOptions(placements=PlacementDetail.CHANGES)


@pytest.fixture(scope="module")
def run() -> Recording:
    return random_run(3, requests=60, recording=CHANGES)


@pytest.fixture(scope="module")
def story(run: Recording) -> PlacementStory:
    return story_of(run)


def test_every_place_in_use_is_marked_and_no_other(
    run: Recording, story: PlacementStory
) -> None:  # spec: W-3, RCD-1
    granule_bytes = run.facts.options.capacity.host_kv.granule_bytes
    cells = [FREE] * story.cells_count
    kinds: Counter[str] = Counter()
    for moment in story.moments:
        for cell, mark in moment.changes:
            assert cells[cell] != story.marks[mark], "what has not changed is not told"
            cells[cell] = story.marks[mark]
        for panel in story.panels:
            marks = cells[panel.first :][: panel.places_count]
            use = moment.occupancy.on(panel.axis)
            unit = granule_bytes if panel.axis is Axis.HOST_KV else 1
            held = sum(mark.is_held for mark in marks)
            there = sum(mark != FREE and not mark.is_held for mark in marks)
            assert there * unit == use.allocated_count, moment.words
            assert held * unit <= use.reserved_count, moment.words
            kinds["held"] += held
        kinds["shared"] += any(len(mark.holders) > 1 for mark in cells)
        kinds["pinned"] += any(mark.is_pinned for mark in cells)
        kinds["Host"] += moment.occupancy.host_kv.allocated_count > 0
        kinds["between"] += moment.stage is not None and moment.stage + 1 < len(moment.stages)
    expected = ("held", "shared", "pinned", "Host", "between")
    assert min(kinds[each] for each in expected) > 0, kinds


def test_the_ledger_of_every_change_is_a_moment(run: Recording, story: PlacementStory) -> None:
    # spec: W-3, RCD-1
    ledgers = [ledger for _, ledger in run.ledgers()]
    assert [moment.occupancy for moment in story.moments] == [
        ledger.occupancy for ledger in ledgers
    ]
    events = [moment.event for moment in story.moments]
    assert events == sorted(events), "views of one recording are linked by the event"


def test_a_transition_is_told_stage_by_stage(run: Recording, story: PlacementStory) -> None:
    # spec: W-3, STG-1
    told: Counter[StageName] = Counter()
    for moment in story.moments:
        event = run.events[moment.event]
        if moment.stage is None:
            continue
        stage = moment.stages[moment.stage]
        if stage.name is StageName.COMMITTED:
            assert not moment.words.startswith("stage "), "it is said by what has come of it"
        elif moment.words.startswith("stage "):
            assert moment.words.startswith(f"stage “{stage.name.value}” before ")
            assert isinstance(event, LedgerChanged)
        told[stage.name] += 1
    assert told.keys() == set(StageName) - {StageName.NOW}
    committed = [event for event in run.events if isinstance(event, RequestAdmitted)]
    assert told[StageName.COMMITTED] >= len(committed), "with copies and without"
    assert {moment.phase for moment in story.moments} >= {
        TransactionPhase.HOST_RELEASES.value,
        TransactionPhase.COPY_PREPARATION.value,
        TransactionPhase.COPIES_IN_FLIGHT.value,
        TransactionPhase.COPY_PUBLICATION.value,
    }


def test_what_a_demotion_holds_on_the_host_is_seen_place_by_place(
    run: Recording, story: PlacementStory
) -> None:  # spec: W-3, CAP-2
    (arena,) = (panel for panel in story.panels if panel.axis is Axis.HOST_KV)
    held = [
        sum(mark.is_held for mark in story.cells_at(step)[arena.first :][: arena.places_count])
        for step, moment in enumerate(story.moments)
        if moment.stage is not None
        and moment.stages[moment.stage].name is StageName.DEMOTION_RESERVED
    ]
    assert max(held) > 0
    granule_bytes = run.facts.options.capacity.host_kv.granule_bytes
    bytes_ = [
        moment.occupancy.host_kv.reserved_count
        for moment in story.moments
        if moment.stage is not None
        and moment.stages[moment.stage].name is StageName.DEMOTION_RESERVED
    ]
    assert [each * granule_bytes for each in held] == bytes_


def test_a_place_is_replayed_and_said_in_words() -> None:  # spec: W-3
    bench = two_aliases()
    told = [("three owners", bench.ledger)]
    bench.evict(OwnerId(1))
    told.append(("owner 1 is gone", bench.ledger))
    story = story_of_ledgers(told, bench.options.capacity.host_kv, "two aliases")
    assert story.describe(0) == (
        "1 of 2: three owners\n"
        "Device StateImage slots: 3 of 6 used\n"
        "  0: session endpoint at 256, owner 1\n"
        "  1: session endpoint at 268, owner 2\n"
        "  2: session endpoint at 128, owner 3\n"
        "Device KV pages, 64 tokens each: 7 of 16 used\n"
        "  0–3: owner 1 and owner 2\n"
        "  4: owner 2\n"
        "  5–6: owner 3\n"
        "Host StateImage slots: 0 of 4 used\n"
        "Host KV arena, to scale: 0 of 8,192 bytes used"
    )
    assert "  0–4: owner 2\n" in story.describe(1)
    assert story.cells_at(1)[0] == FREE
    assert len(story.moments[1].changes) == 5, "a slot and four pages, and nothing else"
    with pytest.raises(IndexError, match="moment 2 of 2"):
        story.cells_at(2)


def test_a_held_and_a_pinned_place_are_named(story: PlacementStory) -> None:
    assert story.words_of(Mark((), is_held=True)) == "held, and nothing is there yet"
    assert story.words_of(Mark((0,), "x", is_pinned=True)).endswith(", pinned by a reader")
    assert story.words_of(FREE) == "free"


def test_a_run_without_placements_is_refused_with_what_to_do() -> None:  # spec: BAD-1
    with pytest.raises(OptionsError, match=r"found no placements.*PlacementDetail\.CHANGES"):
        story_of(random_run(3, requests=2))
    with pytest.raises(OptionsError, match="found none"):
        story_of_ledgers([], two_aliases().options.capacity.host_kv, "nothing")
