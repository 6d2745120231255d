"""Which request, and when? (ROLE-1)

Owns the queue, the lanes and the order of admission, prefill and decode. Reads no placement,
victim, page or price: whether a request can be admitted is the cache design's answer, and this room
remembers only that it was no, and at which revision. So it is with a later request that may run
meanwhile (BKF-1): which are worth asking about is decided here, whether one may is not.
"""

from __future__ import annotations

from collections.abc import Collection
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
class BlockedHead:
    """The head that could not be admitted.

    Attributes:
        revision: At which it was looked at last.
        donors: Requests that ran when it became blocked: whom it waits for. Who is let past it
            later is none, so a chain of borrowers cannot put it off.
    """

    request: RequestId
    revision: int
    donors: tuple[RequestId, ...]


class Scheduler:
    """FIFO admission; prefill chunks and decode steps take turns while both are wanted.

    Args:
        backfill: Whether a later request may be let past a blocked head at all.
    """

    def __init__(self, *, lanes_count: int, limit_waiting: int, backfill: bool = False) -> None:
        self._backfill = backfill
        self._refused: dict[RequestId, int] = {}
        self._queue = WaitingQueue(limit_waiting)
        self._lanes = ActiveLanes(lanes_count)
        self._blocked: BlockedHead | None = None
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
        self._refused.pop(request, None)

    def is_waiting(self, request: RequestId) -> bool:
        return request in self._queue

    def next_admission(self, revision: int) -> tuple[RequestId, tuple[LaneId, ...]] | None:
        """The head and the lanes it may have, if it is worth trying now.

        A head that was blocked is tried again only once the revision has moved (RES-1). Cache value
        never reorders requests (INV-1).
        """
        head = self._queue.head()
        if head is None:
            return None
        free = self._lanes.free()
        if not free:
            return None
        blocked = self._blocked
        if blocked is not None and (blocked.request, blocked.revision) == (head, revision):
            return None
        return head, free

    def next_borrower(
        self, revision: int
    ) -> tuple[BlockedHead, RequestId, tuple[LaneId, ...]] | None:
        """A request behind the blocked head that is worth a proof now, oldest first."""
        blocked, free = self._blocked, self._lanes.free()
        if not self._backfill or blocked is None or not free or self._queue.head() is None:
            return None
        if blocked.request != self._queue.head():
            return None
        for request in self._queue.behind_head():
            if self._refused.get(request) != revision:
                return blocked, request, free
        return None

    def admitted(self, request: RequestId, lane: LaneId) -> None:
        """A waiting request became active."""
        if request == self._queue.head():
            self._blocked = None
        self._queue.remove(request)
        self._refused.pop(request, None)
        self._lanes.take(lane, request)

    def blocked(self, request: RequestId, revision: int) -> None:
        """The head stays where it is; whom it waits for was settled when it first had to."""
        before = self._blocked
        donors = (
            before.donors
            if before is not None and before.request == request
            else self._lanes.requests()
        )
        self._blocked = BlockedHead(request=request, revision=revision, donors=donors)

    def refused_past_head(self, request: RequestId, revision: int) -> None:
        """A request behind the head may not run now; asked again once the revision has moved."""
        self._refused[request] = revision

    def next_forward(self, resting: Collection[LaneId] = ()) -> ForwardChoice | None:
        """The oldest prefill or every decode, whichever did not run last; `None` when nothing
        runs.

        Args:
            resting: Lanes that may not run now.
        """
        prefill, decode = self._lanes.prefilling, self._lanes.decoding
        if resting:
            prefill = tuple(each for each in prefill if each.lane not in resting)
            decode = tuple(each for each in decode if each.lane not in resting)
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
