"""What would be free, and why does something not fit?

Owns the pictures of reclaim (joint against one by one), of the Host arena beside the extent that
looks for a place in it, and of one violated inequality taken apart. Draws what it is handed; adds
nothing up itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.legend_handler import HandlerTuple
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import MaxNLocator

from ninfer_lab.contract.capacity import Axis, HostArenaGeometry, KvPool
from ninfer_lab.contract.explanation import Explanation, Holder, HolderKind
from ninfer_lab.contract.placement import LedgerSnapshot
from ninfer_lab.lab import palette
from ninfer_lab.lab.experiments import Reclaim
from ninfer_lab.lab.picture import Picture

_BAR = 0.36
_UNIT_NAMES = {
    Axis.DEVICE_STATE: "Device state slots",
    Axis.HOST_STATE: "Host state slots",
    Axis.DEVICE_KV: "Device KV pages of 64 tokens",
    Axis.DEVICE_BACKEND_KV: "Device backend KV pages of 64 tokens",
    Axis.HOST_KV: "bytes of the Host KV arena",
}


def reclaim(rows: Sequence[Reclaim], *, title: str | None = None) -> Picture:
    """For each set of owners: the pages they would free one by one, added up, and together.

    Args:
        rows: Sets of owners; the empty one is left out.
        title: Above the legend.
    """
    shown = [row for row in rows if row.owners]
    figure = Picture(figsize=(9.5, 3.4), layout="constrained")
    axes = figure.subplots()
    for x, row in enumerate(shown):
        differs = row.alone_pages != row.freed_pages
        axes.bar(
            x - _BAR / 2,
            row.alone_pages,
            _BAR,
            facecolor="white",
            edgecolor=palette.EDGE_COLOUR,
            hatch="////",
        )
        colour = palette.CAPACITY_COLOUR if differs else palette.ALLOCATED_COLOUR
        axes.bar(x + _BAR / 2, row.freed_pages, _BAR, color=colour)
        for offset, pages in ((-_BAR / 2, row.alone_pages), (_BAR / 2, row.freed_pages)):
            axes.text(x + offset, pages + 0.1, str(pages), ha="center", va="bottom", fontsize=9)
    names = [" and ".join(map(str, row.owners)) for row in shown]
    axes.set_xticks(range(len(shown)), names)
    axes.set_xlabel("owners that are evicted together")
    axes.set_ylabel("KV pages set free")
    axes.set_ylim(0, max(row.freed_pages for row in shown) * 1.15 + 0.5)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(
        handles=[
            Patch(
                facecolor="white",
                edgecolor=palette.EDGE_COLOUR,
                hatch="////",
                label="what each would free alone, added up",
            ),
            Patch(color=palette.ALLOCATED_COLOUR, label="what they free together"),
            Patch(color=palette.CAPACITY_COLOUR, label="together, where it is not the sum"),
        ],
        loc="outside upper center",
        ncols=3,
        frameon=False,
        title=title,
    )
    return figure


def holdings(explanation: Explanation, *, title: str | None = None) -> Picture:
    """One violated inequality: who has how much of that axis, and where its capacity ends.

    Args:
        explanation: Of an axis that is too small as a whole.
        title: Above the legend.
    """
    violation = explanation.violation
    figure = Picture(figsize=(9.5, 2.3), layout="constrained")
    axes = figure.subplots()
    parts = explanation.holdings
    x = 0
    seen: dict[str, tuple[Patch, ...]] = {}
    for part in parts:
        name = ", ".join(map(str, part.holders))
        colours = [_holder_colour(holder) for holder in part.holders]
        hatch = "////" if part.kind.is_reservation else None
        stripe = 1 / len(colours)
        for ordinal, colour in enumerate(colours):
            axes.add_patch(
                Rectangle(
                    (x, ordinal * stripe),
                    part.units_count,
                    stripe,
                    facecolor=colour if hatch is None else "white",
                    edgecolor=colour,
                    hatch=hatch,
                    linewidth=1.2,
                    alpha=0.8,
                )
            )
        label = f"{part.units_count:,}"
        axes.text(
            x + part.units_count / 2,
            0.5,
            label,
            ha="center",
            va="center",
            fontsize=10,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5, "alpha": 0.85},
        )
        seen[f"{name}: {part.kind.value}"] = tuple(
            Patch(facecolor="white" if hatch else colour, edgecolor=colour, hatch=hatch, alpha=0.8)
            for colour in colours
        )
        x += part.units_count
    _capacity(axes, violation.capacity_count)
    axes.set_xlim(0, max(x, violation.capacity_count) * 1.04)
    axes.set_ylim(0, 1.35)
    axes.set_yticks([])
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(f"{_UNIT_NAMES[violation.axis]}, at the stage “{violation.stage.value}”")
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(
        handles=list(seen.values()),
        labels=list(seen),
        handler_map={tuple: HandlerTuple(ndivide=None, pad=0)},
        loc="outside upper center",
        ncols=min(3, len(seen)),
        frameon=False,
        title=title,
    )
    return figure


def missing_hole(
    ledger: LedgerSnapshot,
    arena: HostArenaGeometry,
    explanation: Explanation,
    *,
    title: str | None = None,
) -> Picture:
    """The Host arena to scale, its holes, and beneath it the extent that fits in none of them.

    Args:
        ledger: What lies in the arena now.
        arena: How it is divided.
        explanation: Of a target whose extent finds no place.
        title: Above the picture.
    """
    violation = explanation.violation
    assert violation.run_bytes is not None, "this is about an extent that finds no hole"
    figure = Picture(figsize=(9.5, 2.5), layout="constrained")
    axes = figure.subplots()
    _draw_arena(axes, ledger, arena)
    _draw_wanted(axes, violation.run_bytes, arena.granule_bytes)
    axes.set_xlim(-0.02, arena.granules_count + 0.02)
    axes.set_ylim(-0.1, 2.5)
    ticks = range(arena.granules_count + 1)
    axes.set_xticks(list(ticks), [f"{tick * arena.granule_bytes:,}" for tick in ticks])
    axes.set_yticks([])
    axes.set_xlabel("place in the Host KV arena, bytes")
    axes.spines[["top", "right", "left"]].set_visible(False)
    if title is not None:
        figure.suptitle(title, fontsize=10)
    return figure


def _draw_arena(axes: Axes, ledger: LedgerSnapshot, arena: HostArenaGeometry) -> None:
    """What lies in it, by owner, and the holes with their sizes."""
    owners = {
        (pool, page): owner.owner
        for owner in ledger.owners
        for checkpoint in owner.checkpoints
        for pool in KvPool
        for page in checkpoint.pages_of(pool)
    }
    whole = Rectangle(
        (0, 1.4),
        arena.granules_count,
        1,
        facecolor=palette.FREE_COLOUR,
        edgecolor=palette.EDGE_COLOUR,
    )
    axes.add_patch(whole)
    taken: set[int] = set()
    for pool in KvPool:
        width = arena.page_granules(pool)
        for page in ledger.pages_of(pool):
            if page.host_granule is None:
                continue
            owner = owners[pool, page.page]
            taken |= set(range(page.host_granule, page.host_granule + width))
            axes.add_patch(
                Rectangle(
                    (page.host_granule, 1.4),
                    width,
                    1,
                    facecolor=palette.owner_colour(owner - 1),
                    edgecolor="white",
                    alpha=0.8,
                )
            )
            middle = page.host_granule + width / 2
            axes.text(middle, 1.9, f"owner {owner}", ha="center", va="center", fontsize=9)
    for start, length in _holes(taken, arena.granules_count):
        size_bytes = length * arena.granule_bytes
        text = f"a hole of {size_bytes:,} bytes"
        axes.text(start + length / 2, 1.9, text, ha="center", va="center", fontsize=9)


def _draw_wanted(axes: Axes, run_bytes: int, granule_bytes: int) -> None:
    """The extent that finds no place, to the same scale."""
    run = run_bytes // granule_bytes
    axes.add_patch(
        Rectangle(
            (0, 0),
            run,
            1,
            facecolor="white",
            edgecolor=palette.CAPACITY_COLOUR,
            hatch="////",
            linewidth=1.4,
        )
    )
    axes.text(
        run / 2,
        0.5,
        f"wanted in one piece: {run_bytes:,} bytes",
        ha="center",
        va="center",
        fontsize=9,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
    )


def _holes(taken: set[int], granules_count: int) -> list[tuple[int, int]]:
    """(first granule, length) of every free run."""
    holes: list[tuple[int, int]] = []
    for granule in range(granules_count):
        if granule in taken:
            continue
        if holes and sum(holes[-1]) == granule:
            holes[-1] = (holes[-1][0], holes[-1][1] + 1)
        else:
            holes.append((granule, 1))
    return holes


def _holder_colour(holder: Holder) -> str:
    match holder.kind:
        case HolderKind.OWNER:
            return palette.owner_colour(holder.id - 1)
        case HolderKind.SEQUENCE:
            return palette.RUNNING_COLOUR
        case HolderKind.REQUEST:
            return palette.TEXT_COLOUR


def _capacity(axes: Axes, capacity_count: int) -> None:
    axes.axvline(capacity_count, color=palette.CAPACITY_COLOUR, linewidth=2)
    axes.text(
        capacity_count,
        1.12,
        f"capacity {capacity_count:,} ",
        ha="right",
        va="center",
        fontsize=9,
        color=palette.CAPACITY_COLOUR,
    )
