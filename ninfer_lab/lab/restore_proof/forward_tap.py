"""What did every forward of a running engine compute?

Owns what stands between an engine and its machine: `TensorMachine`, a machine whose memory can be
looked at; `PassThrough`, one that changes nothing; and `ForwardTap`, which keeps the logits. Does
not know requests: events name them, forward for forward in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from torch import Tensor

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.contents import ImagePlace, PagePlace
from ninfer_lab.contract.errors import NinferLabError
from ninfer_lab.contract.ids import LaneId, PageId
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.transfer import Transfer
from ninfer_lab.contract.work import ForwardResult, ForwardStep, PageCopy
from ninfer_lab.models.qwen3_5.host_tensors import HostTensors
from ninfer_lab.models.qwen3_5.model import HybridModel
from ninfer_lab.models.qwen3_5.state_image import DeviceTensors


@runtime_checkable
class TensorMachine(MachineApi, Protocol):
    """A machine on real tensors, open to a look inside."""

    @property
    def tensors(self) -> DeviceTensors:
        """State slots and pages."""
        ...

    @property
    def host_tensors(self) -> HostTensors:
        """Host slots and the arena."""
        ...

    @property
    def model(self) -> HybridModel:
        """What its forwards run on."""
        ...

    @property
    def last_logits(self) -> Tensor | None:
        """Of the forward submitted last: a row per row of the step, none for a prefill that drew
        nothing.
        """
        ...


def with_tensors(machine: MachineApi) -> TensorMachine:
    """The machine itself, if it has tensors.

    Raises:
        NinferLabError: It has none.
    """
    if not isinstance(machine, TensorMachine):
        raise NinferLabError(
            "machine",
            found=type(machine).__name__,
            legal="one that computes on tensors, as `assemble_torch` builds it",
        )
    return machine


class PassThrough:
    """Hands every call on. What wants to listen or to meddle overrides the call it means."""

    def __init__(self, inner: TensorMachine) -> None:
        self.inner = inner

    @property
    def tensors(self) -> DeviceTensors:
        return self.inner.tensors

    @property
    def host_tensors(self) -> HostTensors:
        return self.inner.host_tensors

    @property
    def model(self) -> HybridModel:
        return self.inner.model

    @property
    def last_logits(self) -> Tensor | None:
        return self.inner.last_logits

    def bind(self, lane: LaneId, pool: KvPool, pages: Sequence[PageId]) -> None:
        self.inner.bind(lane, pool, pages)

    def extend(self, lane: LaneId, pool: KvPool, pages: Sequence[PageId]) -> None:
        self.inner.extend(lane, pool, pages)

    def replace_tail(self, lane: LaneId, pool: KvPool, page: PageId) -> None:
        self.inner.replace_tail(lane, pool, page)

    def unbind(self, lane: LaneId) -> None:
        self.inner.unbind(lane)

    def row_table(self, lane: LaneId, pool: KvPool) -> tuple[PageId, ...] | None:
        return self.inner.row_table(lane, pool)

    def copy_pages(self, copies: Sequence[PageCopy]) -> None:
        self.inner.copy_pages(copies)

    def start_transfer(self, transfer: Transfer) -> None:
        self.inner.start_transfer(transfer)

    def transfer_is_done(self) -> bool:
        return self.inner.transfer_is_done()

    def submit(self, step: ForwardStep) -> None:
        self.inner.submit(step)

    def next_completion_ns(self) -> int | None:
        return self.inner.next_completion_ns()

    def take_result(self) -> ForwardResult:
        return self.inner.take_result()

    @property
    def contents_signature(self) -> str:
        return self.inner.contents_signature

    def content_bytes(self, pool: KvPool | None) -> int:
        return self.inner.content_bytes(pool)

    def read_image(self, place: ImagePlace) -> bytes:
        return self.inner.read_image(place)

    def read_page(self, place: PagePlace, cells_count: int) -> bytes:
        return self.inner.read_page(place, cells_count)

    def write_image(self, place: ImagePlace, content: bytes) -> None:
        self.inner.write_image(place, content)

    def write_row(self, lane: LaneId, pool: KvPool, pages: Sequence[bytes]) -> None:
        self.inner.write_row(lane, pool, pages)


class ForwardTap(PassThrough):
    """Keeps the logits of every forward that ran, in order: one entry per `ForwardRan` event."""

    def __init__(self, inner: TensorMachine) -> None:
        super().__init__(inner)
        self._logits: list[Tensor] = []

    @property
    def logits(self) -> tuple[Tensor, ...]:
        """Per forward, float32 `[B, vocab]`, or `[0, vocab]` for a prefill that drew nothing."""
        return tuple(self._logits)

    def submit(self, step: ForwardStep) -> None:
        self.inner.submit(step)  # what raises has computed nothing, and no event tells of it
        logits = self.inner.last_logits
        assert logits is not None
        self._logits.append(logits)
