"""What did one worker cycle do?

Owns the report that `Engine.step` returns.
"""

from __future__ import annotations

from typing import NamedTuple

from ninfer_lab.contract.events import Event


class StepReport(NamedTuple):
    """What one worker cycle did.

    Attributes:
        events: As far as the recorder still has them.
        lost_events_count: Those of this cycle that it had to let go already.
        has_waited: Nobody could run, and time has passed until copies between the tiers were to
            have arrived; what they lead to is the next cycle's.
    """

    events: tuple[Event, ...]
    lost_events_count: int = 0
    has_waited: bool = False

    @property
    def did_something(self) -> bool:
        """Whether anything was admitted, run, settled or waited for."""
        return bool(self.events) or self.has_waited
