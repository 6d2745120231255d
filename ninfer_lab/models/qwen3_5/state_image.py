"""Where do StateImages and KV pages lie in memory, and how is one copied, zeroed or spoiled?

Owns `DeviceTensors`: every tensor that a forward writes, allocated once. One image is two
contiguous runs of bytes (convolution history, recurrent state), one page is one, so that a copy is
one or two memory copies. Does not know who holds a slot or a page: indices come from outside and
are checked only for range. Source: spec STATE-1 (the whole image is the unit of migration), KV-6
(64-token pages).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ninfer_kernels.kv_pages.reference import copy_pages
from ninfer_kernels.kv_pages.scratch import GatherMeter
from ninfer_kernels.state_image.reference import copy_slots, zero_slot
from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.contract.options import PAGE_TOKENS
from ninfer_lab.models.qwen3_5.config import ModelGeometry

TORCH_DTYPES = {ModelDtype.FLOAT32: torch.float32, ModelDtype.BFLOAT16: torch.bfloat16}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceTensors:
    """State slots and KV pages of one model on one device.

    Attributes:
        conv_history: `[slots, L, K-1, C]` in the model's element type, oldest column first; L
            counts the linear layers, bottom first.
        recurrent: `[slots, L, HV, K, V]` float32.
        kv_pages: `[P, L, 2, S, H, D]` in the model's element type; L counts the full-attention
            layers; index 0 holds keys (already rotated), index 1 values.
        meter: Bytes that attention gathered into per-call scratch.
    """

    conv_history: Tensor
    recurrent: Tensor
    kv_pages: Tensor
    meter: GatherMeter

    @staticmethod
    def allocate(
        geometry: ModelGeometry,
        *,
        page_count: int,
        state_slot_count: int,
        dtype: ModelDtype,
        device: torch.device | str = "cpu",
    ) -> DeviceTensors:
        """Allocates all pages and slots, zeroed, so that memory that does not suffice is noticed at
        once.

        Raises:
            ValueError: A negative count.
        """
        for name, count in (("page_count", page_count), ("state_slot_count", state_slot_count)):
            if count < 0:
                raise ValueError(f"{name}: found {count}; legal: >= 0")
        stored = TORCH_DTYPES[dtype]
        linear, full = len(geometry.linear_layers), len(geometry.full_layers)
        heads = geometry.linear_value_head_count
        history = (state_slot_count, linear, geometry.conv_width - 1, geometry.conv_channel_count)
        recurrent = (
            state_slot_count,
            linear,
            heads,
            geometry.linear_key_dim,
            geometry.linear_value_dim,
        )
        pages = (page_count, full, 2, PAGE_TOKENS, geometry.kv_head_count, geometry.head_dim)
        return DeviceTensors(
            conv_history=torch.zeros(history, dtype=stored, device=device),
            recurrent=torch.zeros(recurrent, dtype=torch.float32, device=device),
            kv_pages=torch.zeros(pages, dtype=stored, device=device),
            meter=GatherMeter(),
        )

    @property
    def page_count(self) -> int:
        """KV pages."""
        return self.kv_pages.shape[0]

    @property
    def state_slot_count(self) -> int:
        """StateImage slots."""
        return self.recurrent.shape[0]

    @property
    def allocated_bytes(self) -> int:
        """Bytes of all three tensors."""
        return sum(
            t.numel() * t.element_size() for t in (self.conv_history, self.recurrent, self.kv_pages)
        )

    def wait(self) -> None:
        """Returns when all work queued on the device has ended; on a CPU none is ever queued."""
        if self.kv_pages.device.type == "cuda":
            torch.cuda.synchronize(self.kv_pages.device)

    def check_pages(self, pages: Sequence[int]) -> None:
        """Refuses pages that are none; a kernel would write where they point.

        Raises:
            ValueError: One out of range.
        """
        for page in pages:
            _check_index("page", page, self.page_count)

    def state_slice(self, slot: int) -> tuple[Tensor, Tensor]:
        """Views of one image: convolution history and recurrent state, each contiguous."""
        _check_index("state slot", slot, self.state_slot_count)
        return self.conv_history[slot], self.recurrent[slot]

    def page_slice(self, page: int) -> Tensor:
        """A view of one page, contiguous, `[L, 2, S, H, D]`."""
        _check_index("page", page, self.page_count)
        return self.kv_pages[page]

    def page_run_bytes(self, first_page: int, pages_count: int) -> Tensor:
        """A flat uint8 view of consecutive pages: the bytes that a Host replica of them holds."""
        for page in (first_page, first_page + pages_count - 1):
            _check_index("page", page, self.page_count)
        return self.kv_pages[first_page : first_page + pages_count].view(-1).view(torch.uint8)

    def copy_state(self, source_slot: int, target_slot: int) -> None:
        """Copies one whole image."""
        for slot in (source_slot, target_slot):
            _check_index("state slot", slot, self.state_slot_count)
        copy_slots(self.conv_history, self.recurrent, [source_slot], [target_slot])

    def copy_page(self, source_page: int, target_page: int) -> None:
        """Copies one whole page, whatever its frontier."""
        self.check_pages((source_page, target_page))
        copy_pages(self.kv_pages, [source_page], [target_page])

    def zero_state(self, slot: int) -> None:
        """Makes an image the root state: the state before the first token."""
        _check_index("state slot", slot, self.state_slot_count)
        zero_slot(self.conv_history, self.recurrent, slot)

    def poison_state(self, slot: int) -> None:
        """Fills an image with NaN, so that whoever reads it afterwards is seen in the logits."""
        for part in self.state_slice(slot):
            part.fill_(torch.nan)

    def poison_page(self, page: int) -> None:
        """Fills a page with NaN; what lies behind a row's frontier never reaches its logits."""
        self.page_slice(page).fill_(torch.nan)


def _check_index(what: str, index: int, count: int) -> None:
    if not 0 <= index < count:
        raise ValueError(f"{what}: found {index}; legal: 0 <= {what} < {count}")
