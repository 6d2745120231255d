"""Law: who came first is served first, and a full queue takes nobody and loses nobody."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.errors import PromptError
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.scheduler.waiting_queue import WaitingQueue


def queue_of(*ids: int, limit: int = 8) -> WaitingQueue:
    queue = WaitingQueue(limit)
    for request in ids:
        queue.push(RequestId(request))
    return queue


def drained(queue: WaitingQueue) -> list[RequestId]:
    served = []
    while (head := queue.head()) is not None:
        queue.remove(head)
        served.append(head)
    return served


def test_first_in_first_out() -> None:  # spec: INV-1
    assert drained(queue_of(3, 1, 2)) == [3, 1, 2]


def test_leaving_from_the_middle_keeps_the_order_of_the_others() -> None:
    queue = queue_of(3, 1, 2)
    queue.remove(RequestId(1))
    assert RequestId(1) not in queue
    assert drained(queue) == [3, 2]


def test_a_full_queue_says_how_long_it_may_be() -> None:
    queue = queue_of(1, 2, limit=2)
    with pytest.raises(PromptError, match=r"2 waiting requests.*at most 2 \(options\.max_pend"):
        queue.push(RequestId(3))
    assert len(queue) == 2
    assert drained(queue) == [1, 2]


def test_an_empty_queue_has_no_head() -> None:
    assert queue_of().head() is None


def test_those_behind_the_head_keep_their_order() -> None:
    assert queue_of(3, 1, 2).behind_head() == (1, 2)
    assert queue_of(3).behind_head() == queue_of().behind_head() == ()
