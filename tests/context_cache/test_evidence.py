"""Law: a candidate may do what the strongest of its reasons allows, and only repetition over
independent domains makes a silent one strong.
"""

from __future__ import annotations

import doctest

import pytest

from ninfer_lab.context_cache import evidence
from ninfer_lab.context_cache.demand_window import Demand, PrefixKey
from ninfer_lab.context_cache.evidence import CreationRight, creation_right, is_repeated
from ninfer_lab.contract.shared_prefix import Evidence

NONE, SURPLUS, PRESSURE = CreationRight.NONE, CreationRight.SURPLUS, CreationRight.PRESSURE
KEY, OTHER = PrefixKey(100, b"a"), PrefixKey(100, b"b")


def test_the_examples_hold() -> None:
    results = doctest.testmod(evidence)
    assert results.failed == 0
    assert results.attempted > 0


@pytest.mark.parametrize(
    ("reason", "at_first_sight", "with_the_old_rule"),
    [
        (Evidence.EXPLICIT_BOUNDARY, PRESSURE, PRESSURE),
        (Evidence.REQUESTED_AUTOMATIC, PRESSURE, PRESSURE),
        (Evidence.DEFAULT_AUTOMATIC, NONE, SURPLUS),
        (Evidence.ENGINE_STRUCTURAL, SURPLUS, SURPLUS),
        (Evidence.ENGINE_OBSERVED, NONE, NONE),
    ],
)
def test_the_table_of_rights(  # spec: EVD-1, EVD-5
    reason: Evidence, at_first_sight: CreationRight, with_the_old_rule: CreationRight
) -> None:
    assert creation_right(reason, repeated=False) is at_first_sight
    assert creation_right(reason, repeated=True) is PRESSURE
    old = creation_right(reason, repeated=False, automatic_markers_take_surplus=True)
    assert old is with_the_old_rule


def test_reasons_that_meet_give_the_strongest_right() -> None:  # spec: EVD-1
    marker = Evidence.DEFAULT_AUTOMATIC
    assert creation_right(marker | Evidence.ENGINE_STRUCTURAL, repeated=False) is SURPLUS
    assert creation_right(marker | Evidence.EXPLICIT_BOUNDARY, repeated=False) is PRESSURE
    assert creation_right(marker | Evidence.ENGINE_OBSERVED, repeated=False) is NONE


def demand(domain: bytes, *keys: PrefixKey) -> Demand:
    return Demand(domain=domain, keys=frozenset(keys))


def test_a_key_is_repeated_by_two_domains_and_by_nothing_less() -> None:  # spec: EVD-1
    assert not is_repeated(KEY, [])
    assert not is_repeated(KEY, [demand(b"x", KEY), demand(b"x", KEY), demand(b"y", OTHER)])
    assert is_repeated(KEY, [demand(b"x", KEY), demand(b"y", OTHER, KEY)])
