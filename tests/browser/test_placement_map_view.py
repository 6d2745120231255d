"""Law: the placement map is stepped, played and pointed at, and says what each place is."""

from __future__ import annotations

import pytest
from playwright.sync_api import Position

from browser.test_first_notebook import SCREENSHOTS
from browser.view_page import DARK, ViewPage
from lab.recorded_runs import random_run
from ninfer_lab.contract.recording_options import PlacementDetail, RecordingOptions
from ninfer_lab.lab.widgets.placement_map_view import PlacementMapView

CANVAS = ".nl-placement-map .nl-drawn canvas"


@pytest.fixture(scope="module")
def run() -> PlacementMapView:
    recording = RecordingOptions(placements=PlacementDetail.CHANGES)
    return PlacementMapView(random_run(3, requests=60, recording=recording))


def spot_of(blank: ViewPage, cell: int) -> Position:
    x, y = blank.page.evaluate(f"() => document.querySelector({CANVAS!r}).spotOf({cell})")
    return Position(x=x, y=y)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_place_has_the_colour_of_who_refers_to_it(
    blank: ViewPage, run: PlacementMapView, dark: bool
) -> None:  # spec: W-3, W-5
    story, page_panel = run.story, run.story.panels[1]
    step = next(i for i, m in enumerate(story.moments) if i > 60 and m.stages)
    blank.mount(run, dark=dark)
    blank.set("step", step)
    blank.page.wait_for_timeout(100)
    cells = story.cells_at(step)
    for cell in range(page_panel.first, page_panel.first + page_panel.places_count):
        if len(cells[cell].holders) == 1:
            spot = spot_of(blank, cell)
            red, green, blue = blank.pixel(CANVAS, spot["x"], spot["y"])
            colour = story.holders[cells[cell].holders[0]][1]
            assert f"#{red:02X}{green:02X}{blue:02X}" == colour
    blank.page.screenshot(path=SCREENSHOTS / f"placement_map_{'dark' if dark else 'light'}.png")
    assert blank.problems == []


def test_a_step_paints_the_places_that_change_and_the_whole_is_the_same(
    blank: ViewPage, run: PlacementMapView
) -> None:  # spec: W-3
    blank.mount(run, name="stepped")
    for step in (100, 101, 102, 60, 300, 299, 103):
        blank.set("step", step, name="stepped")
        blank.painted()
    blank.count_painting()
    blank.set("step", 104, name="stepped")
    story = run.story
    changes_count = len(story.moments[104].changes)
    stepped = blank.painted()
    assert 1 not in stepped or stepped[1] < 6 * (changes_count + len(story.panels))
    assert 0 not in stepped, "the strip over the run"
    blank.mount(run, name="whole")
    blank.set("step", 104, name="whole")
    whole = blank.painted()
    assert whole[2] > 1000
    assert whole[3] > 20
    assert blank.unlike(".nl-drawn canvas", "stepped", "whole") == 0
    blank.set("step", 300, name="stepped")
    blank.painted()
    assert blank.unlike(".nl-drawn canvas", "stepped", "whole") > 1000, "else the two are no test"
    assert blank.problems == []


def test_what_is_promised_is_hatched_while_it_is(
    blank: ViewPage, run: PlacementMapView
) -> None:  # spec: W-3
    moments = run.story.moments
    promised = [moment.occupancy.device_kv.reserved_count > 0 for moment in moments]
    comes = next(i for i in range(60, len(moments)) if promised[i] and not promised[i - 1])
    goes = next(i for i in range(comes, len(moments)) if not promised[i])
    for name in ("stepped", "whole"):
        blank.mount(run, name=name)
    for step in (comes - 1, comes, goes):
        blank.set("step", step, name="stepped")
        blank.painted()
        blank.page.evaluate("() => window.whole.end()")
        blank.mount(run, name="whole")
        blank.set("step", step, name="whole")
        blank.painted()
        assert blank.unlike(".nl-drawn canvas", "stepped", "whole") == 0, step
    assert blank.problems == []


