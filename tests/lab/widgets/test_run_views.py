"""Law: the stepper and the dashboard say what a recording says, a fork is run from the view, and
whatever goes wrong is shown and leaves them usable.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.lab import worlds
from ninfer_lab.lab.changes import Faults, TakenBack
from ninfer_lab.lab.recording.misses import MissCause
from ninfer_lab.lab.recording.recording import Recording
from ninfer_lab.lab.recording.recording_file import RecordingError
from ninfer_lab.lab.run_columns import run_columns
from ninfer_lab.lab.run_dashboard import GROUP_OF_CAUSE, GROUPS, dashboard_of
from ninfer_lab.lab.timeline import Unit
from ninfer_lab.lab.widgets import stepper_view
from ninfer_lab.lab.widgets.dashboard_view import DashboardView
from ninfer_lab.lab.widgets.live_view import packed
from ninfer_lab.lab.widgets.stepper_view import StepperView
from ninfer_lab.lab.world import Run


@pytest.fixture(scope="module")
def run() -> Run:
    return worlds.run("27b-short-turns")


@pytest.fixture
def stepper(run: Run) -> StepperView:
    return StepperView(run)


def test_the_stepper_says_where_it_stands(stepper: StepperView) -> None:  # spec: W-4, W-5
    stepper.step = 60
    assert stepper.event == 60
    assert str(stepper).splitlines()[1:] == str(stepper.moment).splitlines()
    assert repr(stepper) == str(stepper)
    stepper.event = 61
    assert stepper.step == 61
    stepper.set_state({"step": 90})  # the browser says so, and says the event itself
    assert (stepper.step, stepper.event) == (90, 61)
    stepper.set_state({"event": 90})
    assert (stepper.step, stepper.event) == (90, 90)
    assert stepper.picture().axes[0].get_title(loc="left") == "27b-short-turns"


def test_its_columns_are_the_timeline_and_the_frontiers(stepper: StepperView) -> None:
    columns, facts = run_columns(stepper.timeline)
    for unit in Unit:
        assert tuple(columns[f"stops_{unit.name.lower()}"]) == stepper.timeline.stops[unit]
    for event in range(0, len(stepper.timeline), 5):
        for running in stepper.timeline.moment(event).following.running:
            mine = (columns["run_event"] <= event) & (columns["run_request"] == running.request)
            ends = columns["run_end"][mine]
            assert running.frontier_tokens == (ends[-1] if len(ends) else running.reuse_tokens)
    assert packed(columns)[0] == stepper.columns
    assert len(facts["words"]) <= len(stepper.timeline)


def test_a_fork_is_asked_for_by_the_browser(stepper: StepperView) -> None:  # spec: W-4
    stepper.fork_asked = {"event": 90, "change": "the next forward fails"}
    assert stepper.fork is not None
    assert stepper.fork.asked_event == stepper.step == 90
    assert stepper.fork_asked == {}
    assert stepper.problem == ""
    assert stepper.fork_facts["difference"] == stepper.fork.difference.ordinals[0]  # type: ignore[union-attr]
    assert ["changed", "forward 0 from there fails"] in stepper.fork_lines
    assert str(stepper.fork) in str(stepper)
    assert len(stepper.picture().axes) == 2


def test_what_goes_wrong_is_shown_and_the_view_goes_on(run: Run) -> None:  # spec: W-5
    view = StepperView(run, changes={"nobody": TakenBack(99), "a fault": Faults()})  # type: ignore[arg-type]
    view.fork_asked = {"event": 50, "change": "nobody"}
    assert view.problem.startswith("OptionsError: request to take back: found 99")
    assert view.fork_asked == {}
    view.fork_asked = {"event": 50, "change": "a fault"}
    assert view.problem == ""
    assert view.fork is not None
    assert view.fork.difference is None


def test_an_interrupt_leaves_the_view_usable(
    stepper: StepperView, monkeypatch: pytest.MonkeyPatch
) -> None:  # spec: W-4
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(stepper_view, "fork_here", interrupted)
        stepper.fork_asked = {"event": 50, "change": "the next copy fails"}
    assert stepper.fork is None
    assert stepper.fork_asked == {}
    assert stepper.fork_lines == [["fork", "interrupted; what stood before still does"]]
    stepper.step = 20
    stepper.fork_asked = {"event": 50, "change": "the next copy fails"}
    assert stepper.fork is not None


def test_a_loaded_recording_is_forked_by_the_view_as_its_run(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # spec: W-4
    run.recording.save(tmp_path / "run")
    view, of_run = StepperView(Recording.load(tmp_path / "run")), StepperView(run)
    assert view.facts == of_run.facts
    asked = {"event": 90, "change": "the next forward fails"}
    view.fork_asked, of_run.fork_asked = asked, asked
    assert view.problem == ""
    assert view.fork == of_run.fork
    assert view.fork_lines == of_run.fork_lines
    monkeypatch.setattr(stepper_view, "run_again", None)  # it is proved once
    view.fork_asked = {**asked, "event": 60}
    assert view.fork is not None
    assert view.fork.asked_event == 60


def test_a_recording_of_no_world_is_stepped_and_not_forked(run: Run) -> None:  # spec: W-4
    live = replace(run.recording, facts=replace(run.recording.facts, telling=None))
    view = StepperView(live)
    assert view.facts["changes"] == []
    with pytest.raises(RecordingError, match="found no world that was told"):
        view.fork_here()
    view.fork_asked = {"event": 90, "change": "the next forward fails"}
    assert view.problem.startswith("RecordingError: recording of 27b-short-turns")
    assert (view.fork, view.fork_asked) == (None, {})
    with pytest.raises(OptionsError, match="no event"):
        StepperView(replace(run.recording, events=()))


# ── the dashboard ───────────────────────────────────────────────────────────────────────────────


def test_the_dashboard_adds_up_to_the_tables(run: Run) -> None:  # spec: W-5
    recording = run.recording
    board = dashboard_of(recording)
    assert [each.request for each in board.ended] == recording.requests["request"].to_list()
    computed = sum(sum(each.groups_tokens) for each in board.ended)
    assert computed == recording.misses["tokens"].sum()
    rows = recording.requests.rows(named=True)
    hits, prompts = (
        sum(row[name] for row in rows) for name in ("prefix_cache_hit_tokens", "prompt_tokens")
    )
    assert board.ended[-1].hit_share == pytest.approx(hits / prompts)
    assert set(GROUP_OF_CAUSE) == set(MissCause), "each cause has its group"
    assert max(max(each.use_shares) for each in board.ended) <= 1
    shares = np.array([each.use_shares for each in board.ended])
    assert (np.diff(shares, axis=0) < 0).any(), "each since the end before, not since the start"
    view = DashboardView(recording)
    view.step = 12
    assert view.event == board.ended[12].event
    assert "state evicted 415" in view.told
    assert view.told in str(view)
    view.event = 3  # before the first end: the first is where it stands
    assert view.step == 0
    assert view.event == 3, "what another view stands at is kept"
    groups = np.array([each.groups_tokens for each in board.ended])
    assert groups.shape[1] == len(GROUPS)
    assert len(view.picture().axes) == 4
    with pytest.raises(OptionsError, match="no request that ended"):
        DashboardView(replace(recording, events=()))
