"""Law: a watch over published contents sees any byte that changes below a frontier, and none
behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from ninfer_lab.contract.capacity import Capacity, HostArenaGeometry, Occupancy
from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import (
    CheckpointId,
    CheckpointRef,
    HostGranuleId,
    HostSlotId,
    KvPageId,
    OwnerId,
    PageId,
    StateImageId,
    StateSlotId,
)
from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.contract.placement import (
    CheckpointPlacement,
    ImageReplicas,
    LedgerSnapshot,
    OwnerPlacement,
    PageReplicas,
)
from ninfer_lab.contract.placement_change import empty_ledger
from ninfer_lab.lab.restore_proof.content_watch import ContentWatch
from ninfer_lab.models.qwen3_5.geometries import TINY
from ninfer_lab.models.qwen3_5.host_tensors import HostTensors
from ninfer_lab.models.qwen3_5.state_image import DeviceTensors

SLOT, OTHER_SLOT = 1, 3
PAGES = (PageId(4), PageId(2))
FRONTIER_TOKENS = 70
"""The second page holds six tokens that count."""


def filled_tensors(dtype: ModelDtype = ModelDtype.FLOAT32) -> DeviceTensors:
    tensors = DeviceTensors.allocate(TINY, page_count=6, state_slot_count=4, dtype=dtype)
    generator = torch.Generator().manual_seed(1)
    for tensor in (tensors.conv_history, tensors.recurrent, tensors.kv_pages):
        tensor.copy_(torch.randn(tensor.shape, generator=generator))
    return tensors


def host_beside(tensors: DeviceTensors) -> HostTensors:
    page_bytes = tensors.page_slice(0).nbytes
    arena = HostArenaGeometry.divide(
        3 * page_bytes, main_page_bytes=page_bytes, backend_page_bytes=None
    )
    return HostTensors.beside(tensors, state_slot_count=2, arena=arena)


def watch_over(tensors: DeviceTensors, host: HostTensors | None = None) -> ContentWatch:
    return ContentWatch(tensors, host_beside(tensors) if host is None else host)


def snapshot(
    slot: int | None = SLOT,
    pages: tuple[PageId | None, ...] = PAGES,
    *,
    host_slot: int | None = None,
    host_granules: tuple[int | None, ...] = (None, None),
) -> LedgerSnapshot:
    """One checkpoint of two logical pages, with replicas where it is said."""
    summary = CheckpointSummary(
        ref=CheckpointRef(id=CheckpointId(7), owner=OwnerId(1)),
        kind=CheckpointKind.SESSION_ENDPOINT,
        frontier_tokens=FRONTIER_TOKENS,
        prefix_digest=b"",
    )
    image, logical = StateImageId(0), (KvPageId(0), KvPageId(1))
    placement = CheckpointPlacement(summary=summary, image=image, pages=logical)
    owner = OwnerPlacement(
        owner=OwnerId(1), history_tokens=FRONTIER_TOKENS, checkpoints=(placement,)
    )
    capacity = Capacity(device_state_slots=4, device_kv_pages=6)
    occupancy = Occupancy.of(capacity, ((1, 0), (0, 0), (2, 0), (0, 0), (0, 0)))
    return replace(
        empty_ledger(occupancy),
        owners=(owner,),
        images=(
            ImageReplicas(
                image=image,
                device_slot=None if slot is None else StateSlotId(slot),
                host_slot=None if host_slot is None else HostSlotId(host_slot),
            ),
        ),
        pages=tuple(
            PageReplicas(
                page=page,
                device_page=device,
                host_granule=None if granule is None else HostGranuleId(granule),
            )
            for page, device, granule in zip(logical, pages, host_granules, strict=True)
        ),
    )


def in_conv(tensors: DeviceTensors) -> None:
    tensors.conv_history[SLOT, 2, 0, 5] += 1


def in_recurrent(tensors: DeviceTensors) -> None:
    tensors.recurrent[SLOT, 0, 3, 31, 31] *= -1


def in_a_key(tensors: DeviceTensors) -> None:
    tensors.kv_pages[4, 0, 0, 63, 1, 31] += 1


def in_a_value_of_the_tail(tensors: DeviceTensors) -> None:
    tensors.kv_pages[2, 0, 1, 5, 0, 0] += 1


def by_the_sign_of_a_zero(tensors: DeviceTensors) -> None:
    tensors.conv_history[SLOT, 0, 0, 0] = -0.0


CHANGES: list[tuple[Callable[[DeviceTensors], None], str]] = [
    (in_conv, "conv"),
    (in_recurrent, "recurrent"),
    (in_a_key, "page 0"),
    (in_a_value_of_the_tail, "page 1"),
    (by_the_sign_of_a_zero, "conv"),
]


@pytest.mark.parametrize(("change", "part"), CHANGES, ids=[c[0].__name__ for c in CHANGES])
def test_a_changed_byte_is_seen_and_its_place_is_told(
    change: Callable[[DeviceTensors], None], part: str
) -> None:  # spec: OWN-6
    tensors = filled_tensors()
    tensors.conv_history[SLOT, 0, 0, 0] = 0.0
    watch = watch_over(tensors)
    watch.require(snapshot())
    watch.require(snapshot())
    change(tensors)
    with pytest.raises(InvariantBroken, match=rf"checkpoint 7 of owner 1 .*: {part} changed"):
        watch.require(snapshot())
    watch.require(snapshot())  # told once: the new bytes count from now on


def test_what_lies_behind_the_frontier_or_belongs_to_others_may_change() -> None:
    tensors = filled_tensors()
    watch = watch_over(tensors)
    watch.require(snapshot())
    tensors.kv_pages[2, :, :, 6:] = 0  # behind token 70
    tensors.poison_page(0)
    tensors.poison_state(2)
    watch.require(snapshot())


def test_a_checkpoint_may_move_but_only_as_it_is() -> None:  # spec: OWN-6
    tensors = filled_tensors()
    watch = watch_over(tensors)
    watch.require(snapshot())
    tensors.copy_state(SLOT, OTHER_SLOT)
    tensors.copy_page(PAGES[0], 5)
    moved = snapshot(slot=OTHER_SLOT, pages=(PageId(5), PAGES[1]))
    watch.require(moved)
    (change,) = watch.look(snapshot(slot=OTHER_SLOT, pages=(PageId(3), PAGES[1])))
    assert change.parts == ("page 0",)


def demoted_to(host: HostTensors, tensors: DeviceTensors) -> LedgerSnapshot:
    """The whole checkpoint on the Host alone, as copies leave it."""
    for mine, theirs in zip(host.state_slice(1), tensors.state_slice(SLOT), strict=True):
        mine.copy_(theirs)
    for granule, page in ((2, PAGES[0]), (0, PAGES[1])):
        host.page_run_bytes(granule, 1).copy_(tensors.page_run_bytes(page, 1))
    return snapshot(slot=None, pages=(None, None), host_slot=1, host_granules=(2, 0))


def test_a_checkpoint_on_the_host_is_watched_as_on_the_device() -> None:  # spec: OWN-6
    tensors = filled_tensors()
    host = host_beside(tensors)
    watch = watch_over(tensors, host)
    watch.require(snapshot())
    demoted = demoted_to(host, tensors)
    tensors.poison_state(SLOT)
    tensors.poison_page(PAGES[0])
    watch.require(demoted)
    host.recurrent[1, 0, 3, 31, 31] *= -1
    host.page_run_bytes(0, 1)[0] ^= 1
    (change,) = watch.look(demoted)
    assert change.parts == ("recurrent on the Host", "page 1 on the Host")


def test_two_replicas_of_one_content_may_not_differ() -> None:  # spec: OWN-6
    tensors = filled_tensors()
    host = host_beside(tensors)
    demoted_to(host, tensors)
    both = snapshot(host_slot=1, host_granules=(2, None))
    watch_over(tensors, host).require(both)
    host.conv_history[1, 2, 0, 5] += 1
    (change,) = watch_over(tensors, host).look(both)
    assert change.parts == ("conv on the Host",)


def test_a_deleted_checkpoint_is_forgotten() -> None:
    tensors = filled_tensors()
    watch = watch_over(tensors)
    watch.require(snapshot())
    watch.require(replace(snapshot(), owners=()))
    tensors.poison_state(SLOT)
    watch.require(snapshot())  # another life of the same name would be a new checkpoint


def test_a_model_in_bfloat16_is_watched_alike() -> None:
    tensors = filled_tensors(ModelDtype.BFLOAT16)
    watch = watch_over(tensors)
    watch.require(snapshot())
    in_a_key(tensors)
    (change,) = watch.look(snapshot())
    assert change.parts == ("page 0",)
