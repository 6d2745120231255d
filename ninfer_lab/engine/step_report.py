"""What did one worker cycle do?

Owns the report that `Engine.step` returns.
"""

from __future__ import annotations

from typing import NamedTuple

from ninfer_lab.contract.events import Event


class StepReport(NamedTuple):
    """What one worker cycle did."""

    events: tuple[Event, ...]

    @property
    def did_something(self) -> bool:
        """Whether anything was admitted, run or settled."""
        return bool(self.events)
