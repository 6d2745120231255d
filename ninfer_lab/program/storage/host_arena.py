"""Where does an extent find room in the packed Host KV arena?

Owns the map of granules and the one placement rule, first fit, that projection and execution
share: that enough granules are free does not say that a run of them is (CAP-2). Pages are given
back one by one, so an extent may shrink from anywhere. Does not know whose pages lie where.
"""

from __future__ import annotations

from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import HostGranuleId
from ninfer_lab.program.storage.bitset import run_mask


def first_fit(taken: int, granules_count: int, run_granules: int) -> HostGranuleId | None:
    """The lowest place of a free run, or `None`.

    Example: granules 0, 1 and 4 of 8 are taken.

    >>> first_fit(0b00010011, 8, 2), first_fit(0b00010011, 8, 3), first_fit(0b00010011, 8, 4)
    (2, 5, None)
    """
    begins = _run_begins(~taken & ((1 << granules_count) - 1), run_granules)
    return HostGranuleId((begins & -begins).bit_length() - 1) if begins else None


def largest_hole(taken: int, granules_count: int) -> int:
    """Granules of the longest free run.

    >>> largest_hole(0b00010011, 8)
    3
    """
    free = ~taken & ((1 << granules_count) - 1)
    most = 0
    while free:
        free &= free >> 1
        most += 1
    return most


def _run_begins(free: int, run_granules: int) -> int:
    """Bit `i` says that `[i, i + run_granules)` is free; the known run doubles in every round."""
    known = 1
    while known < run_granules and free:
        step = min(known, run_granules - known)
        free &= free >> step
        known += step
    return free


class HostArena:
    """Granules `[0, granules_count)`."""

    def __init__(self, granules_count: int) -> None:
        self.granules_count = granules_count
        self._taken = 0

    @property
    def taken(self) -> int:
        """The taken granules, as a set."""
        return self._taken

    def take(self, first: HostGranuleId, run_granules: int) -> None:
        """Takes a run that projection has found free."""
        run = run_mask(first, run_granules)
        if self._taken & run or first + run_granules > self.granules_count:
            raise InvariantBroken(
                "CAP-2 Host geometry", f"granules [{first}, {first + run_granules}) are not free"
            )
        self._taken |= run

    def give_back(self, first: HostGranuleId, run_granules: int) -> None:
        """A run is free again."""
        run = run_mask(first, run_granules)
        if self._taken & run != run:
            raise InvariantBroken(
                "ACC-2 places", f"granules [{first}, {first + run_granules}) were not all taken"
            )
        self._taken &= ~run
