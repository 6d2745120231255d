"""Law: value is counted once for each demand and loss once for each owner, and both saturate."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ninfer_lab.context_cache.demand_window import Demand, PrefixKey
from ninfer_lab.context_cache.portfolio_value import (
    empirical_value_ns,
    private_loss_ns,
    saving_ns,
)
from ninfer_lab.contract.fixed_point import U64_MAX

NS = st.integers(min_value=0, max_value=10**12)
KEYS = [PrefixKey(tokens, b"k") for tokens in (100, 200, 300)]


def test_a_saving_is_never_negative() -> None:  # spec: VAL-2
    assert (saving_ns(900, 150), saving_ns(150, 900), saving_ns(7, 7)) == (750, 0, 0)


@given(st.lists(NS, min_size=3, max_size=3))
def test_nested_prefixes_never_pay_twice(savings_ns: list[int]) -> None:  # spec: VAL-3, INV-16
    by_key = dict(zip(KEYS, savings_ns, strict=True))
    nested = Demand(domain=b"a", keys=frozenset(KEYS))
    assert empirical_value_ns([nested], by_key) == max(savings_ns)
    # Another one kept below the best of a demand adds nothing to it.
    worth = empirical_value_ns([nested], {KEYS[2]: savings_ns[2]})
    assert empirical_value_ns([nested], by_key) - worth == max(0, max(savings_ns) - savings_ns[2])


def test_demands_add_up() -> None:  # spec: VAL-3
    demands = [Demand(domain=b"a", keys=frozenset({key})) for key in KEYS[:2]]
    assert empirical_value_ns(demands, {KEYS[0]: 5, KEYS[1]: 7, KEYS[2]: 1_000}) == 12
    assert empirical_value_ns([], {KEYS[0]: 5}) == 0
    assert empirical_value_ns(demands, {KEYS[0]: U64_MAX, KEYS[1]: 1}) == U64_MAX


def test_the_difference_comes_before_the_largest() -> None:  # spec: VAL-4
    # The best checkpoint stays the best; the other one is what the owner has lost.
    assert private_loss_ns(4, [700, 900], [0, 900]) == 4 * 700
    assert private_loss_ns(4, [700, 900], [900, 900]) == 0
    assert private_loss_ns(1, [], []) == 0
    assert private_loss_ns(16, [U64_MAX], [0]) == U64_MAX


@given(st.lists(st.tuples(NS, NS, NS), min_size=1, max_size=4))
def test_a_loss_only_grows_downwards(rows: list[tuple[int, int, int]]) -> None:  # spec: VAL-4
    before = [b for b, _, _ in rows]
    middle = [min(b, m) for b, m, _ in rows]
    lower = [min(b, m, x) for b, m, x in rows]
    assert private_loss_ns(4, before, middle) <= private_loss_ns(4, before, lower)
