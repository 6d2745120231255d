"""Which half of the cache does each answer live in?

Owns the measurement: held-out conversations are read up to the end of the last reply, then
questions are asked on top of a cache whose recurrent state or KV is the conversation's own, another
conversation's, or zero. Does not know training, nor the project's own engine: the caches here are
`transformers`' objects, so the numbers judge the model and not the engine that will serve it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, assert_never

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor
from transformers import DynamicCache, Qwen3_5ForCausalLM
from transformers.cache_utils import DynamicLayer, LinearAttentionLayer

from ninfer_lab.contract.prompt import Message, Role
from ninfer_lab.lab.tiny_model.examples import ExampleEncoder
from ninfer_lab.lab.tiny_model.phrases import FactKind
from ninfer_lab.lab.tiny_model.world import (
    CHANGING_KINDS,
    Conversation,
    Fact,
    Recipe,
    Reply,
    Split,
    answer_text,
    generate,
    question_text,
)

LENGTHS_TOKENS: Final = (256, 512, 1024)
QUESTIONS_PER_KIND: Final = 4
"""Of one kind in one conversation, so that long conversations do not outvote short ones."""


class Swap(Enum):
    """What is exchanged in the cache before the question is read."""

    NOTHING = "nothing"
    STATE_FOREIGN = "state foreign"
    STATE_ZERO = "state zero"
    KV_FOREIGN = "KV foreign"
    KV_ZERO = "KV zero"


class Subject(Enum):
    """What is asked, by where its answer should live."""

    CHANGING = "changing"
    CODE = "code"
    TITLE = "title"


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How questions of one subject were answered under one swap at one length.

    Attributes:
        length_tokens: Upper bound of the conversations' lengths.
        subject: What was asked.
        swap: What was exchanged.
        asked_count: Questions.
        right_count: Answers that were right from the first word to the end marker.
        foreign_known_count: Questions whose key the other conversation knows, with another value.
        foreign_count: Of those, answers that gave the other conversation's value.
    """

    length_tokens: int
    subject: Subject
    swap: Swap
    asked_count: int
    right_count: int
    foreign_known_count: int
    foreign_count: int

    @property
    def right_share(self) -> float:
        """Share of right answers; 0 where nothing was asked."""
        return self.right_count / max(1, self.asked_count)

    @property
    def foreign_share(self) -> float:
        """Share of the other conversation's answers where it knows the key."""
        return self.foreign_count / max(1, self.foreign_known_count)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """A conversation and the cache after its last token.

    Attributes:
        conv: Per linear layer, `[1, C, kernel]`.
        recurrent: Per linear layer, `[1, HV, K, V]`.
        keys: Per attention layer, `[1, H, T, D]`.
        values: Per attention layer, `[1, H, T, D]`.
    """

    conversation: Conversation
    conv: tuple[Tensor, ...]
    recurrent: tuple[Tensor, ...]
    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """A question, and another conversation to exchange a half of the cache with."""

    fact: Fact
    other: _Read


def measure(
    model: Qwen3_5ForCausalLM,
    tokenizer: Tokenizer,
    *,
    conversations_count: int,
    first_seed: int = 0,
    lengths_tokens: tuple[int, ...] = LENGTHS_TOKENS,
) -> tuple[Score, ...]:
    """Ask held-out conversations under every swap.

    Args:
        model: In evaluation mode.
        tokenizer: The model's own.
        conversations_count: Conversations per length, at least 2.
        first_seed: Of the held-out seeds.
        lengths_tokens: Conversation lengths.

    Returns:
        One score per length, subject and swap, in that order.

    Raises:
        ValueError: Fewer than two conversations: there is no other one to exchange with.
    """
    if conversations_count < 2:
        raise ValueError(f"conversations_count: found {conversations_count}; legal: at least 2")
    encoder = ExampleEncoder(tokenizer)
    scores: list[Score] = []
    with torch.inference_mode():
        for length_tokens in lengths_tokens:
            reads = [
                _read(model, encoder, length_tokens=length_tokens, seed=first_seed + n)
                for n in range(conversations_count)
            ]
            tallies = {(subject, swap): _Tally() for subject in Subject for swap in Swap}
            for index in range(conversations_count):
                _ask_all(model, encoder, reads, index, tallies)
            scores.extend(
                tally.score(length_tokens, subject, swap)
                for (subject, swap), tally in tallies.items()
            )
    return tuple(scores)


def subject_of(kind: FactKind) -> Subject:
    """By where the answer to a question of this kind should live."""
    if kind in CHANGING_KINDS:
        return Subject.CHANGING
    return Subject.CODE if kind is FactKind.CODE else Subject.TITLE


@dataclass(slots=True)
class _Tally:
    """A score being counted."""

    asked: int = 0
    right: int = 0
    foreign_known: int = 0
    foreign: int = 0

    def score(self, length_tokens: int, subject: Subject, swap: Swap) -> Score:
        return Score(
            length_tokens=length_tokens,
            subject=subject,
            swap=swap,
            asked_count=self.asked,
            right_count=self.right,
            foreign_known_count=self.foreign_known,
            foreign_count=self.foreign,
        )


def _read(
    model: Qwen3_5ForCausalLM, encoder: ExampleEncoder, *, length_tokens: int, seed: int
) -> _Read:
    recipe = Recipe(length_tokens=length_tokens)
    conversation = generate(recipe, split=Split.HELD_OUT, seed=seed)
    cache = DynamicCache(config=model.config)
    token_ids = torch.tensor([encoder.encode(conversation).token_ids])
    model(input_ids=token_ids, cache=cache, use_cache=True, logits_to_keep=1)
    linear, full = _halves(cache)
    return _Read(
        conversation=conversation,
        conv=tuple(_filled(layer.conv_states[0]) for layer in linear),
        recurrent=tuple(_filled(layer.recurrent_states[0]) for layer in linear),
        keys=tuple(_filled(layer.keys) for layer in full),
        values=tuple(_filled(layer.values) for layer in full),
    )


