"""What does a run look like, step by step, on paper?

Owns the picture of lanes over events with one place marked, and of a fork below the run it left, up
to their first difference. Reads the columns of a run (`run_columns`).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from ninfer_lab.lab import palette
from ninfer_lab.lab.picture import Picture
from ninfer_lab.lab.run_columns import Column

MARK_COLOURS = {
    "a request came": palette.EDGE_COLOUR,
    "copies begin": palette.COPIED_COLOUR,
    "admitted": palette.ALLOCATED_COLOUR,
    "a request ended": palette.OWNER_COLOURS[4],
}
"""Of the row above the lanes; what is not here is not marked."""


def stepped(
    runs: Mapping[str, tuple[Mapping[str, Column], Mapping[str, object]]],
    *,
    at_event: int,
    first_difference: int | None = None,
    title: str | None = None,
) -> Picture:
    """Lanes over events, a panel for each run.

    Args:
        runs: Columns and words by name: one, or a run and its fork.
        at_event: Where one stands.
        first_difference: The event of the first difference of two.
        title: Above the legend.
    """
    lanes = [int(str(facts["lanes_count"])) for _, facts in runs.values()]
    figure = Picture(figsize=(9.5, 1.2 + 0.35 * sum(n + 2 for n in lanes)), layout="constrained")
    panels = figure.subplots(len(runs), 1, sharex=True, squeeze=False)[:, 0]
    for panel, (name, (columns, facts)) in zip(panels, runs.items(), strict=True):
        _lanes(panel, columns, facts)
        panel.axvline(at_event, color=palette.RUNNING_COLOUR, linewidth=1.5)
        if first_difference is not None:
            panel.axvline(first_difference, color="black", linewidth=1, linestyle="--")
        panel.set_title(name, loc="left", fontsize=9)
    panels[-1].set_xlabel("events")
    handles = [
        Patch(color=palette.PREFILL_COLOUR, label="prefill"),
        Patch(color=palette.DECODE_COLOUR, label="decode"),
        *(Patch(color=colour, label=name) for name, colour in MARK_COLOURS.items()),
        Patch(color=palette.RUNNING_COLOUR, label=f"event {at_event:,}"),
    ]
    if first_difference is not None:
        label = f"first difference, event {first_difference:,}"
        handles.append(Patch(color="black", label=label))
    figure.legend(
        handles=handles, loc="outside upper center", ncols=4, frameon=False, title=title, fontsize=8
    )
    return figure


def _lanes(panel: Axes, columns: Mapping[str, Column], facts: Mapping[str, object]) -> None:
    lanes_count = int(str(facts["lanes_count"]))
    for decodes, colour in ((0, palette.PREFILL_COLOUR), (1, palette.DECODE_COLOUR)):
        for lane in range(lanes_count):
            wanted = (columns["run_decodes"] == decodes) & (columns["run_lane"] == lane)
            events = columns["run_event"][wanted]
            panel.broken_barh([(int(e) - 1, 2) for e in events], (lane - 0.4, 0.8), color=colour)
    kinds = facts["kinds"]
    assert isinstance(kinds, list)
    for name, colour in MARK_COLOURS.items():
        places = np.flatnonzero(columns["kind"] == kinds.index(name))
        panel.vlines(places, -1.4, -0.6, color=colour, linewidth=1.2)
    _numbers(panel, columns)
    panel.set_ylim(lanes_count - 0.4, -1.6)
    panel.set_xlim(0, max(1, len(columns["kind"])))
    panel.set_yticks(
        [-1, *range(lanes_count)], ["requests", *(f"lane {n}" for n in range(lanes_count))]
    )
    panel.tick_params(axis="y", labelsize=8)
    panel.spines[["top", "right"]].set_visible(False)


def _numbers(panel: Axes, columns: Mapping[str, Column]) -> None:
    """Each request's number where it is admitted, as long as numbers do not meet."""
    apart = max(1.0, len(columns["kind"]) / 60)
    last = -apart
    for id, event, lane in zip(
        columns["req_id"], columns["req_admitted"], columns["req_lane"], strict=True
    ):
        if event >= 0 and event - last >= apart:
            panel.text(event, lane, str(id), fontsize=7, va="center", color=palette.TEXT_COLOUR)
            last = float(event)
