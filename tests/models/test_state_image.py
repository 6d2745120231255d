"""Law: a slot and a page are copied, zeroed and spoiled whole, each in one or two runs of bytes,
and
no other slot or page changes.
"""

# spec: STATE-1

from __future__ import annotations

import pytest
import torch

from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.models.qwen3_5.geometries import TINY
from ninfer_lab.models.qwen3_5.state_image import DeviceTensors


def filled(dtype: ModelDtype = ModelDtype.FLOAT32) -> DeviceTensors:
    tensors = DeviceTensors.allocate(TINY, page_count=4, state_slot_count=3, dtype=dtype)
    generator = torch.Generator().manual_seed(1)
    for part in (tensors.conv_history, tensors.recurrent, tensors.kv_pages):
        part.copy_(torch.randn(part.shape, generator=generator))
    return tensors


def saved(tensors: DeviceTensors) -> list[torch.Tensor]:
    return [part.clone() for part in (tensors.conv_history, tensors.recurrent, tensors.kv_pages)]


@pytest.mark.parametrize("dtype", ModelDtype)
def test_a_copied_image_is_whole(dtype: ModelDtype) -> None:
    tensors = filled(dtype)
    history, recurrent, pages = saved(tensors)
    tensors.copy_state(2, 0)
    assert torch.equal(tensors.conv_history[0], history[2])
    assert torch.equal(tensors.recurrent[0], recurrent[2])
    assert torch.equal(tensors.conv_history[1:], history[1:])
    assert torch.equal(tensors.recurrent[1:], recurrent[1:])
    assert torch.equal(tensors.kv_pages, pages)


def test_a_copied_page_is_whole() -> None:
    tensors = filled()
    history, recurrent, pages = saved(tensors)
    tensors.copy_page(0, 3)
    assert torch.equal(tensors.kv_pages[3], pages[0])
    assert torch.equal(tensors.kv_pages[:3], pages[:3])
    assert torch.equal(tensors.conv_history, history)
    assert torch.equal(tensors.recurrent, recurrent)


def test_zero_and_poison_reach_one_image_or_page() -> None:
    tensors = filled()
    history, recurrent, pages = saved(tensors)
    tensors.zero_state(0)
    tensors.poison_state(1)
    tensors.poison_page(2)
    assert not any(part.any() for part in tensors.state_slice(0))
    assert all(part.isnan().all() for part in tensors.state_slice(1))
    assert tensors.page_slice(2).isnan().all()
    assert torch.equal(tensors.conv_history[2], history[2])
    assert torch.equal(tensors.recurrent[2], recurrent[2])
    assert torch.equal(tensors.kv_pages[[0, 1, 3]], pages[[0, 1, 3]])


def test_an_image_is_two_runs_of_bytes_and_a_page_is_one() -> None:
    tensors = filled()
    assert all(part.is_contiguous() for part in tensors.state_slice(1))
    assert tensors.page_slice(1).is_contiguous()


@pytest.mark.parametrize("index", [-1, 3])
def test_a_slot_that_is_not_there_is_refused(index: int) -> None:
    tensors = filled()
    for refused in (
        lambda: tensors.copy_state(0, index),
        lambda: tensors.copy_state(index, 0),
        lambda: tensors.zero_state(index),
        lambda: tensors.poison_state(index),
        lambda: tensors.check_pages((0, index + 1 if index > 0 else index)),
        lambda: tensors.page_slice(index + 1 if index > 0 else index),
    ):
        with pytest.raises(ValueError, match=r"legal: 0 <= (state slot|page) <"):
            refused()


def test_a_negative_count_is_refused() -> None:
    with pytest.raises(ValueError, match="page_count: found -1"):
        DeviceTensors.allocate(TINY, page_count=-1, state_slot_count=1, dtype=ModelDtype.FLOAT32)
