"""What does a transition hold at each stage, and what does a stop leave behind?

Owns two pictures: the peak of every axis at every stage, projected beside observed, and the table
of endings. Draws what `transition_trials` found.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import MaxNLocator

from ninfer_lab.contract.capacity import Axis
from ninfer_lab.contract.result import Committed
from ninfer_lab.contract.target import StageName
from ninfer_lab.lab import palette
from ninfer_lab.lab.picture import Picture
from ninfer_lab.lab.transition_trials import Ending, StagedTransition

_AXIS_NAMES = {
    Axis.DEVICE_STATE: "Device\nstate slots",
    Axis.DEVICE_KV: "Device\nKV pages",
    Axis.HOST_STATE: "Host\nstate slots",
    Axis.HOST_KV: "Host\nKV bytes",
}
_STAGE_NAMES = {
    StageName.NOW: "now",
    StageName.RELEASED: "victims\nreleased",
    StageName.DEMOTION_RESERVED: "Host places\nreserved",
    StageName.DEMOTED: "victims\ndemoted",
    StageName.DESTINATIONS_RESERVED: "destinations\nreserved",
    StageName.COMMITTED: "committed",
}


def stages(found: StagedTransition, *, title: str | None = None) -> Picture:
    """Every axis at every stage as it was proven beforehand, and marked as the ledger then was.

    Args:
        found: One transition, run to its end.
        title: Above the legend.
    """
    figure = Picture(figsize=(9.5, 5.6), layout="constrained")
    panels = figure.subplots(len(_AXIS_NAMES), 1, sharex=True)
    for panel, axis in zip(panels, _AXIS_NAMES, strict=True):
        _stage_panel(panel, axis, found)
    names = [_STAGE_NAMES[stage.name] for stage in found.assessment.stages]
    panels[-1].set_xticks(range(len(names)), names)
    panels[-1].tick_params(axis="x", length=0)
    figure.legend(
        handles=[
            Patch(color=palette.ALLOCATED_COLOUR, label="allocated"),
            Patch(color=palette.RESERVED_COLOUR, label="reserved"),
            Line2D([], [], color=palette.CAPACITY_COLOUR, label="capacity"),
            Line2D(
                [],
                [],
                color="black",
                marker="D",
                markersize=6,
                linestyle="",
                label="found in the ledger",
            ),
        ],
        loc="outside upper center",
        ncols=4,
        frameon=False,
        title=title,
    )
    return figure


def _stage_panel(panel: Axes, axis: Axis, found: StagedTransition) -> None:
    order = [stage.name for stage in found.assessment.stages]
    uses = [stage.occupancy.on(axis) for stage in found.assessment.stages]
    x = range(len(uses))
    allocated = [use.allocated_count for use in uses]
    panel.bar(x, allocated, 0.62, color=palette.ALLOCATED_COLOUR)
    panel.bar(
        x,
        [use.reserved_count for use in uses],
        0.62,
        bottom=allocated,
        color=palette.RESERVED_COLOUR,
    )
    observed = [(order.index(name), occupancy.on(axis)) for name, occupancy in found.observed]
    panel.plot(
        [place for place, _ in observed],
        [use.used_count for _, use in observed],
        color="black",
        marker="D",
        markersize=6,
        markeredgecolor="white",
        linestyle="",
        clip_on=False,
    )
    capacity = uses[0].capacity_count
    panel.axhline(capacity, color=palette.CAPACITY_COLOUR, linewidth=1.4)
    panel.set_ylim(0, capacity * 1.15)
    panel.set_ylabel(_AXIS_NAMES[axis], fontsize=9)
    panel.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))
    panel.spines[["top", "right"]].set_visible(False)


# ── endings ─────────────────────────────────────────────────────────────────────────────────────

_COLUMNS = ("source", "owner to demote", "owner to evict", "request")
_COLOURS = {
    "Device": palette.DEVICE_COLOUR,
    "Host": palette.HOST_COLOUR,
    "gone": palette.FREE_COLOUR,
    "runs": palette.RUNNING_COLOUR,
    "not admitted": palette.FREE_COLOUR,
}


def endings(found: Sequence[Ending], *, title: str | None = None) -> Picture:
    """One line per way to stop: how far it came, and where everybody is then.

    Args:
        found: Each on a bench of its own.
        title: Above the columns.
    """
    figure = Picture(figsize=(9.5, 0.9 + 0.42 * len(found)), layout="constrained")
    axes = figure.subplots()
    for row, ending in enumerate(reversed(found)):
        axes.text(-0.08, row + 0.4, ending.stop.value, ha="right", va="center", fontsize=9)
        request = "runs" if isinstance(ending.result, Committed) else "not admitted"
        for column, where in enumerate((*ending.where, request)):
            _where(axes, column, row, where)
        axes.text(4.08, row + 0.4, ending.phase.value, ha="left", va="center", fontsize=9)
    top = len(found) + 0.15
    for column, name in enumerate(_COLUMNS):
        axes.text(column + 0.48, top, name, ha="center", fontsize=9, color=palette.TEXT_COLOUR)
    axes.text(4.08, top, "phase it came to", ha="left", fontsize=9, color=palette.TEXT_COLOUR)
    axes.set_xlim(-2.75, 5.35)
    axes.set_ylim(-0.1, top + 0.5)
    axes.set_axis_off()
    if title is not None:
        figure.suptitle(title, fontsize=10)
    return figure


def _where(axes: Axes, column: int, row: int, where: str) -> None:
    """One cell; in both tiers it is striped."""
    tiers = ("Host", "Device") if where == "both" else (where,)
    height = 0.8 / len(tiers)
    for ordinal, tier in enumerate(tiers):
        axes.add_patch(
            Rectangle(
                (column, row + ordinal * height),
                0.96,
                height,
                facecolor=_COLOURS[tier],
                alpha=0.6,
                linewidth=0,
            )
        )
    axes.add_patch(
        Rectangle(
            (column, row), 0.96, 0.8, fill=False, edgecolor=palette.EDGE_COLOUR, linewidth=0.8
        )
    )
    text = "Device + Host" if where == "both" else where
    axes.text(column + 0.48, row + 0.4, text, ha="center", va="center", fontsize=9)
