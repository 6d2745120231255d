"""Where does everything lie at one moment, on paper? (W-3)

Owns the picture of every place in the colours of who refers to what lies there: of a placement
story's moment, or of an engine as it is now. Draws what `placement_story` found.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from ninfer_lab.contract.cache_controller import ControllerSnapshot
from ninfer_lab.contract.capacity import NO_HOST_ARENA, AxisUse, HostArenaGeometry
from ninfer_lab.lab import palette
from ninfer_lab.lab.picture import Picture
from ninfer_lab.lab.placement_places import FREE, Mark, Panel
from ninfer_lab.lab.placement_story import PlacementStory, runs_of, story_of_ledgers

COLUMNS = 32
"""Places of one line."""

_SLOT_COLUMNS = 4
"""A slot is as wide as so many pages: it carries words."""

_BLANK = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
"""Beneath words that would stand on hatching."""

_NAMED_HOLDERS = 12
"""In the legend; more say nothing."""

_NARROW_PLACES = 96
"""Panels of more places draw smaller ones."""


def placement(
    snapshot: ControllerSnapshot,
    *,
    arena: HostArenaGeometry = NO_HOST_ARENA,
    title: str | None = None,
) -> Picture:
    """Every place of an engine as it is now: what is shared is striped, what is promised or held
    hatched, what another is about to read outlined.

    Args:
        snapshot: Of one engine.
        arena: How its Host arena is divided (`engine.options.capacity.host_kv`); without it the
            arena is not drawn.
        title: Above the legend.
    """
    sessions = {e.owner: e.session_key for e in snapshot.catalog if e.session_key is not None}
    story = story_of_ledgers([("now", snapshot.ledger)], arena, "an engine", sessions)
    return _drawn(story, 0, title)


def placement_moment(story: PlacementStory, step: int) -> Picture:
    """The same at one moment of a run.

    Args:
        story: Of one run.
        step: Which moment, from 0.
    """
    words = story.moments[step].words
    return _drawn(story, step, f"{story.name}, moment {step + 1} of {len(story.moments)}: {words}")


def _drawn(story: PlacementStory, step: int, title: str | None) -> Picture:
    cells, moment = story.cells_at(step), story.moments[step]
    heights = [0.9 + 0.55 * _lines(panel) for panel in story.panels]
    figure = Picture(figsize=(9.5, 1.0 + 0.52 * sum(heights)), layout="constrained")
    drawn = figure.subplots(len(heights), 1, height_ratios=heights, squeeze=False)
    for axes, panel in zip(drawn[:, 0], story.panels, strict=True):
        use, marks = moment.occupancy.on(panel.axis), cells[panel.first :][: panel.places_count]
        held_count = sum(mark.is_held for mark in marks)
        _panel(axes, story, panel, marks, use.reserved_count - held_count)
        axes.set_title(_heading(panel, use, marks), loc="left", fontsize=9)
    figure.legend(
        handles=_legend(story, cells, any(use.reserved_count for use in moment.occupancy.axes)),
        loc="outside upper center",
        ncols=6,
        frameon=False,
        fontsize=9,
        title=None if title is None else textwrap.fill(title, 110, max_lines=2),
    )
    return figure


def _heading(panel: Panel, use: AxisUse, marks: Sequence[Mark]) -> str:
    """What is used of a panel; of the arena, the largest hole as well, for that decides (CAP-2)."""
    unit = " bytes" if panel.place_bytes else ""
    more = f", {use.reserved_count:,} more promised or held" if use.reserved_count else ""
    said = f"{panel.title}: {use.allocated_count:,} of {use.capacity_count:,}{unit} in use{more}"
    if not panel.place_bytes:
        return said
    holes = [end - start for start, end, mark in runs_of(marks) if mark == FREE]
    return f"{said}; the largest hole {max(holes, default=0) * panel.place_bytes:,}"


def _legend(story: PlacementStory, cells: Sequence[Mark], has_promised: bool) -> list[Patch]:
    there = sorted({holder for mark in cells for holder in mark.holders})
    handles = [Patch(color=story.holders[h][1], label=story.holders[h][0]) for h in there]
    handles = handles[:_NAMED_HOLDERS]
    edge = palette.EDGE_COLOUR
    handles.append(Patch(facecolor=palette.FREE_COLOUR, edgecolor=edge, label="free"))
    if has_promised:
        label = "promised or held"
        handles.append(Patch(facecolor="white", edgecolor=edge, hatch="////", label=label))
    if any(mark.is_pinned for mark in cells):
        accent = palette.CAPACITY_COLOUR
        handles.append(
            Patch(facecolor="white", edgecolor=accent, linewidth=2, label="pinned by a reader")
        )
    return handles


def _columns(panel: Panel) -> int:
    return COLUMNS if panel.places_count <= _NARROW_PLACES else 3 * COLUMNS


def _lines(panel: Panel) -> int:
    return -(-panel.places_count // _columns(panel)) if panel.noun != "granule" else 1


def _panel(
    axes: Axes, story: PlacementStory, panel: Panel, marks: Sequence[Mark], promised_count: int
) -> None:
    axes.set_axis_off()
    if panel.noun == "granule":
        for start, end, mark in runs_of(marks):
            _place(axes, story, (start, 0), end - start, mark)
        axes.set_xlim(-0.002 * len(marks), 1.002 * len(marks))
        axes.set_ylim(-0.1, 1.1)
        return
    columns = _columns(panel)
    is_wide = panel.noun.endswith("slot") and panel.places_count * _SLOT_COLUMNS <= COLUMNS
    wide = _SLOT_COLUMNS if is_wide else 1
    for place, mark in enumerate(marks):
        x, y = place % columns * wide, -(place // columns)
        is_promised = mark == FREE and promised_count > 0
        promised_count -= is_promised
        _place(axes, story, (x, y), wide - 0.1, Mark((), is_held=True) if is_promised else mark)
        if is_wide and not is_promised:
            axes.text(
                x + wide / 2 - 0.05,
                y + 0.45,
                _slot_words(mark),
                ha="center",
                va="center",
                fontsize=7,
                bbox=_BLANK if mark.is_held else None,
            )
    axes.set_xlim(-0.2, max(columns, COLUMNS))
    axes.set_ylim(-_lines(panel) + 0.8, 1.1)


def _slot_words(mark: Mark) -> str:
    if mark == FREE:
        return "free"
    return "held" if mark.is_held else mark.words.replace(" at ", "\nat ")


def _place(
    axes: Axes, story: PlacementStory, at: tuple[float, float], width: float, mark: Mark
) -> None:
    (x, y), height = at, 0.9
    colours = [story.holders[h][1] for h in mark.holders] or [palette.FREE_COLOUR]
    for i, colour in enumerate(colours):
        stripe = height / len(colours)
        axes.add_patch(
            Rectangle((x, y + i * stripe), width, stripe, color=colour, linewidth=0, alpha=0.75)
        )
    axes.add_patch(
        Rectangle(
            (x, y),
            width,
            height,
            fill=False,
            hatch="////" if mark.is_held else None,
            edgecolor=palette.CAPACITY_COLOUR if mark.is_pinned else palette.EDGE_COLOUR,
            linewidth=2.0 if mark.is_pinned else 0.5,
        )
    )
