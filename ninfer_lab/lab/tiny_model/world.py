"""What is said in a conversation of the tiny model's world, and what is true at its end?

Owns the generation of conversations: which facts are stated, restated and asked, from a seed alone.
Does not know token ids, templates, tensors or training; a conversation's length is counted in words
of `phrases.words` plus what ChatML puts around a message.

A fact that changes (a colour, a place) is restated many times among few keys: the last statement
holds. A code is stated once, and a conversation holds far more codes than changing facts. See
`evaluate` for what this is meant to force into the two halves of a hybrid model's cache.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import Enum
from typing import Final

from ninfer_lab.contract.prompt import Message, Role
from ninfer_lab.lab.tiny_model.phrases import (
    ANSWERS,
    KEYS,
    NOTED,
    NOTED_THOUGHT,
    QUESTIONS,
    RECITAL_REQUEST,
    SMALL_TALK,
    STATEMENTS,
    SYSTEM_PROMPTS,
    THOUGHTS,
    VALUES,
    FactKind,
    words,
)

MESSAGE_OVERHEAD_TOKENS: Final = 4
"""`<|im_start|>`, the role with its line end, `<|im_end|>`, and the line end after it."""

THOUGHT_OVERHEAD_TOKENS: Final = 2
"""`<think>` and `</think>`."""

TOPIC_KEY: Final = KEYS[FactKind.TOPIC][0]
CHANGING_KINDS: Final = (FactKind.COLOUR, FactKind.PLACE)
_TURN_RESERVE_TOKENS: Final = 40
"""A turn longer than this is cut to its question; no question turn of this world is longer."""


class Split(Enum):
    """Two families of conversations with no seed in common."""

    TRAINING = "training"
    HELD_OUT = "held out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A key and what holds for it."""

    kind: FactKind
    key: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An assistant message that says facts: the answer to a question, or a recital of many."""

    message_index: int
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Messages, and what is true after the last of them.

    Attributes:
        messages: From the optional system message to the assistant's last reply.
        replies: Every assistant message that says facts, in order.
        facts: What holds at the end, changing facts and topic, in the order they were first stated.
        fresh_codes: Codes that were stated and never asked.
    """

    messages: tuple[Message, ...]
    replies: tuple[Reply, ...]
    facts: tuple[Fact, ...]
    fresh_codes: tuple[Fact, ...]

    def value_of(self, kind: FactKind, key: str) -> str | None:
        """What holds for `key`, or None where the conversation never said."""
        for fact in (*self.facts, *self.fresh_codes):
            if fact.kind is kind and fact.key == key:
                return fact.value
        return None


class Form(Enum):
    """What a generated conversation looks like."""

    DIALOGUE = "dialogue"
    """Turns: facts, then mostly a question about one of them, and its answer."""
    RECITAL = "recital"
    """One turn: many facts, then some of them again, in any order. It teaches most per token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a conversation is made.

    Attributes:
        form: Dialogue or recital.
        length_tokens: Upper bound of its rendered length; generation ends within one turn of it.
        changing_keys_max_count: Most keys of changing facts in one conversation.
        turn_facts_max_count: Most statements in one user message.
        code_share: Chance that a statement is a code rather than a changing fact.
        code_question_share: Chance that a question asks a code.
        title_question_share: Chance that a question asks for the title.
        question_share: Chance that a turn ends in a question.
        thinking_share: Chance that the assistant of a conversation sometimes thinks before it
            answers.
    """

    length_tokens: int
    form: Form = Form.DIALOGUE
    changing_keys_max_count: int = 8
    turn_facts_max_count: int = 6
    code_share: float = 0.6
    code_question_share: float = 0.5
    title_question_share: float = 0.08
    question_share: float = 0.9
    thinking_share: float = 0.2


def generate(recipe: Recipe, *, split: Split, seed: int) -> Conversation:
    """Make one conversation.

    Args:
        recipe: Its shape.
        split: Training or held out; the same seed gives unrelated conversations in the two.
        seed: Decides everything else.

    Returns:
        A conversation whose rendered length is at most `recipe.length_tokens`.

    Raises:
        ValueError: `recipe.length_tokens` holds no turn at all.
    """
    if recipe.length_tokens < 2 * _TURN_RESERVE_TOKENS:
        raise ValueError(
            f"recipe.length_tokens: found {recipe.length_tokens}; "
            f"legal: at least {2 * _TURN_RESERVE_TOKENS}, a system message and one turn"
        )
    writer = _Writer(recipe, random.Random(f"{split.value}/{seed}"))
    if recipe.form is Form.RECITAL:
        writer.write_recital()
        return writer.conversation()
    while writer.room_tokens >= _TURN_RESERVE_TOKENS:
        writer.write_turn()
    return writer.conversation()


def question_text(kind: FactKind, key: str, *, phrasing: int = 0) -> str:
    """The user's question about a key, in one of its phrasings."""
    return QUESTIONS[kind][phrasing].format(key=key)


def answer_text(fact: Fact) -> str:
    """The assistant's answer: one sentence, with the value as its last word."""
    return ANSWERS[fact.kind].format(key=fact.key, value=fact.value)


