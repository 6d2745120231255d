"""Law: a content is there exactly as long as it has a replica, whatever comes and goes."""

from __future__ import annotations

from random import Random

import pytest

from ninfer_lab.contract.ids import HostSlotId, StateImageId
from ninfer_lab.program.storage.bitset import mask_of
from ninfer_lab.program.storage.state_store import StateStore

STEPS = 400


def test_the_map_is_two_plain_maps() -> None:  # spec: ACC-2
    draw, store = Random(1), StateStore(6, 4)
    device: dict[StateImageId, int] = {}
    host: dict[StateImageId, HostSlotId] = {}
    for _ in range(STEPS):
        both = [*device.keys() & host.keys()]
        match draw.choice(("create", "to host", "to device", "drop")):
            case "create" if store.device_places.free_count and len(device.keys() | host) < 10:
                (slot,) = store.device_places.take(1)
                image = store.create(slot)
                assert image not in device.keys() | host.keys()
                device[image] = slot
            case "to host" if device.keys() - host.keys() and store.host_places.free_count:
                image = min(device.keys() - host.keys())
                (host[image],) = store.host_places.take(1)
                store.publish_host(image, host[image])
            case "to device" if host.keys() - device.keys() and store.device_places.free_count:
                image = min(host.keys() - device.keys())
                (slot,) = store.device_places.take(1)
                device[image] = slot
                store.publish_device(image, slot)
            case "drop":
                gone = [i for i in device if draw.random() < 0.3]
                spilt = [i for i in (*both, *gone) if i in host and draw.random() < 0.5]
                store.drop(device_images=mask_of(gone), host_images=mask_of(spilt))
                for image in gone:
                    del device[image]
                for image in set(spilt):
                    del host[image]
            case _:
                continue
        assert (store.on_device, store.on_host) == (mask_of(device), mask_of(host))
        assert (store.device_count, store.host_count) == (len(device), len(host))
        assert [(i, d, h) for i, d, h in store.replicas()] == [
            (image, device.get(image), host.get(image)) for image in sorted(device.keys() | host)
        ]
        assert store.device_places.taken_count == len(device)
        assert store.host_places.taken_count == len(host)


def test_a_replica_is_copied_from_the_other_tier_once() -> None:
    store = StateStore(2, 1)
    image = store.create(store.device_places.take(1)[0])
    with pytest.raises(AssertionError):
        store.publish_device(image, store.device_places.take(1)[0])
    store.publish_host(image, store.host_places.take(1)[0])
    with pytest.raises(AssertionError):
        store.publish_host(image, HostSlotId(0))
