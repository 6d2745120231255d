"""In which words does the trained model meet a fault?

Owns the choice of two held-out conversations: one that is restored and asked for a fact, one that
says something else of the same key, so that a fault that mixes them up is heard in the answer. Does
not know faults.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from ninfer_lab.contract.errors import NinferLabError
from ninfer_lab.contract.options import PAGE_TOKENS
from ninfer_lab.contract.prompt import ChatPrompt, Message, PromptLimits, Role
from ninfer_lab.engine.request import RequestOutcome
from ninfer_lab.frontend.prepared_prompt import Frontend
from ninfer_lab.lab.faults.world import FaultWorld
from ninfer_lab.lab.serving import tiny_checkpoint
from ninfer_lab.lab.tiny_model.phrases import STATEMENTS, VALUES, FactKind
from ninfer_lab.lab.tiny_model.world import (
    Conversation,
    Fact,
    Recipe,
    Split,
    answer_text,
    generate,
    question_text,
)

CONVERSATION_TOKENS = range(170, 230)
"""Two full pages and a part of a third. A seed takes its length from here, so that some question
ends just before a page does."""

THIRD_PAGE_END_TOKENS = 3 * PAGE_TOKENS

ANSWER_TOKENS = 5
"""A fact said in one sentence, without the mark that ends the message."""

TRIED_SEEDS_COUNT = 2_000
"""One conversation in a few dozen has the right length."""

_Found = TypeVar("_Found")
_LIMITS = PromptLimits(max_prompt_tokens=1024, vocabulary_tokens=1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """A conversation, the fact it is asked for, and how."""

    conversation: Conversation
    fact: Fact

    @property
    def opening(self) -> tuple[Message, ...]:
        """Everything up to its last question."""
        return self.conversation.messages[:-1]

    def asked_after(self, answer: str) -> ChatPrompt:
        """The opening, an answer, and the question for the fact."""
        return _asked(self.opening, answer, question_text(self.fact.kind, self.fact.key))


def trained_world(kind: FactKind) -> FaultWorld:
    """Two held-out conversations; the first restore asks for one fact, the second for the title.

    Args:
        kind: COLOUR or PLACE change over the turns and live in the recurrent state; a CODE is
            stated once, and lives in the pages.

    Raises:
        CheckpointError: There is no trained checkpoint.
        NinferLabError: No conversation has the right length, or none contradicts it.
    """
    checkpoint = tiny_checkpoint()
    frontend = Frontend.from_folder(checkpoint)
    told = _first(_fitting(frontend, kind), f"conversation about a {kind.value}")
    other, contrary = _first(_contradicting(told.fact), f"conversation against {told.fact}")

    def go_on(answered: RequestOutcome, ordinal: int) -> ChatPrompt:
        if ordinal == 0:
            return told.asked_after(answered.text)
        (topic,) = (fact for fact in told.conversation.facts if fact.kind is FactKind.TOPIC)
        return _asked(told.opening, answered.text, question_text(topic.kind, topic.key))

    return FaultWorld(
        name=f"trained model, asked for a {kind.value}",
        checkpoint=checkpoint,
        frontend=frontend,
        other=ChatPrompt(messages=other.messages[:-1]),
        opening=ChatPrompt(messages=told.opening),
        go_on=go_on,
        right_answer=answer_text(told.fact),
        other_answer=answer_text(contrary),
    )


def _fitting(frontend: Frontend, kind: FactKind) -> Iterator[_Told]:
    """Conversations whose question nearly fills a third page: the answer begins a fourth."""
    for conversation in _held_out():
        facts = conversation.fresh_codes if kind is FactKind.CODE else conversation.facts
        fact = next((f for f in facts if f.kind is kind and _is_telling(conversation, f)), None)
        if fact is None or len(conversation.replies[-1].facts) != 1:
            continue
        told = _Told(conversation=conversation, fact=fact)
        expected = answer_text(conversation.replies[-1].facts[0])
        asked_tokens = len(frontend.prepare(told.asked_after(expected), _LIMITS).tokens)
        if asked_tokens <= THIRD_PAGE_END_TOKENS < asked_tokens + ANSWER_TOKENS:
            yield told


def _is_telling(conversation: Conversation, fact: Fact) -> bool:
    """Whether only the right half of a context can know the fact: a changing one has changed, so
    that who finds a statement does not yet know the last.
    """
    said = " ".join(m.content for m in conversation.messages if m.role is Role.USER)
    values_count = sum(
        any(pattern.format(key=fact.key, value=value) in said for pattern in STATEMENTS[fact.kind])
        for value in VALUES[fact.kind]
    )
    return fact.kind is FactKind.CODE or values_count > 1


def _contradicting(fact: Fact) -> Iterator[tuple[Conversation, Fact]]:
    """Conversations that say something else of the same key, and what they say."""
    for conversation in _held_out():
        value = conversation.value_of(fact.kind, fact.key)
        if value is not None and value != fact.value:
            yield conversation, replace(fact, value=value)


def _held_out() -> Iterator[Conversation]:
    for seed in range(TRIED_SEEDS_COUNT):
        length_tokens = CONVERSATION_TOKENS[seed % len(CONVERSATION_TOKENS)]
        recipe = Recipe(length_tokens=length_tokens, thinking_share=0.0)
        yield generate(recipe, split=Split.HELD_OUT, seed=seed)


def _first(found: Iterator[_Found], what: str) -> _Found:
    for each in found:
        return each
    raise NinferLabError(what, found=f"none in {TRIED_SEEDS_COUNT} seeds", legal="one")


def _asked(opening: tuple[Message, ...], answer: str, question: str) -> ChatPrompt:
    said = Message(role=Role.ASSISTANT, content=answer)
    return ChatPrompt(messages=(*opening, said, Message(role=Role.USER, content=question)))
