"""How are whole StateImages copied from slot to slot, frozen into packed images and restored?

Owns the readable form of these and of the root state, and the layout of a packed image: the bytes
of its convolution history, a gap up to a multiple of 16 that nobody reads, the bytes of its
recurrent state. An image is then one contiguous run, and moving it between Device and Host one
transfer.
Does not know which owner or transition a copy belongs to. Source: spec STATE-1, STATE-2.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

ALIGNMENT_BYTES = 16


def copy_slots(
    conv_history: Tensor, recurrent: Tensor, sources: Sequence[int], targets: Sequence[int]
) -> None:
    """Copies whole images: a Fork of each source.

    Args:
        conv_history: `[slots, L, K-1, C]`; written in place.
        recurrent: `[slots, L, HV, K, V]` float32; written in place.
        sources: Slots; one may stand here several times.
        targets: One for each source; each once, and none of them a source.
    """
    for source, target in zip(sources, targets, strict=True):
        conv_history[target].copy_(conv_history[source])
        recurrent[target].copy_(recurrent[source])


def zero_slot(conv_history: Tensor, recurrent: Tensor, slot: int) -> None:
    """The state before the first token."""
    conv_history[slot].zero_()
    recurrent[slot].zero_()


def packed_image_bytes(conv_history: Tensor, recurrent: Tensor) -> int:
    """Bytes of one packed image of such slots."""
    return _recurrent_at_byte(conv_history) + recurrent[0].numel() * recurrent.element_size()


def snapshot(conv_history: Tensor, recurrent: Tensor, slots: Sequence[int], images: Tensor) -> None:
    """Packs whole images.

    Args:
        conv_history: As `copy_slots`; read.
        recurrent: As `copy_slots`; read.
        slots: n of them.
        images: `[n, packed_image_bytes]` uint8 contiguous, on the slots' device or on the Host;
            written.
    """
    check_images(conv_history, recurrent, slots, images)
    history_images, recurrent_images = image_parts(conv_history, recurrent, images)
    for place, slot in enumerate(slots):
        history_images[place].copy_(conv_history[slot])
        recurrent_images[place].copy_(recurrent[slot])


def restore(images: Tensor, conv_history: Tensor, recurrent: Tensor, slots: Sequence[int]) -> None:
    """The way back: slot `slots[i]` becomes `images[i]`; arguments as `snapshot`."""
    check_images(conv_history, recurrent, slots, images)
    history_images, recurrent_images = image_parts(conv_history, recurrent, images)
    for place, slot in enumerate(slots):
        conv_history[slot].copy_(history_images[place])
        recurrent[slot].copy_(recurrent_images[place])


def image_parts(conv_history: Tensor, recurrent: Tensor, images: Tensor) -> tuple[Tensor, Tensor]:
    """Packed images as `[n, L, K-1, C]` and `[n, L, HV, K, V]`, both views."""
    at = _recurrent_at_byte(conv_history)
    history_bytes = conv_history[0].numel() * conv_history.element_size()
    history = images[:, :history_bytes].view(conv_history.dtype)
    rest = images[:, at:].view(recurrent.dtype)
    return (
        history.view(len(images), *conv_history.shape[1:]),
        rest.view(len(images), *recurrent.shape[1:]),
    )


def check_images(
    conv_history: Tensor, recurrent: Tensor, slots: Sequence[int], images: Tensor
) -> None:
    """Refuses images of another number or size.

    Raises:
        ValueError: Another shape or type, or not contiguous.
    """
    expected = torch.Size((len(slots), packed_image_bytes(conv_history, recurrent)))
    if images.shape != expected or images.dtype != torch.uint8 or not images.is_contiguous():
        raise ValueError(
            f"images: found {tuple(images.shape)} {images.dtype}, contiguous "
            f"{images.is_contiguous()}; legal: {tuple(expected)} torch.uint8, contiguous"
        )


def _recurrent_at_byte(conv_history: Tensor) -> int:
    history_bytes = conv_history[0].numel() * conv_history.element_size()
    return -(-history_bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
