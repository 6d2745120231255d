"""How does text of the tiny world become token ids, and back, without loss?

Owns the tokenizer file, its settings file and the two chat templates of `datasets/tiny`.
Does not know conversations or tensors.

Every word of `phrases.every_word` is one token; any other text falls back to bytes, so no text is
refused and none is changed. There are no merges: a word is either known whole or spelled.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

from ninfer_lab.lab.tiny_model.phrases import WORD_PATTERN, every_word

END_OF_TEXT: Final = "<|endoftext|>"
MESSAGE_START: Final = "<|im_start|>"
MESSAGE_END: Final = "<|im_end|>"
THINK_START: Final = "<think>"
THINK_END: Final = "</think>"

SPECIAL_TOKENS: Final = (END_OF_TEXT, MESSAGE_START, MESSAGE_END)
"""Left out by `decode(..., skip_special_tokens=True)`."""
MARKER_TOKENS: Final = (THINK_START, THINK_END)
"""Single tokens that are part of what the assistant says."""

CHAT_TEMPLATE: Final = """\
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' }}
    {%- if message.reasoning_content %}
        {{- '<think>' + message.reasoning_content + '</think>' }}
    {%- endif %}
    {{- message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking %}
        {{- '<think>' }}
    {%- endif %}
{%- endif %}
"""
"""ChatML; history is repeated word for word, thoughts included."""

STRIP_THINKING_TEMPLATE: Final = """\
{%- set last_user = namespace(index=-1) %}
{%- for message in messages %}
    {%- if message.role == 'user' %}
        {%- set last_user.index = loop.index0 %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' }}
    {%- if message.reasoning_content and loop.index0 > last_user.index %}
        {{- '<think>' + message.reasoning_content + '</think>' }}
    {%- endif %}
    {{- message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is not defined or enable_thinking %}
        {{- '<think>' }}
    {%- endif %}
{%- endif %}
"""
"""ChatML whose assistant thinks; a new user message removes the thoughts of all earlier replies."""


def build_tokenizer() -> Tokenizer:
    """Make the tokenizer of the tiny world.

    Returns:
        A tokenizer with `decode(encode(text)) == text` for every text, and `encode(decode(ids)) ==
        ids` for every sequence of whole words.
    """
    byte_letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    spelled = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    known_words = ["".join(piece for piece, _ in spelled.pre_tokenize_str(w)) for w in every_word()]
    vocabulary: dict[str, int] = {}
    for token in (*SPECIAL_TOKENS, *MARKER_TOKENS, *byte_letters, *known_words):
        vocabulary.setdefault(token, len(vocabulary))
    # ignore_merges: a piece found whole in the vocabulary is one token, whatever merges would spell
    # it.
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[], ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(WORD_PATTERN), behavior="isolated"), spelled]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL_TOKENS])
    tokenizer.add_tokens([AddedToken(token, special=False) for token in MARKER_TOKENS])
    return tokenizer


def write_tokenizer(folder: Path) -> None:
    """Write tokenizer.json, its settings and both chat templates into an existing folder."""
    build_tokenizer().save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": None,
        "eos_token": MESSAGE_END,
        "pad_token": END_OF_TEXT,
        "clean_up_tokenization_spaces": False,
        "model_max_length": 4096,
    }
    text = json.dumps(settings, indent=2) + "\n"
    (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")
    (folder / "chat_template.jinja").write_text(CHAT_TEMPLATE, encoding="utf-8")
    stripping = folder / "chat_template_strip_thinking.jinja"
    stripping.write_text(STRIP_THINKING_TEMPLATE, encoding="utf-8")
