"""At which event of a run does a view stand?

Owns the trait by which views of one recording are linked, whatever each of them counts as a step,
and that the kernel never answers the browser with where the browser was a moment ago.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import traitlets

from ninfer_lab.lab.widgets.live_view import LiveView


class EventView(LiveView):
    """A view of a run. `event` and `step` follow each other: in the browser by the module, here for
    what is set here.
    """

    event = traitlets.Int(0).tag(sync=True)

    _is_hearing = False

    def event_of(self, step: int) -> int:
        """The event at which a step stands."""
        raise NotImplementedError

    def step_of(self, event: int) -> int:
        """The step that stands at an event."""
        raise NotImplementedError

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Takes what the browser says. Keys are faster than messages: an answer to the first of
        three steps would take the third back.
        """
        self._is_hearing = True
        try:
            super().set_state(sync_data)
        finally:
            self._is_hearing = False

    @traitlets.observe("step")
    def _event_follows(self, change: Mapping[str, Any]) -> None:
        # An event that another view stands at may lie within this step: it is kept then.
        if not self._is_hearing and self.step_of(self.event) != change["new"]:
            self.event = self.event_of(change["new"])

    @traitlets.observe("event")
    def _step_follows(self, change: Mapping[str, Any]) -> None:
        if not self._is_hearing:
            self.step = self.step_of(change["new"])
