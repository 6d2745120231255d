"""Law: the start of training follows from its seed and leans on both halves of the cache."""

from __future__ import annotations

import torch
from transformers import Qwen3_5ForCausalLM

from ninfer_lab.lab.tiny_model.evaluate import Subject, subject_of
from ninfer_lab.lab.tiny_model.examples import ExampleEncoder
from ninfer_lab.lab.tiny_model.model import tiny_config, untrained_model
from ninfer_lab.lab.tiny_model.phrases import VALUES, FactKind
from ninfer_lab.lab.tiny_model.tokenizer import build_tokenizer
from ninfer_lab.lab.tiny_model.world import Recipe, Split, generate


def test_a_seed_gives_the_same_weights_and_another_seed_others() -> None:
    first, again, other = untrained_model(5), untrained_model(5), untrained_model(6)
    pairs = zip(first.parameters(), again.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    assert not torch.equal(first.lm_head.weight, other.lm_head.weight)


def test_the_geometry_is_a_hybrid_that_fits_the_file_limit() -> None:
    config = tiny_config()
    assert config.layer_types == ["linear_attention"] * 3 + ["full_attention"]
    assert config.vocab_size >= build_tokenizer().get_vocab_size()
    parameters_count = sum(parameter.numel() for parameter in untrained_model(0).parameters())
    assert parameters_count * 4 <= 4_000_000


def test_before_the_first_step_attention_finds_codes_and_states_hold_facts() -> None:
    """Each kind is far above chance, and falls when its own half of the model is silenced."""
    whole = shares_right(untrained_model(0))
    without_attention = untrained_model(0)
    without_states = untrained_model(0)
    with torch.no_grad():
        without_attention.model.layers[3].self_attn.o_proj.weight.zero_()
        for layer in without_states.model.layers[1:3]:
            layer.linear_attn.out_proj.weight.zero_()
    assert whole[Subject.CODE] > 0.5  # chance is 1 of 90
    assert whole[Subject.CHANGING] > 0.3  # chance is 1 of 12
    assert shares_right(without_attention)[Subject.CODE] < 0.1
    assert shares_right(without_states)[Subject.CHANGING] < 0.2


def shares_right(model: Qwen3_5ForCausalLM) -> dict[Subject, float]:
    """How often the value is the most likely one of its kind, in a few dialogues."""
    model.train(mode=False)
    tokenizer = build_tokenizer()
    encoder = ExampleEncoder(tokenizer)
    choices = {
        kind: torch.tensor([tokenizer.encode(f" {value}").ids[0] for value in VALUES[kind]])
        for kind in FactKind
    }
    asked = dict.fromkeys(Subject, 0)
    right = dict.fromkeys(Subject, 0)
    for seed in range(8):
        conversation = generate(Recipe(length_tokens=256), split=Split.HELD_OUT, seed=seed)
        example = encoder.encode(conversation)
        with torch.inference_mode():
            logits = model(input_ids=torch.tensor([example.token_ids])).logits[0]
        for position, kind in example.values:
            likeliest = choices[kind][logits[position - 1][choices[kind]].argmax()]
            asked[subject_of(kind)] += 1
            right[subject_of(kind)] += int(likeliest == example.token_ids[position])
    return {subject: right[subject] / max(1, asked[subject]) for subject in Subject}
