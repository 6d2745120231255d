"""Who waits, and who is next?

Owns the FIFO of waiting requests, bounded by an option. Does not know why a request waits.
"""

from __future__ import annotations

from collections import deque
from itertools import islice

from ninfer_lab.contract.errors import PromptError
from ninfer_lab.contract.ids import RequestId


class WaitingQueue:
    """First in, first out."""

    def __init__(self, limit_requests: int) -> None:
        self._limit_requests = limit_requests
        self._waiting: deque[RequestId] = deque()

    def push(self, request: RequestId) -> None:
        """Joins the end.

        Raises:
            PromptError: The queue is full; nothing has changed.
        """
        if len(self._waiting) >= self._limit_requests:
            raise PromptError(
                "waiting queue",
                found=f"{len(self._waiting)} waiting requests",
                legal=f"at most {self._limit_requests} (options.max_pending_requests)",
            )
        self._waiting.append(request)

    def head(self) -> RequestId | None:
        """The next to be tried."""
        return self._waiting[0] if self._waiting else None

    def behind_head(self) -> tuple[RequestId, ...]:
        """Those that wait for the head, in order."""
        return tuple(islice(self._waiting, 1, None))

    def remove(self, request: RequestId) -> None:
        """Admitted, cancelled or refused."""
        self._waiting.remove(request)

    def __contains__(self, request: RequestId) -> bool:
        return request in self._waiting

    def __len__(self) -> int:
        return len(self._waiting)
