"""How long does one batch of copies take, on whatever device it runs?

Owns the two watches: the host's clock where a copy has ended when its call returns, CUDA events on
the stream that carries the copies where it has not. Times everything that a batch needs, from
naming the pieces to the end of the last, through the machine's own paths. Knows neither pages nor
slots.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import torch

from ninfer_lab.contract.clock import Clock
from ninfer_lab.machine.copy_streams import CopyStream, PlainCopies, StreamCopies, TensorCopy

ListCopies = Callable[[], Sequence[TensorCopy]]
"""Names a batch's pieces, as a transfer does each time."""


class CopyWatch(Protocol):
    """Runs a batch and says what it took, ns."""

    def across_tiers(self, list_copies: ListCopies) -> int:
        """Between Device and Host, as a transfer runs it."""
        ...

    def within_the_device(self, copy: Callable[[], None]) -> int:
        """On the device's own stream, in order with its forwards."""
        ...


class HostWatch:
    """On a CPU."""

    def __init__(self, clock: Clock, copies: CopyStream | None = None) -> None:
        self._clock = clock
        self._copies = copies or PlainCopies()

    def across_tiers(self, list_copies: ListCopies) -> int:
        started_ns = self._clock.now_ns()
        self._copies.start(list_copies())
        self._copies.wait()
        return self._clock.now_ns() - started_ns

    def within_the_device(self, copy: Callable[[], None]) -> int:
        started_ns = self._clock.now_ns()
        copy()
        return self._clock.now_ns() - started_ns


class CudaWatch:
    """On a GPU: between two events of the device, so that waking the host up is no part of it."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._copies = _TimedCopies(device)
        self._started = _timing_event()
        self._ended = _timing_event()

    def across_tiers(self, list_copies: ListCopies) -> int:
        # The copies' stream waits for this one, so they begin after the event.
        self._started.record(torch.cuda.current_stream(self._device))
        self._copies.start(list_copies())
        self._copies.wait()
        return _between_ns(self._started, self._copies.ended)

    def within_the_device(self, copy: Callable[[], None]) -> int:
        stream = torch.cuda.current_stream(self._device)
        self._started.record(stream)
        copy()
        self._ended.record(stream)
        self._ended.synchronize()
        return _between_ns(self._started, self._ended)


class _TimedCopies(StreamCopies):
    """The machine's own stream of copies, with a last event that knows the time."""

    def __init__(self, device: torch.device) -> None:
        super().__init__(device)
        self._ended = _timing_event()

    @property
    def ended(self) -> torch.cuda.Event:
        """Recorded behind the last copy."""
        return self._ended


def watch_for(device: torch.device, clock: Clock) -> CopyWatch:
    """The watch that suits where the Device tensors are."""
    return CudaWatch(device) if device.type == "cuda" else HostWatch(clock)


def _timing_event() -> torch.cuda.Event:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]


def _between_ns(started: torch.cuda.Event, ended: torch.cuda.Event) -> int:
    elapsed_ms: float = started.elapsed_time(ended)
    return round(elapsed_ms * 1e6)
