"""What is given up first, as a picture? (W-2)

Owns the pictures of every owner's ladder with the rung that was taken, of what rungs free alone and
together, of the recency ladder with its licence, and of two decisions' fates side by side. Draws
what `ladders` found.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Patch, Rectangle

from ninfer_lab.lab import palette
from ninfer_lab.lab.ladders import Fate, LadderRung, OwnerLadder, RecencyLadder, RecencyRung
from ninfer_lab.lab.owner_rungs import RungKind
from ninfer_lab.lab.picture import Picture

RUNG_COLOURS = {
    RungKind.KEEP: palette.FREE_COLOUR,
    RungKind.DROP_REPLICA: "#56B4E9",
    RungKind.TO_HOST: palette.HOST_COLOUR,
    RungKind.SHORTEN: palette.COPIED_COLOUR,
    RungKind.END_CHECKPOINT: palette.COPIED_COLOUR,
    RungKind.EVICT: palette.EDGE_COLOUR,
}
FATE_COLOURS = {
    Fate.GONE: palette.EDGE_COLOUR,
    Fate.LEAVES: palette.HOST_COLOUR,
    Fate.STAYS: palette.DEVICE_COLOUR,
}
_CELL_WIDTH, _CELL_HEIGHT = 1.0, 1.0


def owner_ladders(found: Sequence[OwnerLadder], *, title: str | None = None) -> Picture:
    """One line per owner, from staying to its end; the rung that was taken stands out.

    Args:
        found: Of one decision.
        title: Above the legend.
    """
    columns_count = max(len(ladder.rungs) for ladder in found)
    figure = Picture(figsize=(9.5, 0.7 + 1.12 * len(found)), layout="constrained")
    axes = figure.subplots()
    for row, ladder in enumerate(found):
        y = -row * 1.14
        axes.text(-0.06, y, f"owner {ladder.owner}", ha="right", va="bottom", fontsize=10.5)
        of_class = f"{ladder.retention.value.replace('_', ' ')}\n× {ladder.retention.weight}"
        axes.text(
            -0.06, y - 0.03, of_class, ha="right", va="top", fontsize=8.5, color=palette.TEXT_COLOUR
        )
        for column, rung in enumerate(ladder.rungs):
            _rung(axes, column, y, rung, is_taken=column == ladder.taken)
    axes.set_xlim(-0.85, columns_count + 0.02)
    axes.set_ylim(-(len(found) - 1) * 1.14 - 0.56, 0.56)
    axes.set_axis_off()
    figure.legend(
        handles=[
            Patch(color=RUNG_COLOURS[RungKind.DROP_REPLICA], label="a second replica goes"),
            Patch(color=RUNG_COLOURS[RungKind.TO_HOST], label="to the Host"),
            Patch(color=RUNG_COLOURS[RungKind.SHORTEN], label="a checkpoint ends"),
            Patch(color=RUNG_COLOURS[RungKind.EVICT], label="evicted"),
            Patch(facecolor="white", edgecolor="black", linewidth=2, label="taken"),
            Patch(facecolor="white", edgecolor="none", label="bold: alone → with the others"),
        ],
        loc="outside upper center",
        ncols=6,
        frameon=False,
        fontsize=9,
        columnspacing=1.2,
        title=title,
    )
    return figure


def _rung(axes: Axes, column: int, y: float, rung: LadderRung, *, is_taken: bool) -> None:
    axes.add_patch(
        FancyBboxPatch(
            (column + 0.05, y - 0.46),
            _CELL_WIDTH - 0.1,
            _CELL_HEIGHT - 0.08,
            boxstyle="round,pad=0,rounding_size=0.06",
            facecolor=RUNG_COLOURS[rung.kind],
            alpha=0.75 if is_taken else 0.2,
            linewidth=0,
        )
    )
    if is_taken:
        axes.add_patch(
            FancyBboxPatch(
                (column + 0.05, y - 0.46),
                _CELL_WIDTH - 0.1,
                _CELL_HEIGHT - 0.08,
                boxstyle="round,pad=0,rounding_size=0.06",
                fill=False,
                edgecolor="black",
                linewidth=2,
            )
        )
    if column:
        axes.annotate(
            "",
            (column + 0.06, y),
            (column - 0.06, y),
            arrowprops={"arrowstyle": "-|>", "color": palette.EDGE_COLOUR},
        )
    centre = column + 0.5
    is_staying = rung.kind is RungKind.KEEP
    axes.text(
        centre,
        y if is_staying else y + 0.42,
        textwrap.fill(rung.words, 17),
        ha="center",
        va="center" if is_staying else "top",
        fontsize=8.5,
        weight="bold" if is_taken else "normal",
    )
    if rung.kind is RungKind.KEEP:
        return
    axes.text(
        centre, y - 0.40, f"loses {rung.loss_ns / 1e9:,.2f} s", ha="center", va="bottom", fontsize=8
    )
    lines = _freed(rung)
    for line, text in enumerate(reversed(lines)):
        axes.text(
            centre,
            y - 0.25 + 0.155 * line,
            text,
            ha="center",
            va="bottom",
            fontsize=8,
            weight="bold" if "→" in text else "normal",
        )


def _freed(rung: LadderRung) -> list[str]:
    """Pages and slots; where others make a difference, alone and with them."""
    counts = [
        (str(alone) if alone == jointly else f"{alone} → {jointly}", noun, max(alone, jointly))
        for alone, jointly, noun in (
            (rung.alone.pages, rung.jointly.pages, "page"),
            (rung.alone.slots, rung.jointly.slots, "slot"),
        )
    ]
    parts = [f"{said} {noun}{'s' * (most > 1)}" for said, noun, most in counts if most]
    return parts if any("→" in part for part in parts) else [" + ".join(parts) or "frees nothing"]


def alone_and_together(found: Sequence[OwnerLadder], *, title: str | None = None) -> Picture:
    """For each owner that gives way: the Device pages that it frees alone, and with the others.

    Args:
        found: Of one decision.
        title: Above the legend.
    """
    giving = [(ladder.owner, ladder.rungs[ladder.taken]) for ladder in found if ladder.taken]
    figure = Picture(figsize=(9.5, 1.0 + 0.5 * len(giving)), layout="constrained")
    axes = figure.subplots()
    for row, (_, rung) in enumerate(giving):
        axes.barh(
            -row + 0.17,
            rung.alone.pages,
            0.32,
            facecolor="white",
            edgecolor=palette.EDGE_COLOUR,
            hatch="////",
        )
        differs = rung.alone.pages != rung.jointly.pages
        colour = palette.CAPACITY_COLOUR if differs else palette.ALLOCATED_COLOUR
        axes.barh(-row - 0.17, rung.jointly.pages, 0.32, color=colour)
        axes.text(rung.alone.pages, -row + 0.17, f" {rung.alone.pages}", va="center", fontsize=9)
        axes.text(
            rung.jointly.pages, -row - 0.17, f" {rung.jointly.pages}", va="center", fontsize=9
        )
    names = [f"owner {owner}: {rung.words}" for owner, rung in giving]
    axes.set_yticks([-row for row in range(len(giving))], names, fontsize=9)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("Device pages set free")
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(
        handles=[
            Patch(
                facecolor="white",
                edgecolor=palette.EDGE_COLOUR,
                hatch="////",
                label="if it alone gave way",
            ),
            Patch(color=palette.ALLOCATED_COLOUR, label="with the others as decided"),
            Patch(color=palette.CAPACITY_COLOUR, label="… where that is more"),
        ],
        loc="outside upper center",
        ncols=3,
        frameon=False,
        title=title,
    )
    return figure


# ── the recency ladder ──────────────────────────────────────────────────────────────────────────


def recency_ladder(found: RecencyLadder, *, title: str | None = None) -> Picture:
    """One line per rung: who is gone and who is on the Host, whether it can be adopted and what it
    costs; the least sacrifice is marked, and whom it licenses to be evicted.

    Args:
        found: Of one decision.
        title: Above the legend.
    """
    count = len(found.order)
    figure = Picture(figsize=(9.5, 1.3 + 0.42 * len(found.rungs)), layout="constrained")
    axes = figure.subplots()
    for row, rung in enumerate(found.rungs):
        _recency_rung(axes, -float(row), rung, is_least=rung is found.least)
    for column, owner in enumerate(found.order):
        is_licensed = owner in found.licence
        axes.text(
            column + 0.47,
            0.55,
            f"owner {owner}",
            ha="center",
            va="bottom",
            fontsize=9.5,
            weight="bold" if is_licensed else "normal",
            color=palette.CAPACITY_COLOUR if is_licensed else palette.TEXT_COLOUR,
        )
    arrow = {"arrowstyle": "->", "color": palette.EDGE_COLOUR}
    axes.annotate("", (count * 0.62, 1.2), (count * 0.3, 1.2), arrowprops=arrow)
    axes.text(count * 0.28, 1.2, "oldest", ha="right", va="center", fontsize=9)
    axes.text(count * 0.64, 1.2, "most recent", ha="left", va="center", fontsize=9)
    axes.set_xlim(-0.9, count * 1.75)
    axes.set_ylim(-len(found.rungs) + 0.45, 1.45)
    axes.set_axis_off()
    least = Patch(
        facecolor="white", edgecolor=palette.CAPACITY_COLOUR, linewidth=2, label="least sacrifice"
    )
    figure.legend(
        handles=[
            *(Patch(color=colour, label=fate.value) for fate, colour in FATE_COLOURS.items()),
            least,
        ],
        loc="outside upper center",
        ncols=4,
        frameon=False,
        title=title,
    )
    return figure


def _recency_rung(axes: Axes, y: float, rung: RecencyRung, *, is_least: bool) -> None:
    """One line, pale where it cannot be adopted."""
    count = len(rung.fates)
    for column, fate in enumerate(rung.fates):
        axes.add_patch(
            Rectangle(
                (column, y - 0.36),
                0.94,
                0.72,
                facecolor=FATE_COLOURS[fate],
                alpha=0.75 if rung.is_adoptable else 0.25,
                linewidth=0,
            )
        )
        if fate is Fate.GONE:
            colour = "white" if rung.is_adoptable else palette.EDGE_COLOUR
            axes.text(column + 0.47, y, "✕", ha="center", va="center", fontsize=10, color=colour)
    if is_least:
        axes.add_patch(
            Rectangle(
                (-0.06, y - 0.43),
                count + 0.06,
                0.86,
                fill=False,
                edgecolor=palette.CAPACITY_COLOUR,
                linewidth=2.2,
            )
        )
    axes.text(-0.2, y, f"{rung.gone_count} gone", ha="right", va="center", fontsize=9.5)
    said = f"J {rung.cost_ns / 1e9:,.1f} s" if rung.is_adoptable else rung.verdict
    colour = "black" if rung.is_adoptable else palette.EDGE_COLOUR
    axes.text(count + 0.15, y, said, va="center", fontsize=9.5, color=colour)


def fates(
    named: Sequence[tuple[str, Sequence[OwnerLadder], float]], *, title: str | None = None
) -> Picture:
    """One line per decision: what becomes of every owner, what it loses by it, and J.

    Args:
        named: (name, its ladders, J in seconds).
        title: Above.
    """
    count = len(named[0][1])
    figure = Picture(figsize=(9.5, 0.45 + 0.95 * len(named)), layout="constrained")
    axes = figure.subplots()
    for row, (name, ladders, total_s) in enumerate(named):
        y = -row * 1.12
        axes.text(-0.08, y, textwrap.fill(name, 16), ha="right", va="center", fontsize=9.5)
        for column, ladder in enumerate(ladders):
            taken = ladder.rungs[ladder.taken]
            way = [rung.words for rung in ladder.rungs[1 : ladder.taken + 1]] or [taken.words]
            axes.add_patch(
                Rectangle(
                    (column, y - 0.48),
                    0.96,
                    0.96,
                    facecolor=RUNG_COLOURS[taken.kind],
                    alpha=0.5,
                    linewidth=0,
                )
            )
            words = taken.words if taken.kind is RungKind.EVICT else ", ".join(way)
            axes.text(
                column + 0.48,
                y + 0.4,
                textwrap.fill(words, 18),
                ha="center",
                va="top",
                fontsize=8.5,
            )
            if taken.loss_ns:
                axes.text(
                    column + 0.48,
                    y - 0.42,
                    f"loses {taken.loss_ns / 1e9:,.2f} s",
                    ha="center",
                    va="bottom",
                    fontsize=8,
                )
        axes.text(count + 0.08, y, f"J {total_s:,.1f} s", va="center", fontsize=10)
    for column, ladder in enumerate(named[0][1]):
        axes.text(
            column + 0.48,
            0.55,
            f"owner {ladder.owner}",
            ha="center",
            fontsize=9.5,
            color=palette.TEXT_COLOUR,
        )
    axes.set_xlim(-0.95, count + 0.72)
    axes.set_ylim(-(len(named) - 1) * 1.12 - 0.55, 0.85)
    axes.set_axis_off()
    if title is not None:
        figure.suptitle(title, fontsize=10)
    return figure
