"""Law: the boundary is exactly what the next request's rendering shares with what was sampled."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontend.texts import (
    CHATML,
    COUNTING,
    CROSSING,
    END,
    LIMITS,
    SEAMLESS,
    THINKING,
    UNALIGNED,
    assistant,
    byte_level,
    chat,
    frontend,
    system,
    tool,
    user,
)
from ninfer_lab.contract.output import AcceptedText, OutputRules
from ninfer_lab.contract.prompt import ChatPrompt, Message
from ninfer_lab.contract.token_span import TokenSpan

(END_ID,) = byte_level().encode_tokens(END)
CHATS = (
    chat(user("sky?")),
    chat(system("be"), user("sky?"), assistant("blue", "so"), user("sure?")),
    chat(user("sky?"), assistant("f()", "look"), tool("blue")),
    chat(user("sky?"), enable_thinking=False),
)


def answered(text: str, asked: ChatPrompt, token_ids: TokenSpan) -> AcceptedText:
    front = frontend(text)
    prepared = front.prepare(asked, LIMITS)
    output = front.open_output(
        asked, prepared, OutputRules(max_output_tokens=1_000, stop_token_ids=(END_ID,))
    )
    for token_id in token_ids:
        output.push(token_id)
    output.push(END_ID)
    return output.close()


def shared(
    text: str, asked: ChatPrompt, token_ids: TokenSpan, said: AcceptedText, following: Message
) -> int | None:
    """Encode the whole next prompt and count: the definition, without any shortcut."""
    front = frontend(text)
    answer = assistant(said.content, said.reasoning)
    longer = ChatPrompt(
        messages=(*asked.messages, answer, following), template_options=asked.template_options
    )
    sampled = front.prepare(asked, LIMITS).tokens + token_ids
    common = front.prepare(longer, LIMITS).tokens.common_prefix_tokens(sampled)
    beyond = common - (len(sampled) - len(token_ids))
    return beyond if beyond >= 0 else None


spoken = st.text(st.sampled_from("sky! \n🙂é"), max_size=12).map(byte_level().encode_tokens)
thought = st.sampled_from(["</think>\n\n", "so\n</think>\n\n", "<think>", ""]).map(
    byte_level().encode_tokens
)
babble = st.lists(st.integers(3, 300), max_size=10).map(TokenSpan)


@pytest.mark.parametrize(
    "text",
    [CHATML, THINKING, SEAMLESS, UNALIGNED, CROSSING, COUNTING],
    ids=["chatml", "think", "seamless", "unaligned", "crossing", "counting"],
)
@given(
    asked=st.sampled_from(CHATS),
    token_ids=st.one_of(spoken, babble, st.builds(TokenSpan.__add__, thought, spoken)),
)
def test_equals_encoding_the_whole_next_prompt(  # spec: IDN-5
    text: str, asked: ChatPrompt, token_ids: TokenSpan
) -> None:
    said = answered(text, asked, token_ids)
    told = said.reconstruction
    assert told.after_user_message_tokens == shared(text, asked, token_ids, said, user("z"))
    assert told.after_tool_result_tokens == shared(text, asked, token_ids, said, tool("z"))


def test_a_plain_answer_comes_back_whole() -> None:
    token_ids = byte_level().encode_tokens("the sky is blue!")
    assert answered(CHATML, CHATS[0], token_ids).reconstruction_boundary_tokens == len(token_ids)


def test_an_answer_spelt_otherwise_comes_back_up_to_where_the_spelling_differs() -> None:
    the, blank, sky = (byte_level().encode_tokens(word) for word in ("the", " ", "sky"))
    assert byte_level().encode_tokens("the sky") != the + blank + sky
    assert answered(CHATML, CHATS[0], the + blank + sky).reconstruction_boundary_tokens == 1


def test_history_of_equal_length_is_not_equal_history() -> None:
    token_ids = byte_level().encode_tokens("blue")
    assert answered(COUNTING, CHATS[0], token_ids).reconstruction_boundary_tokens is None


def test_thinking_lasts_while_the_turn_lasts() -> None:
    token_ids = byte_level().encode_tokens("so it is\n</think>\n\nthe sky")
    said = answered(THINKING, CHATS[0], token_ids)
    assert (said.reasoning, said.content) == ("so it is", "the sky")
    assert said.reconstruction.after_user_message_tokens is None
    assert said.reconstruction.after_tool_result_tokens == len(token_ids)
    assert said.reconstruction_boundary_tokens == len(token_ids)


def test_a_template_that_refuses_what_follows_promises_nothing_for_it() -> None:
    picky = (
        "{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('none') }}{% endif %}"
        "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    token_ids = byte_level().encode_tokens("blue")
    told = answered(picky, CHATS[0], token_ids).reconstruction
    assert told.after_tool_result_tokens is None
    assert told.after_user_message_tokens == len(token_ids)
