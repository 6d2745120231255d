"""Tokenizers and chat templates small enough to read, built where the tests run.

No file is shipped for them: the byte-level vocabulary is trained on the lines below, at once.
"""

from __future__ import annotations

from functools import cache

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, processors, trainers

from ninfer_lab.contract.prompt import ChatPrompt, Message, PromptLimits, Role
from ninfer_lab.frontend.chat_template import ChatTemplate
from ninfer_lab.frontend.checkpoint_folder import TemplateText
from ninfer_lab.frontend.prepared_prompt import Frontend
from ninfer_lab.frontend.tokenizer import Tokenizer

LINES = (
    "system user assistant tool hello world, what is the colour of the sky?",
    "The sky is blue! It was grey! 天空是蓝色的。 Ça va très bien, déjà vu 🙂🙃",
    "grey! user: blue! assistant: sky! hello! user: sky! assistant: grey! tool: blue!",
    "the sky is blue, the sky is grey, the sky is blue",
    "think about the answer and then say it; then think again about what was asked",
)

END = "<|im_end|>"
UNKNOWN = "[UNK]"

LIMITS = PromptLimits(max_prompt_tokens=4_000, vocabulary_tokens=1_000)

CHATML = """
{%- for message in messages -%}
<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{% endif -%}
"""

THINKING = """
{%- set place = namespace(last_question=-1) -%}
{%- for message in messages -%}
  {%- if message.role == 'user' -%}{%- set place.last_question = loop.index0 -%}{%- endif -%}
{%- endfor -%}
{%- if place.last_question < 0 -%}{{ raise_exception('a question is missing') }}{%- endif -%}
{%- if tools -%}
  {{- '<|im_start|>system\n' -}}
  {%- for tool in tools -%}{{- tool | tojson + '\n' -}}{%- endfor -%}
  {{- '<|im_end|>\n' -}}
{%- endif -%}
{%- for message in messages -%}
  {%- set thought = message.reasoning_content | default('') -%}
  {%- set said = message.content -%}
  {%- if message.role == 'assistant' and not thought and '</think>' in said -%}
    {%- set thought = said.split('</think>')[0].split('<think>')[-1].strip('\n') -%}
    {%- set said = said.split('</think>')[-1].lstrip('\n') -%}
  {%- endif -%}
  {%- if message.role == 'assistant' -%}
    {{- '<|im_start|>assistant\n' -}}
    {%- if loop.index0 > place.last_question -%}
      {{- '<think>\n' + thought.strip('\n') + '\n</think>\n\n' -}}
    {%- endif -%}
    {{- said -}}
    {%- for call in message.tool_calls | default([]) -%}
      {{- '\n<tool_call>\n' + call.function.name + ' ' + call.function.arguments | tojson -}}
      {{- '\n</tool_call>' -}}
    {%- endfor -%}
    {{- '<|im_end|>\n' -}}
  {%- elif message.role == 'tool' -%}
    {%- if loop.first or loop.previtem.role != 'tool' -%}{{- '<|im_start|>user' -}}{%- endif -%}
    {{- '\n<tool_response>\n' + said + '\n</tool_response>' -}}
    {%- if loop.last or loop.nextitem.role != 'tool' -%}{{- '<|im_end|>\n' -}}{%- endif -%}
  {%- else -%}
    {{- '<|im_start|>' + message.role + '\n' + said + '<|im_end|>\n' -}}
  {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
  {{- '<|im_start|>assistant\n' -}}
  {%- if enable_thinking is defined and enable_thinking is false -%}
    {{- '<think>\n\n</think>\n\n' -}}
  {%- else -%}
    {{- '<think>\n' -}}
  {%- endif -%}
{%- endif -%}
"""
"""Strips thinking from all turns but the current one, groups tool results, opens with `<think>`."""

SEAMLESS = """
{%- for message in messages -%} {{- ' ' + message.role + ': ' + message.content -}} {%- endfor -%}
{%- if add_generation_prompt -%} {{- ' assistant:' -}} {%- endif -%}
"""
"""No special tokens: whether a message ends on a token frontier depends on its last word."""

UNALIGNED = """
{%- for message in messages -%} {{- '!' + message.role + ' ' + message.content + '!' -}}
{%- endfor -%}
{%- if add_generation_prompt -%} {{- '!assistant' -}} {%- endif -%}
"""
"""Every message ends between two signs that are one token."""

CROSSING = """
{%- for message in messages -%}
  {{- '!' if message.role == 'assistant' else ' say ' -}} {{- message.content + '!' -}}
{%- endfor -%}
{%- if add_generation_prompt -%} {{- ' now' -}} {%- endif -%}
"""
"""Before an answer the prompt ends on a token frontier; once answered, a token crosses it."""

COUNTING = """
{{- messages | length -}}
{%- for message in messages -%}
  {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' -}}
{%- endfor -%}
{%- if add_generation_prompt -%} {{- '<|im_start|>assistant\n' -}} {%- endif -%}
"""
"""Says first how many messages follow: every next request changes the very beginning."""


def trained(*, trim_offsets: bool = False) -> tokenizers.Tokenizer:
    """A byte-level BPE with the marks of ChatML; any bytes can be written in it."""
    inner = tokenizers.Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.post_processor = processors.ByteLevel(trim_offsets=trim_offsets)
    trainer = trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=["<|im_start|>", "<|im_end|>", "<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    inner.train_from_iterator([*LINES * 4, "!! !!! !!!! ?! !!!"], trainer)
    inner.add_tokens(["<think>", "</think>"])
    return inner


@cache
def byte_level() -> Tokenizer:
    return Tokenizer(trained().to_str(), eos_token=END)


@cache
def word_level() -> Tokenizer:
    """Whole words, joined by spaces when decoded: no characters in pieces."""
    words = sorted({word for line in LINES for word in line.split()})
    vocabulary = {word: ordinal for ordinal, word in enumerate([UNKNOWN, *words])}
    inner = tokenizers.Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    inner.add_special_tokens([END])
    return Tokenizer(inner.to_str(), eos_token=END)


@cache
def byte_fallback() -> Tokenizer:
    return Tokenizer(byte_fallback_json())


def byte_fallback_json() -> str:
    """Pieces with `▁` for a space and one token per byte for what no piece covers."""
    pieces = ["▁hello", "▁world", "▁sky", "blue", "▁", *(f"<0x{byte:02X}>" for byte in range(256))]
    vocabulary = {piece: ordinal for ordinal, piece in enumerate([UNKNOWN, *pieces])}
    inner = tokenizers.Tokenizer(models.BPE(vocabulary, [], unk_token=UNKNOWN, byte_fallback=True))
    inner.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    return str(inner.to_str())


@cache
def template(text: str) -> ChatTemplate:
    return ChatTemplate(TemplateText(source="a test", plain=text, with_tools=None))


@cache
def frontend(text: str) -> Frontend:
    return Frontend(tokenizer=byte_level(), template=template(text))


def system(content: str) -> Message:
    return Message(role=Role.SYSTEM, content=content)


def user(content: str) -> Message:
    return Message(role=Role.USER, content=content)


def assistant(content: str, reasoning: str | None = None) -> Message:
    return Message(role=Role.ASSISTANT, content=content, reasoning=reasoning)


def tool(content: str) -> Message:
    return Message(role=Role.TOOL, content=content)


def chat(*messages: Message, **options: bool | int | str) -> ChatPrompt:
    return ChatPrompt(messages=messages, template_options=tuple(options.items()))
