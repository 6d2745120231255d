"""Where does everything lie, moment by moment, under the reader's hand? (W-3)

Owns the view of every place over a whole run: what is sent to the browser, and the two forms that
stand without one. Draws what `placement_story` found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import traitlets

from ninfer_lab.contract.capacity import Axis
from ninfer_lab.contract.options import ResolvedOptions
from ninfer_lab.contract.placement import LedgerSnapshot
from ninfer_lab.lab import palette
from ninfer_lab.lab.picture import Picture
from ninfer_lab.lab.placement_figures import placement_moment
from ninfer_lab.lab.placement_story import PlacementStory, story_of, story_of_ledgers
from ninfer_lab.lab.recording.recording import Recording
from ninfer_lab.lab.stage_columns import stage_columns, uses_column
from ninfer_lab.lab.widgets.live_view import Column, LiveView, module_text


class PlacementMapView(LiveView):
    """Every slot, page and byte range at each moment of a run, coloured by who refers to it.

    `step` counts moments; `event` is the recording's event that the moment belongs to, and moves
    with it, so that views of the same recording are linked by it. `selected` is a place.

    Args:
        subject: A recording with placements; or ledgers, each with what had been done.
        options: Of the engine, where `subject` is ledgers.
        name: Of the run, where `subject` is ledgers.

    Raises:
        OptionsError: No placements were recorded, or there is no ledger, or no options to them.
    """

    _esm = module_text("placement_map_view")

    event = traitlets.Int(0).tag(sync=True)

    def __init__(
        self,
        subject: Recording | PlacementStory | Sequence[tuple[str, LedgerSnapshot]],
        options: ResolvedOptions | None = None,
        *,
        name: str = "a ledger",
    ) -> None:
        if isinstance(subject, PlacementStory):
            self.story = subject
        elif isinstance(subject, Recording):
            self.story = story_of(subject)
        else:
            assert options is not None, "ledgers do not say how the Host arena is divided"
            self.story = story_of_ledgers(subject, options.capacity.host_kv, name)
        moments = self.story.moments
        last = len(moments) - 1
        stage_uses, plans = stage_columns([m.stages for m in moments], [m.stage for m in moments])
        super().__init__(
            columns={**_columns(self.story), "stage_uses": stage_uses},
            facts={**_facts(self.story), **plans},
            steps_count=last + 1,
            step=last,
        )

    @property
    def told(self) -> str:
        """The moment it stands at, place by place."""
        return self.story.describe(self.step)

    def __str__(self) -> str:
        return f"{self.story.name}, {self.told}"

    def picture(self) -> Picture:
        return placement_moment(self.story, self.step)

    @traitlets.observe("step")
    def _event_follows(self, change: Mapping[str, Any]) -> None:
        self.event = self.story.moments[change["new"]].event


def _facts(story: PlacementStory) -> dict[str, Any]:
    return {
        "name": story.name,
        "panels": [
            {
                "title": panel.title,
                "noun": panel.noun,
                "axis": tuple(Axis).index(panel.axis),
                "first": panel.first,
                "count": panel.places_count,
            }
            for panel in story.panels
        ],
        "axes": [axis.value for axis in Axis],
        "host_bytes_axis": tuple(Axis).index(Axis.HOST_KV),
        "holders": story.holders,
        "marks": [[m.holders, m.words, int(m.is_held), int(m.is_pinned)] for m in story.marks],
        "words": [moment.words for moment in story.moments],
        "phases": [moment.phase for moment in story.moments],
        "reserved_colour": palette.RESERVED_COLOUR,
        "allocated_colour": palette.ALLOCATED_COLOUR,
        "capacity_colour": palette.CAPACITY_COLOUR,
    }


def _columns(story: PlacementStory) -> dict[str, Column]:
    """Changes of all moments one behind the other, and where each moment's begin."""
    moments = story.moments
    starts = np.cumsum([0, *(len(moment.changes) for moment in moments)])
    changes = np.array([each for m in moments for each in m.changes], np.int32).reshape(-1, 2)
    return {
        "start": starts.astype(np.int32),
        "cell": np.ascontiguousarray(changes[:, 0]),
        "mark": np.ascontiguousarray(changes[:, 1]),
        "event": np.array([m.event for m in moments], np.int32),
        "at_ns": np.array([m.at_ns for m in moments], np.float64),
        "uses": uses_column(m.occupancy for m in moments),
    }
