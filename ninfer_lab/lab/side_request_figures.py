"""How do side requests and their cures look on paper?

Owns four figures: the published counts beside the reproduced ones, every combination of ways out,
the decision table carried out, and one timeline for each design, drawn from the events that every
design leaves alike. Draws what it is given.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from ninfer_lab.lab import palette
from ninfer_lab.lab.engine_trials import EngineRun
from ninfer_lab.lab.picture import Picture
from ninfer_lab.lab.run_figures import timelines
from ninfer_lab.lab.side_request_ways import DecisionTable, WayRun, Ways, WaySweep, name_of
from ninfer_lab.lab.side_requests import PUBLISHED, ObservedTable, SideRun

_RETURNED, _PIVOT_GONE, _PIVOT_ALIVE = palette.FREE_COLOUR, "#E69F00", "#0072B2"
"""What the title leaves: nothing, pages without a pivot, or what turn 2 resumes from."""


def side_requests(table: ObservedTable, *, title: str | None = None) -> Picture:
    """Prompt and cached tokens of every request of the three groups, published and reproduced."""
    figure = Picture(figsize=(8.2, 3.1), layout="constrained")
    panel = figure.subplots()
    labels = []
    for row, (was, now) in enumerate(zip(PUBLISHED, table.reproduced, strict=True)):
        for offset, one, hatch in ((0.2, was, "////"), (-0.2, now, "")):
            y = len(PUBLISHED) - 1 - row + offset
            panel.barh(
                y,
                one.prompt_tokens,
                0.34,
                color=palette.FREE_COLOUR,
                edgecolor=palette.EDGE_COLOUR,
                hatch=hatch,
                linewidth=0.8,
            )
            panel.barh(
                y,
                one.cached_tokens,
                0.34,
                color=palette.ALLOCATED_COLOUR,
                edgecolor="white",
                hatch=hatch,
                linewidth=0,
            )
            said = f" {one.cached_tokens} of {one.prompt_tokens}, {one.path}"
            panel.text(one.prompt_tokens, y, said, va="center", fontsize=7)
        labels.append(f"{was.group.value}  {was.request}")
    panel.set_yticks(range(len(labels) - 1, -1, -1), labels)
    panel.set_xlim(0, 1_650)
    panel.set_xlabel("tokens of the prompt")
    panel.spines[["top", "right"]].set_visible(False)
    figure.legend(
        handles=[
            Patch(
                facecolor="white", edgecolor=palette.EDGE_COLOUR, hatch="////", label="published"
            ),
            Patch(facecolor="white", edgecolor=palette.EDGE_COLOUR, label="reproduced"),
            Patch(color=palette.ALLOCATED_COLOUR, label="cached"),
            Patch(facecolor=palette.FREE_COLOUR, edgecolor=palette.EDGE_COLOUR, label="computed"),
        ],
        loc="outside upper center",
        ncols=4,
        frameon=False,
        title=title,
    )
    return figure


def ways_out(swept: WaySweep, *, title: str | None = None) -> Picture:
    """Every combination of ways out, with one lane and two, with the flag and without."""
    columns = [(lanes, flag) for lanes in (1, 2) for flag in (True, False)]
    combinations = list(dict.fromkeys(run.ways for run in swept.runs))
    figure = Picture(figsize=(8.2, 1.3 + 0.27 * len(combinations)), layout="constrained")
    panel = figure.subplots()
    for run in swept.runs:
        x = columns.index((run.lanes_count, run.is_flagged))
        y = len(combinations) - 1 - combinations.index(run.ways)
        _cell(panel, x, y, run)
    names = [_short_name(ways) for ways in combinations]
    panel.set_yticks([y + 0.5 for y in range(len(names))], names[::-1], fontsize=7)
    heads = [f"{_lanes(lanes)},\n{'flagged' if flag else 'no flag'}" for lanes, flag in columns]
    panel.set_xticks([x + 0.5 for x in range(len(columns))], heads)
    panel.xaxis.tick_top()
    panel.set_xlim(0, len(columns))
    panel.set_ylim(0, len(combinations))
    panel.tick_params(length=0)
    for spine in panel.spines.values():
        spine.set_visible(False)
    _ways_legend(figure, title)
    return figure


def _short_name(ways: Ways) -> str:
    """One way by its name, several by their numbers."""
    return name_of(ways) if len(ways) < 2 else " + ".join(sorted(w.value[0] for w in ways))


def _cell(panel: Axes, x: float, y: float, run: WayRun) -> None:
    colour = _RETURNED
    if run.pages_alive:
        colour = _PIVOT_ALIVE if run.pivot_alive else _PIVOT_GONE
    panel.add_patch(Rectangle((x, y), 1, 1, facecolor=colour, edgecolor="white", linewidth=2))
    dark = colour == _PIVOT_ALIVE
    panel.text(
        x + 0.5,
        y + 0.5,
        str(run.reused_tokens),
        ha="center",
        va="center",
        fontsize=7,
        color="white" if dark else palette.TEXT_COLOUR,
    )


def _ways_legend(figure: Picture, title: str | None) -> None:
    figure.legend(
        handles=[
            Patch(facecolor=_RETURNED, edgecolor=palette.EDGE_COLOUR, label="pages returned"),
            Patch(facecolor=_PIVOT_GONE, label="pages alive, pivot gone"),
            Patch(facecolor=_PIVOT_ALIVE, label="both alive"),
            Line2D([], [], linestyle="none", label="number: tokens that turn 2 reuses"),
        ],
        loc="outside lower center",
        ncols=4,
        frameon=False,
        title=title,
    )


def decisions(table: DecisionTable, *, title: str | None = None) -> Picture:
    """Each line of the published decision table, followed: what turn 2 reuses then, and before."""
    rows = table.decisions
    figure = Picture(figsize=(8.2, 1.0 + 0.42 * len(rows)), layout="constrained")
    panel = figure.subplots()
    labels = []
    for ordinal, each in enumerate(rows):
        y, case = len(rows) - 1 - ordinal, each.case
        pages = "pages alive" if each.without.pages_alive else "pages returned"
        flag = "flagged" if case.is_flagged else "no flag"
        labels.append(f"{case.prompt_by}, {pages},\n{flag}, {_lanes(case.lanes_count)}")
        wanted = each.run.side.last_turn.prompt_tokens
        panel.barh(y, wanted, 0.6, color=palette.FREE_COLOUR, edgecolor=palette.EDGE_COLOUR)
        panel.barh(y, each.run.reused_tokens, 0.6, color=palette.ALLOCATED_COLOUR)
        verdict = "holds" if each.run.helps else "does not hold"
        panel.text(
            wanted,
            y,
            f" {name_of(case.ways)}: {verdict}, {each.without.reused_tokens}"
            f" → {each.run.reused_tokens}",
            va="center",
            fontsize=7,
            color=palette.TEXT_COLOUR if each.run.helps else palette.CAPACITY_COLOUR,
        )
    panel.set_yticks(range(len(rows) - 1, -1, -1), labels, fontsize=7)
    panel.set_xlim(0, 1_900)
    panel.set_xticks(range(0, 1_001, 250))
    panel.set_xlabel("tokens of turn 2: reused, computed")
    panel.spines[["top", "right"]].set_visible(False)
    panel.set_title(
        "advice by who builds the title's prompt" if title is None else title, loc="left"
    )
    return figure


def design_timelines(runs: Sequence[SideRun], *, title: str | None = None) -> Picture:
    """One panel for each design: the same requests on one clock, with what each reused.

    Args:
        runs: Of one story.
        title: Above the legend.
    """
    figure = timelines([_engine_run(run) for run in runs], title=title)
    for panel, side in zip(figure.axes, runs, strict=True):
        for ordinal, (_, told) in enumerate(side.told):
            log, y = told.outcome.log, len(side.told) - 1 - ordinal
            path = "-" if log.prefix_reuse_path is None else log.prefix_reuse_path.value
            panel.annotate(
                f"{log.prefix_cache_hit_tokens} of {log.prompt_tokens}, {path}",
                ((log.at_ns - side.run.start_ns) / 1e6, y),
                xytext=(5, 0),
                textcoords="offset points",
                va="center",
                fontsize=7,
                color=palette.TEXT_COLOUR,
            )
    latest_ms = max(
        told.outcome.log.at_ns - run.run.start_ns for run in runs for _, told in run.told
    )
    figure.axes[0].set_xlim(-10, latest_ms / 1e6 * 1.32)
    return figure


def _engine_run(side: SideRun) -> EngineRun:
    names = {told.request: name for name, told in side.told}
    title = f"{side.design}, {_lanes(side.lanes_count)}"
    return EngineRun(title=title, events=side.run.events, names=names)


def _lanes(count: int) -> str:
    return {1: "one lane", 2: "two lanes"}.get(count, f"{count} lanes")
