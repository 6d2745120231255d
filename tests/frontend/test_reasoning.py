"""Law: thinking and content together are the answer, and only an opened thought is thinking."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.prompt import OutputChannel
from ninfer_lab.frontend.reasoning import channel_after, split_answer

REASONING, CONTENT = OutputChannel.REASONING, OutputChannel.CONTENT


@pytest.mark.parametrize(
    ("opener", "channel"),
    [
        ("<|im_start|>assistant\n", CONTENT),
        ("<|im_start|>assistant\n<think>\n", REASONING),
        ("<|im_start|>assistant\n<think>\n\n</think>\n\n", CONTENT),
        ("", CONTENT),
    ],
)
def test_an_opener_leaves_the_model_thinking_only_while_its_thought_is_open(
    opener: str, channel: OutputChannel
) -> None:
    assert channel_after(opener) is channel


@pytest.mark.parametrize(
    ("text", "opens_in", "reasoning", "content"),
    [
        ("so\nit is\n</think>\n\nblue", REASONING, "so\nit is", "blue"),
        ("still at it", REASONING, "still at it", ""),
        ("</think>blue", REASONING, "", "blue"),
        ("a</think>b</think>c", REASONING, "a", "b</think>c"),
        ("<think>\nso\n</think>\nblue", CONTENT, "so", "blue"),
        ("\n<think>so", CONTENT, "so", ""),
        ("blue\n", CONTENT, None, "blue\n"),
        ("see <think> there", CONTENT, None, "see <think> there"),
        ("", CONTENT, None, ""),
    ],
)
def test_parts_an_answer_at_the_end_of_its_thought(
    text: str, opens_in: OutputChannel, reasoning: str | None, content: str
) -> None:
    assert split_answer(text, opens_in) == (reasoning, content)
