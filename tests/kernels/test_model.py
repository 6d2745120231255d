"""Law: a whole model on Triton's kernels equals a float64 recurrence of the same weights within the
rounding of its type, whatever the cuts and the batch, and continues from copied pages and images.
"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from ninfer_kernels.jit import interpreted
from ninfer_kernels.kernel_set import triton_kernels
from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.models.qwen3_5.weights import random_weights
from oracle.float64_model import Float64Model, relative_rms
from oracle.served_model import GEOMETRIES, SMALL, ServedModel, token_ids

TOLERANCE = {
    ModelDtype.FLOAT32: 1e-5,
    # One rounding is 2^-9. Pages, histories and the rows of every product are rounded: twice as
    # many roundings as where only what is stored is (tests/oracle).
    ModelDtype.BFLOAT16: 16 * 2.0**-9,
}
TOKENS = token_ids(SMALL, 72, seed=4)

pytestmark = pytest.mark.skipif(not interpreted(), reason="a served model's memory is on the CPU")


def exact_weights() -> dict[str, Tensor]:
    """Matrices that bfloat16 holds, so that both types have the same model."""
    return {
        name: tensor.bfloat16().float() if tensor.dim() == 2 else tensor
        for name, tensor in random_weights(SMALL, seed=3).items()
    }


@pytest.mark.parametrize("dtype", list(TOLERANCE))
def test_prefill_in_pieces_and_decode_of_a_batch_equal_the_recurrence(dtype: ModelDtype) -> None:
    weights = exact_weights()
    served = ServedModel(
        SMALL, weights, kernels=triton_kernels(), dtype=dtype, sequence_count=3, sequence_tokens=128
    )
    oracles = [Float64Model(SMALL, weights) for _ in range(3)]
    lengths = (len(TOKENS), 64, 1)
    # One token, a piece that ends inside a chunk, one that ends at the edge of a page.
    for row, (length, cuts) in enumerate(zip(lengths, ((1, 37, 64), (), ()), strict=True)):
        found = served.prefill(row, TOKENS[:length], cuts=cuts)
        expected = oracles[row].logits(TOKENS[:length])
        assert relative_rms(found, expected) < TOLERANCE[dtype], f"{length} tokens"
    for step in range(2):
        tokens = {row: (11 * step + row) % SMALL.vocab_size for row in range(3)}
        found = served.decode(tokens)
        expected = torch.stack([oracles[row].logits([token])[0] for row, token in tokens.items()])
        assert relative_rms(found, expected) < TOLERANCE[dtype], f"step {step}"


def test_a_narrow_model_of_other_heads_equals_the_recurrence() -> None:
    geometry = GEOMETRIES["untied, every second layer full, all dimensions rotated"]
    weights = random_weights(geometry, seed=3)
    tokens = token_ids(geometry, 35, seed=4)
    served = ServedModel(geometry, weights, kernels=triton_kernels(), sequence_count=1)
    expected = Float64Model(geometry, weights).logits(tokens)
    found = served.prefill(0, tokens, cuts=(33,))
    assert relative_rms(found, expected) < TOLERANCE[ModelDtype.FLOAT32]


def test_copies_by_kernels_continue_as_the_original_bit_for_bit() -> None:
    kernels = triton_kernels()
    served = ServedModel(SMALL, exact_weights(), kernels=kernels, sequence_count=2)
    served.prefill(0, TOKENS)
    origin, copy = served.sequences
    held = 2
    extent = torch.empty_like(served.tensors.kv_pages[:held])
    kernels.pack_extent(served.tensors.kv_pages, origin.pages[:held], extent)
    kernels.unpack_extent(extent, served.tensors.kv_pages, copy.pages[:held])
    history, recurrent = served.tensors.conv_history, served.tensors.recurrent
    kernels.copy_slots(history, recurrent, [origin.slot], [copy.slot])
    copy.frontier_tokens = origin.frontier_tokens
    first, second = (served.decode({row: 7}) for row in (0, 1))
    assert torch.equal(first, second)
