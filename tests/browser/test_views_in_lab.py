"""Law: in a real JupyterLab a view is drawn, chosen from and stepped, and the kernel knows."""

from __future__ import annotations

from collections.abc import Callable

from browser.jupyter_session import LabPage
from browser.test_first_notebook import SCREENSHOTS

CANVAS = ".nl-target-graph canvas[tabindex]"
TOLD_CODE_CELL = 4
"""Of notebook 50: the one that prints what is chosen."""

SLIDER = ".nl-target-graph .nl-slider"

GRAPH = """
from ninfer_lab import lab
shown = lab.TargetGraphView(lab.decisions.look(lab.planner_problems.generated(437)))
shown
"""
READ = "print(shown.selected, shown.step, shown.told.splitlines()[1])"
MODELS = """
import gc
import ipywidgets
print(len(ipywidgets.Widget._instances if hasattr(ipywidgets.Widget, '_instances')
          else ipywidgets.widgets.widget._instances))
"""


def click_target(lab: LabPage, target: int) -> None:
    x, y = lab.page.evaluate(
        f"() => document.querySelector({CANVAS!r}).placeOf({target}).map(Math.round)"
    )
    lab.page.locator(CANVAS).first.click(position={"x": x, "y": y})


def run_until(lab: LabPage, cell: int, number: int, words: str) -> str:
    """Runs a cell until it prints some words, and gives all it printed.

    A view's changes wait while the kernel is busy with an earlier one: a run may overtake them.
    """
    for _ in range(10):
        lab.run_cell(cell)
        if words in lab.printed(number):
            break
        lab.page.wait_for_timeout(200)
    return lab.printed(number)


def test_the_notebook_of_targets_is_run_clicked_and_stepped(lab: LabPage) -> None:
    # spec: NB-2, W-1, W-5
    lab.open("50_targets_and_bounded_search.ipynb")
    lab.run_all()
    assert lab.errors() == []
    counts = [cell["execution_count"] for cell in lab.code_cells()]
    assert counts == list(range(1, len(counts) + 1))
    graph_cell = next(
        number
        for number, source in enumerate(lab.sources(), start=1)
        if "TargetGraphView(decision)" in source
    )
    lab.show(graph_cell)
    lab.page.locator(CANVAS).first.wait_for()
    lab.screenshot(SCREENSHOTS / "50_target_graph.png")
    click_target(lab, 0)
    lab.page.locator(".nl-told").first.get_by_text("From root").wait_for()
    told = next(n for n, s in enumerate(lab.sources(), start=1) if s == "print(graph.told)")
    printed = run_until(lab, told, TOLD_CODE_CELL, "target 0")
    assert printed.startswith("target 0: does not fit, look 1\nfrom root\n")
    assert lab.problems == []


def test_keys_move_the_slider_and_not_the_notebook(notebook_of: Callable[..., LabPage]) -> None:
    # spec: W-5
    lab = notebook_of("keys.ipynb", GRAPH, READ)
    lab.run_all()
    slider = lab.page.locator(SLIDER)
    slider.focus()
    lab.page.keyboard.press("Home")
    for _ in range(3):
        lab.page.keyboard.press("ArrowRight")
    lab.page.keyboard.press("PageDown")
    lab.page.locator(".nl-step").get_by_text("after 13 of 28 looks").wait_for()
    lab.page.locator(CANVAS).focus()
    lab.page.keyboard.press("Home")
    assert run_until(lab, 2, 2, "from root").split()[1] == "13"
    assert "from root" in lab.printed(2)
    assert lab.problems == []


def test_a_cell_that_is_run_again_leaks_nothing(notebook_of: Callable[..., LabPage]) -> None:
    # spec: W-5
    lab = notebook_of("again.ipynb", GRAPH, MODELS)
    lab.run_all()
    before = int(lab.printed(2))
    for _ in range(3):
        lab.run_cell(1)
    lab.page.locator(CANVAS).first.wait_for()
    lab.run_cell(2)
    assert int(lab.printed(2)) == before
    assert lab.page.locator(CANVAS).count() == 1
    assert lab.problems == []


MAP = """
bench = lab.experiments.two_aliases()
bench.evict(1)
places = lab.PlacementMapView(bench.moments, bench.options, name="owner 1 goes")
again = lab.PlacementMapView(bench.moments, bench.options, name="beside it")
import ipywidgets
link = ipywidgets.jslink((places, "step"), (again, "step"))
ipywidgets.VBox([places, again])
"""
ASK = "print(places.step, again.step, places.event, places.told.splitlines()[0])"


def test_two_maps_step_together_in_the_dark(notebook_of: Callable[..., LabPage]) -> None:
    # spec: W-3, W-5
    lab = notebook_of("map.ipynb", "from ninfer_lab import lab", MAP, ASK)
    lab.command("apputils:change-theme", arguments={"theme": "JupyterLab Dark"})
    lab.run_all()
    assert lab.errors() == []
    first, second = (lab.page.locator(".nl-placement-map").nth(i) for i in range(2))
    first.locator(".nl-drawn canvas").focus()
    lab.page.keyboard.press("Home")
    lab.page.keyboard.press("ArrowRight")
    second.locator(".nl-step").get_by_text("moment 2 of").wait_for()
    assert run_until(lab, 3, 3, "1 1 1 2 of ").startswith("1 1 1 2 of ")
    lab.show(2)
    lab.screenshot(SCREENSHOTS / "placement_map_in_lab_dark.png")
    assert lab.problems == []
