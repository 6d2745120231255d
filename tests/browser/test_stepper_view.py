"""Law: the stepper steps by every unit, by mouse and by keys, says what stands, and asks for a
fork; the dashboard follows the same run.
"""

from __future__ import annotations

import pytest

from browser.test_first_notebook import SCREENSHOTS
from browser.view_page import ViewPage
from ninfer_lab.contract.events import ForwardRan
from ninfer_lab.contract.recording_options import PlacementDetail, RecordingOptions
from ninfer_lab.lab import worlds
from ninfer_lab.lab.changes import Faults
from ninfer_lab.lab.timeline import Position, Unit
from ninfer_lab.lab.widgets.dashboard_view import DashboardView
from ninfer_lab.lab.widgets.stepper_view import StepperView
from ninfer_lab.lab.world import Run

NEAR = ".nl-stepper canvas >> nth=0"


@pytest.fixture(scope="module")
def run() -> Run:
    placements = RecordingOptions(placements=PlacementDetail.CHANGES)
    return worlds.run("27b-short-turns", recording=placements)


def decoding(run: Run) -> int:
    """Where request 8 comes to 411 tokens."""
    return next(
        i
        for i, event in enumerate(run.recording.events)
        if isinstance(event, ForwardRan)
        and (event.rows[0].request, event.rows[0].end_tokens) == (8, 411)
    )


@pytest.fixture(scope="module")
def stepper(run: Run) -> StepperView:
    view = StepperView(run)
    view.step = decoding(run)
    view.fork_here(Faults(forwards=frozenset({0})))
    return view


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_says_what_stands_and_shows_the_fork_below(
    blank: ViewPage, stepper: StepperView, dark: bool
) -> None:  # spec: W-4, W-5
    blank.mount(stepper, dark=dark)
    words = blank.page.locator(".nl-stepper").inner_text()
    assert "decode forward of 1 token for request 8" in words
    assert "request 8 in lane 0 at 411 tokens" in words
    assert "forward 0 from there fails" in words
    assert blank.page.locator(".nl-stepper canvas").count() == 3
    blank.page.screenshot(path=SCREENSHOTS / f"stepper_{'dark' if dark else 'light'}.png")
    assert blank.problems == []


def test_keys_step_by_every_unit_as_the_timeline_does(
    blank: ViewPage, run: Run, stepper: StepperView
) -> None:  # spec: W-4
    blank.mount(stepper)
    here = decoding(run)
    for key, unit in (("r", Unit.REQUEST), ("c", Unit.CYCLE), ("p", Unit.PHASE)):
        blank.set("step", here)
        blank.page.locator(NEAR).focus()
        at = Position(here)
        for _ in range(3):
            blank.page.keyboard.press(key)
            at = stepper.timeline.next(at, unit)
            assert blank.get("step") == blank.get("event") == at.event
        blank.page.keyboard.press(f"Shift+{key.upper()}")
        assert blank.get("step") == stepper.timeline.previous(at, unit).event
    blank.page.keyboard.press("s")
    assert "stage by stage" in blank.page.locator(".nl-stepper").inner_text()
    blank.page.keyboard.press("End")
    assert blank.get("step") == len(stepper.timeline) - 1
    assert blank.problems == []


def test_a_click_goes_there_and_chooses_its_request(
    blank: ViewPage, run: Run, stepper: StepperView
) -> None:
    blank.mount(stepper)
    blank.page.locator(NEAR).click(position={"x": 500, "y": 30})
    assert blank.get("step") != decoding(run)
    assert isinstance(blank.get("selected"), int)
    assert blank.problems == []


def test_a_fork_is_asked_for_from_where_it_stands(blank: ViewPage, stepper: StepperView) -> None:
    blank.mount(stepper)
    blank.set("step", 200)
    blank.page.locator(".nl-stepper select").select_option("later requests do without the cache")
    blank.page.get_by_role("button", name="Fork here").click()
    asked = blank.get("fork_asked")
    assert (asked["event"], asked["change"]) == (200, "later requests do without the cache")
    assert blank.page.get_by_role("button", name="running again").is_disabled()
    assert blank.end() == 0


def test_a_step_paints_what_stands_about_it_and_moves_a_bar_over_the_run(
    blank: ViewPage, stepper: StepperView
) -> None:
    """Counted, not timed: what a step paints does not grow with the run."""
    blank.mount(stepper)
    blank.painted()
    blank.count_painting()
    bars = blank.page.locator(".nl-bar-here")
    before = [bars.nth(i).bounding_box() for i in range(2)]
    blank.set("step", 100)
    assert set(blank.painted()) == {0}, "of three canvases"
    for i, was in enumerate(before):
        now = bars.nth(i).bounding_box()
        assert was is not None
        assert now is not None
        assert now["x"] < was["x"] - 100
        assert now["height"] > 20
    blank.set("selected", 3)
    assert set(blank.painted()) == {0, 1, 2}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_dashboard_stands_where_the_stepper_does(
    blank: ViewPage, run: Run, dark: bool
) -> None:  # spec: W-5
    view = DashboardView(run.recording)
    blank.mount(view, dark=dark)
    blank.painted()
    blank.count_painting()
    words = blank.page.locator(".nl-dashboard").inner_text()
    assert "request 15" in words
    blank.set("event", view.board.ended[4].event + 1)
    assert blank.get("step") == 4
    assert blank.get("selected") == view.board.ended[4].request
    blank.page.locator(".nl-dashboard canvas").focus()
    blank.page.keyboard.press("ArrowRight")
    assert blank.get("event") == view.board.ended[5].event
    blank.page.screenshot(path=SCREENSHOTS / f"dashboard_{'dark' if dark else 'light'}.png")
    bar = blank.page.locator(".nl-bar-here")
    was = bar.bounding_box()
    blank.page.locator(".nl-dashboard canvas").click(position={"x": 100, "y": 60})
    assert blank.get("step") == 0
    assert blank.painted() == {}, "only the bar moves"
    now = bar.bounding_box()
    assert was is not None
    assert now is not None
    assert now["x"] < was["x"] - 300
    assert blank.problems == []
    assert blank.end() == 0
