"""Law: a conversation follows from its seed, and what it says is what holds: the last word wins."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from lab.tiny_model.chatml import rendered
from ninfer_lab.contract.prompt import Role
from ninfer_lab.lab.tiny_model.phrases import CITIES, COLOURS, FactKind
from ninfer_lab.lab.tiny_model.tokenizer import build_tokenizer
from ninfer_lab.lab.tiny_model.world import (
    CHANGING_KINDS,
    Conversation,
    Form,
    Recipe,
    Split,
    generate,
)

SEEDS = range(40)
DIALOGUE = Recipe(length_tokens=512)
RECITAL = Recipe(length_tokens=192, form=Form.RECITAL, code_share=0.5)


def held_out(recipe: Recipe, seed: int) -> Conversation:
    return generate(recipe, split=Split.HELD_OUT, seed=seed)


def told(conversation: Conversation) -> list[tuple[str, str]]:
    """Every statement of a changing fact, read out of the text by patterns of the test's own."""
    place = rf"([A-Z][a-z]+) (?:is in|went to) ({'|'.join(CITIES)})"
    colour = rf"[Tt]he ([a-z]+) (?:is )?({'|'.join(COLOURS)})"
    text = " ".join(message.content for message in conversation.messages)
    found = [*re.finditer(place, text), *re.finditer(colour, text)]
    return [(each[1], each[2]) for each in sorted(found, key=lambda each: each.start())]


@pytest.mark.parametrize("recipe", [DIALOGUE, RECITAL], ids=["dialogue", "recital"])
def test_the_same_seed_says_the_same(recipe: Recipe) -> None:
    assert held_out(recipe, 3) == held_out(recipe, 3)
    assert held_out(recipe, 3) != held_out(recipe, 4)


def test_training_and_held_out_share_no_conversation() -> None:
    training = {generate(DIALOGUE, split=Split.TRAINING, seed=s).messages for s in SEEDS}
    assert not training & {held_out(DIALOGUE, s).messages for s in SEEDS}


@pytest.mark.parametrize("recipe", [DIALOGUE, RECITAL], ids=["dialogue", "recital"])
def test_the_length_counted_in_words_bounds_the_rendered_length(recipe: Recipe) -> None:
    tokenizer = build_tokenizer()
    for seed in SEEDS:
        length = len(tokenizer.encode(rendered(held_out(recipe, seed).messages)).ids)
        assert recipe.length_tokens - 90 < length <= recipe.length_tokens, seed


def test_the_last_statement_holds() -> None:
    for seed in SEEDS:
        conversation = held_out(DIALOGUE, seed)
        last = dict(told(conversation))
        holds = {f.key: f.value for f in conversation.facts if f.kind in CHANGING_KINDS}
        assert holds == last, seed
    restated = Counter(key for key, _ in told(held_out(DIALOGUE, 0)))
    assert max(restated.values()) >= 3


def test_an_answer_is_what_held_when_it_was_asked() -> None:
    for seed in SEEDS:
        conversation = held_out(DIALOGUE, seed)
        for reply in conversation.replies:
            (fact,) = reply.facts
            before = Conversation(
                messages=conversation.messages[: reply.message_index],
                replies=(),
                facts=(),
                fresh_codes=(),
            )
            if fact.kind in CHANGING_KINDS:
                assert dict(told(before))[fact.key] == fact.value, (seed, fact)


def test_a_fresh_code_is_stated_exactly_once_and_there_are_many() -> None:
    for seed in SEEDS:
        conversation = held_out(Recipe(length_tokens=1024), seed)
        text = rendered(conversation.messages)
        for code in conversation.fresh_codes:
            assert len(re.findall(rf"\b{code.key}\b", text)) == 1, (seed, code)
        assert len(conversation.fresh_codes) >= 20, seed


def test_roles_alternate_after_an_optional_system_message() -> None:
    for seed in SEEDS:
        roles = [message.role for message in held_out(DIALOGUE, seed).messages]
        turns = roles[1:] if roles[0] is Role.SYSTEM else roles
        assert turns == [Role.USER, Role.ASSISTANT] * (len(turns) // 2), seed


def test_a_value_that_was_never_said_is_unknown() -> None:
    conversation = held_out(Recipe(length_tokens=80), 0)
    assert conversation.value_of(FactKind.CODE, "no such locker") is None


def test_a_length_that_holds_no_turn_is_refused() -> None:
    with pytest.raises(ValueError, match="length_tokens: found 79; legal: at least 80"):
        held_out(Recipe(length_tokens=79), 0)
