"""Law: a page is free exactly when nothing refers to it, and the same calls give the same ids."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import PageId
from ninfer_lab.program.storage.page_pool import PagePool


def pages(*ids: int) -> tuple[PageId, ...]:
    return tuple(PageId(i) for i in ids)


def test_pages_are_handed_out_in_order_and_reused_last_in_first_out() -> None:
    pool = PagePool(4)
    assert pool.allocate(3) == pages(0, 1, 2)
    pool.release(pages(0, 2))
    assert pool.allocate(3) == pages(2, 0, 3)
    assert pool.allocated_pages == pool.capacity_pages == 4


def test_a_shared_page_counts_once_and_goes_with_its_last_reference() -> None:  # spec: ACC-2
    pool = PagePool(2)
    (page,) = pool.allocate(1)
    pool.retain((page, page))
    assert (pool.references_of(page), pool.allocated_pages) == (3, 1)
    for left in (2, 1, 0):
        pool.release((page,))
        assert pool.references_of(page) == left
        assert pool.allocated_pages == (1 if left else 0)


def test_more_pages_than_are_free_is_a_bug_and_takes_none() -> None:
    pool = PagePool(2)
    pool.allocate(1)
    with pytest.raises(InvariantBroken, match="2 pages wanted, 1 free"):
        pool.allocate(2)
    assert pool.allocated_pages == 1


def test_a_free_page_can_neither_be_shared_nor_given_back() -> None:
    pool = PagePool(2)
    with pytest.raises(InvariantBroken, match="page 1 has no reference"):
        pool.retain(pages(1))
    with pytest.raises(InvariantBroken, match="page 1 has no reference"):
        pool.release(pages(1))


@given(st.lists(st.tuples(st.sampled_from(["allocate", "retain", "release"]), st.integers(0, 4))))
def test_references_are_what_was_taken_less_what_was_given_back(
    calls: list[tuple[str, int]],
) -> None:
    pool, model = PagePool(5), dict.fromkeys(range(5), 0)
    for call, page in calls:
        if call == "allocate" and 0 in model.values():
            (taken,) = pool.allocate(1)
            assert model[taken] == 0
            model[taken] = 1
        elif call == "retain" and model[page]:
            pool.retain(pages(page))
            model[page] += 1
        elif call == "release" and model[page]:
            pool.release(pages(page))
            model[page] -= 1
        assert dict(pool.references()) == {p: n for p, n in model.items() if n}
        assert pool.allocated_pages == sum(1 for n in model.values() if n)
