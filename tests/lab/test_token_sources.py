"""A token source says the same at the same position; where it has no word, it says so."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.errors import NinferLabError
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.lab.token_sources import RecordedTokens, ScriptedTokens, SeededTokens

FIRST, SECOND = RequestId(1), RequestId(2)


def test_a_script_is_read_from_the_end_of_the_prompt() -> None:
    script = ScriptedTokens()
    script.script(FIRST, prompt_tokens=10, answer=(7, 8, 2))
    assert [script.token(FIRST, position) for position in (10, 11, 12)] == [7, 8, 2]


@pytest.mark.parametrize("position", [9, 13])
def test_a_script_that_says_nothing_there_is_the_storys_mistake(position: int) -> None:
    script = ScriptedTokens()
    script.script(FIRST, prompt_tokens=10, answer=(7, 8, 2))
    with pytest.raises(NinferLabError, match="script of request 1: found 3 tokens"):
        script.token(FIRST, position)
    with pytest.raises(NinferLabError, match="script of request 2"):
        script.token(SECOND, 10)


def test_seeded_tokens_depend_on_seed_request_and_position_alone() -> None:
    tokens = [SeededTokens(seed=3, vocabulary_tokens=900).token(FIRST, p) for p in range(200)]
    again = [SeededTokens(seed=3, vocabulary_tokens=900).token(FIRST, p) for p in range(200)]
    others = [SeededTokens(seed=4, vocabulary_tokens=900).token(FIRST, p) for p in range(200)]
    second = [SeededTokens(seed=3, vocabulary_tokens=900).token(SECOND, p) for p in range(200)]
    assert tokens == again
    assert tokens != others
    assert tokens != second
    assert len(set(tokens)) > 100, "and vary"


def test_seeded_tokens_keep_out_of_the_special_ones() -> None:
    source = SeededTokens(seed=0, vocabulary_tokens=12, first_token=10)
    assert {source.token(FIRST, position) for position in range(64)} == {10, 11}


def test_a_recording_without_that_token_says_that_the_runs_have_parted() -> None:
    recorded = RecordedTokens({(FIRST, 5): 42})
    assert recorded.token(FIRST, 5) == 42
    with pytest.raises(NinferLabError, match="no token at position 6"):
        recorded.token(FIRST, 6)
