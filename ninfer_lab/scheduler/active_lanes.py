"""Which request runs in which lane, and how far along is it?

Owns lane occupancy and, per active request, whether it still prefills or decodes. Does not know
tokens, pages or slots.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from ninfer_lab.contract.ids import LaneId, RequestId


class LanePhase(Enum):
    """What the next forward of a lane is."""

    PREFILL = "prefill"
    DECODE = "decode"


class ActiveLane(NamedTuple):
    """One running request."""

    lane: LaneId
    request: RequestId
    phase: LanePhase


class ActiveLanes:
    """Lanes `[0, lanes_count)`.

    Attributes:
        prefilling: Active lanes of that phase, oldest admission first.
        decoding: The others, in the same order.
    """

    def __init__(self, lanes_count: int) -> None:
        self._lanes = tuple(LaneId(i) for i in range(lanes_count))
        self._active: dict[LaneId, ActiveLane] = {}
        # Read before every forward, and made anew three times in a request's life.
        self.prefilling: tuple[ActiveLane, ...] = ()
        self.decoding: tuple[ActiveLane, ...] = ()

    def free(self) -> tuple[LaneId, ...]:
        """Lanes without a request, ascending."""
        return tuple([lane for lane in self._lanes if lane not in self._active])

    def take(self, lane: LaneId, request: RequestId) -> None:
        """A request becomes active; it starts with prefill."""
        assert lane not in self._active
        self._active[lane] = ActiveLane(lane=lane, request=request, phase=LanePhase.PREFILL)
        self._part_by_phase()

    def start_decode(self, lane: LaneId) -> None:
        """Its prompt has been consumed."""
        request = self._active[lane].request
        self._active[lane] = ActiveLane(lane=lane, request=request, phase=LanePhase.DECODE)
        self._part_by_phase()

    def release(self, lane: LaneId) -> None:
        """Its request has settled."""
        del self._active[lane]
        self._part_by_phase()

    def requests(self) -> tuple[RequestId, ...]:
        """Running requests, oldest admission first."""
        return tuple(each.request for each in self._active.values())

    def __len__(self) -> int:
        return len(self._active)

    def _part_by_phase(self) -> None:
        active = self._active.values()
        self.prefilling = tuple([each for each in active if each.phase is LanePhase.PREFILL])
        self.decoding = tuple([each for each in active if each.phase is LanePhase.DECODE])
