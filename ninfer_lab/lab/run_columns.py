"""What of a run does a picture of its steps need, event by event?

Owns the columns: what each event is and says, which lane ran for whom, from where to where each
request was there, what was in use, and where steps halt. Made once for a recording; the stepper
sends them to the browser, and its paper form reads the same. Draws nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ninfer_lab.contract.capacity import Axis, Occupancy
from ninfer_lab.contract.events import (
    Event,
    ForwardRan,
    LedgerChanged,
    RequestAdmitted,
    RequestFinished,
    RequestSubmitted,
)
from ninfer_lab.contract.work import ForwardPhase
from ninfer_lab.lab.explain import KINDS, headline
from ninfer_lab.lab.stage_columns import stage_columns, uses_column
from ninfer_lab.lab.timeline import Timeline, Unit

Column = npt.NDArray[Any]

NEVER = -1
"""Where something did not happen."""


def run_columns(timeline: Timeline) -> tuple[dict[str, Column], dict[str, Any]]:
    """Columns by name, and the words they point to.

    Event columns have one item per event, `uses` three for each axis wherever they changed.
    """
    events = timeline.recording.events
    words: dict[str, int] = {}
    kinds = list(KINDS)
    said_of = [words.setdefault(headline(event), len(words)) for event in events]
    columns: dict[str, Column] = {
        "kind": np.array([kinds.index(type(event)) for event in events], np.uint8),
        "at_ns": np.array([event.at_ns for event in events], np.float64),
        "said": np.array(said_of, np.int32),
        "request": np.array([_request(event) for event in events], np.int32),
        **{f"stops_{unit.name.lower()}": np.array(timeline.stops[unit], np.int32) for unit in Unit},
        **_forwards(events),
        **_requests(events),
        **_occupancy(events),
    }
    staged = timeline.stops[Unit.STAGE]
    shown = [timeline.shown_at(event) for event in staged]
    columns["stage_uses"], plans = stage_columns(
        [timeline.stages_at(event) for event in staged],
        [each[0] if len(each) == 1 else None for each in shown],
    )
    facts = {
        "words": list(words),
        "kinds": list(KINDS.values()),
        "axes": [axis.value for axis in Axis],
        "host_bytes_axis": tuple(Axis).index(Axis.HOST_KV),
        "lanes_count": max([0, *(int(lane) + 1 for lane in columns["run_lane"])]),
        **plans,
    }
    return columns, facts


def _request(event: Event) -> int:
    match event:
        case LedgerChanged():
            return NEVER
        case ForwardRan():
            return event.rows[0].request
        case _:
            return NEVER if event.request is None else event.request


def _forwards(events: Sequence[Event]) -> dict[str, Column]:
    """One item per row of every forward."""
    rows = [
        (i, row.lane, row.request, event.phase is ForwardPhase.DECODE, row.end_tokens)
        for i, event in enumerate(events)
        if isinstance(event, ForwardRan)
        for row in event.rows
    ]
    of = np.array(rows, np.int64).reshape(-1, 5)
    return {
        "run_event": of[:, 0].astype(np.int32),
        "run_lane": of[:, 1].astype(np.uint8),
        "run_request": of[:, 2].astype(np.int32),
        "run_decodes": of[:, 3].astype(np.uint8),
        "run_end": of[:, 4].astype(np.int32),
    }


def _requests(events: Sequence[Event]) -> dict[str, Column]:
    """One item per request, in the order in which they came: events of its life."""
    lives: dict[int, list[int]] = {}
    for i, event in enumerate(events):
        match event:
            case RequestSubmitted():
                lives[event.request] = [event.request, i, NEVER, NEVER, NEVER, 0]
            case RequestAdmitted() if event.request in lives:
                lives[event.request][2] = i
                lives[event.request][4:] = [event.lane, event.reuse_tokens]
            case RequestFinished() if event.request in lives:
                lives[event.request][3] = i
            case _:
                continue
    of = np.array(list(lives.values()), np.int32).reshape(-1, 6)
    names = ("id", "came", "admitted", "ended", "lane", "reuse")
    return {f"req_{name}": np.ascontiguousarray(of[:, i]) for i, name in enumerate(names)}


def _occupancy(events: Sequence[Event]) -> dict[str, Column]:
    """Wherever it changed: the event, and allocated, reserved and capacity of every axis."""
    found: list[tuple[int, Occupancy]] = []
    for i, event in enumerate(events):
        if isinstance(event, ForwardRan | RequestFinished):
            now = event.occupancy
        elif isinstance(event, LedgerChanged):
            now = event.change.occupancy
        else:
            continue
        if not found or found[-1][1] != now:
            found.append((i, now))
    return {
        "use_event": np.array([i for i, _ in found], np.int32),
        "uses": uses_column(occupancy for _, occupancy in found),
    }
