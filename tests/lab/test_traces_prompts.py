"""Law: two prompts share exactly the tokens that their ids say they share, and an answer is what
the next prompt of the conversation has in its place.
"""

from __future__ import annotations

from pathlib import Path

from lab.trace_files import AZURE_HEADER, agent, moon, read, turn
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.lab.traces.prompts import TracePrompts
from ninfer_lab.lab.traces.trace import Trace

VOCABULARY_TOKENS = 1_000


def made(trace: Trace, vocabulary_tokens: int = VOCABULARY_TOKENS) -> list[TokenSpan]:
    prompts = TracePrompts(trace, vocabulary_tokens)
    return [prompts.prompt(ordinal) for ordinal in range(len(trace.requests))]


def test_equal_blocks_are_equal_tokens_and_others_are_others(tmp_path: Path) -> None:
    lines = [
        moon([0, 1, 2], tokens=1_500),
        moon([0, 1, 3], tokens=1_100, at_ms=1),
        moon([4], tokens=512, at_ms=2),
    ]
    first, second, third = made(read(tmp_path, lines))
    assert [len(first), len(second), len(third)] == [1_500, 1_100, 512]
    assert first.common_prefix_tokens(second) == 1_024
    assert first.common_prefix_tokens(third) == 0
    assert first[512:1_024] != first[:512]


def test_tokens_are_of_the_vocabulary_and_do_not_repeat_themselves(tmp_path: Path) -> None:
    trace = read(tmp_path, [moon([7], tokens=512)])
    for vocabulary_tokens, largest_token in ((1_000, 511), (1_024, 1_023), (248_320, 131_071)):
        (prompt,) = made(trace, vocabulary_tokens)
        assert max(prompt) <= largest_token
        assert max(prompt) > largest_token * 0.9
        assert len(set(prompt)) > 0.5 * min(512, largest_token)


def test_the_same_trace_gives_the_same_tokens(tmp_path: Path) -> None:
    lines = [moon([0, 1], tokens=600, answer=9), moon([0, 2], tokens=900, at_ms=1)]
    assert made(read(tmp_path, lines)) == made(read(tmp_path, lines))


def test_a_prompt_goes_on_from_prompt_and_answer(tmp_path: Path) -> None:
    lines = [
        moon([0, 1], tokens=600, answer=500),
        moon([0, 2, 3], tokens=1_200, answer=10, at_ms=1),
    ]
    trace = read(tmp_path, lines)
    prompts = TracePrompts(trace, VOCABULARY_TOKENS)
    first, answer, second = prompts.prompt(0), prompts.answer(0, 500), prompts.prompt(1)
    assert len(answer) == 500
    assert second.starts_with(first + answer)
    assert prompts.answer(0, 20) == answer[:20]


def test_an_answer_that_nobody_sends_back_is_the_requests_own(tmp_path: Path) -> None:
    lines = [moon([0], tokens=512, answer=50), moon([0], tokens=512, answer=50, at_ms=1)]
    prompts = TracePrompts(read(tmp_path, lines), VOCABULARY_TOKENS)
    assert prompts.prompt(0) == prompts.prompt(1)
    assert len(prompts.answer(0, 50)) == 50
    assert prompts.answer(0, 50) != prompts.answer(1, 50)


def test_of_an_answer_longer_than_what_was_sent_back_the_rest_is_its_own(tmp_path: Path) -> None:
    asked = agent([turn(0, [1, 2], tokens=9), turn(2, [3, 1], tokens=13)])
    prompts = TracePrompts(read(tmp_path, [asked]), VOCABULARY_TOKENS)
    answer = prompts.answer(0, 30)
    assert len(answer) == 30
    assert prompts.prompt(1) == prompts.prompt(0) + answer[:4]


def test_a_changed_block_parts_two_prompts_at_its_beginning(tmp_path: Path) -> None:
    asked = agent([turn(0, [1, 5], tokens=21), turn(3, [9, 4], tokens=30)])
    first, second = made(read(tmp_path, [asked]))
    assert first.common_prefix_tokens(second) == 12


def test_without_ids_nothing_is_shared(tmp_path: Path) -> None:
    rows = [f"2023-11-16 18:17:0{second},600,4" for second in range(5)]
    prompts = made(read(tmp_path, [AZURE_HEADER, *rows], "trace.csv"))
    assert len({prompt[:8] for prompt in prompts}) == 5
