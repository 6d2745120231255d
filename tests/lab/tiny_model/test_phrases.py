"""Law: words glued together are cut at the same places again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ninfer_lab.lab.tiny_model.phrases import ANSWERS, HEADERS, KEYS, VALUES, every_word, words

CONTENT_WORDS = [*(word for word in every_word() if word not in HEADERS), ".", "?"]


@given(st.lists(st.sampled_from(CONTENT_WORDS), max_size=30))
def test_any_sequence_of_words_is_cut_where_it_was_glued(sequence: list[str]) -> None:
    assert words("".join(sequence)) == sequence


@given(st.text(max_size=60))
def test_no_character_of_any_text_is_lost(text: str) -> None:
    assert "".join(words(text)) == text


def test_a_value_is_one_word_and_the_last_of_its_answer() -> None:
    for kind, pattern in ANSWERS.items():
        for value in VALUES[kind]:
            sentence = words(pattern.format(key=KEYS[kind][0], value=value))
            assert sentence[-2:] == [f" {value}", "."], (kind, value)


def test_no_word_stands_for_two_keys_or_two_values() -> None:
    named = [name for table in (KEYS, VALUES) for names in table.values() for name in names]
    assert len(named) == len(set(named))
