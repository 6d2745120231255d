"""How does ■ reach an engine without tearing a step in two?

Owns one context manager: while it is open in the main thread, SIGINT is remembered, and
KeyboardInterrupt is raised on leaving, when every ledger is stable again. Does not know what is
protected.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import FrameType, TracebackType


def deferred_interrupts() -> AbstractContextManager[None]:
    """Holds an interrupt back until the block has ended.

    In other threads, and where the host has installed no Python handler, interrupts never arrive
    inside the block anyway and nothing is done.

    Raises:
        KeyboardInterrupt: On leaving, if SIGINT came meanwhile and the block did not raise itself.
    """
    return _Deferral()


class _Deferral(AbstractContextManager[None]):
    """A class and no generator: every step of the engine opens one."""

    __slots__ = ("_came", "_previous")

    def __init__(self) -> None:
        self._came = False
        self._previous: Callable[[int, FrameType | None], object] | None = None

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        previous = signal.getsignal(signal.SIGINT)
        if callable(previous):
            self._previous = previous
            signal.signal(signal.SIGINT, self._remember)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
        if self._came and error is None:
            raise KeyboardInterrupt

    def _remember(self, _signal: int, _frame: FrameType | None) -> None:
        self._came = True
