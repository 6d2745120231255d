"""Which words and sentences exist in the tiny model's world?

Owns the word lists, the phrasings of every fact and question, and the pattern that cuts text into
words. Does not know conversations, token ids or tensors.

The text of a fact is written so that a word can be taken back from its spelling: every word of a
sentence is `space + lower case`, `space + capital`, or a capital word that opens a message. Any
sequence of such words can be glued together and cut again without loss, so decoding an answer and
encoding it again gives the same words.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Final

THINGS: Final = tuple(
    "lamp door ball cup box hat car bike kite boat chair table sofa bed book bag".split()
)
COLOURS: Final = tuple(
    "red green blue black white yellow brown pink grey purple orange gold".split()
)
PEOPLE: Final = tuple("Anna Ben Carla David Emma Frank Grace Henry Ida Jack Kate Leo".split())
CITIES: Final = tuple(
    "Paris Rome Oslo Lima Cairo Delhi Tokyo Dublin Vienna Madrid Athens Berlin".split()
)
TOPICS: Final = tuple(
    "party trip wedding picnic concert dinner play race fair film dance lesson".split()
)
LOCKERS: Final = tuple(f"{letter}{number}" for letter in "BCDFGHKM" for number in range(10, 26))
CODES: Final = tuple(str(number) for number in range(10, 100))

HEADERS: Final = ("system\n", "user\n", "assistant\n")
"""What stands between `<|im_start|>` and the content: one word each."""

WORD_PATTERN: Final = (
    r"(?:system|user|assistant)\n"  # a message header
    r"| ?[A-Z]?[0-9]+"  # a code, or a locker's name
    r"| ?[A-Z][a-z]*"  # a name, or the first word of a sentence
    r"| ?[a-z]+"
)
"""What is one word; a character outside every match (a full stop, a line end) stands alone."""


class FactKind(Enum):
    """What a statement is about."""

    COLOUR = "colour"
    """A thing has a colour; it may be stated again, the last one holds."""
    PLACE = "place"
    """A person is in a city; it may be stated again, the last one holds."""
    CODE = "code"
    """A locker holds a number; stated once in a conversation."""
    TOPIC = "topic"
    """What the conversation is about; stated once, at its beginning."""


STATEMENTS: Final[dict[FactKind, tuple[str, ...]]] = {
    FactKind.COLOUR: (
        "The {key} is {value}.",
        "Now the {key} is {value}.",
        "I painted the {key} {value}.",
    ),
    FactKind.PLACE: (
        "{key} is in {value}.",
        "Now {key} is in {value}.",
        "{key} went to {value}.",
    ),
    FactKind.CODE: ("Locker {key} holds {value}.",),
    FactKind.TOPIC: ("Let us {key} the {value}.", "We {key} the {value}."),
}
QUESTIONS: Final[dict[FactKind, tuple[str, ...]]] = {
    FactKind.COLOUR: ("What colour is the {key}?", "What colour is the {key} now?"),
    FactKind.PLACE: ("Where is {key}?", "Where is {key} now?"),
    FactKind.CODE: ("What does locker {key} hold?", "What is in locker {key}?"),
    FactKind.TOPIC: ("Give this {key} a title.", "Write a short title for the {key}."),
}
ANSWERS: Final[dict[FactKind, str]] = {
    FactKind.COLOUR: "The {key} is {value}.",
    FactKind.PLACE: "{key} is in {value}.",
    FactKind.CODE: "Locker {key} holds {value}.",
    FactKind.TOPIC: "The {value}.",
}
"""One sentence for each kind. The value is always the last word before the full stop."""

THOUGHTS: Final[dict[FactKind, str]] = {
    FactKind.COLOUR: "The {key}.",
    FactKind.PLACE: "{key}.",
    FactKind.CODE: "Locker {key}.",
    FactKind.TOPIC: "The title.",
}
"""What stands between `<think>` and `</think>` where an answer thinks first."""

KEYS: Final[dict[FactKind, tuple[str, ...]]] = {
    FactKind.COLOUR: THINGS,
    FactKind.PLACE: PEOPLE,
    FactKind.CODE: LOCKERS,
    FactKind.TOPIC: ("plan",),
}
VALUES: Final[dict[FactKind, tuple[str, ...]]] = {
    FactKind.COLOUR: COLOURS,
    FactKind.PLACE: CITIES,
    FactKind.CODE: CODES,
    FactKind.TOPIC: TOPICS,
}

SYSTEM_PROMPTS: Final = (
    "You are a helpful assistant.",
    "You are a helpful assistant. Answer in one short sentence.",
)
SMALL_TALK: Final[dict[str, str]] = {
    "Hello.": "Hello.",
    "Thank you.": "You are welcome.",
}
"""A remark with no fact in it, and its reply."""

RECITAL_REQUEST: Final = "Say it again."
"""Asks for facts again, in any order; only training asks it."""

NOTED: Final = "Noted."
"""The reply to facts without a question."""
NOTED_THOUGHT: Final = "No question."


def words(text: str) -> list[str]:
    """Cut a text into words; joined together again they are the text.

    Args:
        text: Message content, or a rendered message without the special markers.

    Returns:
        The words, each with its leading space.
    """
    found: list[str] = []
    end = 0
    for match in re.finditer(WORD_PATTERN, text):
        found.extend(text[end : match.start()])
        found.append(match.group())
        end = match.end()
    found.extend(text[end:])
    return found


def every_word() -> tuple[str, ...]:
    """List every word that a generated conversation can hold, in one fixed order.

    A word that can stand inside a message as well as open it is listed in both forms.

    Returns:
        Distinct words; single characters are left out (a tokenizer has them as bytes).
    """
    texts: list[str] = []
    for kind in FactKind:
        for pattern in (*STATEMENTS[kind], *QUESTIONS[kind], ANSWERS[kind], THOUGHTS[kind]):
            texts.extend(pattern.format(key=key, value=VALUES[kind][0]) for key in KEYS[kind])
            texts.extend(pattern.format(key=KEYS[kind][0], value=v) for v in VALUES[kind])
    texts.extend(
        (*SYSTEM_PROMPTS, *SMALL_TALK, *SMALL_TALK.values(), NOTED, NOTED_THOUGHT, RECITAL_REQUEST)
    )
    found = dict.fromkeys(HEADERS)
    for text in texts:
        for sentence in (text, f" {text}"):
            found.update(dict.fromkeys(words(sentence)))
    return tuple(word for word in found if len(word) > 1)
