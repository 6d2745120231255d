"""Law: a text becomes its own tokens only, and a frontier stands exactly where they part it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import processors

from frontend.texts import END, LINES, byte_fallback, byte_level, trained, word_level
from ninfer_lab.contract.errors import CheckpointError, PromptError
from ninfer_lab.frontend.tokenizer import Tokenizer

texts = st.text(st.sampled_from("sky blue!? \n天空🙂é<|im_end|>"), max_size=40)


@given(texts)
def test_a_frontier_parts_the_tokens_exactly_where_the_text_is_parted(text: str) -> None:
    tokenizer = byte_level()
    encoded = tokenizer.encode(text)
    assert encoded.tokens == tokenizer.encode_tokens(text)
    pieces = [tokenizer.piece_bytes(token) for token in encoded.tokens]
    for place in range(len(text) + 1):
        frontier = encoded.frontier_tokens(place)
        written = text[:place].replace(END, "").encode()
        cuts = [k for k in range(len(pieces) + 1) if b"".join(pieces[:k]) == written]
        if frontier is not None:
            assert frontier in cuts
        elif END not in text:
            assert cuts == []


def test_a_frontier_inside_a_token_or_a_character_does_not_exist() -> None:
    encoded = byte_level().encode("!!🙀")
    assert encoded.starts_chars[:2] == (0, 2)
    assert encoded.frontier_tokens(0) == 0
    assert encoded.frontier_tokens(1) is None
    assert encoded.frontier_tokens(2) == 1
    assert encoded.frontier_tokens(3) == len(encoded.tokens) > 2


def test_blanks_no_token_stands_for_part_no_tokens() -> None:
    encoded = word_level().encode("sky is ")
    assert [encoded.frontier_tokens(place) for place in range(8)] == [
        *(0, None, None, None, 1, None, 2, None),
    ]
    assert word_level().encode("").frontier_tokens(0) == 0


def test_whatever_the_file_would_add_hide_or_cut_is_switched_off() -> None:
    inner = trained(trim_offsets=True)
    inner.enable_truncation(max_length=3)
    inner.enable_padding(length=50)
    plain = Tokenizer(inner.to_str()).encode("hello world, what is the sky")
    assert plain == byte_level().encode("hello world, what is the sky")
    assert plain.frontier_tokens(5) == 2  # after "hello": the blank belongs to what follows it
    assert plain.frontier_tokens(6) is None
    start = inner.token_to_id("<|endoftext|>")
    inner.post_processor = processors.TemplateProcessing(
        single="<|endoftext|> $A", special_tokens=[("<|endoftext|>", start)]
    )
    assert Tokenizer(inner.to_str()).encode("sky") == byte_level().encode("sky")


@given(texts)
def test_pieces_are_the_bytes_of_the_text(text: str) -> None:
    tokenizer = byte_level()
    pieces = b"".join(tokenizer.piece_bytes(token) for token in tokenizer.encode_tokens(text))
    assert pieces == text.replace(END, "").encode()


def test_every_single_byte_has_its_piece() -> None:
    tokenizer = byte_level()
    single = {tokenizer.piece_bytes(token) for token in range(500)}
    assert single >= {bytes([byte]) for byte in range(256)}


def test_added_tokens_part_the_text_and_learned_ones_do_not() -> None:
    tokenizer = byte_level()
    (end,) = tokenizer.encode_tokens(END)
    (think,) = tokenizer.encode_tokens("<think>")
    (blank_sky,) = tokenizer.encode_tokens(" sky")
    assert tokenizer.splits_at(end)
    assert tokenizer.splits_at(think)
    assert not tokenizer.splits_at(blank_sky)
    assert tokenizer.leaves_no_text(end)
    assert not tokenizer.leaves_no_text(think)
    assert tokenizer.decode([think, end, blank_sky]) == "<think> sky"
    assert tokenizer.leaves_no_text(10_000)


def test_bytes_are_known_only_where_decoding_is_joining() -> None:
    assert byte_level().decodes_bytes
    assert not byte_fallback().decodes_bytes
    assert not word_level().decodes_bytes


def test_stop_tokens_come_from_both_places_once() -> None:
    other, end = byte_level().encode_tokens("<|endoftext|>" + END)
    stops = Tokenizer(trained().to_str(), stop_token_ids=(other, end), eos_token=END)
    assert stops.stop_token_ids == (other, end)
    assert Tokenizer(trained().to_str()).stop_token_ids == ()


def test_refuses_what_is_no_tokenizer_and_a_stop_it_has_not() -> None:
    with pytest.raises(CheckpointError, match=r"tokenizer\.json: found"):
        Tokenizer('{"model": 3}')
    unknown = "<|nobody|>"
    with pytest.raises(CheckpointError, match=r"eos_token: found '<\|nobody\|>'"):
        Tokenizer(trained().to_str(), eos_token=unknown)


def test_refuses_text_that_is_none() -> None:
    with pytest.raises(PromptError, match="half a surrogate pair"):
        byte_level().encode(LINES[0] + "\ud83d")
