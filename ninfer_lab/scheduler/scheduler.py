"""Which request, and when? (ROLE-1)

Owns the queue, the lanes and the order of admission, prefill and decode. Reads no placement,
victim, page or price: whether a request can be admitted is the cache design's answer, and this room
remembers only that it was no, and at which revision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ninfer_lab.contract.ids import LaneId, RequestId
from ninfer_lab.contract.work import ForwardPhase
from ninfer_lab.scheduler.active_lanes import ActiveLane, ActiveLanes
from ninfer_lab.scheduler.waiting_queue import WaitingQueue


class ForwardChoice(NamedTuple):
    """The lanes of the next forward: one that prefills, or all that decode."""

    phase: ForwardPhase
    lanes: tuple[ActiveLane, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Blocked:
    request: RequestId
    revision: int


class Scheduler:
    """FIFO admission; prefill chunks and decode steps take turns while both are wanted."""

    def __init__(self, *, lanes_count: int, limit_waiting: int) -> None:
        self._queue = WaitingQueue(limit_waiting)
        self._lanes = ActiveLanes(lanes_count)
        self._blocked: _Blocked | None = None
        self._last_phase = ForwardPhase.DECODE

    @property
    def is_idle(self) -> bool:
        """Nothing waits and nothing runs."""
        return len(self._queue) == 0 and len(self._lanes) == 0

    @property
    def waiting_count(self) -> int:
        return len(self._queue)

    @property
    def active_count(self) -> int:
        return len(self._lanes)

    def submit(self, request: RequestId) -> None:
        """Joins the queue (PromptError when it is full)."""
        self._queue.push(request)

    def withdraw(self, request: RequestId) -> None:
        """A waiting request is cancelled or refused."""
        self._queue.remove(request)

    def is_waiting(self, request: RequestId) -> bool:
        return request in self._queue

    def next_admission(self, revision: int) -> tuple[RequestId, tuple[LaneId, ...]] | None:
        """The head and the lanes it may have, if it is worth trying now.

        A head that was blocked is tried again only once the revision has moved (RES-1). Cache value
        never reorders requests: nobody overtakes it (INV-1).
        """
        head = self._queue.head()
        if head is None:
            return None
        free = self._lanes.free()
        if not free:
            return None
        if self._blocked is not None and self._blocked == _Blocked(request=head, revision=revision):
            return None
        return head, free

    def admitted(self, request: RequestId, lane: LaneId) -> None:
        """The head became active."""
        self._queue.remove(request)
        self._lanes.take(lane, request)
        self._blocked = None

    def blocked(self, request: RequestId, revision: int) -> None:
        """The head stays where it is."""
        self._blocked = _Blocked(request=request, revision=revision)

    def next_forward(self) -> ForwardChoice | None:
        """The oldest prefill or every decode, whichever did not run last; `None` when nothing
        runs.
        """
        prefill, decode = self._lanes.prefilling, self._lanes.decoding
        if prefill and (self._last_phase is ForwardPhase.DECODE or not decode):
            self._last_phase = ForwardPhase.PREFILL
            return ForwardChoice(phase=ForwardPhase.PREFILL, lanes=prefill[:1])
        if decode:
            self._last_phase = ForwardPhase.DECODE
            return ForwardChoice(phase=ForwardPhase.DECODE, lanes=decode)
        return None

    def start_decode(self, lane: LaneId) -> None:
        """The lane's prompt has been consumed."""
        self._lanes.start_decode(lane)

    def settled(self, lane: LaneId) -> None:
        """The lane is free again."""
        self._lanes.release(lane)
