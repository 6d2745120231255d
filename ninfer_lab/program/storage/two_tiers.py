"""Which contents are there, and where are their replicas in either tier?

Owns the map that images and pages share: a content exists as long as it has a replica, on the
Device, on the Host or on both, and its id is given again once it has none. Does not know what a
content is, nor whose it is; where a Host replica lies is told to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from ninfer_lab.program.storage.bitset import mask_of, ordinals_of
from ninfer_lab.program.storage.place_pool import PlacePool

Content = TypeVar("Content", bound=int)
DevicePlace = TypeVar("DevicePlace", bound=int)
HostPlace = TypeVar("HostPlace", bound=int)


class TwoTiers(Generic[Content, DevicePlace, HostPlace]):
    """Contents of one kind.

    Args:
        content: Names an id.
        contents_count: The most there can be: one for each place of either tier.

    Attributes:
        device_places: One that is taken and filled by no content is held for one.
    """

    def __init__(
        self,
        content: Callable[[int], Content],
        contents_count: int,
        device_places: PlacePool[DevicePlace],
    ) -> None:
        self.device_places = device_places
        self._content = content
        self._free_ids = [content(i) for i in reversed(range(contents_count))]
        self._device: dict[Content, DevicePlace] = {}
        self._host: dict[Content, HostPlace] = {}
        self._on_device = 0
        self._on_host = 0

    @property
    def on_device(self) -> int:
        """Contents with a Device replica, as a set."""
        return self._on_device

    @property
    def on_host(self) -> int:
        """Contents with a Host replica, as a set."""
        return self._on_host

    @property
    def device_count(self) -> int:
        """Contents with a Device replica."""
        return len(self._device)

    @property
    def host_count(self) -> int:
        """Contents with a Host replica."""
        return len(self._host)

    def publish_device(self, content: Content, place: DevicePlace) -> None:
        """The content has been copied to a held Device place."""
        assert content in self._host
        assert content not in self._device
        self._device[content] = place
        self._on_device |= 1 << content

    def publish_host(self, content: Content, place: HostPlace) -> None:
        """The content has been copied to a held Host place."""
        assert content in self._device
        assert content not in self._host
        self._host[content] = place
        self._on_host |= 1 << content

    def _create(self, places: Iterable[DevicePlace]) -> tuple[Content, ...]:
        """New contents at held Device places."""
        created = []
        for place in places:
            content = self._free_ids.pop()
            self._device[content] = place
            created.append(content)
        self._on_device |= mask_of(created)
        return tuple(created)

    def _drop(
        self, on_device: int, on_host: int, give_back_host: Callable[[HostPlace], None]
    ) -> None:
        """Gives replicas up; a content without any is no more."""
        if not on_device | on_host:
            return
        for content in map(self._content, ordinals_of(on_device)):
            self.device_places.give_back((self._device.pop(content),))
        for content in map(self._content, ordinals_of(on_host)):
            give_back_host(self._host.pop(content))
        self._on_device &= ~on_device
        self._on_host &= ~on_host
        gone = (on_device | on_host) & ~(self._on_device | self._on_host)
        self._free_ids.extend(map(self._content, ordinals_of(gone)))

    def _each(self) -> Iterator[tuple[Content, DevicePlace | None, HostPlace | None]]:
        """Every content there is and where it lies, by id."""
        for content in sorted(self._device.keys() | self._host.keys()):
            yield content, self._device.get(content), self._host.get(content)
