"""Law: training looks at what the assistant says and at nothing else, and most at the values."""

from __future__ import annotations

import pytest

from lab.tiny_model.chatml import rendered
from ninfer_lab.contract.prompt import Role
from ninfer_lab.lab.tiny_model.examples import SPEECH_WEIGHT, VALUE_WEIGHT, ExampleEncoder
from ninfer_lab.lab.tiny_model.tokenizer import build_tokenizer
from ninfer_lab.lab.tiny_model.world import Form, Recipe, Split, generate

TOKENIZER = build_tokenizer()
ENCODER = ExampleEncoder(TOKENIZER)
RECIPES = (
    Recipe(length_tokens=400, thinking_share=1.0),
    Recipe(length_tokens=192, form=Form.RECITAL, code_share=0.5),
)


def text_of(token_ids: list[int]) -> str:
    return str(TOKENIZER.decode(token_ids, skip_special_tokens=False))


@pytest.mark.parametrize("recipe", RECIPES, ids=["dialogue", "recital"])
@pytest.mark.parametrize("seed", range(10))
def test_message_by_message_is_the_whole(recipe: Recipe, seed: int) -> None:
    conversation = generate(recipe, split=Split.TRAINING, seed=seed)
    example = ENCODER.encode(conversation)
    assert list(example.token_ids) == TOKENIZER.encode(rendered(conversation.messages)).ids
    assert len(example.weights) == len(example.token_ids)


@pytest.mark.parametrize("recipe", RECIPES, ids=["dialogue", "recital"])
@pytest.mark.parametrize("seed", range(10))
def test_the_values_are_the_facts_in_order(recipe: Recipe, seed: int) -> None:
    conversation = generate(recipe, split=Split.TRAINING, seed=seed)
    example = ENCODER.encode(conversation)
    facts = [fact for reply in conversation.replies for fact in reply.facts]
    assert facts
    said = [(text_of([example.token_ids[p]]), kind) for p, kind in example.values]
    assert said == [(f" {fact.value}", fact.kind) for fact in facts]
    assert all(example.weights[p] == VALUE_WEIGHT for p, _ in example.values)


@pytest.mark.parametrize("seed", range(10))
def test_everything_the_assistant_says_counts_but_the_opening_think(seed: int) -> None:
    conversation = generate(RECIPES[0], split=Split.TRAINING, seed=seed)
    example = ENCODER.encode(conversation)
    counted = text_of([t for t, w in zip(example.token_ids, example.weights, strict=True) if w])
    expected = ""
    for message in conversation.messages:
        if message.role is Role.ASSISTANT:
            thought = "" if message.reasoning is None else f"{message.reasoning}</think>"
            expected += f"{thought}{message.content}<|im_end|>"
    assert counted == expected
    assert set(example.weights) == {0.0, SPEECH_WEIGHT, VALUE_WEIGHT}


def test_a_recital_counts_only_its_values() -> None:
    example = ENCODER.encode(generate(RECIPES[1], split=Split.TRAINING, seed=0))
    counted = [p for p, weight in enumerate(example.weights) if weight]
    assert counted == [p for p, _ in example.values]
