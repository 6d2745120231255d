"""Law: an image exists while it has a replica, and every replica has a place of its own."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import HostSlotId, StateImageId, StateSlotId
from ninfer_lab.program.storage.bitset import mask_of
from ninfer_lab.program.storage.state_store import StateStore


def created(store: StateStore) -> StateImageId:
    return store.create(store.device_places.take(1)[0])


def test_lanes_and_checkpoints_have_one_pool_of_whole_images() -> None:  # spec: STATE-1
    store = StateStore(3, 0)
    images = [created(store) for _ in range(3)]
    assert [store.device_slot(image) for image in images] == [0, 1, 2]
    store.drop(device_images=1 << images[1], host_images=0)
    again = created(store)
    assert store.device_slot(again) == 1
    assert store.device_places.free_count == 0
    with pytest.raises(InvariantBroken, match="1 device state slots wanted, 0 free"):
        created(store)


def test_an_image_lives_on_in_its_other_replica() -> None:  # spec: STATE-1, STATE-2
    store = StateStore(2, 2)
    image = created(store)
    store.publish_host(image, store.host_places.take(1)[0])
    assert store.replicas() == ((image, StateSlotId(0), HostSlotId(0)),)
    store.drop(device_images=1 << image, host_images=0)
    assert store.replicas() == ((image, None, HostSlotId(0)),)
    assert (store.on_device, store.on_host) == (0, 1 << image)
    store.publish_device(image, store.device_places.take(1)[0])
    store.drop(device_images=0, host_images=1 << image)
    assert store.replicas() == ((image, StateSlotId(0), None),)
    assert store.host_places.taken_count == 0


def test_the_id_of_an_image_without_replicas_is_free_again() -> None:
    store = StateStore(1, 1)
    image = created(store)
    store.publish_host(image, store.host_places.take(1)[0])
    store.drop(device_images=1 << image, host_images=0)
    other = created(store)
    assert other != image
    store.drop(device_images=1 << other, host_images=1 << image)
    assert store.replicas() == ()
    assert {created(store)} <= {image, other}


def test_a_saved_image_begins_on_the_host_and_may_come_to_the_device() -> None:  # spec: STATE-2
    store = StateStore(2, 1)
    written = created(store)
    saved = store.create_on_host(store.host_places.take(1)[0])
    assert (store.on_device, store.on_host) == (1 << written, 1 << saved)
    assert (store.device_slot(saved), store.host_slot(saved)) == (None, 0)
    store.publish_device(saved, store.device_places.take(1)[0])
    store.drop(device_images=1 << saved, host_images=1 << saved)
    assert [replicas.image for replicas in store.replicas()] == [written]
    assert store.host_places.taken_count == 0


def test_both_replicas_go_at_once() -> None:
    store = StateStore(1, 1)
    image = created(store)
    store.publish_host(image, store.host_places.take(1)[0])
    store.drop(device_images=1 << image, host_images=1 << image)
    assert (store.device_places.taken_count, store.host_places.taken_count) == (0, 0)
    assert created(store) == image


def test_a_replica_is_made_from_the_other_tier_and_only_once() -> None:
    store = StateStore(2, 1)
    image = created(store)
    with pytest.raises(AssertionError):
        store.publish_device(image, StateSlotId(1))
    store.publish_host(image, store.host_places.take(1)[0])
    with pytest.raises(AssertionError):
        store.publish_host(image, HostSlotId(0))
    with pytest.raises(AssertionError):
        store.publish_device(image, StateSlotId(1))


def test_a_replica_that_is_not_there_can_not_be_dropped() -> None:
    store = StateStore(1, 1)
    image = created(store)
    with pytest.raises(KeyError):
        store.drop(device_images=0, host_images=1 << image)
    assert store.on_device == mask_of((image,))
