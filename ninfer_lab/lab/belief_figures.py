"""What does a wrong belief move, and what does it not?

Owns two pictures: every target of one problem under several beliefs, and many decisions by the size
of the error. Draws what `wrong_beliefs` found.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, NullLocator, PercentFormatter

from ninfer_lab.lab import palette
from ninfer_lab.lab.picture import Picture
from ninfer_lab.lab.wrong_beliefs import JudgedUnder, Misjudged

_QUANTILES = ((0.5, "median", "o"), (0.95, "95 of 100", "D"), (1.0, "the worst", "^"))


def feasibility(found: Sequence[JudgedUnder], *, title: str | None = None) -> Picture:
    """One line per belief: every target as a stripe, coloured by whether it can be adopted, and
    the one that is taken.

    Args:
        found: Of one problem; stripes are in the order of what targets really cost.
        title: Above the legend.
    """
    costs = found[0].true_costs_ns
    order = sorted(range(len(costs)), key=lambda i: (not found[0].fits[i], costs[i], i))
    figure = Picture(figsize=(9.5, 1.5 + 0.52 * len(found)), layout="constrained")
    axes = figure.subplots()
    for row, each in enumerate(reversed(found)):
        for x, ordinal in enumerate(order):
            fits = each.fits[ordinal]
            colour = palette.ALLOCATED_COLOUR if fits else palette.FREE_COLOUR
            axes.bar(x, 0.56, 0.78, bottom=row, color=colour, alpha=0.55 if fits else 1.0)
        x = order.index(each.taken)
        axes.bar(x, 0.56, 0.78, bottom=row, color=palette.CAPACITY_COLOUR)
        axes.plot(
            x, row + 0.72, marker="v", markersize=7, color=palette.CAPACITY_COLOUR, clip_on=False
        )
        axes.text(
            len(order) + 1,
            row + 0.28,
            f"{each.taken_true_ns / 1e9:,.2f} s",
            va="center",
            fontsize=9.5,
        )
    axes.text(
        len(order) + 1,
        len(found) - 0.05,
        "what it really costs",
        fontsize=9,
        color=palette.TEXT_COLOUR,
    )
    names = [each.belief for each in reversed(found)]
    axes.set_yticks([row + 0.28 for row in range(len(found))], names)
    axes.tick_params(axis="y", length=0)
    axes.set_xticks([])
    axes.set_xlabel(
        f"the {len(order)} targets: those that can be adopted, by what they really cost; then those"
        " that cannot",
        loc="left",
    )
    axes.set_xlim(-1, len(order) * 1.17)
    axes.set_ylim(-0.1, len(found) + 0.25)
    axes.spines[:].set_visible(False)
    figure.legend(
        handles=[
            Patch(color=palette.ALLOCATED_COLOUR, alpha=0.55, label="can be adopted"),
            Patch(
                facecolor=palette.FREE_COLOUR,
                edgecolor=palette.EDGE_COLOUR,
                label="does not fit, or has no slot",
            ),
            Patch(color=palette.CAPACITY_COLOUR, label="taken under this belief"),
        ],
        loc="outside upper center",
        ncols=3,
        frameon=False,
        title=title,
    )
    return figure


def misjudged(
    studies: Sequence[tuple[str, Sequence[Misjudged]]], *, title: str | None = None
) -> Picture:
    """One column for each kind of error: how often another target is taken, and what it costs.

    Args:
        studies: (what is wrong, by size).
        title: Above the legend.
    """
    figure = Picture(figsize=(9.5, 4.9), layout="constrained")
    widths = [len(found) for _, found in studies]
    panels = figure.subplots(
        2,
        len(studies),
        sharex="col",
        sharey="row",
        squeeze=False,
        width_ratios=widths,
        height_ratios=(1, 1.7),
    )
    for column, (name, found) in enumerate(studies):
        _others(panels[0][column], found)
        _worse(panels[1][column], found)
        panels[0][column].set_title(name, loc="left", fontsize=10)
        labels = [
            each.belief.split("×")[-1] if each.factor else each.belief.split()[-1] for each in found
        ]
        labels = [
            f"×{label}" if each.factor else label for label, each in zip(labels, found, strict=True)
        ]
        panels[1][column].set_xticks(range(len(found)), labels, fontsize=9)
        for row in range(2):
            panels[row][column].spines[["top", "right"]].set_visible(False)
            panels[row][column].tick_params(axis="x", length=0)
    panels[0][0].set_ylabel("another target\nis taken")
    panels[1][0].set_ylabel("J really above the best")
    figure.legend(
        handles=[
            Patch(color=palette.RESERVED_COLOUR, label="decisions that take another target"),
            *(
                Line2D(
                    [],
                    [],
                    marker=marker,
                    color=palette.ALLOCATED_COLOUR,
                    linestyle="",
                    markersize=7,
                    alpha=_alpha(part),
                    label=words,
                )
                for part, words, marker in _QUANTILES
            ),
        ],
        loc="outside upper center",
        ncols=4,
        frameon=False,
        title=title,
    )
    return figure


def _others(axes: Axes, found: Sequence[Misjudged]) -> None:
    for x, each in enumerate(found):
        axes.bar(x, each.others_share, 0.62, color=palette.RESERVED_COLOUR)
        axes.text(x, each.others_share + 0.02, f"{each.others_share:.0%}", ha="center", fontsize=9)
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))


def _worse(axes: Axes, found: Sequence[Misjudged]) -> None:
    for x, each in enumerate(found):
        low, high = each.quantile(0.5), each.worse[-1]
        axes.plot((x, x), (low, high), color=palette.ALLOCATED_COLOUR, linewidth=1.4, alpha=0.4)
        for part, _, marker in _QUANTILES:
            axes.plot(
                x,
                each.quantile(part),
                marker=marker,
                markersize=7,
                alpha=_alpha(part),
                color=palette.ALLOCATED_COLOUR,
                linestyle="",
            )
    axes.set_yscale("symlog", linthresh=0.01, linscale=0.6)
    axes.set_ylim(-0.002, 300)
    axes.set_yticks([0, 0.01, 0.1, 1, 10, 100])
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,.0%}"))
    axes.grid(axis="y", color=palette.FREE_COLOUR)
    axes.set_axisbelow(True)


def _alpha(part: float) -> float:
    return 1.0 if part < 1.0 else 0.45
