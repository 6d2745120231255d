"""Which request runs in which lane, and how far along is it?

Owns lane occupancy and, per active request, whether it still prefills or decodes. Does not know
tokens, pages or slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import assert_never

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
        self._lanes = tuple(LaneId(i) for i in range(lanes_count))
        self._active: dict[LaneId, ActiveLane] = {}
        # Asked before every forward, and changed three times in a request's life.
        self._prefilling: tuple[ActiveLane, ...] = ()
        self._decoding: tuple[ActiveLane, ...] = ()

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

    def in_phase(self, phase: LanePhase) -> tuple[ActiveLane, ...]:
        """Active lanes of one phase, oldest admission first."""
        match phase:
            case LanePhase.PREFILL:
                return self._prefilling
            case LanePhase.DECODE:
                return self._decoding
            case _:
                assert_never(phase)

    def __len__(self) -> int:
        return len(self._active)

    def _part_by_phase(self) -> None:
        active = self._active.values()
        self._prefilling = tuple([each for each in active if each.phase is LanePhase.PREFILL])
        self._decoding = tuple([each for each in active if each.phase is LanePhase.DECODE])
