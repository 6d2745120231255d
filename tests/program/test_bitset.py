"""Law: a set of ordinals and the integer that stands for it are the same set."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ninfer_lab.program.storage.bitset import (
    FEW_RUNS,
    mask_of,
    ordinals_of,
    run_mask,
    runs_count,
)

ORDINALS = st.frozensets(st.integers(0, 200), max_size=40)


@given(ORDINALS)
def test_a_set_comes_back_as_it_was(ordinals: frozenset[int]) -> None:
    mask = mask_of(ordinals)
    assert mask == sum(1 << ordinal for ordinal in ordinals)
    assert ordinals_of(mask) == tuple(sorted(ordinals))


@given(ORDINALS, ORDINALS)
def test_operations_on_sets_are_operations_on_integers(
    one: frozenset[int], other: frozenset[int]
) -> None:
    assert mask_of(one) | mask_of(other) == mask_of(one | other)
    assert mask_of(one) & ~mask_of(other) == mask_of(one - other)
    assert mask_of(one).bit_count() == len(one)


@pytest.mark.parametrize("count", [1, FEW_RUNS, FEW_RUNS + 1, 90])
def test_many_runs_are_read_as_few_are(count: int) -> None:
    ordinals = tuple(range(1, 2 * count, 2))
    assert ordinals_of(mask_of(ordinals)) == ordinals


@given(st.integers(0, 90), st.integers(0, 90))
def test_a_run_is_half_open(first: int, count: int) -> None:
    assert ordinals_of(run_mask(first, count)) == tuple(range(first, first + count))


@given(ORDINALS)
def test_a_run_begins_where_the_ordinal_before_is_missing(ordinals: frozenset[int]) -> None:
    begins = [ordinal for ordinal in ordinals if ordinal - 1 not in ordinals]
    assert runs_count(mask_of(ordinals)) == len(begins)
