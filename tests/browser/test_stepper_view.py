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


def test_a_step_and_a_first_draw_are_quick_to_do(blank: ViewPage, stepper: StepperView) -> None:
    """Counted, not timed: what a step paints does not grow with the run."""
    blank.mount(stepper)
    drawn = blank.page.evaluate(
        """() => { let n = 0; const pen = CanvasRenderingContext2D.prototype, old = pen.fillRect;
        pen.fillRect = function (...a) { n += 1; return old.apply(this, a); };
        window.drawn = () => n; return n; }"""
    )
    blank.set("step", 100)
    blank.page.wait_for_timeout(60)
    assert drawn == 0 < blank.page.evaluate("() => window.drawn()") < 4 * len(stepper.timeline)


def test_the_dashboard_stands_where_the_stepper_does(
    blank: ViewPage, run: Run
) -> None:  # spec: W-5
    view = DashboardView(run.recording)
    blank.mount(view)
    words = blank.page.locator(".nl-dashboard").inner_text()
    assert "request 15" in words
    blank.set("event", view.board.ended[4].event + 1)
    assert blank.get("step") == 4
    assert blank.get("selected") == view.board.ended[4].request
    blank.page.locator(".nl-dashboard canvas").focus()
    blank.page.keyboard.press("ArrowRight")
    assert blank.get("event") == view.board.ended[5].event
    blank.page.locator(".nl-dashboard canvas").click(position={"x": 100, "y": 60})
    assert blank.get("step") == 0
    blank.page.screenshot(path=SCREENSHOTS / "dashboard.png")
    assert blank.problems == []
    assert blank.end() == 0
