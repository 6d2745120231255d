"""What text has an answer become so far, as its tokens arrive one by one?

Owns incremental detokenization. A piece of text is handed out only when no later token can change
it, so half a character is never seen; each token costs a bounded amount of work.
Does not know stop strings, messages or why an answer ends.
"""

from __future__ import annotations

import codecs
from typing import Protocol

from ninfer_lab.frontend.tokenizer import Tokenizer

_REPLACEMENT = "\ufffd"

MAX_HELD_TOKENS = 16
"""A character takes at most four tokens; a longer run without a whole one will never form one."""


class TokenText(Protocol):
    """Turns tokens into final text."""

    def push(self, token_id: int) -> str:
        """The text that has become final with this token; often empty, never half a character."""
        ...

    def flush(self) -> str:
        """What is still held, as final text; nothing may be pushed afterwards."""
        ...

    @property
    def is_whole(self) -> bool:
        """Whether the text handed out is all the text of the tokens pushed."""
        ...


def token_text(tokenizer: Tokenizer | None) -> TokenText:
    """The incremental detokenizer that fits a tokenizer; without one, tokens have no text."""
    if tokenizer is None:
        return NoText()
    return ByteText(tokenizer) if tokenizer.decodes_bytes else WindowText(tokenizer)


class NoText:
    """Tokens that stand for nothing readable: raw prompts of a simulated machine."""

    is_whole = True

    def push(self, token_id: int) -> str:
        """Nothing."""
        return ""

    def flush(self) -> str:
        """Nothing."""
        return ""


class ByteText:
    """Text of a byte-level vocabulary: bytes are appended and whole characters come out.

    The concatenation of what is handed out equals `Tokenizer.decode` of all tokens, for any tokens.

    Args:
        tokenizer: One that `decodes_bytes`.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def push(self, token_id: int) -> str:
        """Characters that this token completes."""
        return self._decoder.decode(self._tokenizer.piece_bytes(token_id))

    def flush(self) -> str:
        """U+FFFD if the last bytes form no character, else nothing."""
        return self._decoder.decode(b"", final=True)

    @property
    def is_whole(self) -> bool:
        """Whether no byte waits for the rest of its character."""
        return not self._decoder.getstate()[0]


class WindowText:
    """Text of any other vocabulary: a short window of last tokens is decoded with and without new.

    A decoder that joins tokens with spaces or markers needs the token before to say what the next
    one adds; that token stays in the window. For tokens that form whole characters the
    concatenation equals `Tokenizer.decode` of all tokens.

    Args:
        tokenizer: Any.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._window: list[int] = []
        self._known_tokens = 0
        self._known_text = ""

    def push(self, token_id: int) -> str:
        """The text the window gained, unless it may still change."""
        if self._tokenizer.leaves_no_text(token_id):
            return ""
        self._window.append(token_id)
        text = self._tokenizer.decode(self._window)
        unfinished = text.endswith(_REPLACEMENT) or not text.startswith(self._known_text)
        if unfinished and len(self._window) - self._known_tokens < MAX_HELD_TOKENS:
            return ""
        return self._hand_out(text)

    def flush(self) -> str:
        """What the held tokens decode to, finished or not."""
        return self._hand_out(self._tokenizer.decode(self._window))

    @property
    def is_whole(self) -> bool:
        """Whether no token of the window is held."""
        return self._known_tokens == len(self._window)

    def _hand_out(self, text: str) -> str:
        gained = text[len(self._known_text) :]
        self._window = self._window[self._known_tokens :] or self._window
        self._known_tokens = len(self._window)
        self._known_text = self._tokenizer.decode(self._window)
        return gained
