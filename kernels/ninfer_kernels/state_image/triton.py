"""How are whole StateImages copied, frozen and restored on a GPU?

Owns two launches per copy, one for each part of an image, whatever the number of images; the kernel
is `run_copy`'s. Images on the Host are packed or unpacked on the GPU beside the slots and cross
over in one transfer; with pinned memory the call returns before it has ended, and the stream keeps
the order. The root state is a memory set, as in `reference`.
Does not know which owner or transition a copy belongs to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from ninfer_kernels.launch_form import ShippedKernel
from ninfer_kernels.run_copy import copy_runs, shipped_copy
from ninfer_kernels.state_image.reference import check_images, image_parts


def copy_slots(
    conv_history: Tensor, recurrent: Tensor, sources: Sequence[int], targets: Sequence[int]
) -> None:
    """See `reference.copy_slots`."""
    for part in (conv_history, recurrent):
        copy_runs(part, part, sources, targets)


def snapshot(conv_history: Tensor, recurrent: Tensor, slots: Sequence[int], images: Tensor) -> None:
    """See `reference.snapshot`."""
    check_images(conv_history, recurrent, slots, images)
    device = recurrent.device
    beside = images if images.device == device else torch.empty_like(images, device=device)
    parts = image_parts(conv_history, recurrent, beside)
    for part, packed in zip((conv_history, recurrent), parts, strict=True):
        copy_runs(part, packed, slots, range(len(slots)))
    if beside is not images:
        images.copy_(beside, non_blocking=images.is_pinned())


def restore(images: Tensor, conv_history: Tensor, recurrent: Tensor, slots: Sequence[int]) -> None:
    """See `reference.restore`."""
    check_images(conv_history, recurrent, slots, images)
    beside = images.to(recurrent.device, non_blocking=images.is_pinned())
    parts = image_parts(conv_history, recurrent, beside)
    for part, packed in zip((conv_history, recurrent), parts, strict=True):
        copy_runs(packed, part, range(len(slots)), slots)


def shipped() -> Iterator[ShippedKernel]:
    """Every form of these ops that ships."""
    yield shipped_copy("state_image fork, snapshot, restore")
