"""Who ran when, and what was promised meanwhile?

Owns two pictures over the engine's own time: requests with their forwards beside copies between the
tiers, and what one request's pages come to, promised whole or leased. Reads events only.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ninfer_lab.contract.events import (
    ForwardRan,
    RequestAdmitted,
    RequestFinished,
    RequestSubmitted,
    TransitionEnded,
    TransitionStarted,
)
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.work import ForwardPhase
from ninfer_lab.lab import palette
from ninfer_lab.lab.engine_trials import EngineRun
from ninfer_lab.lab.picture import Picture

_PHASE_COLOURS = {
    ForwardPhase.PREFILL: palette.PREFILL_COLOUR,
    ForwardPhase.DECODE: palette.DECODE_COLOUR,
}


def timelines(runs: Sequence[EngineRun], *, title: str | None = None) -> Picture:
    """One panel per run: a row for each named request, from its arrival to its end.

    Args:
        runs: Time starts for each with the first named request.
        title: Above the legend.
    """
    rows_count = sum(len(run.names) for run in runs)
    figure = Picture(figsize=(9.5, 1.3 + 0.45 * rows_count + 0.3 * len(runs)), layout="constrained")
    ratios = [len(run.names) for run in runs]
    panels = figure.subplots(len(runs), 1, sharex=True, squeeze=False, height_ratios=ratios)[:, 0]
    has_copies = False
    for panel, run in zip(panels, runs, strict=True):
        has_copies |= _timeline(panel, run)
    panels[-1].set_xlabel("milliseconds since the first arrival")
    handles: list[Patch | Line2D] = [
        Patch(color=palette.PREFILL_COLOUR, label="its prefill"),
        Patch(color=palette.DECODE_COLOUR, label="its decode steps"),
        Line2D([], [], color=palette.EDGE_COLOUR, linewidth=1.5, label="waits"),
    ]
    if has_copies:
        copies = Patch(color=palette.COPIED_COLOUR, label="copies between Device and Host for it")
        handles.append(copies)
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=len(handles),
        frameon=False,
        title=title,
    )
    return figure


def _timeline(panel: Axes, run: EngineRun) -> bool:
    """One run; whether copies stood in it."""
    rows = {request: len(run.names) - 1 - row for row, request in enumerate(run.names)}
    submitted = {e.request: e.at_ns for e in run.events if isinstance(e, RequestSubmitted)}
    start_ns = min(submitted[request] for request in rows)
    transfers = [e for e in run.events if isinstance(e, TransitionEnded) and e.request in rows]
    for request, row in rows.items():
        _waiting(panel, run, request, row, start_ns)
    for event in run.events:
        if isinstance(event, ForwardRan):
            begin_ms = (event.at_ns - event.machine_ns - start_ns) / 1e6
            for each in event.rows:
                if each.request in rows:
                    panel.barh(
                        rows[each.request],
                        event.machine_ns / 1e6,
                        0.56,
                        left=begin_ms,
                        color=_PHASE_COLOURS[event.phase],
                        edgecolor="white",
                        linewidth=0.5,
                    )
    for ended in transfers:
        length_ms = (ended.at_ns - ended.started_ns) / 1e6
        panel.barh(
            rows[ended.request],
            length_ms,
            0.56,
            left=(ended.started_ns - start_ns) / 1e6,
            color=palette.COPIED_COLOUR,
        )
    panel.set_yticks(list(rows.values()), list(run.names.values()), fontsize=9)
    panel.tick_params(axis="y", length=0)
    panel.set_ylim(-0.6, len(rows) - 0.4)
    panel.set_title(run.title, loc="left", fontsize=10)
    panel.spines[["top", "right", "left"]].set_visible(False)
    return bool(transfers)


def _waiting(panel: Axes, run: EngineRun, request: RequestId, row: int, start_ns: int) -> None:
    """A thin line from arrival to the end; what the request gets done lies over it."""
    moments = [
        e.at_ns
        for e in run.events
        if isinstance(e, RequestSubmitted | RequestAdmitted | TransitionStarted | RequestFinished)
        and e.request == request
    ]
    ends_ms = [(moment - start_ns) / 1e6 for moment in (moments[0], moments[-1])]
    panel.plot(ends_ms, (row, row), color=palette.EDGE_COLOUR, linewidth=1.5, zorder=0)
    panel.plot(ends_ms[:1], (row,), color=palette.EDGE_COLOUR, marker="|", markersize=10)


def growth(runs: Sequence[EngineRun], *, title: str | None = None) -> Picture:
    """Pages that one request has written, and those that are promised to it, token by token.

    Args:
        runs: Of one request each, beside each other.
        title: Above the legend.
    """
    figure = Picture(figsize=(9.5, 3.1), layout="constrained")
    panels = figure.subplots(1, len(runs), sharey=True, squeeze=False)[0]
    for panel, run in zip(panels, runs, strict=True):
        decode = [
            e for e in run.events if isinstance(e, ForwardRan) and e.phase is ForwardPhase.DECODE
        ]
        said = range(1, len(decode) + 1)
        uses = [event.occupancy.device_kv for event in decode]
        mapped = [use.allocated_count for use in uses]
        panel.fill_between(said, mapped, color=palette.ALLOCATED_COLOUR, linewidth=0)
        panel.fill_between(
            said,
            [use.used_count for use in uses],
            mapped,
            color=palette.RESERVED_COLOUR,
            linewidth=0,
        )
        panel.axhline(uses[0].capacity_count, color=palette.CAPACITY_COLOUR, linewidth=1.4)
        panel.set_title(run.title, loc="left", fontsize=10)
        panel.set_xlabel("tokens said so far")
        panel.set_ylim(0, uses[0].capacity_count * 1.08)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("KV pages of 64 tokens")
    figure.legend(
        handles=[
            Patch(color=palette.ALLOCATED_COLOUR, label="written"),
            Patch(color=palette.RESERVED_COLOUR, label="promised, free for nobody else"),
            Line2D([], [], color=palette.CAPACITY_COLOUR, label="capacity"),
        ],
        loc="outside upper center",
        ncols=3,
        frameon=False,
        title=title,
    )
    return figure
