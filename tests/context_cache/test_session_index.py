"""Law: a session is bound to its latest publication, and an owner belongs to one session."""

from __future__ import annotations

from itertools import permutations

import pytest

from ninfer_lab.context_cache.session_index import SessionIndex
from ninfer_lab.contract.ids import OwnerId, SessionKey

A, B = SessionKey("a"), SessionKey("b")


@pytest.mark.parametrize("orders", list(permutations((1, 2, 3))))
def test_the_latest_publication_wins_whatever_the_order_of_ends(  # spec: SES-1, INV-14
    orders: tuple[int, ...],
) -> None:
    index, stood = SessionIndex(), []
    for order in orders:
        stood.append(index.bind(A, OwnerId(order * 10), order))
    assert index.key_of(OwnerId(30)) == A
    assert [index.key_of(OwnerId(n)) for n in (10, 20)] == [None, None]
    running_best = [order == max(orders[: i + 1]) for i, order in enumerate(orders)]
    assert stood == running_best


def test_an_equal_order_replaces_nothing() -> None:  # spec: INV-14
    index = SessionIndex()
    assert index.bind(A, OwnerId(1), 5)
    assert not index.bind(A, OwnerId(2), 5)
    assert (index.key_of(OwnerId(1)), index.key_of(OwnerId(2))) == (A, None)


def test_an_owner_that_goes_to_another_session_leaves_the_first() -> None:
    index = SessionIndex()
    index.bind(A, OwnerId(1), 1)
    index.bind(B, OwnerId(1), 2)
    assert index.key_of(OwnerId(1)) == B
    assert index.bind(A, OwnerId(2), 1)


def test_a_forgotten_owner_belongs_to_nobody() -> None:
    index = SessionIndex()
    index.bind(A, OwnerId(1), 1)
    index.bind(B, OwnerId(2), 2)
    index.forget(OwnerId(1))
    assert (index.key_of(OwnerId(1)), index.key_of(OwnerId(2))) == (None, B)
    index.forget(OwnerId(1))
