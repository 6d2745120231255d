"""Law: an interrupt never tears a protected block in two; it is raised when the block has ended."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

import pytest

from ninfer_lab.engine.interrupts import deferred_interrupts


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def protect(*actions: Callable[[], object]) -> None:
    """Runs the actions in one block."""
    with deferred_interrupts():
        for action in actions:
            action()


def test_the_block_ends_before_the_interrupt_is_raised() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        protect(interrupt, lambda: done.append("after the signal"))
    assert done == ["after the signal"]


def test_two_interrupts_are_one() -> None:
    with pytest.raises(KeyboardInterrupt):
        protect(interrupt, interrupt)
    protect()


def test_without_an_interrupt_nothing_is_raised_and_the_handler_is_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with deferred_interrupts():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_the_block_s_own_error_is_not_hidden_by_an_interrupt() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError):
        protect(interrupt, lambda: 1 // 0)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_block_inside_a_block_hands_its_interrupt_out() -> None:
    done: list[str] = []

    def inner() -> None:
        try:
            protect(interrupt)
        finally:
            done.append("the inner one has ended")

    with pytest.raises(KeyboardInterrupt):
        protect(inner)
    assert done == ["the inner one has ended"]


def test_another_thread_leaves_the_handler_alone() -> None:
    before, seen = signal.getsignal(signal.SIGINT), []

    def in_a_thread() -> None:
        with deferred_interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=in_a_thread)
    thread.start()
    thread.join()
    assert seen == [before]
