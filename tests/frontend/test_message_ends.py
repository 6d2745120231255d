"""Law: a message end is where its successor's header begins, in every template that tells."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from frontend.texts import (
    CHATML,
    SEAMLESS,
    THINKING,
    UNALIGNED,
    assistant,
    chat,
    system,
    template,
    tool,
    user,
)
from ninfer_lab.contract.prompt import ChatPrompt, Message, Role, ToolCall
from ninfer_lab.frontend.message_ends import common_prefix_chars, render_with_ends

contents = st.text(st.sampled_from("ab! \n\té"), max_size=10)
calls = st.lists(st.just(ToolCall(name="f", arguments_json='{"b": "x", "a": 1}')), max_size=2)
messages = st.one_of(
    contents.map(user),
    contents.map(system),
    contents.map(tool),
    st.builds(assistant, contents, st.none() | contents),
    st.builds(
        lambda content, thought, made: Message(
            role=Role.ASSISTANT, content=content, reasoning=thought, tool_calls=tuple(made)
        ),
        *(contents, st.none() | contents, calls),
    ),
)
conversations = st.lists(messages, min_size=1, max_size=7)
HEADER = re.compile(r"<\|im_start\|>")


@given(conversations)
@example([user("a"), assistant("a\n"), user("\n"), assistant(""), user("a")])
def test_in_a_template_without_memory_every_end_is_the_rendering_of_what_came_so_far(
    said: list[Message],
) -> None:
    for text in (CHATML, SEAMLESS, UNALIGNED):
        plain = template(text)
        found = render_with_ends(plain, chat(*said))
        assert found.text == plain.render_prompt(chat(*said))
        ends = [len(plain.render_history(chat(*said[: count + 1]))) for count in range(len(said))]
        assert found.message_ends_chars == tuple(ends)


@given(conversations)
def test_in_a_template_that_rewrites_history_an_end_is_a_header_and_never_another(
    said: list[Message],
) -> None:
    asked = chat(user("q"), *said)
    found = render_with_ends(template(THINKING), asked)
    headers = [match.start() for match in HEADER.finditer(found.text)][1:]
    told = [end for end in found.message_ends_chars if end is not None]
    assert sorted(set(told)) == told
    assert set(told) <= set(headers)
    # Headers come in the order of the messages; a result after a result shares its header.
    opening = [
        ordinal
        for ordinal, message in enumerate(asked.messages[1:])
        if not (message.role is Role.TOOL and asked.messages[ordinal].role is Role.TOOL)
    ]
    where = dict(zip(opening, headers, strict=False))
    for ordinal, end in enumerate(found.message_ends_chars[:-1]):
        assert end in (None, where.get(ordinal))
    assert found.opener_chars == headers[-1]


def test_nothing_readable_is_lost_where_the_template_strips_thinking() -> None:
    call = Message(
        role=Role.ASSISTANT,
        content="",
        reasoning="hm",
        tool_calls=(ToolCall(name="f", arguments_json="{}"),),
    )
    asked = chat(
        *(system("be brief"), user("q"), call, tool("x"), tool("y"), assistant("blue", "so")),
        *(user("and now?"), call, tool("z")),
    )
    found = render_with_ends(template(THINKING), asked)
    told = [end is not None for end in found.message_ends_chars]
    # Only the first of two results in a row ends inside a block that the second goes on with.
    assert told == [True, True, True, False, True, True, True, True, True]


def test_a_system_message_ends_where_told_though_no_prefix_of_the_chat_can_be_rendered() -> None:
    asked = chat(system("be brief"), user("q"))
    found = render_with_ends(template(THINKING), asked)
    assert found.text[: found.message_ends_chars[0]] == "<|im_start|>system\nbe brief<|im_end|>\n"


def test_a_content_that_holds_the_mark_is_found_without_it() -> None:
    asked = chat(user("a\ue0f70\ue0f7"), assistant("b"), user("c"))
    found = render_with_ends(template(CHATML), asked)
    unmarked = render_with_ends(template(CHATML), chat(user("a"), assistant("b"), user("c")))
    extra = len(asked.messages[0].content) - 1
    assert found.message_ends_chars == tuple(
        end + extra for end in unmarked.message_ends_chars if end is not None
    )


def test_contents_out_of_order_tell_only_what_is_certain() -> None:
    moved = "{% for m in messages | reverse %}[{{ m.content }}]{% endfor %}"
    found = render_with_ends(template(moved), chat(user("a"), assistant("b")))
    assert found.text == "[b][a]"
    assert found.message_ends_chars == (None, 6)


def test_a_template_that_looks_at_contents_is_not_fooled_by_marks() -> None:
    text = "{% for m in messages %}{{ m.content | length }}:{{ m.content }}{% endfor %}"
    found = render_with_ends(template(text), chat(user("12345678"), assistant("b")))
    assert found.text == "8:123456781:b"
    assert found.message_ends_chars == (10, 13)


def test_an_opener_that_stands_in_front_moves_no_end() -> None:
    text = (
        "{% if add_generation_prompt %}answer:{% endif %}"
        "{% for m in messages %}[{{ m.content }}]{% endfor %}"
    )
    found = render_with_ends(template(text), chat(user("a"), assistant("b")))
    assert found.text == "answer:[a][b]"
    assert found.message_ends_chars == (10, 13)


def test_what_closes_a_call_closes_no_plain_answer() -> None:
    call = Message(
        role=Role.ASSISTANT,
        content="let me look",
        tool_calls=(ToolCall(name="f", arguments_json="{}"),),
    )
    said = (user("q"), call, tool("x"), assistant("blue"), assistant("or grey"), user("sure?"))
    found = render_with_ends(template(THINKING), chat(*said))
    assert None not in found.message_ends_chars


def test_a_template_without_opener_ends_with_the_last_message() -> None:
    text = "{% for m in messages %}[{{ m.content }}]{% endfor %}"
    found = render_with_ends(template(text), chat(user("a"), assistant("b")))
    assert found.message_ends_chars == (3, 6)
    assert found.opener_chars == len(found.text)


def test_a_template_that_allows_no_next_turn_leaves_nothing_certain() -> None:
    text = "{% if messages | length > 1 %}{{ raise_exception('one only') }}{% endif %}[a]"
    found = render_with_ends(template(text), ChatPrompt(messages=(user("a"),)))
    assert found.next_turn is None
    assert found.unchanged_chars == 0


@given(st.text("ab", max_size=600), st.text("ab", max_size=20), st.text("ab", max_size=20))
def test_common_prefix_of_texts_is_what_a_loop_counts(head: str, left: str, right: str) -> None:
    a, b = head + left, head + right
    count = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None)
    assert common_prefix_chars(a, b) == (min(len(a), len(b)) if count is None else count)
