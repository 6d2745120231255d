"""Law: a loaded recording is forked as its run is: its world is told again and proved to be the
same; what cannot be told again, or comes out otherwise, is refused with what to do.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab.recorded_runs import random_run, recording_of, simulated_engine
from ninfer_lab.contract.errors import NinferLabError, OptionsError
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.options import EngineOptions
from ninfer_lab.contract.recording_options import (
    EVERYTHING,
    PlacementDetail,
    RecordingOptions,
)
from ninfer_lab.engine.assembly import ControllerFactory, catalog_design
from ninfer_lab.lab import designs, stories, worlds
from ninfer_lab.lab.changes import (
    Change,
    Faults,
    OtherDesign,
    OtherOptions,
    TakenBack,
    WithoutCache,
)
from ninfer_lab.lab.fork import fork_here
from ninfer_lab.lab.live_recording import recorded
from ninfer_lab.lab.machines import Machine
from ninfer_lab.lab.recording.recording import Recording
from ninfer_lab.lab.recording.recording_file import RecordingError
from ninfer_lab.lab.recording.run_facts import RunFacts, Telling
from ninfer_lab.lab.retelling import can_run_again, run_again
from ninfer_lab.lab.world import Run

HALF = 90
A_FAULT = Faults(forwards=frozenset({0}))


@pytest.fixture(scope="module")
def run() -> Run:
    return worlds.run("27b-short-turns")


@pytest.fixture
def loaded(run: Run, tmp_path: Path) -> Recording:
    return through_a_file(run.recording, tmp_path)


def through_a_file(recording: Recording, folder: Path) -> Recording:
    path = folder / "run.recording"
    recording.save(path)
    return Recording.load(path)


def with_facts(recording: Recording, **changed: Any) -> Recording:
    return replace(recording, facts=replace(recording.facts, **changed))


def with_telling(recording: Recording, **changed: Any) -> Recording:
    assert recording.facts.telling is not None
    return with_facts(recording, telling=replace(recording.facts.telling, **changed))


# ── told again ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "change",
    [
        A_FAULT,
        WithoutCache(),
        OtherDesign("lane-owned", designs.named("lane-owned")),
        OtherOptions(EngineOptions(max_concurrency=1, device_state_slots=1)),
    ],
    ids=str,
)
def test_a_fork_of_a_loaded_recording_is_the_fork_of_its_run(
    run: Run, loaded: Recording, change: Change
) -> None:  # spec: W-4, RCD-2
    mine, theirs = fork_here(run, HALF, change), fork_here(loaded, HALF, change)
    assert mine.difference is not None
    assert theirs == mine
    assert theirs.original is loaded


def test_with_nothing_changed_a_loaded_recording_comes_out_again(loaded: Recording) -> None:
    fork = fork_here(loaded, HALF)
    assert fork.difference is None
    assert fork.forked == loaded


SOME_OF_IT = RecordingOptions(
    targets_of=frozenset({RequestId(3), RequestId(1)}),
    placements=PlacementDetail.CHANGES,
    keyframe_every_changes=7,
)


@pytest.mark.parametrize(
    ("world", "design", "detail"),
    [
        ("27b-short-turns", "catalog", EVERYTHING),
        ("tiny-side-request", "catalog", SOME_OF_IT),
        ("side-request-abab", "lane-owned-registry", RecordingOptions()),
        ("27b-siblings", "vllm", RecordingOptions()),
    ],
)
def test_a_world_is_told_again_by_its_design_and_in_its_detail(
    tmp_path: Path, world: str, design: str, detail: RecordingOptions
) -> None:  # spec: RCD-2
    run = worlds.run(world, design=designs.named(design), recording=detail)
    loaded = through_a_file(run.recording, tmp_path)
    telling = loaded.facts.telling
    assert telling == Telling(
        machine=Machine.SIMULATED, design=design, options=run.world.story.options, recorded=detail
    )
    again = run_again(loaded)
    assert again == run
    assert again.recording == loaded == run.recording


def test_a_world_is_told_again_with_the_options_it_was_told_with(tmp_path: Path) -> None:
    world = worlds.named("27b-short-turns")
    fewer = replace(world.story.options, device_state_slots=1)
    run = worlds.run(replace(world, story=replace(world.story, options=fewer)))
    assert run.events != worlds.run(world).events
    assert run_again(through_a_file(run.recording, tmp_path)) == run


def test_whoever_has_the_world_gives_it(run: Run, loaded: Recording, tmp_path: Path) -> None:
    truth = replace(run.world.truth, decode=replace(run.world.truth.decode, step_ns=1))
    slow = worlds.run(replace(run.world, truth=truth))
    with pytest.raises(RecordingError, match="its world told again says otherwise"):
        run_again(slow.recording)
    assert run_again(slow.recording, slow.world) == slow
    own = tmp_path / "my-own.story"
    own.write_text(stories.text_of(run.world.story), encoding="utf-8")
    mine = worlds.run(worlds.named(own)).recording
    with pytest.raises(RecordingError, match=r"found my-own; legal: 27b-agent, .* your own story"):
        fork_here(mine, HALF)
    assert fork_here(run_again(mine, worlds.named(own)), HALF, A_FAULT).difference is not None
    with pytest.raises(
        RecordingError, match="27b-short-turns: world: found 27b-short-turns; legal: my"
    ):
        run_again(loaded, worlds.named(own))


def test_another_version_is_no_reason_as_long_as_the_events_are_the_same(
    loaded: Recording,
) -> None:
    older = with_facts(loaded, package_version="0.0.0")
    assert run_again(older).events == loaded.events
    otherwise = replace(older, events=older.events[:-1])
    with pytest.raises(RecordingError, match=r"made by ninfer-lab 0\.0\.0, and this is"):
        run_again(otherwise)


# ── refused ─────────────────────────────────────────────────────────────────────────────────────


def test_what_comes_out_otherwise_is_refused_wherever_it_differs(loaded: Recording) -> None:
    # spec: W-4, RCD-2
    events = loaded.events
    for place in (0, HALF, len(events) - 1):
        other = events[place]._replace(at_ns=events[place].at_ns + 1)  # type: ignore[union-attr]
        changed = replace(loaded, events=(*events[:place], other, *events[place + 1 :]))
        with pytest.raises(RecordingError) as refusal:
            fork_here(changed, HALF)
        said = str(refusal.value)
        assert said.startswith("recording of 27b-short-turns: found its world told again says")
        assert f" otherwise (recorded — again): event {place}, " in said
        assert "(at_ns); legal: events that come out again" in said
        assert said.endswith("run the world again and fork the run")


def test_a_fork_and_a_run_with_faults_are_not_told_again(run: Run) -> None:
    forked = fork_here(run, HALF, A_FAULT).forked
    with pytest.raises(RecordingError, match="those of a fork, of a run with faults"):
        run_again(forked)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda r: with_facts(r, world="27b-tall-turns"),
            "world: found 27b-tall-turns; legal: 27b-agent",
        ),
        (
            lambda r: with_facts(r, world="../workloads/27b-agent.story"),
            "world: found ../workloads",
        ),
        (
            lambda r: with_facts(r, seed=5),
            "27b-short-turns: seed: found 5; legal: None, as the world has it",
        ),
        (
            lambda r: with_facts(r, geometry="tiny"),
            "27b-short-turns: geometry: found tiny; legal: 27b,",
        ),
        (
            lambda r: with_facts(r, options=replace(r.facts.options, max_pending_requests=5)),
            "options: max_pending_requests: found 5; legal: 16, as the world has it here",
        ),
        (
            lambda r: with_telling(r, options=EngineOptions(max_concurrency=2)),
            "options: capacity: ",
        ),
        (
            lambda r: with_telling(r, options=EngineOptions(max_concurrency=99)),
            "max_concurrency: found 99; legal: 1 <= max_concurrency <= 8",
        ),
        (
            lambda r: with_telling(r, design="abacus"),
            "design: found abacus; legal: catalog or lane",
        ),
        (
            lambda r: with_telling(r, design=None),
            "design: found one without a name; legal: catalog or",
        ),
        (
            lambda r: with_telling(r, machine=Machine.TORCH_WALL_TIME),
            "machine: found torch-wall-time; legal: simulated, where a run follows from its world",
        ),
        (lambda r: replace(r, lost_events_count=7), "found 7 events lost; legal: a run with all"),
        (
            lambda r: with_facts(r, telling=None),
            "found no world that was told; legal: that of a world",
        ),
    ],
)
def test_facts_that_are_not_of_this_run_are_refused_before_anything_is_run(
    loaded: Recording,
    monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[Recording], Recording],
    message: str,
) -> None:  # spec: BAD-1
    def ran(*_: object, **__: object) -> None:
        raise AssertionError("it was run")

    monkeypatch.setattr(worlds, "run", ran)
    spoiled = spoil(loaded)
    with pytest.raises(NinferLabError) as refusal:
        run_again(spoiled)
    assert message in str(refusal.value)
    assert not can_run_again(spoiled)
    assert can_run_again(loaded)


def test_who_was_told_no_world_is_stepped_and_not_forked(tmp_path: Path) -> None:  # spec: W-4
    with simulated_engine() as engine:
        live = recorded(engine, "27b-short-turns")
        assert recording_of(engine).facts.telling is None
    for recording in (live, through_a_file(random_run(3, requests=4), tmp_path)):
        with pytest.raises(RecordingError, match="a served engine's or a trace's is only stepped"):
            run_again(recording)


def test_a_design_of_ones_own_has_no_name_and_its_run_is_forked(run: Run) -> None:
    def of_my_own(*parts: Any) -> Any:
        return catalog_design(*parts)

    own: ControllerFactory = of_my_own
    mine = worlds.run("27b-short-turns", design=own)
    with pytest.raises(RecordingError, match="with one of your own, run the world again"):
        fork_here(mine.recording, HALF)
    assert fork_here(mine, HALF).difference is None
    assert mine.events == run.events


def test_an_event_that_is_not_there_is_refused_before_anything_is_run(
    loaded: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(worlds, "run")
    with pytest.raises(OptionsError, match="event: found 9999"):
        fork_here(loaded, 9_999)
    with pytest.raises(OptionsError, match="request to take back: found 99"):
        fork_here(loaded, HALF, TakenBack(RequestId(99)))


# ── the file ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("machine", "abacus", "telling.machine: found 'abacus'; legal: 'simulated', 'torch'"),
        ("recorded.retained_events", 0, "telling.recorded.recording.retained_events: found 0"),
        ("recorded.targets_of", [3, 1], "telling.recorded.targets_of: found [3, 1]; legal: a list"),
        ("recorded.targets_of", [1, 1], "telling.recorded.targets_of: found [1, 1]; legal: a list"),
        ("recorded.targets_of", [1, "3"], "telling.recorded.targets_of.[]: found '3'"),
    ],
)
def test_a_damaged_telling_is_named(
    run: Run, tmp_path: Path, field: str, value: object, message: str
) -> None:  # spec: BAD-1
    path = tmp_path / "run.recording"
    run.recording.save(path)
    with zipfile.ZipFile(path) as archive:
        texts = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(texts["header.json"])
    at = header["facts"]
    for kind, name in zip(
        ("RunFacts", "Telling", "RecordingOptions"), ("telling", *field.split(".")), strict=False
    ):
        place = header["schema"][kind].index(name)
        if name == field.rsplit(".", maxsplit=1)[-1]:
            at[place] = value
        at = at[place]
    texts["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
    with pytest.raises(RecordingError) as refusal:
        Recording.load(path)
    assert message in str(refusal.value)
    assert str(refusal.value).startswith(f"{path}: header.json: ")


def test_the_facts_of_a_run_are_those_of_its_recording(run: Run) -> None:
    assert isinstance(run.facts, RunFacts)
    assert run.facts == run.recording.facts
