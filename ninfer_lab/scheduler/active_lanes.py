"""Which request runs in which lane, and how far along is it?

Owns lane occupancy and, per active request, whether it still prefills or decodes. Does not know
tokens, pages or slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ninfer_lab.contract.ids import LaneId, RequestId


class LanePhase(Enum):
    """What the next forward of a lane is."""

    PREFILL = "prefill"
    DECODE = "decode"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveLane:
    """One running request."""

    lane: LaneId
    request: RequestId
    phase: LanePhase


class ActiveLanes:
    """Lanes `[0, lanes_count)`; active ones in the order they were taken."""

    def __init__(self, lanes_count: int) -> None:
        self._lanes_count = lanes_count
        self._active: dict[LaneId, ActiveLane] = {}

    def free(self) -> tuple[LaneId, ...]:
        """Lanes without a request, ascending."""
        lanes = (LaneId(i) for i in range(self._lanes_count))
        return tuple(lane for lane in lanes if lane not in self._active)

    def take(self, lane: LaneId, request: RequestId) -> None:
        """A request becomes active; it starts with prefill."""
        assert lane not in self._active
        self._active[lane] = ActiveLane(lane=lane, request=request, phase=LanePhase.PREFILL)

    def start_decode(self, lane: LaneId) -> None:
        """Its prompt has been consumed."""
        request = self._active[lane].request
        self._active[lane] = ActiveLane(lane=lane, request=request, phase=LanePhase.DECODE)

    def release(self, lane: LaneId) -> None:
        """Its request has settled."""
        del self._active[lane]

    def in_phase(self, phase: LanePhase) -> tuple[ActiveLane, ...]:
        """Active lanes of one phase, oldest admission first."""
        return tuple(each for each in self._active.values() if each.phase is phase)

    def __len__(self) -> int:
        return len(self._active)
