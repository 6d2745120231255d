"""Law: a recording is its run: the same seed gives the same bytes, a file gives back what was
saved, and the ledger is rebuilt from it as it was.
"""

from __future__ import annotations

import random
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from lab.recorded_runs import random_run
from ninfer_lab.contract.events import Event, LedgerChanged
from ninfer_lab.contract.placement import LedgerSnapshot
from ninfer_lab.contract.recording_options import (
    ALL_TARGETS,
    PlacementDetail,
    RecordingDetail,
    RecordingOptions,
)
from ninfer_lab.engine.engine import Engine
from ninfer_lab.lab.recording.recording import Recording
from ninfer_lab.lab.recording.recording_file import RecordingError

EVERYTHING = RecordingOptions(
    detail=RecordingDetail.TARGETS, placements=PlacementDetail.CHANGES, keyframe_every_changes=7
)


@pytest.fixture(scope="module")
def whole() -> Recording:
    return random_run(3, recording=EVERYTHING)


@pytest.fixture
def saved(whole: Recording, tmp_path: Path) -> Path:
    path = tmp_path / "run.recording"
    whole.save(path)
    return path


# ── the same run, the same bytes ────────────────────────────────────────────────────────────────


def test_the_same_world_gives_the_same_bytes_and_another_seed_others(
    saved: Path, tmp_path: Path
) -> None:  # spec: RCD-2
    again, other = tmp_path / "again", tmp_path / "other"
    random_run(3, recording=EVERYTHING).save(again)
    random_run(4, recording=EVERYTHING).save(other)
    assert again.read_bytes() == saved.read_bytes()
    assert other.read_bytes() != saved.read_bytes()


def test_what_is_recorded_changes_nothing_that_is_decided(whole: Recording) -> None:
    told = [event for event in whole.events if not isinstance(event, LedgerChanged)]
    assert tuple(told) == random_run(3, recording=ALL_TARGETS).events
    decisions = random_run(3)
    assert decisions.requests.equals(whole.requests)
    assert decisions.plans.equals(whole.plans)
    assert decisions.misses.equals(whole.misses)
    assert decisions.checkpoints.equals(whole.checkpoints)


# ── one file ────────────────────────────────────────────────────────────────────────────────────


def test_a_loaded_recording_equals_the_saved_one(whole: Recording, saved: Path) -> None:
    assert Recording.load(saved) == whole
    empty = replace(whole, events=(), lost_events_count=5)
    empty.save(saved)
    assert Recording.load(saved) == empty