def _halves(cache: DynamicCache) -> tuple[list[LinearAttentionLayer], list[DynamicLayer]]:
    """The layers with a recurrent state, and the layers with KV."""
    linear = [layer for layer in cache.layers if isinstance(layer, LinearAttentionLayer)]
    full = [layer for layer in cache.layers if isinstance(layer, DynamicLayer)]
    assert len(linear) + len(full) == len(cache.layers)
    return linear, full


def _filled(tensor: Tensor | None) -> Tensor:
    assert tensor is not None
    return tensor


def _ask_all(
    model: Qwen3_5ForCausalLM,
    encoder: ExampleEncoder,
    reads: list[_Read],
    index: int,
    tallies: dict[tuple[Subject, Swap], _Tally],
) -> None:
    """Ask one conversation every question under every swap, in one forward per kind."""
    own = reads[index]
    for kind in FactKind:
        questions = list(_questions(reads, index, kind))
        if not questions:
            continue
        rows = [(question, swap) for swap in Swap for question in questions]
        examples = [encoder.encode(_asked(question.fact)) for question, _ in rows]
        token_ids = torch.tensor([example.token_ids for example in examples])
        said = _said(model, own, rows, token_ids)
        spoken = torch.tensor([example.weights for example in examples])[:, 1:] > 0
        right = ((said == token_ids[:, 1:]) | ~spoken).all(dim=1)
        for row, (question, swap) in enumerate(rows):
            tally = tallies[subject_of(kind), swap]
            tally.asked += 1
            tally.right += int(right[row])
            value = question.other.conversation.value_of(kind, question.fact.key)
            if value is None or value == question.fact.value:
                continue
            foreign = Fact(kind=kind, key=question.fact.key, value=value)
            ((position, _),) = examples[row].values
            expected = encoder.encode(_asked(foreign)).token_ids[position]
            tally.foreign_known += 1
            tally.foreign += int(said[row, position - 1] == expected)


def _questions(reads: list[_Read], index: int, kind: FactKind) -> Iterator[_Question]:
    """The questions to one conversation, each with another that knows its key if any does."""
    own = reads[index].conversation
    facts = own.fresh_codes if kind is FactKind.CODE else own.facts
    others = reads[index + 1 :] + reads[:index]
    for fact in [fact for fact in facts if fact.kind is kind][:QUESTIONS_PER_KIND]:
        knowing = (
            read
            for read in others
            if read.conversation.value_of(kind, fact.key) not in (None, fact.value)
        )
        yield _Question(fact=fact, other=next(knowing, others[0]))


def _asked(fact: Fact) -> Conversation:
    """A question and its right answer, as a conversation of its own."""
    question = Message(role=Role.USER, content=question_text(fact.kind, fact.key))
    answer = Message(role=Role.ASSISTANT, content=answer_text(fact))
    reply = Reply(message_index=1, facts=(fact,))
    return Conversation(messages=(question, answer), replies=(reply,), facts=(), fresh_codes=())


def _said(
    model: Qwen3_5ForCausalLM,
    own: _Read,
    rows: list[tuple[_Question, Swap]],
    token_ids: Tensor,
) -> Tensor:
    """The most likely next token after every token of every row, `[B, T - 1]`.

    An answer whose every word is the most likely one given the words before it is the greedy
    answer.
    """
    cache = DynamicCache(config=model.config)
    # One throw-away token has the cache objects allocate themselves for this many rows.
    model(input_ids=token_ids[:, :1], cache=cache, use_cache=True, logits_to_keep=1)
    linear, full = _halves(cache)
    sources = [_swapped(own, question.other, swap) for question, swap in rows]
    for n, layer in enumerate(linear):
        layer.conv_states[0] = torch.cat([source.conv[n] for source in sources])
        layer.recurrent_states[0] = torch.cat([source.recurrent[n] for source in sources])
    for n, pages in enumerate(full):
        pages.keys = torch.cat([source.keys[n] for source in sources])
        pages.values = torch.cat([source.values[n] for source in sources])
    logits: Tensor = model(input_ids=token_ids, cache=cache, use_cache=True).logits
    return logits[:, :-1].argmax(dim=-1)


def _swapped(own: _Read, other: _Read, swap: Swap) -> _Read:
    """A conversation's cache with one half exchanged, at the conversation's own length."""
    match swap:
        case Swap.NOTHING:
            return own
        case Swap.STATE_FOREIGN:
            return replace(own, conv=other.conv, recurrent=other.recurrent)
        case Swap.STATE_ZERO:
            return replace(own, conv=_zeros(own.conv), recurrent=_zeros(own.recurrent))
        case Swap.KV_FOREIGN:
            length = own.keys[0].shape[2]
            keys, values = _fitted(other.keys, length), _fitted(other.values, length)
            return replace(own, keys=keys, values=values)
        case Swap.KV_ZERO:
            return replace(own, keys=_zeros(own.keys), values=_zeros(own.values))
        case _:
            assert_never(swap)


def _zeros(tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return tuple(torch.zeros_like(tensor) for tensor in tensors)


def _fitted(tensors: tuple[Tensor, ...], length: int) -> tuple[Tensor, ...]:
    """`[1, H, T, D]` cut to `length` positions, or filled up with zeros."""
    return tuple(
        F.pad(tensor[:, :, :length], (0, 0, 0, max(0, length - tensor.shape[2])))
        for tensor in tensors
    )
