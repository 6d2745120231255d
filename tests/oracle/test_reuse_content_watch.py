"""Law: a watch over published contents sees any byte that changes below a frontier, and none
behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from ninfer_lab.contract.capacity import Axis, AxisUse, Occupancy
from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import CheckpointId, CheckpointRef, OwnerId, PageId, StateSlotId
from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.contract.placement import CheckpointPlacement, LedgerSnapshot, OwnerPlacement
from ninfer_lab.lab.restore_proof.content_watch import ContentWatch
from ninfer_lab.models.qwen3_5.geometries import TINY
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


def snapshot(slot: int = SLOT, pages: tuple[PageId, ...] = PAGES) -> LedgerSnapshot:
    summary = CheckpointSummary(
        ref=CheckpointRef(id=CheckpointId(7), owner=OwnerId(1)),
        kind=CheckpointKind.SESSION_ENDPOINT,
        frontier_tokens=FRONTIER_TOKENS,
        prefix_digest=b"",
    )
    placement = CheckpointPlacement(summary=summary, state_slot=StateSlotId(slot), pages=pages)
    owner = OwnerPlacement(
        owner=OwnerId(1), history_tokens=FRONTIER_TOKENS, checkpoints=(placement,)
    )
    state, kv = (
        AxisUse(axis=axis, allocated_count=1, reserved_count=0, capacity_count=6) for axis in Axis
    )
    return LedgerSnapshot(
        resource_revision=1,
        occupancy=Occupancy(device_state=state, device_kv=kv),
        owners=(owner,),
        sequences=(),
        state_references=(),
        state_pins=(),
        page_references=(),
        row_tables=(),
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
    watch = ContentWatch(tensors)
    watch.require(snapshot())
    watch.require(snapshot())
    change(tensors)
    with pytest.raises(InvariantBroken, match=rf"checkpoint 7 of owner 1 .*: {part} changed"):
        watch.require(snapshot())
    watch.require(snapshot())  # told once: the new bytes count from now on


def test_what_lies_behind_the_frontier_or_belongs_to_others_may_change() -> None:
    tensors = filled_tensors()
    watch = ContentWatch(tensors)
    watch.require(snapshot())
    tensors.kv_pages[2, :, :, 6:] = 0  # behind token 70
    tensors.poison_page(0)
    tensors.poison_state(2)
    watch.require(snapshot())


def test_a_checkpoint_may_move_but_only_as_it_is() -> None:  # spec: OWN-6
    tensors = filled_tensors()
    watch = ContentWatch(tensors)
    watch.require(snapshot())
    tensors.copy_state(SLOT, OTHER_SLOT)
    tensors.copy_page(PAGES[0], 5)
    moved = snapshot(slot=OTHER_SLOT, pages=(PageId(5), PAGES[1]))
    watch.require(moved)
    (change,) = watch.look(snapshot(slot=OTHER_SLOT, pages=(PageId(3), PAGES[1])))
    assert change.parts == ("page 0",)


def test_a_deleted_checkpoint_is_forgotten() -> None:
    tensors = filled_tensors()
    watch = ContentWatch(tensors)
    watch.require(snapshot())
    watch.require(replace(snapshot(), owners=()))
    tensors.poison_state(SLOT)
    watch.require(snapshot())  # another life of the same name would be a new checkpoint


def test_a_model_in_bfloat16_is_watched_alike() -> None:
    tensors = filled_tensors(ModelDtype.BFLOAT16)
    watch = ContentWatch(tensors)
    watch.require(snapshot())
    in_a_key(tensors)
    (change,) = watch.look(snapshot())
    assert change.parts == ("page 0",)
