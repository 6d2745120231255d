"""What do a calibration and a wrong belief look like on paper?

Owns the pictures of the room: measured against predicted times with their residuals, how firmly
coefficients stand, what beliefs cost by how wrong they are, and first tokens foreseen and waited
for. Reads values only; a figure says its units, names its colours, and needs no kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ninfer_lab.contract.machine_work import TransferDirection
from ninfer_lab.lab import palette
from ninfer_lab.lab.calibration.belief_decisions import BeliefStudy
from ninfer_lab.lab.calibration.calibration import Calibration
from ninfer_lab.lab.calibration.component import Interval
from ninfer_lab.lab.calibration.first_token import FirstTokens
from ninfer_lab.lab.calibration.grid import Part
from ninfer_lab.lab.calibration.judgement import Judgement, Residual
from ninfer_lab.lab.picture import Picture

_GROUP_COLOURS = {
    TransferDirection.D2H.value: palette.OWNER_COLOURS[0],
    TransferDirection.H2D.value: palette.OWNER_COLOURS[1],
    TransferDirection.D2D.value: palette.OWNER_COLOURS[3],
    "prefill": palette.OWNER_COLOURS[2],
}
_FAMILY_COLOURS = (palette.OWNER_COLOURS[0], palette.RUNNING_COLOUR)


def fit(calibration: Calibration, *, title: str | None = None) -> Picture:
    """Every point, measured and predicted, and below by how much the prediction misses.

    Bars are two standard errors of the measured median: what noise alone could explain. Grey bands
    are the limits within which 95 of 100 points must lie.
    """
    components: list[tuple[str, Judgement]] = []
    if calibration.transfers is not None:
        components.append(("copies", calibration.transfers.judgement))
    if calibration.prefill is not None:
        components.append(("prefill", calibration.prefill.judgement))
    figure = Picture(figsize=(9.5, 6.2), layout="constrained")
    panels = figure.subplots(2, len(components), squeeze=False, sharex="col", height_ratios=(3, 2))
    for column, (name, judgement) in enumerate(components):
        _measured_and_predicted(panels[0][column], judgement)
        _residuals(panels[1][column], judgement)
        verdict = "accepted" if judgement.is_accepted else "rejected"
        panels[0][column].set_title(f"{name}: {verdict}", fontsize=10)
    panels[0][0].set_ylabel("predicted, ms")
    panels[1][0].set_ylabel("error of the prediction, %")
    groups = {each.group for _, judgement in components for each in judgement.residuals}
    figure.legend(
        handles=[
            *(
                Patch(color=colour, label=group)
                for group, colour in _GROUP_COLOURS.items()
                if group in groups
            ),
            *(
                Line2D([], [], color=palette.TEXT_COLOUR, linestyle="", marker=marker, label=label)
                for marker, label in (("o", "fitted to"), ("D", "held out"))
            ),
        ],
        loc="outside upper center",
        ncols=6,
        frameon=False,
        title=title,
    )
    return figure


def _measured_and_predicted(axes: Axes, judgement: Judgement) -> None:
    times = [
        each
        for one in judgement.residuals
        for each in (one.measured_ns / 1e6, one.predicted_ns / 1e6)
    ]
    ends = [min(times) / 1.5, max(times) * 1.5]
    axes.plot(ends, ends, color=palette.EDGE_COLOUR, linewidth=0.9)
    for each in judgement.residuals:
        axes.plot(
            each.measured_ns / 1e6,
            each.predicted_ns / 1e6,
            color=_GROUP_COLOURS[each.group],
            marker=_marker(each),
            markerfacecolor=_filling(each),
            markersize=4.5,
            linestyle="",
        )
    _logarithmic(axes)
    axes.spines[["top", "right"]].set_visible(False)


def _residuals(axes: Axes, judgement: Judgement) -> None:
    limit = 100 * judgement.limit
    axes.axhspan(-limit, limit, color=palette.FREE_COLOUR, zorder=0)
    axes.axhline(0, color=palette.EDGE_COLOUR, linewidth=0.9)
    for each in judgement.residuals:
        axes.errorbar(
            each.measured_ns / 1e6,
            100 * each.error,
            yerr=200 * each.noise,
            color=_GROUP_COLOURS[each.group],
            marker=_marker(each),
            markerfacecolor=_filling(each),
            markersize=4.5,
            linestyle="",
            elinewidth=0.9,
        )
    axes.set_xlabel("measured, ms")
    axes.spines[["top", "right"]].set_visible(False)


def _marker(each: Residual) -> str:
    return "D" if each.part is Part.HELD_OUT else "o"


def _filling(each: Residual) -> str:
    return "white" if each.part is Part.HELD_OUT else _GROUP_COLOURS[each.group]


def firmness(calibration: Calibration, *, title: str | None = None) -> Picture:
    """Each coefficient, and the interval in which nine of ten resamples put it, as a part of it."""
    rows: list[tuple[str, Interval]] = []
    if calibration.transfers is not None:
        for direction in TransferDirection:
            found = calibration.transfers.intervals(direction)
            rows += [(direction.value, each) for each in found]
    if calibration.prefill is not None:
        rows += [("prefill", each) for each in calibration.prefill.intervals]
    figure = Picture(figsize=(9.5, 0.9 + 0.3 * len(rows)), layout="constrained")
    axes = figure.subplots()
    rows.reverse()
    for row, (group, each) in enumerate(rows):
        _interval(axes, row, group, each)
        axes.text(
            1.01,
            row,
            f"{each.fitted:,.4g}   ({each.low:,.4g} to {each.high:,.4g})",
            transform=axes.get_yaxis_transform(),
            va="center",
            fontsize=8,
            color=palette.TEXT_COLOUR,
        )
    labels = [f"{group}  {each.name}" for group, each in rows]
    axes.set_yticks(range(len(rows)), labels, fontsize=8)
    axes.axvline(1.0, color=palette.EDGE_COLOUR, linewidth=0.9)
    axes.set_xlim(0.0, 2.5)
    axes.set_xlabel("part of the fitted coefficient; one that was fitted to zero has no bar")
    axes.spines[["top", "right"]].set_visible(False)
    if title is not None:
        axes.set_title(title, fontsize=10)
    return figure


def _interval(axes: Axes, row: int, group: str, each: Interval) -> None:
    if not each.fitted:
        return
    axes.plot(
        [each.low / each.fitted, min(each.high / each.fitted, 2.5)],
        [row, row],
        color=_GROUP_COLOURS[group],
        linewidth=5,
        solid_capstyle="butt",
    )
    axes.plot(1.0, row, color="white", marker="|", markersize=8)


def wrongness(
    study: BeliefStudy, factors: Mapping[str, float], *, title: str | None = None
) -> Picture:
    """How many decisions flip, and what that costs, by how wrong a belief is.

    Args:
        study: Of beliefs that are wrong by a factor, among others.
        factors: Of those beliefs, by name.
        title: Above the panels.
    """
    figure = Picture(figsize=(9.5, 3.4), layout="constrained")
    share, lost = figure.subplots(1, 2, sharex=True)
    families = list(dict.fromkeys(flip.family for flip in study.flips))
    for family, colour in zip(families, _FAMILY_COLOURS, strict=False):
        x, flipped, part = [], [], []
        for name, factor in sorted(factors.items(), key=lambda item: item[1]):
            flips = [flip for flip in study.of(name) if flip.family == family]
            x.append(factor)
            flipped.append(100 * sum(flip.has_flipped for flip in flips) / len(flips))
            right_ns = sum(flip.right_ns for flip in flips)
            part.append(100 * sum(flip.loss_ns for flip in flips) / right_ns)
        for axes, y in ((share, flipped), (lost, part)):
            axes.plot(x, y, color=colour, marker="o", markersize=4.5, label=f"{family} contexts")
    share.set_ylabel("decisions that flip, %")
    lost.set_ylabel("lost of the true J, %")
    for axes in (share, lost):
        axes.set_xscale("log")
        axes.axvline(1.0, color=palette.EDGE_COLOUR, linewidth=0.9)
        axes.set_xlabel("believed over true time of a copy")
        axes.spines[["top", "right"]].set_visible(False)
    share.legend(frameon=False)
    if title is not None:
        figure.suptitle(title, fontsize=10)
    return figure


def foreseen(tokens: FirstTokens, *, title: str | None = None) -> Picture:
    """Predicted against measured, and how the errors are distributed."""
    figure = Picture(figsize=(9.5, 3.9), layout="constrained")
    beside, spread = figure.subplots(1, 2, width_ratios=(3, 2))
    series = (
        ("the machine's part", palette.DEVICE_COLOUR, "o"),
        ("arrival to first token", palette.RUNNING_COLOUR, "D"),
    )
    predicted = [each.predicted_ns / 1e6 for each in tokens.each]
    measured = (
        [each.machine_ns / 1e6 for each in tokens.each],
        [each.ttft_ns / 1e6 for each in tokens.each],
    )
    times = [*predicted, *measured[0], *measured[1]]
    ends = [min(times) / 1.3, max(times) * 1.3]
    beside.plot(ends, ends, color=palette.EDGE_COLOUR, linewidth=0.9)
    for (label, colour, marker), took in zip(series, measured, strict=True):
        beside.plot(
            took, predicted, color=colour, marker=marker, linestyle="", markersize=4.5, label=label
        )
    _logarithmic(beside)
    beside.set_xlabel("measured, ms")
    beside.set_ylabel("predicted, ms")
    beside.legend(frameon=False, fontsize=8)
    errors = (
        [each.machine_error for each in tokens.each],
        [each.ttft_error for each in tokens.each],
    )
    for (_, colour, _), values in zip(series, errors, strict=True):
        _cumulative(spread, values, colour)
    spread.axvline(0, color=palette.EDGE_COLOUR, linewidth=0.9)
    spread.set_xlabel("error of the prediction, %")
    spread.set_ylabel("requests at or below it, %")
    for axes in (beside, spread):
        axes.spines[["top", "right"]].set_visible(False)
    if title is not None:
        figure.suptitle(title, fontsize=10)
    return figure


def _logarithmic(axes: Axes) -> None:
    """Both axes, with the plain numbers 1, 2 and 5 of each decade."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
        axis.set_tick_params(labelsize=8)


def _cumulative(axes: Axes, values: Sequence[float], colour: str) -> None:
    ascending = sorted(100 * value for value in values)
    heights = [100 * (i + 1) / len(ascending) for i in range(len(ascending))]
    axes.step(ascending, heights, where="post", color=colour, linewidth=1.5)
