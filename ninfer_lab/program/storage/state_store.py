"""Where are the replicas of every StateImage?

Owns the Device slots (C + H of them, one pool, no fixed pairing with lanes, STATE-1) and the Host
slots, and the map from an image to its places. An image exists as long as it has a replica; who
refers to it is the holders' business. Does not know contents or frontiers.
"""

from __future__ import annotations

from ninfer_lab.contract.ids import HostSlotId, StateImageId, StateSlotId
from ninfer_lab.contract.placement import ImageReplicas
from ninfer_lab.program.storage.bitset import ordinals_of
from ninfer_lab.program.storage.place_pool import PlacePool


class StateStore:
    """Whole images in two tiers.

    Attributes:
        device_places: Slots; one that is taken and filled by no image is held for one.
        host_places: The same on the Host.
    """

    def __init__(self, device_slots: int, host_slots: int) -> None:
        self.device_places = PlacePool("device state slots", device_slots, StateSlotId)
        self.host_places = PlacePool("host state slots", host_slots, HostSlotId)
        self._free_ids = [StateImageId(i) for i in reversed(range(device_slots + host_slots))]
        self._device: dict[StateImageId, StateSlotId] = {}
        self._host: dict[StateImageId, HostSlotId] = {}
        self._on_device = 0
        self._on_host = 0

    @property
    def on_device(self) -> int:
        """Images with a Device replica, as a set."""
        return self._on_device

    @property
    def on_host(self) -> int:
        """Images with a Host replica, as a set."""
        return self._on_host

    @property
    def device_count(self) -> int:
        """Images with a Device replica."""
        return len(self._device)

    @property
    def host_count(self) -> int:
        """Images with a Host replica."""
        return len(self._host)

    def create(self, slot: StateSlotId) -> StateImageId:
        """A new image at a held Device slot."""
        image = self._free_ids.pop()
        self._device[image] = slot
        self._on_device |= 1 << image
        return image

    def create_on_host(self, slot: HostSlotId) -> StateImageId:
        """A new image at a held Host slot, where a copy of an active one has arrived."""
        image = self._free_ids.pop()
        self._host[image] = slot
        self._on_host |= 1 << image
        return image

    def publish_device(self, image: StateImageId, slot: StateSlotId) -> None:
        """The image has been copied to a held Device slot."""
        assert image in self._host
        assert image not in self._device
        self._device[image] = slot
        self._on_device |= 1 << image

    def publish_host(self, image: StateImageId, slot: HostSlotId) -> None:
        """The image has been copied to a held Host slot."""
        assert image in self._device
        assert image not in self._host
        self._host[image] = slot
        self._on_host |= 1 << image

    def drop(self, *, device_images: int, host_images: int) -> None:
        """Gives replicas up; an image without any is no more."""
        if not device_images | host_images:
            return
        for image in map(StateImageId, ordinals_of(device_images)):
            self.device_places.give_back((self._device.pop(image),))
        for image in map(StateImageId, ordinals_of(host_images)):
            self.host_places.give_back((self._host.pop(image),))
        self._on_device &= ~device_images
        self._on_host &= ~host_images
        gone = (device_images | host_images) & ~(self._on_device | self._on_host)
        self._free_ids.extend(map(StateImageId, ordinals_of(gone)))

    def device_slot(self, image: StateImageId) -> StateSlotId | None:
        return self._device.get(image)

    def host_slot(self, image: StateImageId) -> HostSlotId | None:
        return self._host.get(image)

    def replicas(self) -> tuple[ImageReplicas, ...]:
        """Every image there is, by id."""
        return tuple(
            ImageReplicas(image, self._device.get(image), self._host.get(image))
            for image in sorted(self._device.keys() | self._host.keys())
        )
