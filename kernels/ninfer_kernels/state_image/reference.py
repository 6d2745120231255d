"""How is a whole StateImage copied from slot to slot, or set to the root state?

Owns the readable form of both. Does not know which transition (Fork, Snapshot, Restore) a copy
belongs to. Source: spec STATE-1, STATE-2.
"""

from __future__ import annotations

from torch import Tensor


def copy_slot(conv_history: Tensor, recurrent: Tensor, source_slot: int, target_slot: int) -> None:
    """Copies one image; two contiguous copies.

    Args:
        conv_history: `[slots, L, K-1, C]`.
        recurrent: `[slots, L, HV, K, V]` float32.
        source_slot: Read.
        target_slot: Written.
    """
    conv_history[target_slot].copy_(conv_history[source_slot])
    recurrent[target_slot].copy_(recurrent[source_slot])


def zero_slot(conv_history: Tensor, recurrent: Tensor, slot: int) -> None:
    """The state before the first token."""
    conv_history[slot].zero_()
    recurrent[slot].zero_()
