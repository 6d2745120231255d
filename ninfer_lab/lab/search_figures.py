"""What did the planner look at, and how far from the best did it stay?

Owns the picture of a target graph, and of regret by budget. Draws the values it is handed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator, PercentFormatter

from ninfer_lab.lab import palette
from ninfer_lab.lab.decisions import Decision
from ninfer_lab.lab.picture import Picture
from ninfer_lab.lab.regret import RegretDistribution
from ninfer_lab.lab.target_graph import NodeVerdict, TargetGraph

_GAP = 1.6
"""Between the columns of two candidates, in places."""

_STEPS_DRAWN = 500
"""Steps up to which all of them are drawn."""

_LOOKS = {
    NodeVerdict.ADOPTABLE: ("o", palette.ALLOCATED_COLOUR),
    NodeVerdict.NO_SLOT: ("D", palette.COPIED_COLOUR),
    NodeVerdict.INFEASIBLE: ("s", palette.HOST_COLOUR),
}


def target_graph(graph: TargetGraph, *, title: str | None = None) -> Picture:
    """Every target from the identities downward, one column of levels for each candidate.

    Args:
        graph: Of a searched decision.
        title: Above the legend.
    """
    places = _places(graph)
    depth = max(node.depth for node in graph.nodes)
    figure = Picture(figsize=(9.5, 2.0 + 0.72 * (depth + 1)), layout="constrained")
    axes = figure.subplots()
    axes.add_collection(
        LineCollection(
            [(places[a], places[b]) for a, b in _steps_drawn(graph)],
            colors=palette.EDGE_COLOUR,
            linewidths=0.4,
            alpha=0.28,
            zorder=1,
        )
    )
    shown = _draw_nodes(axes, graph, places)
    _draw_incumbents(axes, graph, places)
    _name_columns(axes, graph, places)
    width = max(x for x, _ in places)
    axes.set_xlim(-1.0, width + 1.0)
    axes.set_ylim(-depth - 0.55, 0.75)
    axes.set_yticks(
        [-level for level in range(depth + 1)],
        ["identities", *(f"{n} step{'s' * (n > 1)}" for n in range(1, depth + 1))],
    )
    axes.tick_params(axis="y", length=0)
    axes.set_xticks([])
    axes.spines[:].set_visible(False)
    if shown is not None:
        bar = figure.colorbar(shown, ax=axes, aspect=32, pad=0.01, shrink=0.8)
        bar.set_label("J in seconds: the darker, the cheaper")
        bar.ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
        bar.ax.yaxis.set_minor_locator(NullLocator())
    figure.legend(
        handles=_graph_legend(graph),
        loc="outside upper center",
        ncols=3,
        frameon=False,
        title=title,
    )
    return figure


def _steps_drawn(graph: TargetGraph) -> list[tuple[int, int]]:
    """All; of very many, which would be a grey cloud, those between targets that were judged."""
    if len(graph.steps) <= _STEPS_DRAWN:
        return list(graph.steps)
    nodes = graph.nodes
    return [
        (a, b)
        for a, b in graph.steps
        if nodes[a].looked_at is not None and nodes[b].looked_at is not None
    ]


def _places(graph: TargetGraph) -> list[tuple[float, float]]:
    """By candidate, depth, and within a level by J, what was not looked at last."""
    levels: dict[tuple[int, int], list[int]] = {}
    for ordinal, node in enumerate(graph.nodes):
        levels.setdefault((node.target.candidate, node.depth), []).append(ordinal)
    places = [(0.0, 0.0)] * len(graph.nodes)
    left = 0.0
    for candidate in range(len(graph.candidates)):
        mine = {depth: row for (c, depth), row in levels.items() if c == candidate}
        width = max(len(row) for row in mine.values())
        for depth, row in mine.items():
            ordered = sorted(
                row, key=lambda i: (graph.nodes[i].cost_ns is None, graph.nodes[i].cost_ns or 0, i)
            )
            spread = (width - 1) / max(1, len(row) - 1) if len(row) > 1 else 0.0
            spread = min(spread, 2.0)
            first = left + (width - 1) / 2 - spread * (len(row) - 1) / 2
            for place, ordinal in enumerate(ordered):
                places[ordinal] = (first + spread * place, float(-depth))
        left += width - 1 + _GAP
    return places


def _draw_nodes(
    axes: Axes, graph: TargetGraph, places: Sequence[tuple[float, float]]
) -> ScalarMappable | None:
    """Marks by verdict, shaded by J; the shades of what can be taken, for a scale."""
    size = 150 if len(graph.nodes) <= 120 else 60
    unseen = [i for i, n in enumerate(graph.nodes) if n.verdict is NodeVerdict.UNSEEN]
    axes.scatter(
        [places[i][0] for i in unseen],
        [places[i][1] for i in unseen],
        s=size * 0.3,
        facecolor="white",
        edgecolor=palette.EDGE_COLOUR,
        linewidth=0.8,
        zorder=2,
    )
    costs = [n.cost_ns / 1e9 for n in graph.nodes if n.cost_ns]
    if not costs:
        return None
    norm = LogNorm(min(costs), max(costs))
    shown = None
    for verdict, (marker, colour) in _LOOKS.items():
        mine = [i for i, n in enumerate(graph.nodes) if n.verdict is verdict]
        shades = LinearSegmentedColormap.from_list(verdict.name, [colour, "#F4F4F4"])
        drawn = axes.scatter(
            [places[i][0] for i in mine],
            [places[i][1] for i in mine],
            c=[max(1, graph.nodes[i].cost_ns or 0) / 1e9 for i in mine],
            norm=norm,
            cmap=shades,
            s=size,
            marker=marker,
            edgecolor=colour,
            linewidth=1.0,
            zorder=3,
        )
        if verdict is NodeVerdict.ADOPTABLE:
            shown = drawn
    return shown


def _draw_incumbents(axes: Axes, graph: TargetGraph, places: Sequence[tuple[float, float]]) -> None:
    """The chain of the best so far, numbered; the last one was taken."""
    for before, after in pairwise(graph.incumbents):
        axes.add_patch(
            FancyArrowPatch(
                places[before],
                places[after],
                arrowstyle="-|>",
                mutation_scale=13,
                connectionstyle="arc3,rad=-0.12",
                color=palette.TEXT_COLOUR,
                linewidth=1.6,
                shrinkA=8,
                shrinkB=9,
                zorder=4,
            )
        )
    for number, ordinal in enumerate(graph.incumbents, 1):
        is_taken = ordinal == graph.incumbents[-1]
        axes.scatter(
            *places[ordinal],
            s=330 if is_taken else 230,
            facecolor="white",
            edgecolor=palette.RUNNING_COLOUR if is_taken else palette.TEXT_COLOUR,
            linewidth=2.4 if is_taken else 1.6,
            zorder=5,
            clip_on=False,
        )
        axes.text(
            *places[ordinal], str(number), ha="center", va="center_baseline", fontsize=9, zorder=6
        )
        axes.annotate(
            f"{(graph.nodes[ordinal].cost_ns or 0) / 1e9:,.2f} s",
            places[ordinal],
            xytext=(0, -19),
            textcoords="offset points",
            ha="center",
            fontsize=8.5,
            color=palette.TEXT_COLOUR,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85},
            zorder=6,
        )


def _name_columns(axes: Axes, graph: TargetGraph, places: Sequence[tuple[float, float]]) -> None:
    for ordinal, words in enumerate(graph.candidates):
        identity = next(
            i for i, n in enumerate(graph.nodes) if n.target.candidate == ordinal and not n.depth
        )
        axes.text(
            places[identity][0],
            0.38,
            words.replace(", ", "\n"),
            ha="center",
            va="bottom",
            fontsize=9,
            color=palette.TEXT_COLOUR,
        )


def _graph_legend(graph: TargetGraph) -> list[Line2D]:
    handles = [
        Line2D(
            [],
            [],
            marker=marker,
            markersize=9,
            color=colour,
            linestyle="",
            label=f"{verdict.value}: {graph.count(verdict)}",
        )
        for verdict, (marker, colour) in _LOOKS.items()
        if graph.count(verdict)
    ]
    handles.append(
        Line2D(
            [],
            [],
            marker="o",
            markersize=6,
            markerfacecolor="white",
            markeredgecolor=palette.EDGE_COLOUR,
            linestyle="",
            label=f"{NodeVerdict.UNSEEN.value}: {graph.count(NodeVerdict.UNSEEN)}",
        )
    )
    handles.append(
        Line2D(
            [],
            [],
            marker="o",
            markersize=11,
            markerfacecolor="white",
            color=palette.TEXT_COLOUR,
            markeredgewidth=1.6,
            label="the best so far, in order of finding",
        )
    )
    handles.append(
        Line2D(
            [],
            [],
            marker="o",
            markersize=12,
            markerfacecolor="white",
            markeredgecolor=palette.RUNNING_COLOUR,
            markeredgewidth=2.4,
            linestyle="",
            label="taken",
        )
    )
    return handles


# ── one decision over time ──────────────────────────────────────────────────────────────────────


def incumbents(decision: Decision, *, title: str | None = None) -> Picture:
    """What the best known target costs, after each target that was judged; now and later apart.

    Args:
        decision: One in which something was taken.
        title: Above the legend.
    """
    judged = decision.found.judged
    looks = {each.target: i for i, each in enumerate(judged, 1)}
    chain = decision.incumbents
    figure = Picture(figsize=(9.5, 3.2), layout="constrained")
    axes = figure.subplots()
    at = [*(looks[each.target] for each in chain), len(judged)]
    now = [each.cost.now_ns / 1e9 for each in (*chain, chain[-1])]
    total = [each.cost.total_ns / 1e9 for each in (*chain, chain[-1])]
    axes.fill_between(at, now, step="post", color=palette.PREFILL_COLOUR, alpha=0.85, linewidth=0)
    axes.fill_between(at, total, now, step="post", color=palette.RESERVED_COLOUR, linewidth=0)
    axes.step(at, total, where="post", color=palette.ALLOCATED_COLOUR, linewidth=1.6)
    top = max(total[1:]) * 1.3
    is_off = total[0] > top
    first = f"{total[0]:,.1f} s, off the scale ↑" if is_off else f"{total[0]:,.1f} s"
    _said(axes, first, (at[0], min(total[0], top)), (4, -12 if is_off else 4))
    _said(axes, f"{total[-1]:,.1f} s", (at[-1], total[-1]), (-34, 5))
    axes.set_xscale("log")
    axes.set_xlim(at[0], at[-1])
    axes.set_ylim(0, top)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    axes.set_xlabel("targets judged so far")
    axes.set_ylabel("J of the best so far, s")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(
        handles=[
            Patch(color=palette.RESERVED_COLOUR, label="what later requests pay: loss"),
            Patch(color=palette.PREFILL_COLOUR, label="what this request pays: copies and prefill"),
        ],
        loc="outside upper center",
        ncols=2,
        frameon=False,
        title=title,
    )
    return figure


def _said(axes: Axes, text: str, at: tuple[float, float], offset_points: tuple[int, int]) -> None:
    axes.annotate(
        text,
        at,
        xytext=offset_points,
        textcoords="offset points",
        fontsize=9,
        color=palette.TEXT_COLOUR,
    )


# ── regret ──────────────────────────────────────────────────────────────────────────────────────


def regret(distributions: Sequence[RegretDistribution], *, title: str | None = None) -> Picture:
    """For each budget: how often the best was taken, and how much worse the rest is.

    Args:
        distributions: Over the same problems, by budget.
        title: Above both.
    """
    figure = Picture(figsize=(9.5, 3.6), layout="constrained")
    share, worse = figure.subplots(1, 2, width_ratios=(1, 1.7))
    names = [f"{d.target_budget:,}" for d in distributions]
    best = [d.best_share for d in distributions]
    share.bar(names, best, 0.62, color=palette.ALLOCATED_COLOUR)
    for x, value in enumerate(best):
        share.text(x, value + 0.015, f"{value:.1%}", ha="center", va="bottom", fontsize=9)
    share.set_ylim(0, 1.13)
    share.yaxis.set_major_formatter(PercentFormatter(1.0))
    share.set_ylabel("decisions that take the best there is")
    _regret_curves(worse, distributions)
    for axes in (share, worse):
        axes.spines[["top", "right"]].set_visible(False)
    share.set_xlabel("targets that may be judged")
    if title is not None:
        figure.suptitle(title, fontsize=10)
    return figure


def _regret_curves(axes: Axes, distributions: Sequence[RegretDistribution]) -> None:
    """From the worst decision down: how much more than the best the n-th worst costs."""
    for ordinal, found in enumerate(distributions):
        shares = [max(each.share, _FLOOR) for each in reversed(found.ascending)]
        is_best = shares[0] == _FLOOR
        axes.step(
            [i / len(shares) for i in range(len(shares) + 1)],
            [shares[0], *shares],
            where="pre",
            color=palette.owner_colour(ordinal),
            linewidth=2,
            label=f"{found.target_budget:,}{': never worse' if is_best else ''}",
        )
    axes.set_yscale("log")
    axes.set_ylim(_FLOOR * 0.85, None)
    axes.set_xlim(0, max(0.05, _worse_than_best(distributions) * 1.15))
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: "0" if y <= _FLOOR else f"{y:,.0%}"))
    axes.set_xlabel("part of the decisions that are at least so much worse")
    axes.set_ylabel("J above the best")
    axes.legend(title="targets that may be judged", frameon=False, fontsize=9)


_FLOOR = 1e-3
"""Regret below a thousandth is drawn as none."""


def _worse_than_best(distributions: Sequence[RegretDistribution]) -> float:
    return max(
        math.ceil(100 * sum(e.share > _FLOOR for e in d.ascending) / len(d.ascending)) / 100
        for d in distributions
    )
