"""Which state slot does each row of a forward read, and which does it write?

Owns `StateRows`, built once per forward and read by every linear-attention layer.
Does not know what an image is used for; a root row reads a slot that was zeroed before the forward.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRows:
    """Slots per row; a row that reads one slot and writes another forks without a copy.

    Attributes:
        read_slots: One per row.
        write_slots: One per row; no two rows share one.
        read_index: The same as int64 `[B]` on the device.
        write_index: The same as int64 `[B]` on the device.
    """

    read_slots: tuple[int, ...]
    write_slots: tuple[int, ...]
    read_index: Tensor
    write_index: Tensor

    @staticmethod
    def build(
        read_slots: Sequence[int], write_slots: Sequence[int], device: torch.device
    ) -> StateRows:
        """Builds the table of one forward; see `check_apart` for what it takes for granted."""
        return StateRows(
            read_slots=tuple(read_slots),
            write_slots=tuple(write_slots),
            read_index=torch.tensor(read_slots, dtype=torch.int64, device=device),
            write_index=torch.tensor(write_slots, dtype=torch.int64, device=device),
        )


def check_apart(read_slots: Sequence[int], write_slots: Sequence[int]) -> None:
    """Refuses rows that would see each other's writes.

    Raises:
        ValueError: Two rows write one slot, or a row reads what another row writes.
    """
    for row, target in enumerate(write_slots):
        for other in range(len(write_slots)):
            if other != row and target in (write_slots[other], read_slots[other]):
                raise ValueError(
                    f"state slot {target}: found written by row {row} and used by row {other}; "
                    "legal: a written slot belongs to one row"
                )
