"""Law: a rate times a count is the exact product rounded up, and nothing exceeds 2^64 - 1."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from ninfer_lab.contract.fixed_point import (
    Q32_ONE,
    U64_MAX,
    q32_product,
    q32_rate,
    saturated_product,
    saturated_sum,
)

u64 = st.integers(0, U64_MAX)


@given(count=u64, rate_q32=u64)
def test_a_product_is_the_least_integer_not_below_the_exact_one(count: int, rate_q32: int) -> None:
    exact = Fraction(count * rate_q32, Q32_ONE)
    product = q32_product(count, rate_q32)
    if exact > U64_MAX:
        assert product == U64_MAX
    else:
        assert exact <= product < exact + 1


def test_products_at_the_edges() -> None:
    assert q32_product(0, U64_MAX) == 0
    assert q32_product(U64_MAX, 0) == 0
    assert q32_product(1, 1) == 1  # 2^-32 ns is a whole one
    assert q32_product(Q32_ONE, 1) == 1
    assert q32_product(Q32_ONE + 1, 1) == 2
    assert q32_product(U64_MAX, Q32_ONE) == U64_MAX
    assert q32_product(U64_MAX, Q32_ONE + 1) == U64_MAX
    assert q32_product(U64_MAX, U64_MAX) == U64_MAX


@given(terms=st.lists(u64, max_size=5))
def test_a_sum_is_exact_until_it_saturates(terms: list[int]) -> None:
    assert saturated_sum(*terms) == min(sum(terms), U64_MAX)


def test_sums_and_products_saturate() -> None:
    assert saturated_sum() == 0
    assert saturated_sum(U64_MAX, U64_MAX) == U64_MAX
    assert saturated_sum(U64_MAX - 1, 1) == U64_MAX
    assert saturated_product(2**32, 2**32) == U64_MAX
    assert saturated_product(2**32, 2**32 - 1) == 2**64 - 2**32


@given(elapsed_ns=st.integers(0, 2**50), count=st.integers(1, 2**32))
def test_a_rate_gives_back_the_time_it_was_made_from(elapsed_ns: int, count: int) -> None:
    rate = q32_rate(elapsed_ns, count)
    assert q32_product(count, rate) == elapsed_ns
    # and no larger rate would: the exact product would be more than that time.
    assert rate * count <= elapsed_ns * Q32_ONE < (rate + 1) * count
