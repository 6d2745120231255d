"""What text does a conversation become under the checkpoint's own chat template?

Owns the Jinja environment a template runs in (sandboxed, the functions templates expect) and the
digest that makes template, options and tools part of identity.
Does not know tokens. Never reads a clock: a date for templates that print one is handed in.
Source: IDN-3 (template/runtime mode); the conventions of Hugging Face chat templates.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import datetime

from jinja2 import Environment, nodes
from jinja2.exceptions import TemplateError, TemplateSyntaxError
from jinja2.ext import Extension
from jinja2.ext import loopcontrols as LoopControls
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ninfer_lab.contract.errors import CheckpointError, PromptError
from ninfer_lab.contract.prompt import ChatPrompt, Message, TemplateDigest
from ninfer_lab.frontend.checkpoint_folder import CheckpointText, TemplateText

_RESERVED_NAMES = frozenset({"messages", "tools", "documents", "add_generation_prompt"})


class ChatTemplate:
    """Renders conversations.

    Args:
        text: The template as shipped.
        special_tokens: Named tokens a template may print (`{"bos_token": "<s>"}`).
        today: What `strftime_now` formats; without it a template finds no such function.

    Raises:
        CheckpointError: The text is no Jinja template.
    """

    def __init__(
        self,
        text: TemplateText,
        *,
        special_tokens: Mapping[str, str] | None = None,
        today: datetime | None = None,
    ) -> None:
        environment = _environment(today)
        self._text = text
        self._special_tokens = dict(special_tokens or {})
        try:
            self._plain = environment.from_string(text.plain)
            self._with_tools = environment.from_string(text.with_tools or text.plain)
        except TemplateSyntaxError as error:
            raise CheckpointError(
                text.source,
                found=f"line {error.lineno}: {error.message}",
                legal="a Jinja template",
            ) from error

    @classmethod
    def from_checkpoint(
        cls, text: CheckpointText, *, today: datetime | None = None
    ) -> ChatTemplate | None:
        """The template a checkpoint folder describes; `None` where it has none."""
        if text.template is None:
            return None
        return cls(text.template, special_tokens=dict(text.special_tokens), today=today)

    def render_prompt(self, chat: ChatPrompt) -> str:
        """The conversation followed by the generation opener: what the model is to continue.

        Raises:
            PromptError: The template does not accept the conversation.
        """
        return self._render(chat, opener=True)

    def render_history(self, chat: ChatPrompt) -> str:
        """The conversation alone; raises as `render_prompt` does."""
        return self._render(chat, opener=False)

    def digest(self, chat: ChatPrompt) -> TemplateDigest:
        """What, beside the messages, decides the rendering. Options count in any order."""
        tools = [tool.definition_json for tool in chat.tools]
        parts = [
            self._text.plain,
            self._text.with_tools,
            sorted(self._special_tokens.items()),
            sorted(chat.template_options),
            tools,
        ]
        packed = json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")
        return TemplateDigest(hashlib.blake2b(packed, digest_size=16).hexdigest())

    def _render(self, chat: ChatPrompt, *, opener: bool) -> str:
        template = self._with_tools if chat.tools else self._plain
        names: dict[str, object] = {
            **self._special_tokens,
            **_checked_options(chat),
            "messages": [_template_message(message) for message in chat.messages],
            "tools": [json.loads(tool.definition_json) for tool in chat.tools] or None,
            "add_generation_prompt": opener,
        }
        try:
            return template.render(names)
        except _TEMPLATE_FAILURES as error:
            raise PromptError(
                "messages",
                found=f"{self._text.source} refuses them: {error}",
                legal="a conversation this checkpoint's chat template accepts",
            ) from error


_TEMPLATE_FAILURES = (
    TemplateError,
    TypeError,
    ValueError,
    LookupError,
    ArithmeticError,
    AttributeError,
    RecursionError,
)
"""What a template's own arithmetic on messages it did not expect can raise."""


def _checked_options(chat: ChatPrompt) -> dict[str, object]:
    options: dict[str, object] = {}
    for name, value in chat.template_options:
        if name in options or name in _RESERVED_NAMES:
            raise PromptError(
                "template_options",
                found=f"{name!r} {'twice' if name in options else 'as an option'}",
                legal=f"each name once, none of {sorted(_RESERVED_NAMES)}",
            )
        options[name] = value
    return options


def _template_message(message: Message) -> dict[str, object]:
    """A message under the keys chat templates read; a key that says nothing is left out."""
    shown: dict[str, object] = {"role": message.role.value, "content": message.content}
    if message.reasoning is not None:
        shown["reasoning_content"] = message.reasoning
    if message.tool_calls:
        shown["tool_calls"] = [
            {
                "type": "function",
                **({} if call.call_id is None else {"id": call.call_id}),
                "function": {"name": call.name, "arguments": json.loads(call.arguments_json)},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        shown["tool_call_id"] = message.tool_call_id
    return shown


def _environment(today: datetime | None) -> Environment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[LoopControls, _GenerationBlocks]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise_exception
    if today is not None:
        environment.globals["strftime_now"] = _strftime(today)
    return environment


class _GenerationBlocks(Extension):
    """`{% generation %}…{% endgeneration %}` marks text for training; here it is its content."""

    tags = {"generation"}  # noqa: RUF012  jinja declares it as a plain set

    def parse(self, parser: Parser) -> nodes.Node | list[nodes.Node]:
        """The statements between the tags, unchanged."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Jinja's own filter escapes HTML signs, which no model was trained on."""
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _raise_exception(message: str) -> None:
    raise TemplateError(message)


def _strftime(today: datetime) -> Callable[[str], str]:
    return today.strftime
