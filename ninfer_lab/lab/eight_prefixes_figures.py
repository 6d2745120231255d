"""What do turns over several prefixes look like, run beside run?

Owns the pictures of the study: reuse by catalog size and rules with the published figures beside
it, every request of a run as a square, and what drawn lengths make of too small a catalog. Reads
runs only (`eight_prefixes_study`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from ninfer_lab.contract.shared_prefix import Evidence
from ninfer_lab.contract.shared_report import SharedOutcome
from ninfer_lab.lab import palette
from ninfer_lab.lab.eight_prefixes_study import (
    PUBLISHED_PERCENT,
    Draw,
    Rules,
    Turn,
    TurnsRun,
    hits_of_draw,
)
from ninfer_lab.lab.picture import Picture

_RULE_COLOURS = {
    Rules.BEFORE: palette.OWNER_COLOURS[1],
    Rules.AFTER: palette.OWNER_COLOURS[0],
    Rules.TODAY: palette.OWNER_COLOURS[4],
}
_RULE_NAMES = {
    Rules.BEFORE: "before: a marker may take a vacant slot",
    Rules.AFTER: "after: a marker must be repeated first",
    Rules.TODAY: "today: and a full catalog recycles",
}
HIT_COLOUR = palette.OWNER_COLOURS[2]
HEAD_COLOUR = palette.OWNER_COLOURS[0]
END_COLOUR = palette.OWNER_COLOURS[1]


def reuse(runs: Sequence[TurnsRun], *, title: str | None = None) -> Picture:
    """Reuse after the first round by slots, a bar for each set of rules; published as diamonds."""
    slots = sorted({run.slots_count for run in runs})
    rules = [each for each in Rules if any(run.rules is each for run in runs)]
    figure = Picture(figsize=(9.5, 3.6), layout="constrained")
    panel: Axes = figure.subplots()
    width = 0.8 / len(rules)
    for run in runs:
        place = (
            slots.index(run.slots_count) + (rules.index(run.rules) - (len(rules) - 1) / 2) * width
        )
        panel.bar(place, run.reuse_percent, width * 0.92, color=_RULE_COLOURS[run.rules])
        published = PUBLISHED_PERCENT.get((run.rules, run.slots_count))
        panel.text(
            place,
            run.reuse_percent + (1.5 if published is None else 4.5),
            f"{run.reuse_percent:.1f}",
            ha="center",
            fontsize=8,
            color=palette.TEXT_COLOUR,
        )
        if published is not None:
            panel.plot(place, published, "D", color="black", markersize=5, zorder=3)
    panel.set_xticks(range(len(slots)), [f"{each} slots" for each in slots])
    panel.set_ylabel("prompt tokens reused, rounds 2-4, in %")
    panel.set_ylim(0, 112)
    panel.spines[["top", "right"]].set_visible(False)
    handles: list[Patch | Line2D] = [
        Patch(color=_RULE_COLOURS[each], label=_RULE_NAMES[each]) for each in rules
    ]
    handles.append(Line2D([], [], marker="D", color="black", linestyle="", label="published"))
    figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False, title=title)
    return figure


def turn_by_turn(runs: Sequence[TurnsRun], *, title: str | None = None) -> Picture:
    """Every request of some runs as a square, a round per row: what it began with, and what it left
    in the shared catalog.
    """
    figure = Picture(figsize=(9.5, 2.5), layout="constrained")
    panels = figure.subplots(1, len(runs), squeeze=False)[0]
    for panel, run in zip(panels, runs, strict=True):
        _squares(panel, run)
    panels[0].set_ylabel("round")
    figure.legend(
        handles=_legend(), loc="outside upper center", ncols=4, frameon=False, title=title
    )
    return figure


def one_turn(run: TurnsRun | None, turn: Turn | None, *, title: str | None = None) -> Picture:
    """A run as squares with one request outlined; an empty picture before the first run.

    Args:
        title: Any number of lines; they stand under the squares.
    """
    lines_count = 0 if title is None else title.count("\n") + 1
    figure = Picture(figsize=(9.5, 3.2 + 0.19 * lines_count), layout="constrained")
    panel: Axes = figure.subplots()
    if run is None or turn is None:
        panel.set_axis_off()
        return figure
    _squares(panel, run)
    panel.set_ylabel("round")
    corner = (turn.prefix_ordinal + 0.03, turn.round_ordinal - 0.97)
    panel.add_patch(Rectangle(corner, 0.94, 0.94, fill=False, edgecolor="black", linewidth=2))
    figure.legend(handles=_legend(), loc="outside upper center", ncols=4, frameon=False)
    if title is not None:
        figure.supxlabel(title, x=0.02, ha="left", fontsize=8)
    return figure


def _squares(panel: Axes, run: TurnsRun) -> None:
    for turn in run.requests:
        _square(panel, turn)
    panel.set_xlim(0, len(run.turns.preambles_tokens))
    panel.set_ylim(run.turns.rounds_count, 0)
    panel.set_aspect("equal")
    panel.set_xticks([])
    panel.set_yticks(
        [each + 0.5 for each in range(run.turns.rounds_count)],
        [str(each + 1) for each in range(run.turns.rounds_count)],
    )
    panel.set_title(f"{run.rules.value}, {run.slots_count} slots", fontsize=10)
    panel.set_xlabel(f"{run.reuse_percent:.1f} % reused", fontsize=9)
    panel.spines[:].set_visible(False)
    panel.tick_params(length=0)


def _legend() -> list[Patch | Line2D]:
    return [
        Patch(color=HIT_COLOUR, label="began with its shared head"),
        Patch(color=palette.FREE_COLOUR, label="computed from the root"),
        Line2D([], [], marker="o", color=HEAD_COLOUR, linestyle="", label="left its head"),
        Line2D([], [], marker="o", color=END_COLOUR, linestyle="", label="left its own end"),
    ]


def _square(panel: Axes, turn: Turn) -> None:
    column, row = turn.prefix_ordinal, turn.round_ordinal - 1
    colour = HIT_COLOUR if turn.hit_tokens else palette.FREE_COLOUR
    square = Rectangle((column, row), 1, 1, facecolor=colour, edgecolor="white", linewidth=1.5)
    panel.add_patch(square)
    for told in turn.chances:
        if told.outcome is SharedOutcome.PUBLISHED:
            is_head = bool(told.evidence & Evidence.ENGINE_STRUCTURAL)
            dot = HEAD_COLOUR if is_head else END_COLOUR
            panel.plot(column + (0.5 if is_head else 0.72), row + 0.5, "o", color=dot, markersize=5)


def draws(draws: Sequence[Draw], *, title: str | None = None) -> Picture:
    """How many of the later requests hit, over drawn lengths."""
    counted = Counter(map(hits_of_draw, draws))
    most = max(*counted, 4)
    figure = Picture(figsize=(9.5, 2.8), layout="constrained")
    panel: Axes = figure.subplots()
    shares = [100 * counted[hits] / len(draws) for hits in range(most + 1)]
    colours = [palette.CAPACITY_COLOUR if hits == 2 else "#B8B8B8" for hits in range(most + 1)]
    panel.bar(range(most + 1), shares, 0.8, color=colours)
    panel.set_xticks(
        range(most + 1),
        [f"{hits}\n{100 * hits * 1_430 / 1_455 / 24:.1f} %" for hits in range(most + 1)],
    )
    panel.set_xlabel("requests of rounds 2-4 that began with a shared head, of 24")
    panel.set_ylabel("draws of lengths, in %")
    panel.spines[["top", "right"]].set_visible(False)
    figure.legend(
        handles=[Patch(color=palette.CAPACITY_COLOUR, label="as published: 8.4 %")],
        loc="outside upper center",
        frameon=False,
        title=title,
    )
    return figure
