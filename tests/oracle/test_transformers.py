"""Law: a checkpoint gives the logits and the greedy tokens that transformers gives, from the same
folder, however its tokens are cut and with whomever they are decoded.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from torch import Tensor

from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.models.qwen3_5.config import read_geometry
from ninfer_lab.models.qwen3_5.model import PrefillLogits
from ninfer_lab.models.qwen3_5.weights import random_weights, read_tensors, save_checkpoint
from oracle.float64_model import relative_rms
from oracle.served_model import GEOMETRIES, KERNEL_SETS, ServedModel, token_ids
from oracle.transformers_model import TransformersModel

TOLERANCE = 1e-5
PROMPT_TOKENS = 150
GREEDY_TOKENS = 64
CUTS = {
    "whole": (),
    "ragged, with one-token pieces": (1, 2, 33, 34, 63, 64, 65, 127, 149),
    "page edges": (64, 128),
    "off the page edges": (63, 127),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """What transformers says of one geometry."""

    folder: Path
    prompt: tuple[int, ...]
    logits: Tensor
    greedy: tuple[int, ...]


AskPeer = Callable[[str], Peer]


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> AskPeer:
    """Saves a checkpoint and asks transformers, once per geometry."""

    @functools.cache
    def ask(name: str) -> Peer:
        geometry = GEOMETRIES[name]
        folder = tmp_path_factory.mktemp("checkpoint")
        save_checkpoint(folder, geometry, random_weights(geometry, seed=21))
        model = TransformersModel(folder)
        prompt = token_ids(geometry, PROMPT_TOKENS, seed=22)
        return Peer(
            folder=folder,
            prompt=prompt,
            logits=model.logits(prompt),
            greedy=tuple(model.greedy(prompt, GREEDY_TOKENS)),
        )

    return ask


def served(name: str, kernels: str, folder: Path) -> ServedModel:
    """The folder as the engine reads it."""
    geometry = read_geometry(folder)
    assert geometry == GEOMETRIES[name]
    return ServedModel(geometry, read_tensors(folder, geometry), kernels=KERNEL_SETS[kernels])


def greedy(model: ServedModel, lane: int, prompt: tuple[int, ...], count: int) -> tuple[int, ...]:
    logits = model.prefill(lane, prompt, logits=PrefillLogits.LAST)
    chosen = [int(logits[-1].argmax())]
    while len(chosen) < count:
        chosen.append(int(model.decode({lane: chosen[-1]})[0].argmax()))
    return tuple(chosen)


@pytest.mark.parametrize("kernels", KERNEL_SETS)
@pytest.mark.parametrize("name", GEOMETRIES)
def test_logits_are_those_of_transformers_however_prefill_is_cut(
    name: str, kernels: str, peer: AskPeer
) -> None:
    expected = peer(name)
    model = served(name, kernels, expected.folder)
    for lane, cuts in enumerate(CUTS.values()):
        found = model.prefill(lane, expected.prompt, cuts=cuts)
        assert relative_rms(found, expected.logits) < TOLERANCE, f"cut at {cuts}"


@pytest.mark.parametrize("kernels", KERNEL_SETS)
@pytest.mark.parametrize("name", GEOMETRIES)
def test_sixty_four_greedy_tokens_are_those_of_transformers(
    name: str, kernels: str, peer: AskPeer
) -> None:
    expected = peer(name)
    # Were the model indifferent, any forward would pass: it must choose among many tokens.
    assert len(set(expected.greedy)) > GREEDY_TOKENS // 4
    model = served(name, kernels, expected.folder)
    assert greedy(model, 0, expected.prompt, GREEDY_TOKENS) == expected.greedy


@pytest.mark.parametrize("kernels", KERNEL_SETS)
@pytest.mark.parametrize("name", GEOMETRIES)
def test_rows_decoded_together_equal_each_row_decoded_alone(
    name: str, kernels: str, peer: AskPeer
) -> None:
    geometry = GEOMETRIES[name]
    # Frontiers of one token, inside a page, on its edge and behind it.
    prompts = [token_ids(geometry, length, seed=40 + length) for length in (1, 30, 63, 64, 65, 129)]
    lanes = range(len(prompts))
    together, alone = (served(name, kernels, peer(name).folder) for _ in range(2))
    for lane, prompt in enumerate(prompts):
        together.prefill(lane, prompt, logits=PrefillLogits.NONE)
        alone.prefill(lane, prompt, logits=PrefillLogits.NONE)
    found, expected = [], []
    for step in range(4):
        tokens = {lane: (7 * step + 13 * lane) % geometry.vocab_size for lane in lanes}
        found.append(together.decode(tokens))
        expected += [alone.decode({lane: token}) for lane, token in tokens.items()]
    assert relative_rms(torch.cat(found), torch.cat(expected)) < TOLERANCE


def test_a_perturbed_weight_would_be_noticed(peer: AskPeer) -> None:
    # The other tests can fail: one vector a thousandth off is seen.
    name = "3:1, untied, wide heads"
    expected = peer(name)
    geometry = GEOMETRIES[name]
    tensors = read_tensors(expected.folder, geometry)
    changed = "model.layers.1.linear_attn.dt_bias"
    tensors[changed] = tensors[changed] * 1.001
    model = ServedModel(geometry, tensors, kernels=KERNEL_SETS["reference"])
    assert relative_rms(model.prefill(0, expected.prompt), expected.logits) > TOLERANCE


def test_bfloat16_stays_as_near_to_float32_as_that_of_transformers(peer: AskPeer) -> None:
    name = "3:1, tied, two value heads per key head"
    expected = peer(name)
    theirs = TransformersModel(expected.folder, dtype=torch.bfloat16).logits(expected.prompt)
    geometry = GEOMETRIES[name]
    tensors = read_tensors(expected.folder, geometry)
    model = ServedModel(geometry, tensors, kernels=KERNEL_SETS["cpu"], dtype=ModelDtype.BFLOAT16)
    ours = model.prefill(0, expected.prompt)
    # Weights, KV and history are rounded to bfloat16 here; there the activations are as well.
    drift = relative_rms(ours, expected.logits)
    assert 1e-3 < drift <= relative_rms(theirs, expected.logits)
