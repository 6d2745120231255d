"""Law: a draw inverts the truncated distribution in one total order, so that equal logits, equal
numbers and equal options give equal tokens on any machine.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ninfer_kernels.sampling.reference import draw, greedy

LOGITS = torch.tensor([0.0, math.log(4.0), math.log(3.0), -torch.inf, math.log(2.0)])
"""Shares 1 : 4 : 3 : 0 : 2 of ten; in order of size the tokens are 1, 2, 4, 0, 3."""


def sweep(top_k: int | None = None, top_p: float = 1.0, temperature: float = 1.0) -> list[int]:
    """The token of each of a thousand evenly spaced numbers."""
    return [draw(LOGITS, temperature, top_k, top_p, (step + 0.5) / 1000) for step in range(1000)]


def counts(tokens: list[int]) -> dict[int, int]:
    return {token: tokens.count(token) for token in sorted(set(tokens))}


def test_every_token_gets_its_share_and_the_larger_come_first() -> None:
    drawn = sweep()
    assert counts(drawn) == {0: 100, 1: 400, 2: 300, 4: 200}
    assert drawn == [1] * 400 + [2] * 300 + [4] * 200 + [0] * 100


def test_top_k_keeps_the_k_most_probable() -> None:
    assert counts(sweep(top_k=1)) == {1: 1000}
    assert counts(sweep(top_k=2)) == {1: 571, 2: 429}  # 4 : 3
    assert counts(sweep(top_k=99)) == counts(sweep())


@pytest.mark.parametrize(
    ("top_p", "kept"), [(0.01, {1}), (0.39, {1}), (0.41, {1, 2}), (0.69, {1, 2}), (0.71, {1, 2, 4})]
)
def test_top_p_keeps_the_shortest_part_that_reaches_the_mass(top_p: float, kept: set[int]) -> None:
    assert set(sweep(top_p=top_p)) == kept


def test_top_p_counts_the_mass_that_top_k_left() -> None:
    # Of tokens 1 and 2 alone the first holds 4/7 = 0.571.
    assert set(sweep(top_k=2, top_p=0.57)) == {1}
    assert set(sweep(top_k=2, top_p=0.58)) == {1, 2}


def test_temperature_sharpens_and_flattens() -> None:
    assert counts(sweep(temperature=0.5)) == {0: 33, 1: 533, 2: 300, 4: 134}  # 1 : 16 : 9 : 4
    assert set(sweep(temperature=0.01)) == {1}


def test_an_impossible_token_is_never_drawn() -> None:
    edge = 1.0 - 2.0**-53  # the largest number the generator gives
    assert draw(LOGITS, 1.0, None, 1.0, edge) == 0
    assert draw(LOGITS, 50.0, None, 1.0, edge) == 0


@given(st.permutations(range(6)), st.integers(0, 999))
def test_equal_logits_are_taken_in_the_order_of_their_ids(order: list[int], step: int) -> None:
    # Three pairs of equals; whatever else moves, the smaller id of a pair comes first.
    logits = torch.tensor([2.0, 2.0, 1.0, 1.0, 0.0, 0.0])[order]
    # Forty numbers: the rarest token holds a share of 0.045.
    drawn = [draw(logits, 1.0, None, 1.0, (each + step / 1000) / 40) for each in range(40)]
    by_first_appearance = list(dict.fromkeys(drawn))
    assert by_first_appearance == sorted(range(6), key=lambda token: (-float(logits[token]), token))


@given(
    st.lists(st.integers(0, 7), min_size=1, max_size=12).filter(any),
    st.integers(0, 9_999),
)
def test_a_draw_equals_exact_arithmetic(weights: list[int], step: int) -> None:
    number = Fraction(2 * step + 1, 20_000)
    order = sorted(range(len(weights)), key=lambda token: (-weights[token], token))
    reached, total = Fraction(0), sum(weights)
    expected = None
    for token in order:
        reached += Fraction(weights[token], total)
        if reached > number:
            expected = token
            break
        if reached == number:
            return  # on an edge, rounding may choose either side
    logits = torch.tensor([float(weight) for weight in weights], dtype=torch.float64).log()
    assert draw(logits, 1.0, None, 1.0, float(number)) == expected


def test_greedy_takes_the_smallest_id_among_equals() -> None:
    logits = torch.tensor([[1.0, 3.0, 3.0, 2.0], [-torch.inf, -5.0, -5.0, -torch.inf]])
    assert greedy(logits).tolist() == [1, 1]
    wide = torch.zeros(2, 100_000)
    wide[1, 70_001] = wide[1, 70_000] = 1.0
    assert greedy(wide).tolist() == [0, 70_000]


@pytest.mark.parametrize("bad", [[math.nan, 1.0], [-math.inf, -math.inf]])
def test_logits_that_are_no_distribution_are_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="logits"):
        draw(torch.tensor(bad), 1.0, None, 1.0, 0.5)
