"""Where do Host replicas of StateImages and KV pages lie, byte for byte?

Owns `HostTensors`: whole images in slots, and pages packed in one arena of granules, allocated
once. A page's bytes in the arena are its bytes on the Device, in the same order, from the granule
where it begins; so pages that lie one behind the other on both sides are one copy. Does not know
who holds a slot or an extent, nor which granules are free: indices come from outside and are
checked only for range. Source: spec CAP-1 (one arena and its geometry), STATE-1, KV-5.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ninfer_lab.contract.capacity import HostArenaGeometry, KvPool
from ninfer_lab.models.qwen3_5.state_image import DeviceTensors

NAN_BYTE = 0xFF
"""A float of any width whose bytes are all this is not a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTensors:
    """State slots and the KV arena beside the tensors of one device.

    Attributes:
        conv_history: `[slots, L, K-1, C]`, as on the Device.
        recurrent: `[slots, L, HV, K, V]` float32, as on the Device.
        kv_arena: uint8, a flat run of granules.
        granule_bytes: Where granule i begins: at `i * granule_bytes`.
        page_granules: What one Main page takes.
    """

    conv_history: Tensor
    recurrent: Tensor
    kv_arena: Tensor
    granule_bytes: int
    page_granules: int

    @staticmethod
    def beside(
        device: DeviceTensors, *, state_slot_count: int, arena: HostArenaGeometry
    ) -> HostTensors:
        """Allocates all slots and granules, zeroed. Beside a GPU they are page-locked: copies into
        and out of other memory hold the host up.

        Raises:
            ValueError: A negative count, or granules that a page does not fill exactly.
        """
        if state_slot_count < 0:
            raise ValueError(f"state_slot_count: found {state_slot_count}; legal: >= 0")
        page_granules = arena.page_granules(KvPool.MAIN)
        page_bytes = device.kv_pages.nbytes // max(1, device.page_count)
        if arena.granules_count and page_granules * arena.granule_bytes != page_bytes:
            raise ValueError(
                f"arena: found {page_granules} granules of {arena.granule_bytes} bytes a page;"
                f" legal: exactly the {page_bytes} bytes of a page"
            )
        pinned = device.kv_pages.is_cuda
        return HostTensors(
            conv_history=torch.zeros(
                (state_slot_count, *device.conv_history.shape[1:]),
                dtype=device.conv_history.dtype,
                pin_memory=pinned,
            ),
            recurrent=torch.zeros(
                (state_slot_count, *device.recurrent.shape[1:]),
                dtype=device.recurrent.dtype,
                pin_memory=pinned,
            ),
            kv_arena=torch.zeros(arena.capacity_bytes, dtype=torch.uint8, pin_memory=pinned),
            granule_bytes=arena.granule_bytes,
            page_granules=page_granules,
        )

    @property
    def state_slot_count(self) -> int:
        """StateImage slots."""
        return self.recurrent.shape[0]

    @property
    def granules_count(self) -> int:
        """Granules of the arena."""
        return self.kv_arena.shape[0] // self.granule_bytes

    @property
    def allocated_bytes(self) -> int:
        """Bytes of all three tensors."""
        return self.conv_history.nbytes + self.recurrent.nbytes + self.kv_arena.nbytes

    def state_slice(self, slot: int) -> tuple[Tensor, Tensor]:
        """Views of one image: convolution history and recurrent state, each contiguous."""
        if not 0 <= slot < self.state_slot_count:
            raise ValueError(
                f"host state slot: found {slot}; legal: 0 <= slot < {self.state_slot_count}"
            )
        return self.conv_history[slot], self.recurrent[slot]

    def page_run_bytes(self, first_granule: int, pages_count: int) -> Tensor:
        """A flat uint8 view of pages that lie one behind the other."""
        granules = pages_count * self.page_granules
        if not 0 <= first_granule <= self.granules_count - granules:
            raise ValueError(
                f"host granule: found {pages_count} pages from {first_granule}; legal: 0 <= granule"
                f" <= {self.granules_count - granules}"
            )
        first_byte = first_granule * self.granule_bytes
        return self.kv_arena[first_byte : first_byte + granules * self.granule_bytes]

    def poison_state(self, slot: int) -> None:
        """Fills an image with NaN, so that whoever restores it is seen in the logits."""
        for part in self.state_slice(slot):
            part.fill_(torch.nan)

    def poison_page(self, granule: int) -> None:
        """Fills a page's replica with NaN."""
        self.page_run_bytes(granule, 1).fill_(NAN_BYTE)
