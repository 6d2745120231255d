"""Law: a stream is the same at every call, and each of its requests asks what its label says."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from operator import eq

import pytest

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.prompt import ChatPrompt, PromptLimits
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.lab.bench.peers.runs import GEOMETRY, RUNS
from ninfer_lab.lab.bench.peers.streams import (
    ANSWER_TOKEN,
    STREAMS,
    Stream,
    branches,
    chats,
    cycle,
    edits,
    side_requests,
    stream_named,
)
from ninfer_lab.lab.bench.peers.vocabulary import chat_frontend, tokens_of


def shared_tokens(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    return sum(1 for _ in takewhile(bool, map(eq, one, other)))


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_is_the_same_at_every_call(name: str) -> None:
    assert stream_named(name) == stream_named(name)
    assert stream_named(name).name == name


@pytest.mark.parametrize("name", [name for name in STREAMS if name != "chats"])
def test_new_tokens_are_words_and_never_an_answer(name: str) -> None:
    prompts = [request.prompt for request in stream_named(name).requests]
    assert {token for prompt in prompts for token in prompt} <= {
        ANSWER_TOKEN,
        *range(128, 1_001),
    }
    assert GEOMETRY.vocab_size > 1_000


def test_branches_share_two_thousand_tokens_and_no_more() -> None:
    cold, again, *branched, longer = (request.prompt for request in branches().requests)
    assert again == cold
    assert [shared_tokens(cold, branch) for branch in branched] == [2_000] * 3
    assert [shared_tokens(branched[0], other) for other in branched[1:]] == [2_000] * 2
    assert (shared_tokens(cold, longer), len(longer)) == (4_096, 4_296)


def test_a_side_request_leaves_no_trace_in_the_conversation() -> None:
    first, second, title, third, postfix, fourth, *_ = side_requests().requests
    assert second.prompt[: len(first.history)] == first.history
    assert third.prompt[: len(second.history)] == second.history
    assert shared_tokens(title.prompt, third.prompt) == 0
    assert postfix.prompt[: len(third.history)] == third.history
    assert shared_tokens(postfix.prompt, fourth.prompt) == len(third.history)


def test_an_edit_changes_the_last_message_only() -> None:
    first, second, once, twice, third = edits().requests
    for edited in (once, twice):
        assert shared_tokens(second.prompt, edited.prompt) == len(first.history)
    assert third.prompt[: len(twice.history)] == twice.history


def test_every_engine_reads_a_chat_as_the_same_tokens() -> None:
    limits = PromptLimits(max_prompt_tokens=4_096, vocabulary_tokens=GEOMETRY.vocab_size)
    frontend = chat_frontend()
    for asked in chats().requests:
        prepared = frontend.prepare(ChatPrompt(messages=asked.messages), limits)
        assert prepared.tokens == TokenSpan(asked.prompt)
        assert len(prepared.message_boundaries_tokens) == len(asked.messages)


def test_chats_share_instructions_and_history() -> None:
    first, second, again, edited, other, back = chats().requests
    instructions = len(tokens_of("<|im_start|>system\n<|im_end|>\n")) + 600
    assert again.prompt == second.prompt
    assert back.prompt == edited.prompt
    assert shared_tokens(first.prompt, other.prompt) >= instructions
    assert second.prompt[: len(first.history)] == first.history


def test_the_second_round_repeats_the_first() -> None:
    requests = cycle().requests
    assert [each.prompt for each in requests[:12]] == [each.prompt for each in requests[12:]]
    assert len({each.prompt[0:4] for each in requests}) == 12


def test_a_digest_follows_every_token_and_every_answer() -> None:
    stream = edits()
    first = stream.requests[0]
    other_word = replace(first, prompt=(*first.prompt[:-1], 999))
    longer_answer = replace(first, answer_tokens=31)
    digests = {
        Stream(name="edits", requests=(changed, *stream.requests[1:])).digest
        for changed in (first, other_word, longer_answer)
    }
    assert len(digests) == 3


def test_every_run_holds_its_longest_request() -> None:
    for run in RUNS:
        assert stream_named(run.stream).longest_tokens <= run.settings.context_tokens
    assert len(set(RUNS)) == len(RUNS)


def test_an_unknown_stream_is_refused() -> None:
    with pytest.raises(OptionsError, match="found sky; legal: branches or"):
        stream_named("sky")