def test_a_change_of_theme_paints_all_of_it_again(blank: ViewPage, run: PlacementMapView) -> None:
    # spec: W-5
    blank.mount(run)
    blank.painted()
    panel = run.story.panels[1]
    free = next(
        cell
        for cell in range(panel.first, panel.first + panel.places_count)
        if not run.story.cells_at(0)[cell].holders
    )
    blank.set("step", 0)
    blank.painted()
    spot = spot_of(blank, free)
    assert blank.pixel(CANVAS, spot["x"], spot["y"]) == (238, 238, 238)
    blank.page.evaluate(
        "dark => { for (const [name, value] of Object.entries(dark))"
        " document.documentElement.style.setProperty(name, value);"
        " document.body.dataset.jpThemeLight = 'false'; }",
        DARK,
    )
    blank.painted()
    assert blank.pixel(CANVAS, spot["x"], spot["y"]) == (66, 66, 66)
    assert blank.problems == []


def test_the_slider_stays_as_long_as_it_is_under_the_hand(
    blank: ViewPage, run: PlacementMapView
) -> None:
    blank.mount(run)
    staged = next(i for i, m in enumerate(run.story.moments) if i > 60 and m.stages)
    plain = next(i for i, m in enumerate(run.story.moments) if i > 60 and not m.stages)
    widths = []
    for step in (staged, plain, staged):
        blank.set("step", step)
        blank.painted()
        widths.append(blank.page.locator(".nl-slider").bounding_box()["width"])  # type: ignore[index]
    assert max(widths) - min(widths) < 12
    assert blank.problems == []


def test_pointing_at_a_place_names_it(blank: ViewPage, run: PlacementMapView) -> None:  # spec: W-3
    blank.mount(run)
    step, cell, mark = next(
        (i, cell, run.story.marks[mark])
        for i, moment in enumerate(run.story.moments)
        for cell, mark in moment.changes
        if len(run.story.marks[mark].holders) > 1
    )
    blank.set("step", step)
    blank.page.wait_for_timeout(50)
    blank.page.locator(CANVAS).hover(position=spot_of(blank, cell))
    hint = blank.page.locator(".nl-hint").nth(1).inner_text()
    who = " and ".join(run.story.holders[each][0] for each in mark.holders)
    assert f"{who}, shared by {len(mark.holders)}" in hint
    blank.page.locator(CANVAS).click(position=spot_of(blank, cell))
    assert blank.get("selected") == cell
    assert blank.problems == []


def test_keys_step_and_the_event_follows(
    blank: ViewPage, run: PlacementMapView
) -> None:  # spec: W-3, W-5
    blank.mount(run)
    blank.page.locator(CANVAS).focus()
    for key, step in (("Home", 0), ("ArrowRight", 1), ("PageDown", 11), ("ArrowLeft", 10)):
        blank.page.keyboard.press(key)
        assert blank.get("step") == step
        assert blank.get("event") == run.story.moments[step].event
    event = run.story.moments[40].event
    blank.set("event", event)
    step = max(i for i, moment in enumerate(run.story.moments) if moment.event == event)
    assert blank.get("step") == step
    words = run.story.moments[step].words
    assert words[1:] in blank.page.locator(".nl-placement-map [aria-live]").first.inner_text()
    assert blank.problems == []


def test_an_admission_is_stepped_stage_by_stage_against_what_there_is(
    blank: ViewPage, run: PlacementMapView
) -> None:  # spec: W-3, STG-1
    blank.mount(run)
    blank.set("step", 0)
    blank.page.locator(CANVAS).focus()
    for _ in range(2):
        blank.page.keyboard.press("n")
    moment = run.story.moments[blank.get("step")]
    assert moment.stage is not None
    assert moment.stage < len(moment.stages) - 1, "the first of its stages"
    rows = blank.page.locator(".nl-stages tr")
    names = [stage.name.value for stage in moment.stages]
    assert rows.nth(0).inner_text().split("\t")[1:] == names
    used = [str(stage.occupancy.device_state.used_count) for stage in moment.stages]
    assert rows.nth(1).inner_text().replace("\n", "").split("\t")[1:] == used
    here = blank.page.locator(".nl-here")
    assert here.inner_text() == names[moment.stage]
    blank.page.keyboard.press("ArrowRight")
    assert here.inner_text() == names[moment.stage + 1]
    assert blank.problems == []


def test_play_goes_on_by_itself_and_stops(blank: ViewPage, run: PlacementMapView) -> None:
    blank.mount(run)
    blank.set("step", 0)
    play = blank.page.get_by_role("button", name="play")
    play.click()
    blank.page.wait_for_function("() => window.shown.model.get('step') >= 3")
    blank.page.get_by_role("button", name="pause").click()
    stopped = blank.get("step")
    blank.page.wait_for_timeout(250)
    assert blank.get("step") == stopped
    assert blank.end() == 0
    assert blank.problems == []
