"""How do copies between Device and Host run, and when have they ended?

Owns the two ways: on a CPU a copy is a copy, ended when the call returns; on a GPU copies run on a
stream of their own beside the forwards, and an event tells when the last has ended. Everything that
names CUDA is here. Knows neither slots nor pages: it is told destinations and sources.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import torch
from torch import Tensor

TensorCopy = tuple[Tensor, Tensor]
"""(destination, source): equal in shape and type, both contiguous."""


class CopyStream(Protocol):
    """Runs one group of copies at a time."""

    @property
    def ask_again_ns(self) -> int:
        """How long to wait before asking for copies in flight."""
        ...

    def start(self, copies: Iterable[TensorCopy]) -> None:
        """Starts copies after all work that was given to the device before."""
        ...

    def is_done(self) -> bool:
        """Whether every copy started last has ended.

        Raises:
            RuntimeError: torch's own, if the device failed.
        """
        ...

    def wait(self) -> None:
        """Returns once they have; raises as `is_done` does."""
        ...


class PlainCopies:
    """On a CPU: in the caller's own thread."""

    ask_again_ns = 0

    def start(self, copies: Iterable[TensorCopy]) -> None:
        for destination, source in copies:
            destination.copy_(source)

    def is_done(self) -> bool:
        return True

    def wait(self) -> None:
        pass


class StreamCopies:
    """On a GPU: on a side stream, into and out of page-locked memory.

    All tensors live as long as the machine, so the allocator needs to hear nothing of the stream.
    What the host does after `is_done` has said yes is ordered behind the copies without a wait
    between the streams.
    """

    ask_again_ns = 50_000
    """Much less than a forward takes, and much longer than asking."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._ended = torch.cuda.Event()  # type: ignore[no-untyped-call]

    def start(self, copies: Iterable[TensorCopy]) -> None:
        # A forward or a page copy that is still queued may write a source or read a destination.
        self._stream.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(self._stream):
            for destination, source in copies:
                destination.copy_(source, non_blocking=True)
            self._ended.record(self._stream)

    def is_done(self) -> bool:
        return bool(self._ended.query())  # type: ignore[no-untyped-call]

    def wait(self) -> None:
        self._ended.synchronize()


def copies_for(device: torch.device) -> CopyStream:
    """The way that suits where the Device tensors are."""
    return StreamCopies(device) if device.type == "cuda" else PlainCopies()
