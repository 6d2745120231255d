"""How is one batch of copies carried out here, again and again?

Owns the tensors of each shape in both tiers, filled with numbers that no link could compress, and
the way from a point of the grid to the machine's own copy paths: `Transfer` to pieces to the copy
stream between the tiers, the kernel set's page copy within the Device. Does not know how a batch
is timed, nor what comes of the times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from ninfer_kernels.kernel_set import KernelSet, kernels_for
from ninfer_lab.contract.capacity import HostArenaGeometry, KvPool
from ninfer_lab.contract.ids import HostGranuleId, HostSlotId, PageId, StateSlotId
from ninfer_lab.contract.machine_work import TransferDirection
from ninfer_lab.contract.transfer import PageTransfer, StateTransfer, Transfer
from ninfer_lab.lab.calibration.copy_timing import CopyWatch
from ninfer_lab.lab.calibration.grid import CopyShape, TransferPoint, longest_run_pages
from ninfer_lab.machine.tensor_transfers import copies_of
from ninfer_lab.models.qwen3_5.host_tensors import HostTensors
from ninfer_lab.models.qwen3_5.state_image import DeviceTensors

FILL_SEED = 11
"""Of the bytes that are copied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiers:
    """Tensors of one shape on both sides."""

    device: DeviceTensors
    host: HostTensors


class TransferSide:
    """Both tiers of every shape that the points need, and the points as calls.

    Args:
        points: What will be measured.
        device: Where the Device tensors lie.
        watch: Times one batch.
    """

    def __init__(
        self, points: Sequence[TransferPoint], device: torch.device, watch: CopyWatch
    ) -> None:
        self._watch = watch
        self._kernels: KernelSet = kernels_for(device)
        self._tiers = {
            shape: _tiers([p for p in points if p.shape == shape], shape, device)
            for shape in {point.shape for point in points}
        }

    def tiers_of(self, shape: CopyShape) -> Tiers:
        """What the copies of a shape are made between, for looking at."""
        return self._tiers[shape]

    def measurer(self, point: TransferPoint) -> Callable[[], int]:
        """Runs the batch once and says what it took, ns."""
        tiers = self._tiers[point.shape]
        if point.direction is TransferDirection.D2D:
            sources = list(range(point.pages_count))
            targets = [point.pages_count + page for page in sources]
            pages = tiers.device.kv_pages

            def copy() -> None:
                self._kernels.copy_pages(pages, sources, targets)

            return lambda: self._watch.within_the_device(copy)
        transfer = transfer_of(point, tiers.host.page_granules)
        return lambda: self._watch.across_tiers(
            lambda: copies_of(transfer, tiers.device, tiers.host)
        )


def transfer_of(point: TransferPoint, page_granules: int) -> Transfer:
    """The point as Program would ask for it: a page is left out behind each run on the Device, so
    that no call can carry two of them.
    """
    return Transfer(
        direction=point.direction,
        states=tuple(
            StateTransfer(device_slot=StateSlotId(slot), host_slot=HostSlotId(slot))
            for slot in range(point.images_count)
        ),
        pages=tuple(_pages(point, page_granules)),
    )


def _pages(point: TransferPoint, page_granules: int) -> Iterator[PageTransfer]:
    if not point.runs_count:
        return
    run_pages = point.pages_count // point.runs_count
    for ordinal in range(point.pages_count):
        gaps = ordinal // run_pages
        yield PageTransfer(
            pool=KvPool.MAIN,
            device_page=PageId(ordinal + gaps),
            host_granule=HostGranuleId(ordinal * page_granules),
        )


def _tiers(points: Sequence[TransferPoint], shape: CopyShape, device: torch.device) -> Tiers:
    across = [p for p in points if p.direction is not TransferDirection.D2D]
    pages = max((p.pages_count for p in across), default=0)
    images = max((p.images_count for p in points), default=0)
    on_device = DeviceTensors.allocate(
        shape.geometry,
        page_count=longest_run_pages(points),
        state_slot_count=images,
        dtype=shape.dtype,
        device=device,
    )
    arena = HostArenaGeometry.divide(
        pages * shape.page_bytes, main_page_bytes=shape.page_bytes, backend_page_bytes=None
    )
    on_host = HostTensors.beside(on_device, state_slot_count=images, arena=arena)
    for tensor in (on_host.kv_arena, on_host.conv_history, on_host.recurrent, on_device.kv_pages):
        words = tensor.view(-1).view(torch.int32)
        words.random_(generator=torch.Generator(tensor.device).manual_seed(FILL_SEED))
    return Tiers(device=on_device, host=on_host)
