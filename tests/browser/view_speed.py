"""How long does a view take to be drawn and to be stepped, in a browser? Prints a table.

Measures and decides nothing: a speed is printed, never asserted. Run by `make bench-views`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from statistics import median

from playwright.sync_api import Browser, ViewportSize, sync_playwright

from browser.jupyter_session import CHROMIUM_FLAGS, find_chromium
from browser.view_page import ViewPage
from ninfer_lab.contract.capacity import Axis, Capacity, Occupancy
from ninfer_lab.lab.decisions import look
from ninfer_lab.lab.placement_places import FREE, Mark, Panel
from ninfer_lab.lab.placement_story import PlacementMoment, PlacementStory
from ninfer_lab.lab.planner_problems import crowd
from ninfer_lab.lab.seen_targets import SeenTargets, of_report
from ninfer_lab.lab.widgets.live_view import LiveView
from ninfer_lab.lab.widgets.placement_map_view import PlacementMapView
from ninfer_lab.lab.widgets.target_graph_view import TargetGraphView

TARGETS, CELLS, MOMENTS = 2_000, 64, 5_000
REPEATS, STEPS = 7, 40
WINDOW = ViewportSize(width=1_500, height=1_100)


def two_thousand_targets() -> SeenTargets:
    """What a search over a crowd looked at, and some of it once more."""
    report = look(crowd()).report()
    verdicts = (*report.verdicts, *report.verdicts)[:TARGETS]
    return of_report(replace(report, verdicts=verdicts), f"{TARGETS:,} targets")


def five_thousand_moments(changes_count: int) -> PlacementStory:
    """So many places change at each moment, by a fixed rule."""
    capacity = Capacity(device_state_slots=1, device_kv_pages=CELLS)
    used = (CELLS // 2, 4)
    occupancy = Occupancy.of(capacity, ((1, 0), (0, 0), used, (0, 0), (0, 0)))
    pages = Panel(title="pages", noun="page", axis=Axis.DEVICE_KV, first=0, places_count=CELLS)
    return PlacementStory(
        name=f"{CELLS} places, {MOMENTS:,} moments, {changes_count} change each time",
        panels=(pages,),
        holders=(("owner 1", "#0072B2"), ("owner 2", "#E69F00"), ("owner 3", "#009E73")),
        marks=(FREE, Mark((0,)), Mark((1,)), Mark((2,)), Mark((0, 2))),
        moments=tuple(
            PlacementMoment(
                event=step,
                at_ns=step * 1_000_000,
                words=f"forward {step}",
                occupancy=occupancy,
                changes=tuple(
                    ((step * 7 + i) % CELLS, (step * 3 + i) % 5) for i in range(changes_count)
                ),
            )
            for step in range(MOMENTS)
        ),
    )


@contextmanager
def chromium() -> Iterator[Browser]:
    executable = find_chromium()
    if executable is None:
        raise SystemExit(
            "no chromium on PATH; install it (on Debian and Ubuntu: apt install chromium)"
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=[*CHROMIUM_FLAGS])
        yield browser
        browser.close()


def measured(browser: Browser, view: LiveView, opened: Callable[[ViewPage], None]) -> str:
    """First draw and step of one view: median and the worst twentieth, in ms."""
    first, steps = [], []
    for _ in range(REPEATS):
        context = browser.new_context(viewport=WINDOW)
        page = ViewPage(context.new_page())
        first.append(page.mount(view))
        opened(page)
        stride = max(1, view.steps_count // STEPS)
        steps += page.step_ms([(i * stride) % view.steps_count for i in range(1, STEPS)])
        assert page.problems == []
        context.close()
    steps.sort()
    worst = steps[int(len(steps) * 0.95)]
    return (
        f"first draw {median(first):6.0f} ms   step {median(steps):5.1f} ms   p95 {worst:5.1f} ms"
    )


def main() -> None:
    rows: list[tuple[str, LiveView, Callable[[ViewPage], None]]] = []
    graph = TargetGraphView(two_thousand_targets())
    rows.append(("graph, 2,000 targets, the path", graph, lambda page: None))
    rows.append(
        (
            "graph, 2,000 targets, all of them",
            graph,
            lambda page: page.page.get_by_role("button", name="All 2,000").click(),
        )
    )
    for changes_count in (4, CELLS):
        story = five_thousand_moments(changes_count)
        rows.append((story.name, PlacementMapView(story), lambda page: None))
    print("a step includes the wait for the next frame, 16.7 ms")
    with chromium() as browser:
        for name, view, opened in rows:
            print(f"{name:52} {measured(browser, view, opened)}", flush=True)


if __name__ == "__main__":
    main()
