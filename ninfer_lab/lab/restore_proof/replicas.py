"""Which bytes are a checkpoint's, wherever its replicas are?

Owns the way from contents to tensors, on the Device and on the Host, as one picture places them.
Does not compare anything.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from ninfer_lab.contract.ids import KvPageId
from ninfer_lab.contract.options import PAGE_TOKENS
from ninfer_lab.contract.placement import CheckpointPlacement, LedgerSnapshot
from ninfer_lab.models.qwen3_5.host_tensors import HostTensors
from ninfer_lab.models.qwen3_5.state_image import DeviceTensors


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a checkpoint, in one place.

    Attributes:
        name: `conv`, `recurrent`, or a page by its ordinal; the same in every place.
        on_host: Whether these are the Host's bytes.
        tensor: A view of the bytes that count.
    """

    name: str
    on_host: bool
    tensor: Tensor

    @property
    def place(self) -> str:
        """The part and where it is, in words."""
        return f"{self.name} on the Host" if self.on_host else self.name


class Replicas:
    """The parts of checkpoints as one picture places them.

    Args:
        device: State slots and pages.
        host: Host slots and the arena.
        snapshot: Of the ledger now, while nothing runs.
    """

    def __init__(self, device: DeviceTensors, host: HostTensors, snapshot: LedgerSnapshot) -> None:
        self._device = device
        self._host = host
        self._images = {each.image: each for each in snapshot.images}
        self._pages = {each.page: each for each in snapshot.pages}

    def of(self, checkpoint: CheckpointPlacement) -> tuple[Part, ...]:
        """Every replica of every part; a page that the frontier ends in as far as it counts."""
        parts: list[Part] = []
        image = self._images[checkpoint.image]
        if image.device_slot is not None:
            parts += _image_parts(self._device.state_slice(image.device_slot), on_host=False)
        if image.host_slot is not None:
            parts += _image_parts(self._host.state_slice(image.host_slot), on_host=True)
        for ordinal, page in enumerate(checkpoint.pages):
            tokens = min(PAGE_TOKENS, checkpoint.summary.frontier_tokens - ordinal * PAGE_TOKENS)
            parts += [
                Part(
                    name=f"page {ordinal}", on_host=on_host, tensor=whole[:, :, :tokens]
                )  # [L, 2, S, H, D]
                for on_host, whole in self._page_views(page)
            ]
        return tuple(parts)

    def _page_views(self, page: KvPageId) -> list[tuple[bool, Tensor]]:
        placed, views = self._pages[page], []
        if placed.device_page is not None:
            views.append((False, self._device.page_slice(placed.device_page)))
        if placed.host_granule is not None:
            packed = self._host.page_run_bytes(placed.host_granule, 1)
            pages = self._device.kv_pages  # [P, L, 2, S, H, D]
            views.append((True, packed.view(pages.dtype).view(pages.shape[1:])))
        return views


def _image_parts(image: tuple[Tensor, Tensor], *, on_host: bool) -> list[Part]:
    conv, recurrent = image
    return [
        Part(name="conv", on_host=on_host, tensor=conv),
        Part(name="recurrent", on_host=on_host, tensor=recurrent),
    ]
