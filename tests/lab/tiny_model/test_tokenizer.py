"""Law: text comes back from its tokens unchanged, and an answer re-rendered is the same tokens."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.tiny_model.chatml import rendered
from ninfer_lab.contract.prompt import ChatPrompt, Message, Role
from ninfer_lab.frontend.chat_template import ChatTemplate
from ninfer_lab.frontend.checkpoint_folder import TemplateText
from ninfer_lab.lab.tiny_model.phrases import HEADERS, every_word
from ninfer_lab.lab.tiny_model.tokenizer import (
    CHAT_TEMPLATE,
    MESSAGE_END,
    STRIP_THINKING_TEMPLATE,
    build_tokenizer,
    write_tokenizer,
)
from ninfer_lab.lab.tiny_model.world import Recipe, Split, generate

TOKENIZER = build_tokenizer()
(END_ID,) = TOKENIZER.encode(MESSAGE_END).ids
SAID = [*(word for word in every_word() if word not in HEADERS), ".", "?", MESSAGE_END]
SAID_IDS = [token_id for word in SAID for token_id in TOKENIZER.encode(word).ids]


def template(text: str) -> ChatTemplate:
    return ChatTemplate(TemplateText(source="test", plain=text, with_tools=None))


def decoded(token_ids: list[int]) -> str:
    return str(TOKENIZER.decode(token_ids, skip_special_tokens=False))


@given(st.text(max_size=80))
def test_any_text_comes_back(text: str) -> None:
    assert decoded(TOKENIZER.encode(text).ids) == text


def test_every_word_and_every_marker_is_one_token() -> None:
    markers = ["<|im_start|>", "<|im_end|>", "<think>", "</think>", "\n"]
    for word in [*every_word(), *markers]:
        assert len(TOKENIZER.encode(word).ids) == 1, word


@given(st.lists(st.sampled_from(SAID_IDS), max_size=40))
def test_whatever_words_the_model_says_encode_to_the_same_ids(token_ids: list[int]) -> None:
    assert TOKENIZER.encode(decoded(token_ids)).ids == token_ids  # spec: IDN-5


@pytest.mark.parametrize("seed", range(20))
def test_history_holds_the_very_ids_that_were_generated(seed: int) -> None:
    """The prompt plus the answer's tokens is a prefix of the next turn's prompt."""
    conversation = generate(Recipe(length_tokens=512), split=Split.HELD_OUT, seed=seed)
    plain = template(CHAT_TEMPLATE)
    history = plain.render_history(ChatPrompt(messages=conversation.messages))
    assert history == rendered(conversation.messages)
    whole = TOKENIZER.encode(history).ids
    for index, message in enumerate(conversation.messages):
        if message.role is not Role.ASSISTANT:
            continue
        before = ChatPrompt(
            messages=conversation.messages[:index],
            template_options=(("enable_thinking", message.reasoning is not None),),
        )
        prompt = TOKENIZER.encode(plain.render_prompt(before)).ids
        assert whole[: len(prompt)] == prompt
        end = whole.index(END_ID, len(prompt))
        output = whole[len(prompt) : end + 1]
        said = decoded(output).removesuffix(MESSAGE_END)
        thought, _, content = said.rpartition("</think>")
        assert (thought or None, content) == (message.reasoning, message.content)
        assert TOKENIZER.encode(said + MESSAGE_END).ids == output  # spec: IDN-5


def test_the_stripping_template_drops_earlier_thoughts_and_keeps_the_present_one() -> None:
    earlier = Message(role=Role.ASSISTANT, content="The lamp is red.", reasoning="The lamp.")
    question = Message(role=Role.USER, content="Where is Anna?")
    present = Message(role=Role.ASSISTANT, content="Anna is in Rome.", reasoning="Anna.")
    stripping = template(STRIP_THINKING_TEMPLATE)
    before = ChatPrompt(messages=(question, earlier))
    assert stripping.render_history(before) == rendered((question, earlier))
    after = ChatPrompt(messages=(question, earlier, question, present))
    bare = Message(role=Role.ASSISTANT, content=earlier.content)
    assert stripping.render_history(after) == rendered((question, bare, question, present))
    assert stripping.render_prompt(before).endswith("<|im_start|>assistant\n<think>")


def test_the_files_are_what_transformers_loads(tmp_path: Path) -> None:
    from transformers import PreTrainedTokenizerFast

    write_tokenizer(tmp_path)
    loaded = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    conversation = generate(Recipe(length_tokens=256), split=Split.HELD_OUT, seed=1)
    messages = [
        {"role": m.role.value, "content": m.content, "reasoning_content": m.reasoning}
        for m in conversation.messages
    ]
    ids = loaded.apply_chat_template(messages, tokenize=True, return_dict=False)
    assert ids == TOKENIZER.encode(rendered(conversation.messages)).ids
    assert loaded.eos_token == MESSAGE_END
