"""Law: an image is copied, frozen and restored whole and changes no other slot; rows that would see
each other's writes are refused.
"""

from __future__ import annotations

import pytest
import torch

from ninfer_kernels.state_image.reference import (
    copy_slots,
    packed_image_bytes,
    restore,
    snapshot,
    zero_slot,
)
from ninfer_kernels.state_image.rows import check_apart
from ops.rows import normal


def test_a_copy_is_whole_and_touches_its_target_only() -> None:
    history, recurrent = normal(3, 2, 3, 5, seed=1), normal(3, 2, 2, 4, 4, seed=2)
    before = history.clone(), recurrent.clone()
    copy_slots(history, recurrent, [2], [0])
    for part, old in zip((history, recurrent), before, strict=True):
        assert torch.equal(part[0], old[2])
        assert torch.equal(part[1:], old[1:])
    zero_slot(history, recurrent, 1)
    assert not history[1].any()
    assert not recurrent[1].any()
    assert torch.equal(recurrent[2], before[1][2])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("slots", [[], [1], [3, 0]])
def test_a_frozen_image_is_restored_bit_for_bit_into_any_slot(
    slots: list[int], dtype: torch.dtype
) -> None:
    # 2 x 3 x 5 numbers of history end between two multiples of 16 bytes.
    history, recurrent = normal(4, 2, 3, 5, seed=1).to(dtype), normal(4, 2, 2, 4, 4, seed=2)
    image_bytes = packed_image_bytes(history, recurrent)
    assert image_bytes == {torch.float32: 128, torch.bfloat16: 64}[dtype] + 2 * 2 * 4 * 4 * 4
    images = torch.empty((len(slots), image_bytes), dtype=torch.uint8)
    snapshot(history, recurrent, slots, images)
    targets = [slot + 1 for slot in slots]
    others = normal(5, 2, 3, 5, seed=3).to(dtype), normal(5, 2, 2, 4, 4, seed=4)
    expected = tuple(part.clone() for part in others)
    for part, old in zip(expected, (history, recurrent), strict=True):
        part[targets] = old[slots]
    restore(images, *others, targets)
    for part, right in zip(others, expected, strict=True):
        assert torch.equal(part, right)


def test_images_of_another_size_are_refused() -> None:
    history, recurrent = normal(4, 2, 3, 5, seed=1), normal(4, 2, 2, 4, 4, seed=2)
    image_bytes = packed_image_bytes(history, recurrent)
    for wrong in (
        torch.empty((1, image_bytes), dtype=torch.uint8),
        torch.empty((2, image_bytes + 16), dtype=torch.uint8),
        torch.empty((2, image_bytes), dtype=torch.int8),
    ):
        with pytest.raises(ValueError, match="images: found"):
            snapshot(history, recurrent, [0, 1], wrong)
        with pytest.raises(ValueError, match="images: found"):
            restore(wrong, history, recurrent, [0, 1])


@pytest.mark.parametrize(
    ("read", "write"),
    [([0, 1], [2, 2]), ([0, 1], [1, 3]), ([1, 0], [3, 1]), ([0, 1, 2], [3, 4, 0])],
)
def test_rows_that_would_see_each_other_are_refused(read: list[int], write: list[int]) -> None:
    with pytest.raises(ValueError, match="state slot"):
        check_apart(read, write)


@pytest.mark.parametrize(
    ("read", "write"), [([0], [0]), ([0, 1], [0, 1]), ([0, 0, 0], [1, 2, 3]), ([5, 5], [6, 7])]
)
def test_rows_in_place_and_rows_that_fork_one_source_are_legal(
    read: list[int], write: list[int]
) -> None:
    check_apart(read, write)
