"""Law: a demand counts once, for the prefix that spares it most."""

from __future__ import annotations

import pytest

from context_cache.decisions import BYTE_NS, CALL_NS, price
from lab.test_prefix_worth import REBUILD_NS, prefill_ns
from ninfer_lab.context_cache.demand_window import DEMAND_WINDOW_REQUESTS
from ninfer_lab.engine.decision_problem import Where
from ninfer_lab.lab.demand_worth import KeptPrefix, demands_of, key_of, portfolio
from ninfer_lab.lab.planner_problems import PAGE_BYTES, STATE_IMAGE_BYTES

PREFIXES = (
    KeptPrefix(name="long", frontier_tokens=640, within="short"),
    KeptPrefix(name="short", frontier_tokens=320),
)


def test_a_nested_prefix_never_pays_twice() -> None:  # spec: VAL-3, INV-16
    demands = demands_of(PREFIXES, {"long": 1}, seed=0, requests_count=3)
    assert all(len(demand.keys) == 2 for demand in demands)
    kept = portfolio(PREFIXES, demands, price)
    assert kept.empirical_ns == 3 * REBUILD_NS
    assert (kept.alone_ns("long"), kept.added_ns("long")) == (
        3 * REBUILD_NS,
        3 * (REBUILD_NS - prefill_ns(0, 320)),
    )
    assert (kept.alone_ns("short"), kept.added_ns("short")) == (3 * prefill_ns(0, 320), 0)
    assert all(kept.paid_by(demand) == key_of(PREFIXES[0]) for demand in demands)


def test_without_a_prefix_its_demands_fall_back() -> None:  # spec: VAL-3
    demands = demands_of(PREFIXES, {"long": 2, "short": 1, None: 1}, seed=1)
    assert len(demands) == DEMAND_WINDOW_REQUESTS
    kept = portfolio(PREFIXES, demands, price)
    less = kept.without("long")
    assert kept.empirical_ns - less.empirical_ns == kept.added_ns("long") > 0
    matched = [demand for demand in demands if demand.keys]
    assert all(less.paid_by(demand) == key_of(PREFIXES[1]) for demand in matched)
    assert [kept.paid_by(d) for d in demands if not d.keys] == [None] * (32 - len(matched))
    assert len(matched) < 32


def test_the_window_forgets_the_oldest() -> None:  # spec: VAL-1
    few = demands_of(PREFIXES, {"long": 1, "short": 1}, seed=4, requests_count=40)
    assert len(few) == DEMAND_WINDOW_REQUESTS
    again = demands_of(PREFIXES, {"long": 1, "short": 1}, seed=4, requests_count=40)
    assert few == again != demands_of(PREFIXES, {"long": 1, "short": 1}, seed=5)
    assert len({demand.domain for demand in few}) == DEMAND_WINDOW_REQUESTS


def test_credit_counts_once_and_beside_the_demands() -> None:  # spec: VAL-3
    asked = KeptPrefix(name="asked for", frontier_tokens=640, has_credit=True)
    demands = demands_of(PREFIXES, {"long": 1}, seed=0)
    kept = portfolio([*PREFIXES, asked], demands, price)
    assert (kept.added_ns("asked for"), kept.credit_ns) == (0, REBUILD_NS)
    assert kept.public_ns == kept.empirical_ns + REBUILD_NS
    assert kept.without("asked for").public_ns == kept.empirical_ns


@pytest.mark.parametrize("place", [Where.HOST, Where.BOTH, None])
def test_a_prefix_is_worth_what_its_place_allows(place: Where | None) -> None:  # spec: VAL-2
    (prefix,) = (KeptPrefix(name="one", frontier_tokens=32_000, place=place),)
    kept = portfolio([prefix], demands_of([prefix], {"one": 1}, seed=0, requests_count=1), price)
    whole_ns = prefill_ns(0, 32_000)
    copied_ns = (STATE_IMAGE_BYTES + 500 * PAGE_BYTES) * BYTE_NS + 3 * CALL_NS
    expected = {Where.HOST: whole_ns - copied_ns, Where.BOTH: whole_ns, None: 0}
    assert kept.empirical_ns == expected[place]
