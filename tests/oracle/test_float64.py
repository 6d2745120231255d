"""Law: logits and recurrent state equal a float64 recurrence of the same weights within float32
rounding, on every kernel set, however the tokens are cut.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from ninfer_lab.contract.numerics import ModelDtype, Numerics
from ninfer_lab.models.qwen3_5.weights import random_weights
from oracle.float64_model import Float64Model, relative_rms
from oracle.served_model import GEOMETRIES, KERNEL_SETS, ServedModel, token_ids

TOLERANCE = 1e-5
RAGGED_CUTS = (1, 2, 5, 36, 63, 64, 66, 98)
"""One token, short pieces, a chunk of 32 and its neighbours, both sides of a page edge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """After 130 tokens: a row of logits after each, and the matrices of all linear layers."""

    logits: Tensor
    matrices: Tensor


@functools.cache
def recurrence(name: str) -> Expected:
    """The same for every kernel set, and slow: computed once."""
    geometry = GEOMETRIES[name]
    oracle = Float64Model(geometry, random_weights(geometry, seed=3))
    logits = oracle.logits(token_ids(geometry, 130, seed=4))
    matrices = [state.matrix for state in oracle.states if state.matrix is not None]
    return Expected(logits=logits, matrices=torch.stack(matrices))


@pytest.mark.parametrize("kernels", KERNEL_SETS)
@pytest.mark.parametrize("name", GEOMETRIES)
def test_whole_and_ragged_prefill_equal_the_float64_recurrence(name: str, kernels: str) -> None:
    geometry = GEOMETRIES[name]
    tensors = random_weights(geometry, seed=3)
    tokens = token_ids(geometry, 130, seed=4)
    expected = recurrence(name)
    served = ServedModel(geometry, tensors, kernels=KERNEL_SETS[kernels], sequence_count=2)

    assert relative_rms(served.prefill(0, tokens), expected.logits) < TOLERANCE
    assert relative_rms(served.prefill(1, tokens, cuts=RAGGED_CUTS), expected.logits) < TOLERANCE
    for lane in served.sequences:
        recurrent = served.tensors.recurrent[lane.slot]
        assert relative_rms(recurrent, expected.matrices) < TOLERANCE


@pytest.mark.parametrize("kernels", KERNEL_SETS)
def test_decode_of_rows_at_different_frontiers_equals_the_recurrence_of_each(kernels: str) -> None:
    geometry = GEOMETRIES["3:1, tied, two value heads per key head"]
    tensors = random_weights(geometry, seed=5)
    prompts = {row: token_ids(geometry, length, seed=row) for row, length in enumerate((1, 31, 66))}
    served = ServedModel(geometry, tensors, kernels=KERNEL_SETS[kernels], sequence_count=3)
    oracles = {row: Float64Model(geometry, tensors) for row in prompts}
    for row, prompt in prompts.items():
        served.prefill(row, prompt)
        oracles[row].logits(prompt)
    for step in range(3):
        tokens = {row: (11 * step + row) % geometry.vocab_size for row in prompts}
        found = served.decode(tokens)
        expected = torch.stack([oracles[row].logits([token])[0] for row, token in tokens.items()])
        assert relative_rms(found, expected) < TOLERANCE


@pytest.mark.parametrize("kernels", KERNEL_SETS)
def test_bfloat16_storage_costs_bfloat16_precision_and_no_more(kernels: str) -> None:
    geometry = GEOMETRIES["3:1, untied, wide heads"]
    # Weights that bfloat16 holds exactly: what remains is the rounding of KV and history.
    tensors = {
        name: tensor.bfloat16().float() if tensor.dim() == 2 else tensor
        for name, tensor in random_weights(geometry, seed=6).items()
    }
    tokens = token_ids(geometry, 100, seed=7)
    expected = Float64Model(geometry, tensors).logits(tokens)
    served = ServedModel(
        geometry,
        tensors,
        kernels=KERNEL_SETS[kernels],
        numerics=Numerics.CANONICAL,
        dtype=ModelDtype.BFLOAT16,
    )
    found = served.prefill(0, tokens, cuts=(37, 64))
    # One bfloat16 rounding is 2^-9; a forward of four layers gathers a few.
    assert 1e-4 < relative_rms(found, expected) < 8 * 2.0**-9
