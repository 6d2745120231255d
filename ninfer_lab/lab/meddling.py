"""What is done to a run while its story is told?

Owns the hooks that a run offers to whoever wants it to go otherwise from some moment on: a look at
the engine before each of its steps, a request's options as they are sent, and seeded faults. Does
not know why anybody meddles.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass

from ninfer_lab.contract.options import RequestOptions
from ninfer_lab.engine.engine import Engine


def _look_away(engine: Engine, now_ns: int) -> None:
    """Nothing is done."""


def _as_they_are(options: RequestOptions) -> RequestOptions:
    return options


@dataclass(frozen=True, slots=True, kw_only=True)
class Meddling:
    """By default nothing is done.

    Attributes:
        before_step: Called with the time before each step of the engine; may take requests back.
        options: Of a request, as it is about to be sent.
        failing_forwards: Ordinals of forwards that fail, from 0.
        failing_transfers: The same, of copies between Device and Host.
    """

    before_step: Callable[[Engine, int], None] = _look_away
    options: Callable[[RequestOptions], RequestOptions] = _as_they_are
    failing_forwards: Container[int] = frozenset()
    failing_transfers: Container[int] = frozenset()


NO_MEDDLING = Meddling()
"""The run as its story has it."""
