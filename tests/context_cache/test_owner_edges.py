"""Law: an owner is protected exactly while some active request that retains it has not settled."""

from __future__ import annotations

import pytest

from ninfer_lab.context_cache.owner_edges import OwnerEdges
from ninfer_lab.contract.ids import OwnerId, RequestId


def test_protection_ends_with_the_last_of_those_who_lean_on_it() -> None:  # spec: ROLE-5, TGT-2
    edges = OwnerEdges()
    edges.add(RequestId(1), OwnerId(7))
    edges.add(RequestId(2), OwnerId(7))
    edges.add(RequestId(3), OwnerId(8))
    edges.settle(RequestId(1))
    assert (edges.protects(OwnerId(7)), edges.protects(OwnerId(8))) == (True, True)
    edges.settle(RequestId(2))
    assert (edges.protects(OwnerId(7)), edges.protects(OwnerId(8))) == (False, True)


def test_a_request_without_an_edge_settles_too() -> None:
    edges = OwnerEdges()
    edges.add(RequestId(1), OwnerId(7))
    edges.settle(RequestId(2))
    assert edges.protects(OwnerId(7))


def test_a_request_has_one_source() -> None:
    edges = OwnerEdges()
    edges.add(RequestId(1), OwnerId(7))
    with pytest.raises(AssertionError):
        edges.add(RequestId(1), OwnerId(8))
    assert not edges.protects(OwnerId(8))


def test_owners_that_others_lean_on_are_listed_once() -> None:  # spec: BKF-1
    edges = OwnerEdges()
    for request, owner in ((1, 7), (2, 8), (3, 7), (4, 9)):
        edges.add(RequestId(request), OwnerId(owner))
    assert edges.owners_besides(()) == (7, 8, 9)
    # A donor's edge ends with it; an owner that somebody else leans on, too, stays.
    assert edges.owners_besides((RequestId(1), RequestId(4))) == (8, 7)
    assert edges.owners_besides((RequestId(1), RequestId(3))) == (8, 9)