class _Writer:
    """A conversation being written: the only mutable thing here."""

    def __init__(self, recipe: Recipe, rng: random.Random) -> None:
        self._recipe = recipe
        self._rng = rng
        self._messages: list[Message] = []
        self._replies: list[Reply] = []
        self._facts: dict[tuple[FactKind, str], Fact] = {}
        self._fresh_codes: list[Fact] = []
        self._lockers = rng.sample(KEYS[FactKind.CODE], len(KEYS[FactKind.CODE]))
        self._thinks = rng.random() < recipe.thinking_share
        every_key = [(kind, key) for kind in CHANGING_KINDS for key in KEYS[kind]]
        key_count = rng.randint(2, recipe.changing_keys_max_count)
        self._changing_keys = rng.sample(every_key, key_count)
        self.room_tokens = recipe.length_tokens
        if rng.random() < 0.5:
            self._say(Role.SYSTEM, rng.choice(SYSTEM_PROMPTS))

    def conversation(self) -> Conversation:
        """What has been written so far."""
        return Conversation(
            messages=tuple(self._messages),
            replies=tuple(self._replies),
            facts=tuple(self._facts.values()),
            fresh_codes=tuple(self._fresh_codes),
        )

    def write_turn(self) -> None:
        """A user message and its reply, within the room that is left."""
        if self._rng.random() < 0.04:
            remark = self._rng.choice(tuple(SMALL_TALK))
            self._say(Role.USER, remark)
            self._say(Role.ASSISTANT, SMALL_TALK[remark])
            return
        sentences: list[str] = []
        if (FactKind.TOPIC, TOPIC_KEY) not in self._facts:
            sentences.append(self._state(FactKind.TOPIC, TOPIC_KEY))
        spare_tokens = self.room_tokens - _TURN_RESERVE_TOKENS
        for _ in range(self._rng.randint(1, self._recipe.turn_facts_max_count)):
            sentence = self._state(*self._next_subject())
            spare_tokens -= len(words(f" {sentence}"))
            sentences.append(sentence)
            if spare_tokens < 0:
                break
        if self._rng.random() >= self._recipe.question_share:
            self._say(Role.USER, " ".join(sentences))
            self._reply(NOTED, thought=NOTED_THOUGHT)
            return
        fact = self._asked_fact()
        phrasing = self._rng.randrange(len(QUESTIONS[fact.kind]))
        sentences.append(question_text(fact.kind, fact.key, phrasing=phrasing))
        self._say(Role.USER, " ".join(sentences))
        self._replies.append(Reply(message_index=len(self._messages), facts=(fact,)))
        self._reply(answer_text(fact), thought=THOUGHTS[fact.kind].format(key=fact.key))

    def write_recital(self) -> None:
        """Half of the room in statements, the other half in saying some of them again."""
        half_tokens = (self.room_tokens - _TURN_RESERVE_TOKENS) // 2
        sentences: list[str] = []
        room_tokens = half_tokens
        while room_tokens > 0:
            sentences.append(self._state(*self._next_subject()))
            room_tokens -= len(words(f" {sentences[-1]}"))
        self._say(Role.USER, " ".join((*sentences, RECITAL_REQUEST)))
        # Drawn with repetition: were each said once, what is left over would give the last ones
        # away.
        known = [*self._facts.values(), *self._fresh_codes]
        facts: list[Fact] = []
        room_tokens = half_tokens
        while room_tokens > 0:
            facts.append(self._rng.choice(known))
            room_tokens -= len(words(f" {answer_text(facts[-1])}"))
        self._replies.append(Reply(message_index=len(self._messages), facts=tuple(facts)))
        self._say(Role.ASSISTANT, " ".join(answer_text(fact) for fact in facts))

    def _next_subject(self) -> tuple[FactKind, str]:
        if self._lockers and self._rng.random() < self._recipe.code_share:
            return FactKind.CODE, self._lockers.pop()
        return self._rng.choice(self._changing_keys)

    def _state(self, kind: FactKind, key: str) -> str:
        """Make a fact hold, and put it into words."""
        fact = Fact(kind=kind, key=key, value=self._rng.choice(VALUES[kind]))
        if kind is FactKind.CODE:
            self._fresh_codes.append(fact)
        else:
            self._facts[kind, key] = fact
        pattern = self._rng.choice(STATEMENTS[kind])
        return pattern.format(key=key, value=fact.value)

    def _asked_fact(self) -> Fact:
        """A fact to ask about; an asked code is no longer fresh, for its answer states it again."""
        draw = self._rng.random()
        if draw < self._recipe.title_question_share:
            return self._facts[FactKind.TOPIC, TOPIC_KEY]
        changing = [fact for fact in self._facts.values() if fact.kind in CHANGING_KINDS]
        asks_code = self._rng.random() < self._recipe.code_question_share
        if self._fresh_codes and (asks_code or not changing):
            return self._fresh_codes.pop(self._rng.randrange(len(self._fresh_codes)))
        return self._rng.choice(changing or [self._facts[FactKind.TOPIC, TOPIC_KEY]])

    def _reply(self, content: str, *, thought: str) -> None:
        thinks = self._thinks and self._rng.random() < 0.5
        self._say(Role.ASSISTANT, content, thought=thought if thinks else None)

    def _say(self, role: Role, content: str, *, thought: str | None = None) -> None:
        self._messages.append(Message(role=role, content=content, reasoning=thought))
        self.room_tokens -= MESSAGE_OVERHEAD_TOKENS + len(words(content))
        if thought is not None:
            self.room_tokens -= THOUGHT_OVERHEAD_TOKENS + len(words(thought))
