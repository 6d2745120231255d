"""Law: a conversation renders to the very text the transformers library renders it to."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontend.texts import CHATML, THINKING, assistant, chat, system, template, tool, user
from ninfer_lab.contract.errors import PromptError
from ninfer_lab.contract.prompt import ChatPrompt, Message, Role, Tool, ToolCall
from ninfer_lab.frontend.chat_template import ChatTemplate
from ninfer_lab.frontend.checkpoint_folder import TemplateText

EVERYTHING = """
{%- for message in messages %}
  {%- if loop.index0 > 5 %}{% break %}{% endif %}
  {% if message.role == 'assistant' %}
    {% generation %}
{{ message.content | trim }}
    {% endgeneration %}
  {% else %}
    {{ bos_token + message.content }}
  {% endif %}
{%- endfor %}
{{ tools | tojson(indent=1) if tools else none }} {{ "é<&>" | tojson }}
"""

contents = st.text(st.sampled_from("ab<>&é\"'\n \\"), max_size=12)
conversations = st.lists(
    st.one_of(
        contents.map(user),
        st.builds(assistant, contents, st.none() | contents),
        contents.map(tool),
    ),
    min_size=1,
    max_size=8,
)
WEATHER = Tool(definition_json='{"type": "function", "function": {"name": "w", "é": [1, 2.5]}}')


def oracle(text: str, prompt: ChatPrompt, *, opener: bool) -> str:
    """The other library, given the same conversation in its own form."""
    from transformers.utils.chat_template_utils import render_jinja_template

    shown: list[dict[str, object]] = []
    for message in prompt.messages:
        entry: dict[str, object] = {"role": message.role.value, "content": message.content}
        if message.reasoning is not None:
            entry["reasoning_content"] = message.reasoning
        if message.tool_calls:
            entry["tool_calls"] = [
                {
                    "type": "function",
                    "function": {"name": c.name, "arguments": json.loads(c.arguments_json)},
                }
                for c in message.tool_calls
            ]
        shown.append(entry)
    names: dict[str, Any] = {"bos_token": "<s>", **dict(prompt.template_options)}
    rendered = render_jinja_template(
        conversations=[shown],
        tools=[json.loads(each.definition_json) for each in prompt.tools] or None,
        chat_template=text,
        add_generation_prompt=opener,
        **names,
    )
    return str(rendered[0][0])


@settings(max_examples=40)
@pytest.mark.parametrize("text", [CHATML, THINKING, EVERYTHING], ids=["chatml", "think", "all"])
@given(messages=conversations, with_tool=st.booleans(), thinks=st.booleans())
def test_equals_the_other_library(
    text: str, messages: list[Message], with_tool: bool, thinks: bool
) -> None:
    calls = (ToolCall(name="w", arguments_json='{"b": 1, "a": "é<"}'),)
    prompt = ChatPrompt(
        messages=(
            user("q"),
            Message(role=Role.ASSISTANT, content="", tool_calls=calls),
            *messages,
        ),
        tools=(WEATHER,) if with_tool else (),
        template_options=(("enable_thinking", thinks),),
    )
    ours = ChatTemplate(
        TemplateText(source="a test", plain=text, with_tools=None),
        special_tokens={"bos_token": "<s>"},
    )
    assert ours.render_prompt(prompt) == oracle(text, prompt, opener=True)
    assert ours.render_history(prompt) == oracle(text, prompt, opener=False)


def test_a_template_of_its_own_serves_conversations_with_tools() -> None:
    both = ChatTemplate(TemplateText(source="a test", plain="plain", with_tools="tools"))
    assert both.render_prompt(chat(user("q"))) == "plain"
    assert both.render_prompt(ChatPrompt(messages=(user("q"),), tools=(WEATHER,))) == "tools"


@pytest.mark.parametrize(
    "text",
    [
        "{{ raise_exception('roles must alternate') }}",
        "{{ messages[99].content }}",
        "{{ 1 / 0 }}",
        "{{ messages + 3 }}",
        "{{ messages.append(3) }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ nobody.content }}",
        "{{ strftime_now('%Y') }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    ],
)
def test_whatever_a_template_does_not_accept_is_the_caller_s_error(text: str) -> None:
    with pytest.raises(PromptError, match="messages: found a test refuses them"):
        template(text).render_prompt(chat(user("q")))


def test_a_refusal_says_what_the_template_says() -> None:
    with pytest.raises(PromptError, match="a question is missing"):
        template(THINKING).render_prompt(chat(system("hello")))


def test_the_date_is_the_one_handed_in() -> None:
    text = TemplateText(source="a test", plain="{{ strftime_now('%d.%m.%Y') }}", with_tools=None)
    day = datetime(2024, 2, 29, tzinfo=UTC)
    assert ChatTemplate(text, today=day).render_prompt(chat(user("q"))) == "29.02.2024"


def test_an_option_is_named_once_and_is_none_of_the_template_s_own() -> None:
    twice = ChatPrompt(messages=(user("q"),), template_options=(("a", 1), ("a", 2)))
    with pytest.raises(PromptError, match="'a' twice"):
        template(CHATML).render_prompt(twice)
    with pytest.raises(PromptError, match="'messages' as an option"):
        template(CHATML).render_prompt(chat(user("q"), messages=1))


def test_the_digest_is_all_that_decides_beside_the_messages() -> None:  # spec: IDN-3
    base = chat(user("q"), enable_thinking=True, style=1)
    same = ChatPrompt(
        messages=(user("another"),), template_options=(("style", 1), ("enable_thinking", True))
    )
    plain = template(CHATML)
    assert plain.digest(base) == plain.digest(same)
    other_tools = ChatPrompt(
        messages=base.messages, tools=(WEATHER,), template_options=base.template_options
    )
    different = {
        plain.digest(base),
        plain.digest(chat(user("q"), enable_thinking=False, style=1)),
        plain.digest(chat(user("q"), enable_thinking=True, style=True)),
        plain.digest(chat(user("q"))),
        plain.digest(other_tools),
        template(THINKING).digest(base),
    }
    assert len(different) == 6
