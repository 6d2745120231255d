"""Which places of one kind are taken?

Owns a free list of Device slots, Host slots or Device pages. A place that is taken is filled by a
replica or held for one (ACC-1); which of the two is the stores' business. Does not know contents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from ninfer_lab.contract.errors import InvariantBroken

Place = TypeVar("Place", bound=int)


class PlacePool(Generic[Place]):
    """Places `[0, capacity_count)`.

    The free list is a stack whose order depends on nothing but the calls made, so the same run
    gives the same places.
    """

    def __init__(self, what: str, capacity_count: int, place: Callable[[int], Place]) -> None:
        self._what = what
        self._capacity_count = capacity_count
        self._free = [place(i) for i in reversed(range(capacity_count))]
        self._is_free = bytearray(b"\1" * capacity_count)

    @property
    def taken_count(self) -> int:
        return self._capacity_count - len(self._free)

    @property
    def free_count(self) -> int:
        return len(self._free)

    def take(self, count: int) -> tuple[Place, ...]:
        """Takes free places.

        Raises:
            InvariantBroken: More than are free. Callers prove room first (STG-1), so this is a bug.
        """
        if count > len(self._free):
            raise InvariantBroken(
                "ACC-4 occupancy", f"{count} {self._what} wanted, {len(self._free)} free"
            )
        taken = tuple(self._free[len(self._free) - count :][::-1])
        del self._free[len(self._free) - count :]
        for place in taken:
            self._is_free[place] = 0
        return taken

    def give_back(self, places: Iterable[Place]) -> None:
        """These are free again."""
        for place in places:
            if self._is_free[place]:
                raise InvariantBroken("ACC-2 places", f"{self._what} {place} is free already")
            self._is_free[place] = 1
            self._free.append(place)
