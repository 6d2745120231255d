"""Where does a request's state come from, and each of its pages?

Owns the one picture that puts several admissions beside each other: root, Move, Fork, Restore, and
the copy of a partial tail. Reads two snapshots of each, before and after; derives nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.ids import KvPageId
from ninfer_lab.contract.placement import SequencePlacement
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.lab import palette
from ninfer_lab.lab.experiments import WayIn
from ninfer_lab.lab.picture import Picture

_BOX_WIDTH, _BOX_HEIGHT, _STATE_WIDTH, _TEXT_WIDTH = 1.35, 0.74, 2.1, 2.75


class Origin(Enum):
    """How a part came to be the request's; the value stands in the legend."""

    TAKEN_OVER = "taken over where it lies: nothing is copied"
    SHARED = "read together with others, never written"
    COPIED = "copied on the Device"
    RESTORED = "copied from the Host"
    PROMISED = "new: promised, nothing in it yet"


class Part(NamedTuple):
    """One box of the picture."""

    origin: Origin
    text: str


_LOOKS = {
    Origin.TAKEN_OVER: ("#0072B2", 0.6, None),
    Origin.SHARED: ("#56B4E9", 0.45, None),
    Origin.COPIED: (palette.COPIED_COLOUR, 0.8, None),
    Origin.RESTORED: (palette.HOST_COLOUR, 0.7, None),
    Origin.PROMISED: ("white", 1.0, "////"),
}


def ways_in(ways: Sequence[WayIn], *, title: str | None = None) -> Picture:
    """One line per admission: its state, then its pages in order.

    Args:
        ways: Admissions that have committed and not run yet.
        title: Above the legend.
    """
    figure = Picture(figsize=(9.5, 1.0 + 0.55 * len(ways)), layout="constrained")
    axes = figure.subplots()
    for row, way in enumerate(reversed(ways)):
        _draw(axes, float(row), way)
    top = len(ways)
    axes.text(0.0, top, "state", fontsize=9, color=palette.TEXT_COLOUR)
    first_page = _STATE_WIDTH + 0.25
    axes.text(first_page, top, "pages of 64 tokens", fontsize=9, color=palette.TEXT_COLOUR)
    axes.set_xlim(-_TEXT_WIDTH, first_page + 3 * _BOX_WIDTH + 0.1)
    axes.set_ylim(-0.1, top + 0.45)
    axes.set_axis_off()
    figure.legend(
        handles=[
            Patch(
                facecolor=colour,
                alpha=alpha,
                hatch=hatch,
                edgecolor=palette.EDGE_COLOUR,
                label=origin.value,
            )
            for origin, (colour, alpha, hatch) in _LOOKS.items()
        ],
        loc="outside upper center",
        ncols=2,
        frameon=False,
        title=title,
    )
    return figure


def state_part(way: WayIn) -> Part:
    """How the request comes by its state."""
    match way.committed.state:
        case StateTransition.ROOT:
            return Part(Origin.PROMISED, "root: from zeros")
        case StateTransition.MOVE:
            return Part(Origin.TAKEN_OVER, "Move")
        case StateTransition.FORK:
            return Part(Origin.SHARED, "Fork: read here,\nwritten elsewhere")
        case StateTransition.RESTORE:
            return Part(Origin.RESTORED, "Restore")


def page_parts(way: WayIn) -> tuple[Part, ...]:
    """How it comes by each page, in order, promised growth last."""
    sequence = _sequence(way)
    before = {each.page: each for each in way.before.pages}
    others = {page for owner in way.after.owners for c in owner.checkpoints for page in c.pages}
    others |= {page for each in way.after.sequences if each != sequence for page in each.pages}
    parts: list[Part] = []
    for ordinal, page in enumerate(sequence.pages):
        tail = way.committed.cow_pages and ordinal == way.source_pages
        parts.append(_page(way, page, page in others, tail=bool(tail), known=page in before))
    promised = [Part(Origin.PROMISED, "growth")] * sequence.spaces[0].reserved_pages
    return (*parts, *promised)


def _page(way: WayIn, page: KvPageId, is_shared: bool, *, tail: bool, known: bool) -> Part:
    before = {each.page: each for each in way.before.pages}
    if tail:
        source = way.committed.candidate.source
        assert source is not None
        (owner,) = (o for o in way.before.owners if o.owner == source.owner.id)
        original = before[owner.checkpoints[-1].pages_of(KvPool.MAIN)[-1]]
        restored = original.device_page is None
        return Part(Origin.RESTORED if restored else Origin.COPIED, "its copy\nof the tail")
    assert known, "what is neither a tail's copy nor promised was there before"
    if before[page].device_page is None:
        return Part(Origin.RESTORED, "restored,\nshared" if is_shared else "restored")
    return Part(Origin.SHARED, "shared") if is_shared else Part(Origin.TAKEN_OVER, "its own now")


def _sequence(way: WayIn) -> SequencePlacement:
    id = way.committed.handle.id
    return next(each for each in way.after.sequences if each.sequence == id)


def _draw(axes: Axes, y: float, way: WayIn) -> None:
    axes.text(-0.15, y + _BOX_HEIGHT / 2, way.situation, ha="right", va="center", fontsize=8.5)
    _box(axes, 0.0, y, _STATE_WIDTH, state_part(way))
    x = _STATE_WIDTH + 0.25
    for part in page_parts(way):
        _box(axes, x, y, _BOX_WIDTH - 0.06, part)
        x += _BOX_WIDTH


def _box(axes: Axes, x: float, y: float, width: float, part: Part) -> None:
    colour, alpha, hatch = _LOOKS[part.origin]
    axes.add_patch(Rectangle((x, y), width, _BOX_HEIGHT, facecolor=colour, alpha=alpha))
    axes.add_patch(
        Rectangle(
            (x, y),
            width,
            _BOX_HEIGHT,
            fill=False,
            edgecolor=palette.EDGE_COLOUR,
            hatch=hatch,
            linewidth=0.8,
        )
    )
    axes.text(
        x + width / 2,
        y + _BOX_HEIGHT / 2,
        part.text,
        ha="center",
        va="center",
        fontsize=8,
        bbox=None if hatch is None else {"facecolor": "white", "edgecolor": "none", "pad": 1},
    )
