"""What is a prefix worth, as a picture?

Owns the pictures of the ways back to a checkpoint, of a demand window beside the prefixes that
would have served it, of an owner's loss, and of J with its terms. Draws what `prefix_worth` and a
searched decision have worked out.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ninfer_lab.contract.machine_work import MachineWork
from ninfer_lab.engine.decision_problem import RetentionClass
from ninfer_lab.engine.decision_reading import Judged
from ninfer_lab.lab import palette
from ninfer_lab.lab.decisions import Decision
from ninfer_lab.lab.demand_worth import KeptPrefix, Portfolio, key_of
from ninfer_lab.lab.picture import Picture
from ninfer_lab.lab.prefix_worth import PrivateLoss, WaysBack

_COPIES, _PREFILL = palette.COPIED_COLOUR, palette.PREFILL_COLOUR
_PUBLIC, _PRIVATE = "#56B4E9", palette.ALLOCATED_COLOUR


def ways_back(found: Sequence[WaysBack], *, title: str | None = None) -> Picture:
    """For each placement every recipe, the cheapest in full colour; what is left up to the rebuild
    is the saving.

    Args:
        found: Of one checkpoint.
        title: Above the legend.
    """
    rows_count = sum(len(each.ways) for each in found)
    figure = Picture(
        figsize=(9.5, 1.0 + 0.30 * rows_count + 0.30 * len(found)), layout="constrained"
    )
    axes = figure.subplots()
    y = 0.0
    ticks = []
    for each in found:
        top = y
        for way in each.ways:
            is_best = way is each.best
            _way(axes, y, way.copies_ns, way.prefill_ns, is_best=is_best)
            ticks.append((y, f"{way.words}: {way.total_ns / 1e9:,.2f} s"))
            y -= 1
        rebuild = each.rebuild_ns / 1e9
        best = each.best.total_ns / 1e9
        if each.saving_ns:
            axes.annotate(
                "",
                (best, top),
                (rebuild, top),
                arrowprops={"arrowstyle": "<->", "color": palette.DECODE_COLOUR},
            )
            axes.text(
                (best + rebuild) / 2,
                top + 0.12,
                f"saves {each.saving_ns / 1e9:,.2f} s",
                ha="center",
                va="bottom",
                fontsize=9,
                color=palette.DECODE_COLOUR,
            )
        axes.text(rebuild * 1.02, top, each.place, va="center", fontsize=10)
        y -= 1.0
    axes.axvline(found[0].rebuild_ns / 1e9, color=palette.EDGE_COLOUR, linewidth=1, linestyle=":")
    axes.set_yticks([t for t, _ in ticks], [words for _, words in ticks], fontsize=9)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(y + 0.9, 0.9)
    axes.set_xlim(0, found[0].rebuild_ns / 1e9 * 1.42)
    axes.set_xlabel(f"seconds until token {found[0].frontier_tokens:,} is reached again")
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(
        handles=[
            Patch(color=_COPIES, label="copies from the Host"),
            Patch(color=_PREFILL, label="prefill"),
            Patch(color=_PREFILL, alpha=0.3, label="dearer ways"),
            Line2D([], [], color=palette.EDGE_COLOUR, linestyle=":", label="rebuild from root"),
        ],
        loc="outside upper center",
        ncols=4,
        frameon=False,
        title=title,
    )
    return figure


def _way(axes: Axes, y: float, copies_ns: int, prefill_ns: int, *, is_best: bool) -> None:
    alpha = 1.0 if is_best else 0.3
    axes.barh(y, copies_ns / 1e9, 0.66, color=_COPIES, alpha=alpha)
    axes.barh(y, prefill_ns / 1e9, 0.66, left=copies_ns / 1e9, color=_PREFILL, alpha=alpha)


# ── public value ────────────────────────────────────────────────────────────────────────────────


def demand_window(found: Portfolio, *, title: str | None = None) -> Picture:
    """Every demand as a column, every prefix as a row: what it matched, and what it counts for;
    beside it what each prefix is worth alone, and what it adds to the others.

    Args:
        found: Prefixes and demands.
        title: Above the legend.
    """
    figure = Picture(figsize=(9.5, 1.55 + 0.55 * len(found.prefixes)), layout="constrained")
    window, worth = figure.subplots(1, 2, sharey=True, width_ratios=(2.1, 1))
    rows = {key_of(p): row for row, p in enumerate(reversed(found.prefixes))}
    for x, demand in enumerate(found.demands):
        matched = [rows[key] for key in demand.keys]
        if matched:
            window.plot(
                (x, x),
                (min(matched), max(matched)),
                color=palette.EDGE_COLOUR,
                linewidth=0.8,
                zorder=1,
            )
        paid = found.paid_by(demand)
        for key in demand.keys:
            is_paid = key == paid
            window.scatter(
                x,
                rows[key],
                s=62 if is_paid else 34,
                zorder=2,
                linewidth=1.0,
                facecolor=_PUBLIC if is_paid else "white",
                edgecolor=palette.ALLOCATED_COLOUR if is_paid else palette.EDGE_COLOUR,
            )
        if not matched:
            window.plot(x, -0.62, marker="x", markersize=5, color=palette.EDGE_COLOUR)
    for prefix in found.prefixes:
        _worth(worth, rows[key_of(prefix)], found, prefix)
    names = [
        f"{p.name}\n{p.frontier_tokens:,} tokens, "
        + ("not kept" if p.place is None else f"{p.place.value}{', credit' * p.has_credit}")
        for p in reversed(found.prefixes)
    ]
    window.set_yticks(range(len(names)), names, fontsize=9)
    window.set_xticks([])
    window.set_xlabel("the last demands, oldest first")
    window.set_ylim(-0.85, len(names) - 0.35)
    worth.set_xlabel("seconds spared, all demands")
    for axes in (window, worth):
        axes.tick_params(axis="y", length=0)
        axes.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(
        handles=_window_legend(found),
        loc="outside upper center",
        ncols=3,
        frameon=False,
        title=title,
    )
    return figure


def _worth(axes: Axes, row: int, found: Portfolio, prefix: KeptPrefix) -> None:
    alone, added = found.alone_ns(prefix.name) / 1e9, found.added_ns(prefix.name) / 1e9
    axes.barh(
        row + 0.16, alone, 0.3, facecolor="white", edgecolor=palette.EDGE_COLOUR, hatch="////"
    )
    axes.barh(row - 0.16, added, 0.3, color=_PUBLIC)
    axes.text(alone, row + 0.16, f" {alone:,.0f}", va="center", fontsize=8.5)
    if prefix.has_credit:
        credit = found.savings_ns.get(key_of(prefix), 0) / 1e9
        axes.barh(row - 0.16, credit, 0.3, left=added, color=palette.DECODE_COLOUR)
        added += credit
    axes.text(added, row - 0.16, f" {added:,.0f}", va="center", fontsize=8.5)


def _window_legend(found: Portfolio) -> list[Patch | Line2D]:
    mark: dict[str, Any] = {"marker": "o", "linestyle": "", "markersize": 8}
    credit = Patch(color=palette.DECODE_COLOUR, label="credit")
    return [
        Line2D(
            [],
            [],
            markerfacecolor=_PUBLIC,
            markeredgecolor=palette.ALLOCATED_COLOUR,
            label="the one it counts for",
            **mark,
        ),
        Line2D(
            [],
            [],
            markerfacecolor="white",
            markeredgecolor=palette.EDGE_COLOUR,
            label="matched, counts nothing",
            **mark,
        ),
        Line2D(
            [],
            [],
            marker="x",
            linestyle="",
            color=palette.EDGE_COLOUR,
            label="a demand that matched none",
        ),
        Patch(
            facecolor="white",
            edgecolor=palette.EDGE_COLOUR,
            hatch="////",
            label="worth of the prefix alone",
        ),
        Patch(color=_PUBLIC, label="what it adds to the others"),
        *([credit] if any(prefix.has_credit for prefix in found.prefixes) else []),
    ]


# ── private loss ────────────────────────────────────────────────────────────────────────────────


def private_loss(found: Sequence[PrivateLoss], *, title: str | None = None) -> Picture:
    """For each outcome what every checkpoint's saving shrinks by, the largest in full colour, and
    what that weighs by class.

    Args:
        found: Outcomes of one owner.
        title: Above the legend.
    """
    count = len(found[0].frontiers_tokens)
    figure = Picture(figsize=(9.5, 1.25 + 0.26 * count * len(found)), layout="constrained")
    axes = figure.subplots()
    longest = max(max(each.differences_ns) for each in found) / 1e9
    ticks: list[tuple[float, str]] = []
    for row, each in enumerate(found):
        y = -row * (count + 0.9)
        ticks += [(y - i, f"at {tokens:,}") for i, tokens in enumerate(each.frontiers_tokens)]
        _outcome(axes, y, each, longest)
        axes.axhline(y + 0.95, color=palette.FREE_COLOUR, linewidth=1)
    for column, retention in enumerate(RetentionClass):
        axes.text(
            longest * (1.2 + 0.19 * column),
            1.1,
            f"{retention.value.replace('_', ' ')}\n× {retention.weight}",
            ha="right",
            va="bottom",
            fontsize=8.5,
            color=palette.TEXT_COLOUR,
        )
    axes.set_yticks([t for t, _ in ticks], [words for _, words in ticks], fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, longest * 1.62)
    axes.set_ylim(-len(found) * (count + 0.9) + 0.9, 2.6)
    axes.set_xticks([])
    axes.set_xlabel(
        "saving lost by each checkpoint; the largest counts, times the weight: seconds",
        loc="left",
        fontsize=9,
    )
    axes.spines[:].set_visible(False)
    if title is not None:
        figure.suptitle(title, fontsize=10)
    return figure


def _outcome(axes: Axes, y: float, loss: PrivateLoss, longest_s: float) -> None:
    """A bar for each checkpoint, downwards from y, and the weighted losses beside them."""
    largest = max(loss.differences_ns)
    for i, ns in enumerate(loss.differences_ns):
        is_counted = ns == largest > 0
        axes.barh(y - i, ns / 1e9, 0.78, color=_PRIVATE, alpha=1.0 if is_counted else 0.25)
        axes.text(
            ns / 1e9 + longest_s * 0.008,
            y - i,
            f"{ns / 1e9:,.2f} s" if ns else "0",
            va="center",
            fontsize=8.5,
            color="black" if is_counted else palette.EDGE_COLOUR,
        )
    middle = y - (len(loss.differences_ns) - 1) / 2
    outcome = textwrap.fill(loss.outcome, 18)
    axes.text(-longest_s * 0.15, middle, outcome, ha="right", va="center", fontsize=9.5)
    for column, retention in enumerate(RetentionClass):
        axes.text(
            longest_s * (1.2 + 0.19 * column),
            middle,
            f"{loss.weighted_ns(retention) / 1e9:,.2f}",
            ha="right",
            va="center",
            fontsize=9.5,
        )


# ── J ───────────────────────────────────────────────────────────────────────────────────────────


def terms_of_j(
    decision: Decision, judged: Iterable[Judged], *, title: str | None = None
) -> Picture:
    """One bar per target, its terms side by side.

    Args:
        decision: A searched one.
        judged: Of its targets.
        title: Above the legend.
    """
    listed = tuple(judged)
    price = decision.posed.valuation.work_ns
    figure = Picture(figsize=(9.5, 0.9 + 0.62 * len(listed)), layout="constrained")
    axes = figure.subplots()
    most = max(each.cost.total_ns for each in listed) / 1e9
    for row, each in enumerate(listed):
        prefill_ns = price(MachineWork(prefill=each.verdict.work.prefill))
        terms = (
            (each.cost.now_ns - prefill_ns, _COPIES),
            (prefill_ns, _PREFILL),
            (each.cost.public_loss_ns, _PUBLIC),
            (each.cost.private_loss_ns, _PRIVATE),
        )
        left = 0.0
        for ns, colour in terms:
            axes.barh(-row, ns / 1e9, 0.5, left=left, color=colour)
            left += ns / 1e9
        axes.text(left + most * 0.01, -row, f"{left:,.2f} s", va="center", fontsize=9.5)
    names = [textwrap.fill(decision.words(each.target), 46) for each in listed]
    axes.set_yticks([-row for row in range(len(listed))], names, fontsize=9)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, most * 1.12)
    axes.set_xlabel("J in seconds")
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(
        handles=[
            Patch(color=_COPIES, label="copies now"),
            Patch(color=_PREFILL, label="prefill now"),
            Patch(color=_PUBLIC, label="public loss"),
            Patch(color=_PRIVATE, label="private loss, weighted"),
        ],
        loc="outside upper center",
        ncols=4,
        frameon=False,
        title=title,
    )
    return figure
