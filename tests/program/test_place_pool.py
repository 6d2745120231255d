"""Law: a place is taken by one at a time, and what is given back can be taken again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import StateSlotId
from ninfer_lab.program.storage.place_pool import PlacePool


def pool_of(count: int) -> PlacePool[StateSlotId]:
    return PlacePool("slots", count, StateSlotId)


def test_places_are_taken_from_the_lowest_and_the_last_one_back_goes_first() -> None:
    pool = pool_of(5)
    assert pool.take(3) == (0, 1, 2)
    pool.give_back((StateSlotId(0), StateSlotId(2)))
    assert pool.take(3) == (2, 0, 3)
    assert (pool.taken_count, pool.free_count) == (4, 1)


def test_more_than_are_free_is_refused_and_none_is_taken() -> None:  # spec: ACC-4
    pool = pool_of(2)
    pool.take(1)
    with pytest.raises(InvariantBroken, match="2 slots wanted, 1 free"):
        pool.take(2)
    assert pool.take(1) == (1,)


def test_a_place_is_given_back_once() -> None:  # spec: ACC-2
    pool = pool_of(2)
    (taken,) = pool.take(1)
    pool.give_back((taken,))
    with pytest.raises(InvariantBroken, match="slots 0 is free already"):
        pool.give_back((taken,))
    assert pool.free_count == 2


@given(st.lists(st.integers(-6, 6), max_size=30))
def test_no_place_is_ever_taken_twice(moves: list[int]) -> None:
    pool, held = pool_of(8), list[StateSlotId]()
    for move in moves:
        if move > 0:
            taken = pool.take(min(move, pool.free_count))
            assert not set(taken) & set(held)
            held.extend(taken)
        else:
            back, held = held[: -move or 0], held[-move or 0 :]
            pool.give_back(back)
        assert (pool.taken_count, pool.free_count) == (len(held), 8 - len(held))
