"""How are nanoseconds computed so that every machine gets the same ones?

Owns the arithmetic of rates: a rate is an integer in units of 2^-32 ns (*Q32*), a product is
rounded up, and a result never exceeds 2^64 - 1, where it stays (*saturates*). No float takes part:
decisions and virtual time are then equal on every machine, bit by bit.
Does not know what is counted.
"""

from __future__ import annotations

U64_MAX = 2**64 - 1
"""Where every duration and every price saturates."""

Q32_ONE = 2**32
"""One nanosecond per unit."""


def saturated_sum(*terms: int) -> int:
    """The sum of non-negative terms, at most `U64_MAX`.

    >>> saturated_sum(U64_MAX, 1) == U64_MAX
    True
    """
    total = sum(terms)
    return total if total < U64_MAX else U64_MAX


def saturated_product(count: int, each: int) -> int:
    """`count * each`, at most `U64_MAX`."""
    product = count * each
    return product if product < U64_MAX else U64_MAX


def q32_product(count: int, rate_q32: int) -> int:
    """`count` units at `rate_q32` each, in whole ns: rounded up, at most `U64_MAX`.

    >>> q32_product(3, Q32_ONE // 2)  # 1.5 ns
    2
    """
    product = -(-count * rate_q32 // Q32_ONE)
    return product if product < U64_MAX else U64_MAX


def q32_rate(elapsed_ns: int, count: int) -> int:
    """The largest rate at which `count` units (at least one) take no more than `elapsed_ns`.

    >>> q32_product(1_000_000, q32_rate(700, 1_000_000))
    700
    """
    return elapsed_ns * Q32_ONE // count
