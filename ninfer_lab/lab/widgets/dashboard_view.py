"""How did a run go, request by request, under the reader's hand?

Owns the view of a run's dashboard: what is sent to the browser, and the two forms that stand
without one. Draws what `run_dashboard` found.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from ninfer_lab.contract.capacity import Axis
from ninfer_lab.lab import palette
from ninfer_lab.lab.dashboard_figures import (
    AXIS_COLOURS,
    GROUP_COLOURS,
    REUSED_COLOUR,
    dashboard,
)
from ninfer_lab.lab.picture import Picture
from ninfer_lab.lab.recording.recording import Recording
from ninfer_lab.lab.run_dashboard import GROUPS, RunDashboard, dashboard_of
from ninfer_lab.lab.widgets.event_view import EventView
from ninfer_lab.lab.widgets.live_view import module_text


class DashboardView(EventView):
    """Hit rate, time to the first token, occupancy and misses by cause over a run.

    `step` counts requests in the order of their ends; `event` is the recording's event at which
    that request ended, and `selected` the request: views of the same recording are linked by them.

    Args:
        subject: A recording in which a request has ended.

    Raises:
        OptionsError: None has.
    """

    _esm = module_text("dashboard_view")

    def __init__(self, subject: Recording | RunDashboard) -> None:
        self.board = subject if isinstance(subject, RunDashboard) else dashboard_of(subject)
        ended = self.board.ended
        super().__init__(
            columns={
                "event": np.array([each.event for each in ended], np.int32),
                "id": np.array([each.request for each in ended], np.int32),
                "reused": np.array([each.reused_tokens for each in ended], np.int32),
                "computed": np.array([each.groups_tokens for each in ended], np.int32).ravel(),
                "hit": np.array([each.hit_share for each in ended], np.float64),
                "ttft_ms": np.array(
                    [np.nan if e.ttft_ms is None else e.ttft_ms for e in ended], np.float64
                ),
                "use": np.array([each.use_shares for each in ended], np.float64).ravel(),
            },
            facts={
                "name": self.board.name,
                "words": [each.words for each in ended],
                "groups": [
                    {"words": f"computed: {name}", "colour": GROUP_COLOURS[name]} for name in GROUPS
                ],
                "reused_colour": REUSED_COLOUR,
                "running_colour": palette.RUNNING_COLOUR,
                "axes_count": len(Axis),
                "axes": [
                    {
                        "words": axis.value,
                        "place": tuple(Axis).index(axis),
                        "colour": AXIS_COLOURS[axis],
                    }
                    for axis in self.board.axes
                ],
            },
            steps_count=len(ended),
            step=len(ended) - 1,
        )
        self.event = ended[-1].event

    def event_of(self, step: int) -> int:
        return self.board.ended[step].event

    def step_of(self, event: int) -> int:
        ends = [each.event for each in self.board.ended]
        return max(0, bisect_right(ends, event) - 1)

    @property
    def told(self) -> str:
        """The request it stands at."""
        return self.board.ended[self.step].words

    def picture(self) -> Picture:
        return dashboard(self.board, selected=self.board.ended[self.step].request)

    def __str__(self) -> str:
        return f"{self.board}\n{self.told}"
