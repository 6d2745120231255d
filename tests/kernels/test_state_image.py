"""Law: kernels copy, freeze and restore whole images as the reference does, bit for bit, and touch
no other slot.
"""

# spec: STATE-1

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from ninfer_kernels.state_image import reference, triton
from ops.rows import normal

DTYPES = [torch.float32, torch.bfloat16]


def slots_of(count: int, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    """History of 3 layers whose runs end between two words, and recurrent state with NaN in it."""
    history = normal(count, 3, 3, 5, seed=1).to(dtype)
    recurrent = normal(count, 3, 2, 8, 8, seed=2)
    recurrent[:, 1, 0, 0] = torch.nan
    return history.to(device), recurrent.to(device)


def same_bits(found: tuple[Tensor, ...], expected: tuple[Tensor, ...]) -> bool:
    return all(
        torch.equal(a.cpu().contiguous().view(torch.uint8), b.cpu().contiguous().view(torch.uint8))
        for a, b in zip(found, expected, strict=True)
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("sources", "targets"), [([], []), ([2], [0]), ([1, 1, 3], [0, 2, 4])])
def test_a_fork_is_the_reference_s(
    sources: list[int], targets: list[int], dtype: torch.dtype, device: torch.device
) -> None:
    found, expected = slots_of(5, dtype, device), slots_of(5, dtype, device)
    triton.copy_slots(*found, sources, targets)
    reference.copy_slots(*expected, sources, targets)
    assert same_bits(found, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("slots", [[], [1], [3, 0]])
@pytest.mark.parametrize("host", [False, True])
def test_a_frozen_image_is_the_reference_s_and_is_restored_bit_for_bit(
    slots: list[int], dtype: torch.dtype, host: bool, device: torch.device
) -> None:
    parts = slots_of(4, dtype, device)
    image_bytes = reference.packed_image_bytes(*parts)
    place = torch.device("cpu") if host else device
    images = torch.zeros((len(slots), image_bytes), dtype=torch.uint8, device=place)
    expected = torch.zeros_like(images, device="cpu")
    triton.snapshot(*parts, slots, images)
    history, recurrent = (part.cpu() for part in parts)
    reference.snapshot(history, recurrent, slots, expected)
    assert same_bits(reference.image_parts(*parts, images), reference.image_parts(*parts, expected))
    found, right = slots_of(5, dtype, device), slots_of(5, dtype, device)
    for part in (*found, *right):
        part.add_(1)
    targets = [slot + 1 for slot in slots]
    triton.restore(images, *found, targets)
    reference.restore(expected.to(device), *right, targets)
    assert same_bits(found, right)


def test_images_of_another_size_are_refused(device: torch.device) -> None:
    parts = slots_of(4, torch.float32, device)
    image_bytes = reference.packed_image_bytes(*parts)
    short = torch.zeros((1, image_bytes), dtype=torch.uint8, device=device)
    with pytest.raises(ValueError, match="images: found"):
        triton.snapshot(*parts, [0, 1], short)
    with pytest.raises(ValueError, match="images: found"):
        triton.restore(short, *parts, [0, 1])
