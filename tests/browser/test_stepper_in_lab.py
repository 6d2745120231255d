"""Law: in a real JupyterLab a run is stepped and forked, two views of it stand at one event, and a
cell that was interrupted leaves them usable.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from browser.jupyter_session import LabPage
from browser.test_first_notebook import SCREENSHOTS
from ninfer_lab.lab import worlds
from ninfer_lab.lab.timeline import Position, Timeline, Unit

NEAR = ".nl-stepper canvas >> nth=0"
SHOWN = """
import ipywidgets
from ninfer_lab import lab
run = lab.worlds.run("27b-short-turns")
stepper, board = lab.StepperView(run), lab.DashboardView(run.recording)
linked = ipywidgets.jslink((stepper, "event"), (board, "event"))
ipywidgets.VBox([stepper, board])
"""
READ = "print(stepper.step, board.step, stepper.fork and stepper.fork.first_event)"
LONG = """
import time
time.sleep(60)
"""


def settled(lab: LabPage, step: str) -> list[str]:
    """What the kernel holds, once it has heard of the step: keys are faster than messages."""
    words: list[str] = []
    for _ in range(8):
        lab.run_cell(2)
        words = lab.printed(2).split()
        if words[:1] == [step]:
            break
        lab.page.wait_for_timeout(250)  # or it was interrupted a moment ago
    return words


def test_a_run_is_stepped_and_forked_and_an_interrupt_harms_nothing(
    notebook_of: Callable[..., LabPage],
) -> None:  # spec: W-4, W-5
    lab = notebook_of("stepper.ipynb", SHOWN, READ, LONG)
    lab.run_cell(1)
    near = lab.page.locator(NEAR)
    near.wait_for()
    near.focus()
    for key in ("End", "Shift+R", "c"):
        lab.page.keyboard.press(key)
    timeline = Timeline.of(worlds.run("27b-short-turns").recording)
    last = Position(len(timeline) - 1)
    at = timeline.next(timeline.previous(last, Unit.REQUEST), Unit.CYCLE).event
    words = f"event {at} of {last.event}"
    lab.page.locator(".nl-stepper .nl-step").get_by_text(words).wait_for()
    assert settled(lab, str(at)) == [str(at), "13", "None"]
    lab.page.locator(".nl-stepper select").select_option("the next forward fails")
    lab.page.get_by_role("button", name="Fork here").click()
    lab.page.get_by_text("first difference", exact=True).wait_for()
    step, request, first_event = settled(lab, str(at))
    assert (step, request) == (str(at), "13"), "a fork moves nobody"
    assert int(first_event) >= at
    lab.screenshot(SCREENSHOTS / "stepper_in_lab.png")
    with pytest.raises(TimeoutError):
        lab.run_cell(3, limit_s=2)
    lab.command("notebook:interrupt-kernel", limit_s=30)
    lab.wait_for_error(limit_s=30)
    near.focus()
    lab.page.keyboard.press("Home")
    assert settled(lab, "0")[:2] == ["0", "0"]
    assert lab.problems == []
