"""Where does an extent find room in the packed Host KV arena?

Owns the map of granules and the one placement rule, first fit, that projection and execution
share: that enough granules are free does not say that a run of them is (CAP-2). Pages are given
back one by one, so an extent may shrink from anywhere. Does not know whose pages lie where.
"""

from __future__ import annotations

from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import HostGranuleId
from ninfer_lab.program.storage.bitset import run_mask


class FreeRuns:
    """The free runs of an arena, lowest first; whoever places an extent takes it from them.

    Example: granules 0, 1 and 4 of 8 are taken.

    >>> runs = FreeRuns(0b00010011, 8)
    >>> runs.lengths, runs.first_fit(3), runs.first_fit(4), runs.first_fit(2), runs.lengths
    ((2, 3), 5, None, 2, ())
    """

    __slots__ = ("_firsts", "_lengths")

    def __init__(self, taken: int, granules_count: int) -> None:
        self._firsts: list[int] = []
        self._lengths: list[int] = []
        free, passed = taken ^ ((1 << granules_count) - 1), 0
        while free:
            gap = (free & -free).bit_length() - 1
            free >>= gap
            # Adding one carries through the run: the lowest free bit is behind its end.
            length = (free + 1 & ~free).bit_length() - 1
            free >>= length
            self._firsts.append(passed + gap)
            self._lengths.append(length)
            passed += gap + length

    def copy(self) -> FreeRuns:
        """The same runs, to place other extents in."""
        copied = FreeRuns.__new__(FreeRuns)
        copied._firsts, copied._lengths = self._firsts[:], self._lengths[:]
        return copied

    def first_fit(self, run_granules: int) -> HostGranuleId | None:
        """Takes the lowest place of so many granules in a row; `None` if there is none."""
        for index, length in enumerate(self._lengths):
            if length >= run_granules:
                first = self._firsts[index]
                self._firsts[index] = first + run_granules
                self._lengths[index] = length - run_granules
                return HostGranuleId(first)
        return None

    @property
    def lengths(self) -> tuple[int, ...]:
        """Of the runs that are left, in granules, lowest first."""
        return tuple(length for length in self._lengths if length)

    @property
    def longest_granules(self) -> int:
        """Of the longest one; 0 if nothing is free."""
        return max(self._lengths, default=0)


class HostArena:
    """Granules `[0, granules_count)`."""

    def __init__(self, granules_count: int) -> None:
        self.granules_count = granules_count
        self._taken = 0

    @property
    def taken(self) -> int:
        """The taken granules, as a set."""
        return self._taken

    @property
    def free_runs(self) -> FreeRuns:
        """As they are now."""
        return FreeRuns(self._taken, self.granules_count)

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