def test_saving_leaves_one_file_and_replaces_an_older_one_as_a_whole(
    whole: Recording, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # spec: BAD-1
    before = saved.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        replace(whole, events=()).save(saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_a_file_that_is_cut_short_anywhere_is_refused(saved: Path) -> None:  # spec: BAD-1
    whole = saved.read_bytes()
    for length in sorted({0, 1, 4, 100, len(whole) // 2, len(whole) - 22, len(whole) - 1}):
        saved.write_bytes(whole[:length])
        with pytest.raises(RecordingError, match=r"run\.recording: found damaged, cut short"):
            Recording.load(saved)


def test_a_damaged_byte_is_refused_or_makes_no_difference(tmp_path: Path, soaking: bool) -> None:
    whole = random_run(3, requests=8, recording=EVERYTHING)  # it is read very often
    saved = tmp_path / "small"
    whole.save(saved)
    intact = saved.read_bytes()
    draw = random.Random(5)
    places = [*range(60), *draw.sample(range(len(intact)), 2_000 if soaking else 60)]
    refused_count = 0
    for place in places:
        damaged = bytearray(intact)
        damaged[place] ^= 1 << draw.randrange(8)
        saved.write_bytes(damaged)
        try:
            loaded = Recording.load(saved)
        except RecordingError:
            refused_count += 1
        else:
            assert loaded == whole, f"byte {place} changed the recording unnoticed"
    assert refused_count > len(places) // 2


def rewritten(path: Path, name: str, old: str, new: str) -> None:
    with zipfile.ZipFile(path) as archive:
        texts = {each: archive.read(each).decode() for each in archive.namelist()}
    assert old in texts[name]
    texts[name] = texts[name].replace(old, new, 1)
    with zipfile.ZipFile(path, "w") as archive:
        for each, text in texts.items():
            archive.writestr(each, text)


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        (
            "header.json",
            '"format":"ninfer-lab recording 2"',
            '"format":"ninfer-lab recording 9"',
            "found format 'ninfer-lab recording 9'; legal: 'ninfer-lab recording 2'",
        ),
        ("header.json", '"events":', '"events":1', "events.ndjson: found"),
        ("header.json", '"cow_pages"', '"cow_leaves"', "header.json: RequestAdmitted: found field"),
        ("header.json", "random clients", 'random",5,"', "header.json: found"),
        (
            "events.ndjson",
            '["RequestSubmitted",[',
            '["RequestForgotten",[',
            ": kind: found 'RequestForgotten'; legal: CaptureTried, ForwardRan",
        ),
        (
            "events.ndjson",
            '"read_write"',
            '"read_only"',
            "RequestSubmitted.mode: found 'read_only'; legal: 'read_write', 'disabled'",
        ),
        ("events.ndjson", ',"read_write",', ",7,", "RequestSubmitted.mode: found 7"),
        ("events.ndjson", "[", "", "events.ndjson:1: found"),
        (
            "events.ndjson",
            '"d2h",10240,',
            '"d2h",-10240,',
            "work.transfers.[]: found {'phase'",
        ),
    ],
)
def test_a_malformed_part_is_named(
    saved: Path, name: str, old: str, new: str, message: str
) -> None:  # spec: BAD-1
    rewritten(saved, name, old, new)
    with pytest.raises(RecordingError) as refusal:
        Recording.load(saved)
    assert str(refusal.value).startswith(str(saved))
    assert message in str(refusal.value)


def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("letter.txt", "dear")
    with pytest.raises(RecordingError, match=r"entries \['letter.txt'\]; legal: a recording"):
        Recording.load(path)
    with pytest.raises(RecordingError, match="no such file"):
        Recording.load(tmp_path / "nothing")
    with pytest.raises(RecordingError, match="legal: a readable file"):
        Recording.load(tmp_path)


# ── the ledger, rebuilt without the engine ──────────────────────────────────────────────────────


def test_the_ledger_is_rebuilt_as_it_was_at_every_moment_the_engine_was_looked_at(
    tmp_path: Path,
) -> None:  # spec: RCD-1
    seen: list[tuple[int, LedgerSnapshot]] = []

    def look(engine: Engine) -> None:
        if engine.events:
            seen.append((len(engine.events) - 1, engine.describe().ledger))

    path = tmp_path / "run"
    random_run(3, requests=25, recording=EVERYTHING, after_each=look).save(path)
    recording = Recording.load(path)
    assert len({ledger.resource_revision for _, ledger in seen}) > 20
    for ordinal, ledger in seen:
        assert committed(recording.ledger_at(ordinal)) == committed(ledger)


def committed(ledger: LedgerSnapshot) -> LedgerSnapshot:
    """Without the length of running histories: a drawn token joins after its forward's event, and
    the next event's ledger has it.
    """
    sequences = tuple(replace(each, history_tokens=0) for each in ledger.sequences)
    return replace(ledger, sequences=sequences)


def test_a_walk_gives_what_each_single_question_gives(whole: Recording) -> None:
    walked = dict(whole.ledgers())
    changes = [i for i, e in enumerate(whole.events) if isinstance(e, LedgerChanged)]
    assert list(walked) == changes
    for ordinal in changes[::17]:
        assert whole.ledger_at(ordinal) == walked[ordinal]
        if ordinal + 1 not in walked:
            assert whole.ledger_at(ordinal + 1) == walked[ordinal]


def first(events: tuple[Event, ...], *, keyframe: bool) -> int:
    return next(
        i
        for i, e in enumerate(events)
        if i > 0 and isinstance(e, LedgerChanged) and e.is_keyframe is keyframe
    )


def test_a_ledger_whose_keyframe_is_lost_is_refused_until_the_next(whole: Recording) -> None:
    after_first = replace(whole, events=whole.events[1:])
    start = first(after_first.events, keyframe=True)
    with pytest.raises(RecordingError, match=r"found no keyframe before it; legal: a run recorded"):
        after_first.ledger_at(start - 1)
    assert after_first.ledger_at(start) == whole.ledger_at(start + 1)
    assert next(after_first.ledgers())[0] == start
    with pytest.raises(IndexError):
        whole.ledger_at(len(whole))


# ── shown ───────────────────────────────────────────────────────────────────────────────────────


def test_a_recording_shows_what_it_is_in_text_and_html(whole: Recording) -> None:  # spec: W-6
    text, page = str(whole), whole._repr_html_()
    for name, said in whole.summary():
        assert f"{name:16} {said}" in text
        assert name in page
    assert "random clients, seed 3" in text
    assert "recorded" in dict(whole.summary())["placements"]
    named = replace(whole, facts=replace(whole.facts, world="<b>bold</b>"))
    assert "&lt;b&gt;bold" in named._repr_html_()
    assert repr(whole) == f"<Recording of random clients: {len(whole)} events>"
    lost = dict(replace(whole, events=(), lost_events_count=1_234).summary())
    assert lost["events"] == "0, 1,234 older ones lost"
