"""Law: the target graph is drawn, chosen from and read by mouse and by keys, without a kernel."""

from __future__ import annotations

import pytest

from browser.test_first_notebook import SCREENSHOTS
from browser.view_page import ViewPage
from ninfer_lab.lab.decisions import look
from ninfer_lab.lab.planner_problems import generated
from ninfer_lab.lab.widgets.target_graph_view import TargetGraphView

CANVAS = ".nl-target-graph canvas[tabindex]"
TAKEN = 14


@pytest.fixture(scope="module")
def graph() -> TargetGraphView:
    return TargetGraphView(look(generated(437)))


def place_of(blank: ViewPage, target: int) -> dict[str, float]:
    x, y = blank.page.evaluate(
        f"() => document.querySelector({CANVAS!r}).placeOf({target}).map(Math.round)"
    )
    return {"x": x, "y": y}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_opens_on_what_was_taken(
    blank: ViewPage, graph: TargetGraphView, dark: bool
) -> None:  # spec: W-1, W-5
    blank.mount(graph, dark=dark)
    words = blank.page.locator(".nl-told").inner_text()
    assert "Target 14: fits, and can be published · taken" in words
    assert "shortened to 1,030 tokens" in words
    assert "1.23 s" in words
    red, _, blue = blank.pixel(CANVAS, place_of(blank, TAKEN)["x"] - 8, place_of(blank, TAKEN)["y"])
    assert blue > red + 60, "what fits is blue"
    red, _, blue = blank.pixel(CANVAS, **place_of(blank, 2))
    assert red > blue + 60, "what does not fit is orange"
    blank.page.screenshot(path=SCREENSHOTS / f"target_graph_{'dark' if dark else 'light'}.png")
    assert blank.problems == []


def test_a_click_chooses_and_the_choice_is_read(
    blank: ViewPage, graph: TargetGraphView
) -> None:  # spec: W-1
    blank.mount(graph)
    blank.page.locator(CANVAS).click(position=place_of(blank, graph.seen.incumbents[1]))  # type: ignore[arg-type]
    assert blank.get("selected") == graph.seen.incumbents[1]
    assert "J, TERM BY TERM" in blank.page.locator(".nl-told").inner_text().upper()
    blank.set("selected", 0)
    assert "from root" in blank.page.locator(".nl-told").inner_text().lower()
    assert blank.problems == []


def test_the_exact_inequality_is_found_by_keyboard(
    blank: ViewPage, graph: TargetGraphView
) -> None:  # spec: W-1, W-5
    blank.mount(graph)
    blank.page.locator(CANVAS).focus()
    blank.page.keyboard.press("n")
    chosen = graph.seen.targets[blank.get("selected")]
    assert chosen.looked_at == 8
    words = blank.page.locator(".nl-told").inner_text()
    assert "at “destinations reserved”, device KV pages: 213 used > 175 there are" in words
    blank.page.keyboard.press("End")
    assert blank.get("selected") == TAKEN
    blank.page.keyboard.press("ArrowUp")
    assert graph.seen.targets[blank.get("selected")].depth == 0
    assert blank.problems == []


def test_the_rest_opens_and_closes(blank: ViewPage, graph: TargetGraphView) -> None:
    blank.mount(graph)
    placed = "() => document.querySelector('.nl-target-graph canvas').height"
    few = blank.page.evaluate(placed)
    blank.page.locator(CANVAS).focus()
    blank.page.keyboard.press("a")
    blank.page.wait_for_function(f"few => ({placed})() !== few", arg=few)
    blank.page.keyboard.press("a")
    blank.page.wait_for_function(f"few => ({placed})() === few", arg=few)
    assert blank.problems == []


def test_with_fewer_looks_it_is_as_the_search_had_it_then(
    blank: ViewPage, graph: TargetGraphView
) -> None:
    blank.mount(graph)
    blank.page.locator(".nl-slider").focus()
    blank.page.keyboard.press("Home")
    assert blank.get("step") == 0
    assert "nothing that fits yet" in blank.page.locator(".nl-step").inner_text()
    blank.set("step", 6)
    assert "the best has J 1.38 s" in blank.page.locator(".nl-step").inner_text()
    assert blank.problems == []


def test_whatever_takes_the_focus_keeps_its_keys_and_has_a_name(
    blank: ViewPage, graph: TargetGraphView
) -> None:  # spec: W-5
    blank.mount(graph)
    found = blank.page.evaluate(
        "() => [...document.querySelectorAll('button, input, [tabindex]')].map(each =>"
        " [each.tagName, each.dataset.lmSuppressShortcuts,"
        "  each.getAttribute('aria-label') ?? each.textContent])"
    )
    assert len(found) >= 8
    assert [each for each in found if each[1] != "true" or not each[2]] == []


def test_an_end_lets_everything_go(blank: ViewPage, graph: TargetGraphView) -> None:
    blank.mount(graph)
    assert blank.end() == 0
    assert blank.problems == []


def test_a_broken_view_says_so_where_it_stands(blank: ViewPage) -> None:  # spec: W-5
    broken = TargetGraphView(look(generated(437)))
    broken.columns_at = {**broken.columns_at, "depth": ("f16", 0, 1)}
    blank.mount(broken)
    words = blank.page.get_by_role("alert").inner_text()
    assert words.startswith("This view could not go on: column depth: no kind f16.")
    assert len(blank.problems) == 1


def test_what_a_readers_function_raised_is_shown_in_the_view(
    blank: ViewPage, graph: TargetGraphView
) -> None:
    blank.mount(graph)
    blank.set("problem", "ValueError: no such turn")
    assert "no such turn" in blank.page.get_by_role("alert").inner_text()
    blank.set("problem", "")
    assert blank.page.get_by_role("alert").count() == 0
