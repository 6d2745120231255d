"""How does ■ reach an engine without tearing a step in two?

Owns one context manager: while it is open in the main thread, SIGINT is remembered, and
KeyboardInterrupt is raised on leaving, when every ledger is stable again. Does not know what is
protected.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from signal import getsignal as _handler_of
    from signal import signal as _set_handler
else:
    # What `signal` wraps. The wrappers try to make an enum of every handler, which fails for every
    # function, by way of an exception: a fifth of a simulated step went there.
    from _signal import getsignal as _handler_of
    from _signal import signal as _set_handler


def deferred_interrupts() -> AbstractContextManager[None]:
    """Holds an interrupt back until the block has ended.

    In other threads, and where the host has installed no Python handler, interrupts never arrive
    inside the block anyway and nothing is done.

    Raises:
        KeyboardInterrupt: On leaving, if SIGINT came meanwhile and the block did not raise itself.
    """
    return _Deferral()


class _Deferral:
    """A class and no generator: every step of the engine opens one."""

    __slots__ = ("_came", "_previous")

    def __init__(self) -> None:
        self._came = False
        self._previous: Callable[[int, FrameType | None], object] | None = None

    def __enter__(self) -> None:
        previous = _handler_of(signal.SIGINT)
        if callable(previous):
            try:
                _set_handler(signal.SIGINT, self._remember)
            except ValueError:  # not the main thread
                return
            self._previous = previous

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._previous is not None:
            _set_handler(signal.SIGINT, self._previous)
        if self._came and error is None:
            raise KeyboardInterrupt

    def _remember(self, _signal: int, _frame: FrameType | None) -> None:
        self._came = True
