"""What does the engine's past and present look like on paper?

Owns the matplotlib figure of occupancy over forwards, and the one name under which notebooks find
every other: the placement of every slot and page, a checkpoint's anatomy, reclaim and what does not
fit, the ways into a request, a transition's stages and endings, runs over time, what the planner
looked at, side requests and what is done about them, a calibration and what hangs on it; and every
published table and figure, made again by name (`reproduce`). Reads events, snapshots and searched
decisions only; a figure says its units, names its colours, and needs no kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import MaxNLocator

from ninfer_lab.contract.capacity import Axis
from ninfer_lab.contract.events import Event, ForwardRan
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.work import ForwardPhase
from ninfer_lab.lab import palette
from ninfer_lab.lab.belief_figures import feasibility, misjudged
from ninfer_lab.lab.calibration.pictures import firmness, fit, foreseen, wrongness
from ninfer_lab.lab.checkpoint_anatomy import anatomy
from ninfer_lab.lab.eight_prefixes_figures import reuse as eight_prefixes
from ninfer_lab.lab.eight_prefixes_figures import turn_by_turn as eight_prefixes_by_round
from ninfer_lab.lab.ladder_figures import (
    alone_and_together,
    fates,
    owner_ladders,
    recency_ladder,
)
from ninfer_lab.lab.ledger_figures import holdings, missing_hole, reclaim
from ninfer_lab.lab.picture import Picture
from ninfer_lab.lab.placement_figures import placement
from ninfer_lab.lab.published import names as published_names
from ninfer_lab.lab.published import reproduce
from ninfer_lab.lab.raw_prompt_figures import raw_prompt_anchor
from ninfer_lab.lab.run_figures import growth, timelines
from ninfer_lab.lab.search_figures import incumbents, regret, target_graph
from ninfer_lab.lab.side_request_figures import (
    decisions,
    design_timelines,
    side_requests,
    ways_out,
)
from ninfer_lab.lab.transition_figures import endings, stages
from ninfer_lab.lab.value_figures import demand_window, private_loss, terms_of_j, ways_back
from ninfer_lab.lab.way_figures import ways_in

__all__ = [
    "Picture",
    "alone_and_together",
    "anatomy",
    "decisions",
    "demand_window",
    "design_timelines",
    "eight_prefixes",
    "eight_prefixes_by_round",
    "endings",
    "fates",
    "feasibility",
    "firmness",
    "fit",
    "foreseen",
    "growth",
    "holdings",
    "incumbents",
    "misjudged",
    "missing_hole",
    "occupancy",
    "owner_ladders",
    "placement",
    "private_loss",
    "published_names",
    "raw_prompt_anchor",
    "recency_ladder",
    "reclaim",
    "regret",
    "reproduce",
    "side_requests",
    "stages",
    "target_graph",
    "terms_of_j",
    "timelines",
    "ways_back",
    "ways_in",
    "ways_out",
    "wrongness",
]


def occupancy(events: Iterable[Event], *, title: str | None = None) -> Picture:
    """What is in use on every axis that there is after every forward, with the request each forward
    served.

    Args:
        events: Of one engine, in order.
        title: Above the legend.
    """
    ran = [event for event in events if isinstance(event, ForwardRan)]
    axes_there = [
        axis
        for axis, kept in _NOUNS.items()
        if kept.is_always_shown or (ran and ran[-1].occupancy.on(axis).capacity_count)
    ]
    figure = Picture(figsize=(9.5, 1.4 + 1.6 * len(axes_there)), layout="constrained")
    ratios = (*(_NOUNS[axis].height for axis in axes_there), 1.1)
    *panels, work = figure.subplots(len(ratios), 1, sharex=True, height_ratios=ratios)
    for panel, axis in zip(panels, axes_there, strict=True):
        uses = [event.occupancy.on(axis) for event in ran]
        _steps(panel, [use.allocated_count for use in uses], [use.reserved_count for use in uses])
        if uses:
            capacity = uses[-1].capacity_count
            panel.axhline(capacity, color=palette.CAPACITY_COLOUR, linewidth=1.2)
            panel.set_ylim(0, capacity * 1.12)
        panel.set_ylabel(_NOUNS[axis].noun)
        panel.spines[["top", "right"]].set_visible(False)
        panel.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
        panel.yaxis.set_major_formatter("{x:,.0f}")
    _work_strip(work, ran)
    figure.legend(
        handles=[
            Patch(color=palette.ALLOCATED_COLOUR, label="allocated"),
            Patch(color=palette.RESERVED_COLOUR, label="reserved for running requests"),
            Patch(color=palette.CAPACITY_COLOUR, label="capacity"),
            Patch(color=palette.PREFILL_COLOUR, label="prefill"),
            Patch(color=palette.DECODE_COLOUR, label="decode"),
        ],
        loc="outside upper center",
        ncols=5,
        frameon=False,
        title=title,
    )
    return figure


@dataclass(frozen=True, slots=True, kw_only=True)
class _Panel:
    """How one axis is drawn: its noun with the unit, and how high against the others."""

    noun: str
    height: float
    is_always_shown: bool = False


_NOUNS = {
    Axis.DEVICE_STATE: _Panel(noun="state slots", height=3, is_always_shown=True),
    Axis.DEVICE_KV: _Panel(noun="KV pages", height=5, is_always_shown=True),
    Axis.DEVICE_BACKEND_KV: _Panel(noun="backend KV pages", height=3),
    Axis.HOST_STATE: _Panel(noun="Host state slots", height=2),
    Axis.HOST_KV: _Panel(noun="Host KV bytes", height=2),
}


def _steps(axes: Axes, allocated: list[int], reserved: list[int]) -> None:
    used = [a + r for a, r in zip(allocated, reserved, strict=True)]
    lower, upper = [*allocated, *allocated[-1:]], [*used, *used[-1:]]  # to the last one's end
    x = [ordinal - 0.5 for ordinal in range(len(lower))]
    axes.fill_between(x, lower, step="post", color=palette.ALLOCATED_COLOUR, linewidth=0)
    axes.fill_between(x, upper, lower, step="post", color=palette.RESERVED_COLOUR, linewidth=0)


def _work_strip(axes: Axes, ran: Sequence[ForwardRan]) -> None:
    """One coloured tick per forward, and each request's number where it starts."""
    seen: set[RequestId] = set()
    for ordinal, event in enumerate(ran):
        prefill = event.phase is ForwardPhase.PREFILL
        colour = palette.PREFILL_COLOUR if prefill else palette.DECODE_COLOUR
        axes.add_patch(Rectangle((ordinal - 0.5, 0), 1, 1, color=colour, linewidth=0))
        for row in event.rows:
            if row.request not in seen:
                seen.add(row.request)
                axes.annotate(
                    f"request {row.request}",
                    (ordinal - 0.5, 1.0),
                    xytext=(1, 2),
                    textcoords="offset points",
                    fontsize=8,
                    color=palette.TEXT_COLOUR,
                )
                for other in axes.figure.axes:
                    other.axvline(
                        ordinal - 0.5, color=palette.EDGE_COLOUR, linewidth=0.6, alpha=0.6
                    )
    axes.set_xlim(-0.5, max(len(ran), 1) - 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylim(0, 1.9)
    axes.set_yticks([])
    axes.set_xlabel("forward of the machine, in order")
    axes.spines[["top", "right", "left"]].set_visible(False)
