"""Law: a state slot lives while a reference or a pin holds it, and a pin outlives the reference."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import StateSlotId
from ninfer_lab.program.storage.state_store import StateStore


def test_one_pool_serves_every_lane_and_every_checkpoint() -> None:  # spec: STATE-1
    store = StateStore(3)
    assert [store.allocate() for _ in range(3)] == [0, 1, 2]
    store.release(StateSlotId(1))
    assert (store.allocate(), store.allocated_slots, store.capacity_slots) == (1, 3, 3)


def test_a_pinned_slot_survives_its_last_reference() -> None:  # spec: STATE-3, STATE-4
    store = StateStore(2)
    slot = store.allocate()
    store.pin(slot)
    store.release(slot)
    assert (store.references(), store.pins()) == ((), ((slot, 1),))
    assert (store.holders_of(slot), store.allocated_slots) == (1, 1)
    assert store.allocate() != slot
    store.unpin(slot)
    assert store.allocated_slots == 1
    assert store.allocate() == slot


def test_a_slot_held_twice_is_one_image() -> None:  # spec: ACC-2
    store = StateStore(2)
    slot = store.allocate()
    store.retain(slot)
    assert (store.allocated_slots, store.holders_of(slot)) == (1, 2)
    store.release(slot)
    assert store.allocated_slots == 1
    store.release(slot)
    assert store.allocated_slots == 0


def test_nothing_is_taken_from_a_full_store() -> None:
    store = StateStore(1)
    store.allocate()
    with pytest.raises(InvariantBroken, match="none is free"):
        store.allocate()


@pytest.mark.parametrize("name", ["retain", "release", "pin", "unpin"])
def test_a_free_slot_can_not_be_held_or_let_go(name: str) -> None:
    store = StateStore(1)
    with pytest.raises(InvariantBroken, match="slot 0"):
        getattr(store, name)(StateSlotId(0))
    assert (store.references(), store.pins(), store.allocated_slots) == ((), (), 0)


def test_a_reference_is_no_pin() -> None:
    store = StateStore(1)
    slot = store.allocate()
    with pytest.raises(InvariantBroken, match="no pin"):
        store.unpin(slot)
    assert store.holders_of(slot) == 1
