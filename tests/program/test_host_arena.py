"""Law: an extent lies in the lowest free run that holds it; enough free granules are no run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import HostGranuleId
from ninfer_lab.program.storage.bitset import mask_of
from ninfer_lab.program.storage.host_arena import FreeRuns, HostArena

GRANULES = 24


class ListAllocator:
    """The same, as slowly and as plainly as can be: one truth value for every granule."""

    def __init__(self) -> None:
        self.taken = [False] * GRANULES

    def first_fit(self, run: int) -> int | None:
        for first in range(GRANULES - run + 1):
            if not any(self.taken[first : first + run]):
                return first
        return None

    def largest_hole(self) -> int:
        most = length = 0
        for taken in self.taken:
            length = 0 if taken else length + 1
            most = max(most, length)
        return most


@given(st.data())
def test_the_arena_is_a_list_of_granules(data: st.DataObject) -> None:  # spec: CAP-2
    plain, arena, runs = ListAllocator(), HostArena(GRANULES), list[tuple[int, int]]()
    for _ in range(data.draw(st.integers(1, 40))):
        gives_back = data.draw(st.booleans())
        if gives_back and runs:
            # A page is given back from the middle of its extent, which then has a hole.
            first, length = runs.pop(data.draw(st.integers(0, len(runs) - 1)))
            start = data.draw(st.integers(first, first + length - 1))
            arena.give_back(HostGranuleId(start), 1)
            plain.taken[start] = False
            rests = ((first, start - first), (start + 1, first + length - start - 1))
            runs.extend(rest for rest in rests if rest[1])
            continue
        run = data.draw(st.integers(1, 7))
        free_runs = arena.free_runs
        found = free_runs.copy().first_fit(run)
        assert found == plain.first_fit(run)
        if found is not None:
            arena.take(found, run)
            plain.taken[found : found + run] = [True] * run
            runs.append((found, run))
            assert free_runs.first_fit(run) == found
            assert free_runs.lengths == arena.free_runs.lengths
        assert arena.taken == mask_of(i for i, taken in enumerate(plain.taken) if taken)
        assert arena.free_runs.longest_granules == plain.largest_hole()


def test_free_granules_that_lie_apart_hold_no_extent() -> None:  # spec: CAP-2
    runs = FreeRuns(0b10101010, 8)
    assert (runs.lengths, runs.longest_granules) == ((1, 1, 1, 1), 1)
    assert runs.first_fit(2) is None
    assert runs.first_fit(1) == 0


def test_extents_placed_one_after_the_other_share_no_granule() -> None:  # spec: CAP-2
    runs = FreeRuns(0b1001000, 9)
    assert [runs.first_fit(run) for run in (2, 2, 1, 2, 1)] == [0, 4, 2, 7, None]
    assert runs.lengths == ()


@pytest.mark.parametrize(("run", "place"), [(1, 0), (7, 0), (8, 0), (9, None)])
def test_an_empty_arena_holds_what_is_not_larger(run: int, place: int | None) -> None:
    assert FreeRuns(0, 8).first_fit(run) == place


def test_what_is_taken_can_not_be_taken_nor_what_is_free_given_back() -> None:  # spec: ACC-2
    arena = HostArena(8)
    arena.take(HostGranuleId(2), 3)
    for first, run in ((4, 1), (0, 3), (7, 2)):
        with pytest.raises(InvariantBroken, match="CAP-2"):
            arena.take(HostGranuleId(first), run)
    for first, run in ((1, 2), (4, 2), (6, 1)):
        with pytest.raises(InvariantBroken, match="ACC-2"):
            arena.give_back(HostGranuleId(first), run)
    assert arena.taken == 0b11100
