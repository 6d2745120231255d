"""What does a comparison look like?

Owns its picture: what was spared and when the first token came, by capacity, a line for each
design. Reads runs alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from ninfer_lab.lab import palette
from ninfer_lab.lab.compare_capacity import Capacity
from ninfer_lab.lab.compare_runs import SAID_OF_MODELS, ComparedRun, run_of
from ninfer_lab.lab.picture import Picture

MARKERS = "osD^vP*X<>"


def by_capacity(compared: Sequence[ComparedRun]) -> Picture:
    """Share of prompt tokens that were spared, and mean time to first token."""
    figure = Picture(figsize=(10.0, 4.2), layout="constrained")
    hits, waits = figure.subplots(1, 2)
    capacities = tuple(dict.fromkeys(run.capacity for run in compared))
    places = range(len(capacities))
    for ordinal, design in enumerate(dict.fromkeys(run.design for run in compared)):
        runs = [run_of(compared, design, capacity) for capacity in capacities]
        marker = MARKERS[ordinal % len(MARKERS)]
        line = "-" if ordinal < len(palette.OWNER_COLOURS) else "--"
        for panel, values in (
            (hits, [_hit_percent(run) for run in runs]),
            (waits, [run.mean_ttft_ns / 1e6 for run in runs]),
        ):
            panel.plot(
                places,
                values,
                marker=marker,
                linestyle=line,
                color=palette.owner_colour(ordinal),
                label=design,
                markersize=6,
            )
    known = compared[0]
    ceiling = 100 * sum(each.known_tokens for each in known.requests) / known.prompt_tokens
    hits.axhline(ceiling, color=palette.EDGE_COLOUR, linestyle=":", linewidth=1.0)
    hits.annotate(
        "computed before by somebody",
        (0.01, ceiling),
        xycoords=("axes fraction", "data"),
        va="bottom",
        fontsize=8,
        color=palette.TEXT_COLOUR,
    )
    _label(hits, "prompt tokens spared, in %", capacities)
    _label(waits, "mean time to first token, in ms (virtual)", capacities)
    hits.set_ylim(0, min(105, ceiling * 1.15 + 5))
    waits.set_ylim(bottom=0)
    handles, names = hits.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right center", frameon=False)
    figure.supxlabel(SAID_OF_MODELS, fontsize=7, color=palette.TEXT_COLOUR)
    return figure


def _label(panel: Axes, title: str, capacities: Sequence[Capacity]) -> None:
    panel.set_title(title, fontsize=10)
    names = [str(capacity).replace(" + ", "\n+ ") for capacity in capacities]
    panel.set_xticks(range(len(names)), names)
    panel.margins(x=0.08)
    panel.spines[["top", "right"]].set_visible(False)


def _hit_percent(run: ComparedRun) -> float:
    return 100 * run.hit_tokens / max(1, run.prompt_tokens)
