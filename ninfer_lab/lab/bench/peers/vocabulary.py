"""Which word is each token of the tiny checkpoint?

Owns a vocabulary of one token per printable character, and numbered words behind them: chats are
counted in characters, whoever reads them, and token prompts stay as they are. Also owns the chats'
text (ChatML) and this project's frontend for both. Imports no torch.
"""

from __future__ import annotations

import json
import string
from collections.abc import Iterable

from ninfer_lab.contract.prompt import Message
from ninfer_lab.frontend.chat_template import ChatTemplate
from ninfer_lab.frontend.checkpoint_folder import TemplateText
from ninfer_lab.frontend.prepared_prompt import Frontend
from ninfer_lab.frontend.tokenizer import Tokenizer

# In a byte-level vocabulary a space and a line feed are written as two letters that are not ASCII.
_SPACE, _LINE_FEED = "\u0120", "\u010a"
_LETTERS = (_SPACE, _LINE_FEED, *string.digits, *string.ascii_letters, *string.punctuation)
_WRITTEN = {" ": _SPACE, "\n": _LINE_FEED}
_SPOKEN = {written: character for character, written in _WRITTEN.items()}

CHATML = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def vocabulary_of(size: int) -> list[str]:
    """The word of each token: printable characters first, then `t` and its number."""
    return [*_LETTERS, *(f"t{number}" for number in range(len(_LETTERS), size))]


def spoken_words(size: int) -> list[str]:
    """What each token adds to a text."""
    return [_SPOKEN.get(word, word) for word in vocabulary_of(size)]


def tokens_of(text: str) -> tuple[int, ...]:
    """One token for each character.

    >>> tokens_of("a b")
    (12, 0, 13)
    """
    ids = {letter: token for token, letter in enumerate(_LETTERS)}
    return tuple(ids[_WRITTEN.get(character, character)] for character in text)


def chat_tokens(messages: Iterable[Message]) -> tuple[int, ...]:
    """A chat and the opening of its answer, as every engine here renders it."""
    said = "".join(f"<|im_start|>{m.role.value}\n{m.content}<|im_end|>\n" for m in messages)
    return tokens_of(f"{said}<|im_start|>assistant\n")


def chat_frontend() -> Frontend:
    """Renders and counts chats in the same way."""
    model = {
        "type": "BPE",
        "vocab": {letter: token for token, letter in enumerate(_LETTERS)},
        "merges": [],
    }
    bytes_only = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False}
    tokenizer = {"model": model, "pre_tokenizer": bytes_only, "decoder": bytes_only}
    return Frontend(
        tokenizer=Tokenizer(json.dumps(tokenizer)),
        template=ChatTemplate(TemplateText(source="peers", plain=CHATML, with_tools=None)),
    )
