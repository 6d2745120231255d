"""Law: with its own cache a conversation answers as if read whole, and each swap takes its half."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import Qwen3_5ForCausalLM

from lab.tiny_model.chatml import rendered
from ninfer_lab.lab.tiny_model.evaluate import (
    QUESTIONS_PER_KIND,
    Score,
    Subject,
    Swap,
    measure,
    subject_of,
)
from ninfer_lab.lab.tiny_model.model import untrained_model
from ninfer_lab.lab.tiny_model.phrases import FactKind
from ninfer_lab.lab.tiny_model.tokenizer import build_tokenizer
from ninfer_lab.lab.tiny_model.world import (
    Conversation,
    Recipe,
    Split,
    answer_text,
    generate,
    question_text,
)

SHIPPED = Path(__file__).parents[3] / "datasets" / "tiny"
TOKENIZER = build_tokenizer()
LENGTH_TOKENS = 256
COUNT = 12


@pytest.fixture(scope="module")
def model() -> Qwen3_5ForCausalLM:
    shipped = Qwen3_5ForCausalLM.from_pretrained(SHIPPED)
    assert isinstance(shipped, Qwen3_5ForCausalLM)
    return shipped


@pytest.fixture(scope="module")
def scores(model: Qwen3_5ForCausalLM) -> dict[tuple[Subject, Swap], Score]:
    found = measure(model, TOKENIZER, conversations_count=COUNT, lengths_tokens=(LENGTH_TOKENS,))
    return {(score.subject, score.swap): score for score in found}


def right_when_read_whole(
    model: Qwen3_5ForCausalLM, conversation: Conversation
) -> dict[Subject, int]:
    """The same questions, each in one forward over the whole text and without any cache."""
    right = dict.fromkeys(Subject, 0)
    history = rendered(conversation.messages)
    for kind in FactKind:
        facts = conversation.fresh_codes if kind is FactKind.CODE else conversation.facts
        for fact in [fact for fact in facts if fact.kind is kind][:QUESTIONS_PER_KIND]:
            question = question_text(kind, fact.key)
            prompt = f"{history}<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
            prompt_ids = TOKENIZER.encode(prompt).ids
            answer_ids = TOKENIZER.encode(f"{answer_text(fact)}<|im_end|>").ids
            with torch.inference_mode():
                logits = model(input_ids=torch.tensor([prompt_ids + answer_ids])).logits[0]
            said = logits[len(prompt_ids) - 1 : -1].argmax(dim=-1).tolist()
            right[subject_of(kind)] += said == answer_ids
    return right


@pytest.mark.slow
def test_with_its_own_cache_it_answers_as_if_read_whole(
    model: Qwen3_5ForCausalLM, scores: dict[tuple[Subject, Swap], Score]
) -> None:
    expected = dict.fromkeys(Subject, 0)
    for seed in range(COUNT):
        conversation = generate(
            Recipe(length_tokens=LENGTH_TOKENS), split=Split.HELD_OUT, seed=seed
        )
        for subject, right in right_when_read_whole(model, conversation).items():
            expected[subject] += right
    found = {subject: scores[subject, Swap.NOTHING].right_count for subject in Subject}
    assert found == expected
    assert sum(found.values()) > 0


@pytest.mark.slow
def test_each_half_of_the_cache_answers_its_own_kind(
    scores: dict[tuple[Subject, Swap], Score],
) -> None:
    """The shipped model, in small: the gate table in the training log is the measurement."""
    assert scores[Subject.CODE, Swap.NOTHING].right_share >= 0.8
    assert scores[Subject.CHANGING, Swap.NOTHING].right_share >= 0.9
    assert scores[Subject.CHANGING, Swap.STATE_FOREIGN].foreign_share >= 0.8
    assert scores[Subject.CHANGING, Swap.STATE_ZERO].right_share <= 0.4
    assert scores[Subject.CODE, Swap.KV_ZERO].right_share <= 0.3
    assert scores[Subject.CODE, Swap.KV_FOREIGN].right_share <= 0.3
    foreign = scores[Subject.CHANGING, Swap.STATE_FOREIGN]
    assert foreign.foreign_known_count >= 20


def test_one_conversation_alone_cannot_be_measured() -> None:
    with pytest.raises(ValueError, match="conversations_count: found 1; legal: at least 2"):
        measure(untrained_model(0), TOKENIZER, conversations_count=1)
