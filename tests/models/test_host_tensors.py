"""Law: a Host replica is its Device bytes, in order, at its own slot or granule, nowhere else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from ninfer_lab.contract.capacity import NO_HOST_ARENA, HostArenaGeometry
from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.models.qwen3_5.geometries import TINY
from ninfer_lab.models.qwen3_5.host_tensors import HostTensors
from ninfer_lab.models.qwen3_5.measurement import kv_page_bytes, state_image_bytes
from ninfer_lab.models.qwen3_5.state_image import DeviceTensors

PAGE_GRANULES = 4
GRANULES = 11


def memory(dtype: ModelDtype = ModelDtype.FLOAT32) -> tuple[DeviceTensors, HostTensors]:
    """Four Device pages, and an arena of two pages and three granules."""
    device = DeviceTensors.allocate(TINY, page_count=4, state_slot_count=2, dtype=dtype)
    device.kv_pages.copy_(
        torch.randn(device.kv_pages.shape, generator=torch.Generator().manual_seed(1))
    )
    arena = HostArenaGeometry(
        granule_bytes=kv_page_bytes(TINY, dtype) // PAGE_GRANULES,
        granules_count=GRANULES,
        main_page_granules=PAGE_GRANULES,
    )
    return device, HostTensors.beside(device, state_slot_count=3, arena=arena)


@pytest.mark.parametrize("dtype", ModelDtype)
def test_the_bytes_are_those_that_were_asked_for(dtype: ModelDtype) -> None:  # spec: CAP-1
    _, host = memory(dtype)
    arena_bytes = GRANULES * kv_page_bytes(TINY, dtype) // PAGE_GRANULES
    assert host.granules_count == GRANULES
    assert host.allocated_bytes == arena_bytes + 3 * state_image_bytes(TINY, dtype)
    assert not any(part.is_pinned() for part in (host.conv_history, host.recurrent, host.kv_arena))


@pytest.mark.parametrize("dtype", ModelDtype)
def test_an_image_has_the_form_it_has_on_the_device(dtype: ModelDtype) -> None:  # spec: STATE-1
    device, host = memory(dtype)
    for there, here in zip(device.state_slice(1), host.state_slice(2), strict=True):
        assert (there.shape, there.dtype) == (here.shape, here.dtype)
        assert here.is_contiguous()


def test_pages_are_written_whole_from_their_granule_and_nowhere_else() -> None:
    device, host = memory()
    host.kv_arena.fill_(7)
    host.page_run_bytes(3, 2).copy_(device.page_run_bytes(1, 2))
    first = 3 * host.granule_bytes
    for ordinal, page in enumerate((1, 2)):
        start = first + ordinal * kv_page_bytes(TINY, ModelDtype.FLOAT32)
        stored = host.kv_arena[start : start + kv_page_bytes(TINY, ModelDtype.FLOAT32)]
        assert torch.equal(stored.view(torch.float32), device.page_slice(page).flatten())
    assert (host.kv_arena[:first] == 7).all()
    assert 3 + 2 * PAGE_GRANULES == GRANULES, "the second page ends the arena"


def test_poison_is_not_a_number_in_every_element_and_stays_in_its_place() -> None:
    for dtype in ModelDtype:
        device, host = memory(dtype)
        host.poison_page(2)
        host.poison_state(1)
        stored = host.page_run_bytes(2, 1).view(device.kv_pages.dtype)
        assert stored.isnan().all()
        first, end = 2 * host.granule_bytes, 6 * host.granule_bytes
        assert not host.kv_arena[:first].any()
        assert not host.kv_arena[end:].any()
        assert all(part.isnan().all() for part in host.state_slice(1))
        assert not any(part.any() for slot in (0, 2) for part in host.state_slice(slot))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (lambda host: host.state_slice(-1), "slot: found -1; legal: 0 <= slot < 3"),
        (lambda host: host.state_slice(3), "slot: found 3; legal: 0 <= slot < 3"),
        (lambda host: host.page_run_bytes(8, 1), "found 1 pages from 8; legal: 0 <= granule <= 7"),
        (lambda host: host.page_run_bytes(4, 2), "found 2 pages from 4; legal: 0 <= granule <= 3"),
        (lambda host: host.page_run_bytes(-1, 1), "found 1 pages from -1"),
    ],
)
def test_a_place_that_is_not_there_is_refused(
    asked: Callable[[HostTensors], object], said: str
) -> None:
    _, host = memory()
    with pytest.raises(ValueError, match=said):
        asked(host)


def test_a_run_of_device_pages_that_is_not_there_is_refused() -> None:
    device, _ = memory()
    for first, count in ((-1, 2), (3, 2)):
        with pytest.raises(ValueError, match="legal: 0 <= page < 4"):
            device.page_run_bytes(first, count)


def test_an_arena_that_pages_do_not_fill_exactly_is_refused() -> None:
    device, _ = memory()
    page_bytes = kv_page_bytes(TINY, ModelDtype.FLOAT32)
    odd = HostArenaGeometry(granule_bytes=page_bytes // 3, granules_count=9, main_page_granules=4)
    with pytest.raises(ValueError, match=f"legal: exactly the {page_bytes} bytes of a page"):
        HostTensors.beside(device, state_slot_count=1, arena=odd)


def test_no_arena_and_no_slot_take_nothing() -> None:
    device, _ = memory()
    host = HostTensors.beside(device, state_slot_count=0, arena=NO_HOST_ARENA)
    assert host.allocated_bytes == 0
    with pytest.raises(ValueError, match="state_slot_count: found -1"):
        HostTensors.beside(device, state_slot_count=-1, arena=NO_HOST_ARENA)
