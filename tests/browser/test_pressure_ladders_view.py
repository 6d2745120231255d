"""Law: the ladders are read and chosen from, and the best so far is gone through by keys."""

from __future__ import annotations

from dataclasses import replace

import pytest

from browser.test_first_notebook import SCREENSHOTS
from browser.view_page import ViewPage
from ninfer_lab.lab.decisions import look
from ninfer_lab.lab.ladders import everybody_gives_way
from ninfer_lab.lab.widgets.pressure_ladders_view import PressureLaddersView


@pytest.fixture(scope="module")
def ladders() -> PressureLaddersView:
    return PressureLaddersView(look(replace(everybody_gives_way(), recency=(4, 1, 3, 0, 2))))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_owner_has_its_ladder_and_one_rung_is_taken(
    blank: ViewPage, ladders: PressureLaddersView, dark: bool
) -> None:  # spec: W-2, W-5
    blank.mount(ladders, dark=dark)
    rows = blank.page.locator(".nl-ladder")
    assert rows.count() == len(ladders.ladders[-1])
    for i, ladder in enumerate(ladders.ladders[-1]):
        words = [rung.words for rung in ladder.rungs]
        told = rows.nth(i).locator(".nl-rung > span").all_inner_texts()
        assert told == words
        taken = rows.nth(i).locator(".nl-taken > span").all_inner_texts()
        assert taken == [words[ladder.taken]]
    least = blank.page.locator(".nl-least").inner_text()
    assert "4 gone" in least
    assert "least sacrifice" in least
    blank.page.screenshot(path=SCREENSHOTS / f"ladders_{'dark' if dark else 'light'}.png")
    assert blank.problems == []


def test_an_owner_is_chosen_and_keeps_the_focus(
    blank: ViewPage, ladders: PressureLaddersView
) -> None:  # spec: W-2, W-5
    blank.mount(ladders)
    blank.page.locator("[data-owner='1']").focus()
    blank.page.keyboard.press("Enter")
    assert blank.get("selected") == 1
    table = blank.page.locator(".nl-told").inner_text()
    assert "→ 63 pages to the Host\t125\t188\t1\t1\t11.6 s" in table
    focused = blank.page.evaluate("() => document.activeElement.dataset.owner")
    assert focused == "1"
    blank.page.locator(".nl-slider").focus()
    blank.page.keyboard.press("Home")
    assert blank.get("step") == 0
    taken = blank.page.locator(".nl-taken > span").all_inner_texts()
    first = ladders.ladders[0]
    assert taken == [each.rungs[each.taken].words for each in first]
    assert blank.end() == 0
    assert blank.problems == []


def test_a_ladder_that_says_the_same_stays_as_it_is(
    blank: ViewPage, ladders: PressureLaddersView
) -> None:  # spec: W-2
    blank.mount(ladders)
    last = len(ladders.ladders) - 1
    blank.page.evaluate(
        "() => { for (const [i, each] of document.querySelectorAll('.nl-ladder').entries())"
        " each.id = `old${i}`; }"
    )
    blank.set("step", last - 1)
    same = [a == b for a, b in zip(ladders.ladders[last - 1], ladders.ladders[last], strict=True)]
    kept = blank.page.evaluate(
        "() => [...document.querySelectorAll('.nl-ladder')].map((each, i) => each.id === `old${i}`)"
    )
    assert kept == same
    assert True in same
    assert False in same
    assert blank.problems == []
