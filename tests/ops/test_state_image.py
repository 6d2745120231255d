"""Law: an image is copied whole and changes no other slot; rows that would see each other's writes
are refused.
"""

from __future__ import annotations

import pytest
import torch

from ninfer_kernels.state_image.reference import copy_slot, zero_slot
from ninfer_kernels.state_image.rows import check_apart
from ops.rows import normal


def test_a_copy_is_whole_and_touches_its_target_only() -> None:
    history, recurrent = normal(3, 2, 3, 5, seed=1), normal(3, 2, 2, 4, 4, seed=2)
    before = history.clone(), recurrent.clone()
    copy_slot(history, recurrent, 2, 0)
    for part, old in zip((history, recurrent), before, strict=True):
        assert torch.equal(part[0], old[2])
        assert torch.equal(part[1:], old[1:])
    zero_slot(history, recurrent, 1)
    assert not history[1].any()
    assert not recurrent[1].any()
    assert torch.equal(recurrent[2], before[1][2])


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
