"""Where are the replicas of every StateImage?

Owns the Device slots (C + H of them, one pool, no fixed pairing with lanes, STATE-1) and the Host
slots. An image exists as long as it has a replica; who refers to it is the holders' business. Does
not know contents or frontiers.
"""

from __future__ import annotations

from ninfer_lab.contract.ids import HostSlotId, StateImageId, StateSlotId
from ninfer_lab.contract.placement import ImageReplicas
from ninfer_lab.program.storage.place_pool import PlacePool
from ninfer_lab.program.storage.two_tiers import TwoTiers


class StateStore(TwoTiers[StateImageId, StateSlotId, HostSlotId]):
    """Whole images in two tiers.

    Attributes:
        host_places: Slots; one that is taken and filled by no image is held for one.
    """

    def __init__(self, device_slots: int, host_slots: int) -> None:
        slots = PlacePool("device state slots", device_slots, StateSlotId)
        super().__init__(StateImageId, device_slots + host_slots, slots)
        self.host_places = PlacePool("host state slots", host_slots, HostSlotId)

    def create(self, slot: StateSlotId) -> StateImageId:
        """A new image at a held Device slot."""
        (image,) = self._create((slot,))
        return image

    def create_on_host(self, slot: HostSlotId) -> StateImageId:
        """A new image at a held Host slot, where a copy of an active one has arrived."""
        image = self._free_ids.pop()
        self._host[image] = slot
        self._on_host |= 1 << image
        return image

    def drop(self, *, device_images: int, host_images: int) -> None:
        """Gives replicas up; an image without any is no more."""
        self._drop(device_images, host_images, lambda slot: self.host_places.give_back((slot,)))

    def device_slot(self, image: StateImageId) -> StateSlotId | None:
        return self._device.get(image)

    def host_slot(self, image: StateImageId) -> HostSlotId | None:
        return self._host.get(image)

    def replicas(self) -> tuple[ImageReplicas, ...]:
        """Every image there is, by id."""
        return tuple(map(ImageReplicas._make, self._each()))
