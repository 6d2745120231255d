"""Which bytes lie in one place of either tier?

Owns the way from places to bytes and back, for sessions on their way to and from a file. Decides
nothing. Source: PER-2, PER-3.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import torch
from torch import Tensor

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.contents import DeviceImage, DevicePage, ImagePlace, PagePlace
from ninfer_lab.contract.ids import PageId
from ninfer_lab.contract.options import PAGE_TOKENS
from ninfer_lab.contract.session_snapshot import SessionError
from ninfer_lab.machine.tensor_transfers import refuse_other_pools
from ninfer_lab.models.qwen3_5.host_tensors import HostTensors
from ninfer_lab.models.qwen3_5.state_image import DeviceTensors


class TensorContents:
    """Of the tensors of one machine.

    Args:
        weights_digest: Names the weights, whose reading may take a while; `None` where nobody has
            said, so that nothing can leave this machine.
    """

    def __init__(
        self, device: DeviceTensors, host: HostTensors, weights_digest: Callable[[], str] | None
    ) -> None:
        self._device = device
        self._host = host
        self._weights_digest = weights_digest

    @cached_property
    def signature(self) -> str:
        """The weights and the layout; which kernels ran is no part of it (IDN-6).

        Raises:
            SessionError: Nobody has said which weights these are.
        """
        if self._weights_digest is None:
            raise SessionError(
                "machine.weights_digest",
                found="none",
                legal="TorchMachine(..., weights_digest=...), as `assemble_torch` gives it",
            )
        device = self._device
        layout = ", ".join(
            f"{str(part.dtype).removeprefix('torch.')} {'x'.join(map(str, part.shape[1:]))}"
            for part in (device.conv_history, device.recurrent, device.kv_pages)
        )
        return f"weights {self._weights_digest()}, {layout}"

    def content_bytes(self, pool: KvPool | None) -> int:
        """Of one page, or of a StateImage."""
        if pool is None:
            return sum(part.nbytes for part in self._device.state_slice(0))
        refuse_other_pools(pool)
        return self._device.page_slice(0).nbytes

    def read_image(self, place: ImagePlace) -> bytes:
        """The convolution history, then the recurrent state."""
        return b"".join(map(tensor_bytes, self._image(place)))

    def write_image(self, place: ImagePlace, content: bytes) -> None:
        """The same, the other way round."""
        history, recurrent = self._image(place)
        _fill(history, content[: history.nbytes])
        _fill(recurrent, content[history.nbytes :])

    def read_page(self, place: PagePlace, cells_count: int) -> bytes:
        """`[L, 2, S, H, D]`, zero from cell `cells_count` on."""
        refuse_other_pools(place.pool)
        if isinstance(place, DevicePage):
            page = self._device.page_slice(place.page).detach().to("cpu", copy=True)
        else:
            stored = self._host.page_run_bytes(place.granule, 1).clone()
            page = stored.view(self._device.kv_pages.dtype).view(self._device.kv_pages.shape[1:])
        page[:, :, cells_count:PAGE_TOKENS] = 0
        return tensor_bytes(page)

    def write_page(self, page: PageId, content: bytes) -> None:
        """A whole page on the Device."""
        _fill(self._device.page_slice(page), content)

    def _image(self, place: ImagePlace) -> tuple[Tensor, Tensor]:
        if isinstance(place, DeviceImage):
            return self._device.state_slice(place.slot)
        return self._host.state_slice(place.slot)


def tensor_bytes(tensor: Tensor) -> bytes:
    """The elements of a contiguous tensor of any type and device, in order."""
    flat = tensor.detach().to("cpu").view(-1)
    return flat.view(torch.uint8).numpy().tobytes()


def _fill(target: Tensor, content: bytes) -> None:
    """All bytes of a contiguous tensor."""
    source = torch.frombuffer(bytearray(content), dtype=torch.uint8)
    target.view(-1).view(torch.uint8).copy_(source)
