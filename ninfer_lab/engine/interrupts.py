"""How does ■ reach an engine without tearing a step in two?

Owns one context manager: while it is open in the main thread, SIGINT is remembered, and
KeyboardInterrupt is raised on leaving, when every ledger is stable again. Does not know what is
protected.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Holds an interrupt back until the block has ended.

    In other threads, and where the host has installed no Python handler, interrupts never arrive
    inside the block anyway and nothing is done.

    Raises:
        KeyboardInterrupt: On leaving, if SIGINT came meanwhile and the block did not raise itself.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.getsignal(signal.SIGINT)
    if not callable(previous):
        yield
        return
    came = False

    def remember(_signal: int, _frame: object) -> None:
        nonlocal came
        came = True

    signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
    if came:
        raise KeyboardInterrupt
