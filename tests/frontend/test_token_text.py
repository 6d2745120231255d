"""Law: the pieces handed out add up to the full decoding, and no piece is ever taken back."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontend.texts import byte_fallback, byte_fallback_json, byte_level, word_level
from ninfer_lab.frontend.token_text import (
    MAX_HELD_TOKENS,
    ByteText,
    NoText,
    WindowText,
    token_text,
)
from ninfer_lab.frontend.tokenizer import Tokenizer

BEYOND_VOCABULARY = 9_999
any_byte_level_id = st.one_of(st.integers(0, 500), st.integers(3, 260), st.just(BEYOND_VOCABULARY))
readable = st.text(st.sampled_from("héllo wörld天空🙂\n  !"), max_size=40)


@given(st.lists(any_byte_level_id, max_size=60))
def test_any_bytes_at_all_add_up_to_the_full_decoding(token_ids: list[int]) -> None:
    tokenizer = byte_level()
    text = ByteText(tokenizer)
    shown = [text.push(token_id) for token_id in token_ids]
    assert "".join(shown) + text.flush() == tokenizer.decode(token_ids)


@given(st.lists(any_byte_level_id, max_size=30))
def test_a_prefix_shows_a_prefix_and_is_whole_exactly_where_nothing_waits(
    token_ids: list[int],
) -> None:
    tokenizer = byte_level()
    text, shown = ByteText(tokenizer), ""
    for count, token_id in enumerate(token_ids, start=1):
        shown += text.push(token_id)
        full = tokenizer.decode(token_ids[:count])
        assert full.startswith(shown)
        assert text.is_whole == (full == shown)


@pytest.mark.parametrize("tokenizer", [byte_level(), byte_fallback()], ids=["byte", "fallback"])
@given(words=readable)
def test_a_window_shows_text_of_whole_characters_exactly(tokenizer: Tokenizer, words: str) -> None:
    token_ids = list(tokenizer.encode_tokens(words))
    text = WindowText(tokenizer)
    shown = [text.push(token_id) for token_id in token_ids]
    assert not any("\ufffd" in piece for piece in shown)
    assert "".join(shown) + text.flush() == tokenizer.decode(token_ids)
    assert text.is_whole


@given(st.lists(st.integers(0, 30), max_size=40))
def test_words_are_joined_as_the_decoder_joins_them(token_ids: list[int]) -> None:
    tokenizer = word_level()
    text = WindowText(tokenizer)
    shown = "".join(text.push(token_id) for token_id in token_ids)
    assert shown + text.flush() == tokenizer.decode(token_ids)


def test_half_a_character_waits_for_the_other_half() -> None:
    tokenizer = byte_level()
    cat = "🙀"  # not in the training lines, so it is four single bytes
    token_ids = list(tokenizer.encode_tokens(cat))
    assert len(token_ids) > 1
    for text in (ByteText(tokenizer), WindowText(tokenizer)):
        assert [text.push(token_id) for token_id in token_ids[:-1]] == [""] * (len(token_ids) - 1)
        assert not text.is_whole
        assert text.push(token_ids[-1]) == cat
        assert text.is_whole


def test_a_run_that_can_form_no_character_is_not_held_for_ever() -> None:
    tokenizer = byte_fallback()
    stray = tokenizer.encode_tokens("🙂")[1]  # a continuation byte, never first in a character
    text = WindowText(tokenizer)
    longest, held = 0, 0
    for _ in range(10 * MAX_HELD_TOKENS):
        held = 0 if text.push(stray) else held + 1
        longest = max(longest, held)
    assert 0 < longest < MAX_HELD_TOKENS


class CountingTokenizer(Tokenizer):
    """Counts the tokens it is asked to decode."""

    decoded_tokens = 0

    def decode(self, token_ids: Sequence[int]) -> str:
        self.decoded_tokens += len(token_ids)
        return super().decode(token_ids)


@pytest.mark.parametrize("words", ["hello world ", "🙂", "sky "])
def test_each_token_costs_a_bounded_amount_of_work(words: str) -> None:
    per_token = []
    for repeats in (50, 500):
        tokenizer = CountingTokenizer(byte_fallback_json())
        token_ids = tokenizer.encode_tokens(words * repeats)
        text = WindowText(tokenizer)
        for token_id in token_ids:
            text.push(token_id)
        per_token.append(tokenizer.decoded_tokens / len(token_ids))
    assert per_token[1] <= per_token[0] * 1.1 <= 9


def test_the_kind_follows_the_vocabulary() -> None:
    assert isinstance(token_text(byte_level()), ByteText)
    assert isinstance(token_text(byte_fallback()), WindowText)
    assert isinstance(token_text(None), NoText)


def test_special_tokens_leave_no_text_and_no_gap() -> None:
    tokenizer = word_level()
    (mark,) = tokenizer.stop_token_ids
    sky, blue = tokenizer.encode_tokens("sky is")
    text = WindowText(tokenizer)
    pieces = [text.push(token_id) for token_id in (sky, mark, mark, blue)]
    assert pieces == ["sky", "", "", " is"]
