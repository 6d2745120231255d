"""Law: a TokenSpan behaves as the tuple of its ids, whatever its length, and cannot change."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ninfer_lab.contract.errors import PromptError
from ninfer_lab.contract.token_span import TokenSpan

ids = st.integers(0, 2**31 - 1)
few_ids = st.integers(0, 2)
some = st.lists(few_ids, max_size=300)
slices = st.slices(40)


@given(st.lists(ids, max_size=50))
def test_holds_exactly_the_ids_it_was_given(tokens: list[int]) -> None:
    span = TokenSpan(tokens)
    assert tuple(span) == tuple(tokens)
    assert len(span) == len(tokens)
    assert [span[place] for place in range(-len(tokens), len(tokens))] == tokens * 2
    assert TokenSpan.from_bytes(span.to_bytes()) == span
    assert pickle.loads(pickle.dumps(span)) == span == copy.deepcopy(span)  # noqa: S301


@given(st.lists(ids, min_size=40, max_size=40), slices)
def test_slices_as_a_tuple_does(tokens: list[int], part: slice) -> None:
    assert tuple(TokenSpan(tokens)[part]) == tuple(tokens)[part]


@given(some, some)
def test_compares_joins_and_hashes_as_a_tuple_does(left: list[int], right: list[int]) -> None:
    a, b = TokenSpan(left), TokenSpan(right)
    assert (a == b) == (left == right)
    assert tuple(a + b) == tuple(left + right)
    assert TokenSpan.concatenated([a, b, a]) == TokenSpan(left + right + left)
    assert hash(a + b) == hash(TokenSpan(left + right))
    assert (a + b).starts_with(a)
    assert a.starts_with(b) == (left[: len(right)] == right)


@given(some, some, some)
def test_common_prefix_is_what_a_loop_counts(  # spec: IDN-3
    head: list[int], left: list[int], right: list[int]
) -> None:
    a, b = head + left, head + right
    count = 0
    while count < min(len(a), len(b)) and a[count] == b[count]:
        count += 1
    assert TokenSpan(a).common_prefix_tokens(TokenSpan(b)) == count


def test_common_prefix_is_exact_at_every_place_of_a_long_span() -> None:
    long = TokenSpan([7]) + TokenSpan(range(5_000))
    for place in (0, 1, 63, 64, 65, 191, 192, 193, 4_999, 5_000):
        changed = long[:place] + TokenSpan([2**31 - 1]) + long[place + 1 :]
        assert long.common_prefix_tokens(changed) == place


def test_ids_that_differ_only_in_their_high_byte_differ() -> None:
    assert TokenSpan([1]).common_prefix_tokens(TokenSpan([1 + 2**24])) == 0


@given(some, st.lists(st.integers(0, 300), max_size=6))
def test_digests_of_many_prefixes_are_those_of_each(tokens: list[int], cuts: list[int]) -> None:
    span = TokenSpan(tokens)
    frontiers = sorted(min(cut, len(tokens)) for cut in cuts)
    digests = span.prefix_digests(frontiers)
    assert digests == tuple(span[:frontier].prefix_digest(frontier) for frontier in frontiers)
    assert len(set(digests)) == len(set(frontiers))


@pytest.mark.parametrize("bad", [[-1], [3, -7], [2**31], ["a"], [1.5], "abc"])
def test_refuses_what_is_no_token_id(bad: list[int]) -> None:
    with pytest.raises(PromptError, match="token id"):
        TokenSpan(bad)


def test_takes_bytes_as_ids_and_packed_ids_only_where_asked() -> None:
    assert tuple(TokenSpan(b"\x01\x00\x00\x00")) == (1, 0, 0, 0)
    assert tuple(TokenSpan.from_bytes(TokenSpan([1]).to_bytes())) == (1,)
    with pytest.raises(PromptError, match="multiple of 4"):
        TokenSpan.from_bytes(b"\x01\x00\x00")
    with pytest.raises(PromptError, match="token id at position 0: found -1"):
        TokenSpan.from_bytes(b"\xff\xff\xff\xff")


@pytest.mark.parametrize("frontiers", [(3,), (-1,), (2, 1)])
def test_refuses_a_digest_outside_the_span_or_out_of_order(frontiers: tuple[int, ...]) -> None:
    with pytest.raises(PromptError, match="prefix frontier"):
        TokenSpan([1, 2]).prefix_digests(frontiers)


def test_cannot_be_changed() -> None:
    span = TokenSpan([1, 2])
    with pytest.raises(AttributeError, match="immutable"):
        span._packed = b""
    with pytest.raises(AttributeError, match="immutable"):
        del span._packed
    with pytest.raises(TypeError):
        span[0] = 3  # type: ignore[index]


def test_shows_a_short_span_whole_and_a_long_one_by_its_ends() -> None:
    assert repr(TokenSpan([1, 2, 3])) == "TokenSpan([1, 2, 3])"
    long = repr(TokenSpan(range(1_000)))
    assert long.startswith("<TokenSpan 1000 tokens: 0, 1, 2, 3, …, 996, 997, 998, 999 #")
