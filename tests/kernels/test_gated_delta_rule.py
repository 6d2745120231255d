"""Law: the delta rule on a GPU equals its recurrence in float64, whatever the chunks, the inputs'
type and the heads; it reads one slot and writes one, and what lies in the others never reaches it.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from ninfer_kernels.family_shapes import FAMILY, FamilyShape
from ninfer_kernels.gated_delta_rule import triton
from ninfer_kernels.gated_delta_rule.inputs import DeltaInputs
from ninfer_kernels.gated_delta_rule.reference import CHUNK_TOKENS
from ops.delta_rule import REGIMES, inputs, recurrence
from ops.rows import normal, relative_rms, state_rows

TOLERANCE = 5e-6
"""Of both types: inputs in bfloat16 are multiplied as float32."""

Heads = tuple[int, int, int, int]
SMALL: Heads = (1, 2, 8, 8)
ODD: Heads = (2, 4, 16, 24)
WIDE: Heads = (1, 3, 128, 128)
"""Of the real dims, and of 27B's three value heads for a key head."""


def slots_of(heads: Heads, device: torch.device, *, known: tuple[int, ...]) -> Tensor:
    """Seven slots of a model's second layer; all but the known ones hold NaN."""
    layers = torch.full((7, 3, *heads[1:]), torch.nan)
    for slot in known:
        layers[slot, 1] = normal(*heads[1:], seed=20 + slot)
    return layers.to(device)[:, 1]


def handed_over(given: DeltaInputs, dtype: torch.dtype, device: torch.device) -> DeltaInputs:
    """As the model hands them over: every part is a view of something wider."""

    def inside(part: Tensor, as_dtype: torch.dtype) -> Tensor:
        count, width = len(part), part[0].numel() if len(part) else 0
        wider = torch.full((count, width + 16), torch.nan, dtype=as_dtype, device=device)
        wider[:, 8 : 8 + width] = part.reshape(count, width)
        return wider[:, 8 : 8 + width].view(part.shape)

    return DeltaInputs(
        query_and_key=inside(given.query_and_key, dtype),
        value=inside(given.value, dtype),
        log_decay=inside(given.log_decay, torch.float32),
        beta=inside(given.beta, torch.float32),
    )


def as_stored(given: DeltaInputs, dtype: torch.dtype) -> DeltaInputs:
    """What is left of the inputs when they are stored in a type."""
    return replace(
        given,
        query_and_key=given.query_and_key.to(dtype).float(),
        value=given.value.to(dtype).float(),
    )


def piece(given: DeltaInputs, start: int, end: int) -> DeltaInputs:
    return DeltaInputs(
        query_and_key=given.query_and_key[start:end],
        value=given.value[start:end],
        log_decay=given.log_decay[start:end],
        beta=given.beta[start:end],
    )


def same_bits(left: Tensor, right: Tensor) -> bool:
    """NaN equals itself here."""
    return torch.equal(left.contiguous().view(torch.int32), right.contiguous().view(torch.int32))


def check_prefill(
    given: DeltaInputs, heads: Heads, dtype: torch.dtype, device: torch.device
) -> None:
    slots = slots_of(heads, device, known=(2,))
    before = slots.clone()
    expected, last = recurrence(as_stored(given, dtype), before[2].cpu())
    found = triton.prefill(handed_over(given, dtype, device), slots, state_rows([2], [0], device))
    case = f"{len(given.value)} tokens"
    assert found.dtype is torch.float32
    assert relative_rms(found.cpu(), expected) < TOLERANCE, case
    assert relative_rms(slots[0].cpu(), last) < TOLERANCE, case
    assert same_bits(slots[1:], before[1:]), case


@pytest.mark.parametrize("token_count", [1, 2, 31, 32, 33, 64, 100])
def test_prefill_equals_the_recurrence_at_chunk_edges(
    token_count: int, device: torch.device
) -> None:
    given = inputs(token_count, SMALL, REGIMES["random"])
    check_prefill(given, SMALL, torch.float32, device)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("regime", REGIMES)
def test_prefill_equals_the_recurrence_in_hard_regimes(
    regime: str, dtype: torch.dtype, device: torch.device
) -> None:
    check_prefill(inputs(CHUNK_TOKENS + 3, ODD, REGIMES[regime]), ODD, dtype, device)


@pytest.mark.parametrize("regime", ["random", "one key again and again, fully rewritten"])
def test_prefill_of_real_dims_equals_the_recurrence(regime: str, device: torch.device) -> None:
    check_prefill(inputs(CHUNK_TOKENS + 1, WIDE, REGIMES[regime]), WIDE, torch.float32, device)


def test_a_long_prefill_hands_its_state_from_block_to_block(device: torch.device) -> None:
    heads = (1, 1, 8, 8)
    given = inputs(triton.BLOCK_TOKENS + CHUNK_TOKENS + 1, heads, REGIMES["random"])
    check_prefill(given, heads, torch.float32, device)


def test_a_prefill_of_no_token_hands_the_state_on(device: torch.device) -> None:
    slots = slots_of(ODD, device, known=(4,))
    before = slots.clone()
    nothing = handed_over(piece(inputs(1, ODD, REGIMES["random"]), 0, 0), torch.float32, device)
    found = triton.prefill(nothing, slots, state_rows([4], [5], device))
    assert found.shape == (0, ODD[1], ODD[3])
    assert same_bits(slots[5], before[4])
    assert same_bits(slots[:5], before[:5])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("read", "write"), [([4], [4]), ([0], [2]), ([4, 0, 1, 1], [4, 2, 3, 5])])
@pytest.mark.parametrize("heads", [SMALL, ODD])
def test_decode_equals_one_step_of_each_row(
    heads: Heads, read: list[int], write: list[int], dtype: torch.dtype, device: torch.device
) -> None:
    # In place, from a slot that stays, and two rows that fork one source.
    given = inputs(len(read), heads, REGIMES["random"])
    check_decode(given, heads, (read, write), dtype, device)


@pytest.mark.parametrize("shape", FAMILY, ids=lambda shape: shape.name)
def test_decode_of_every_size_equals_one_step(shape: FamilyShape, device: torch.device) -> None:
    heads = (shape.key_heads, shape.value_heads, shape.key_dim, shape.value_dim)
    given = inputs(1, heads, REGIMES["random"])
    check_decode(given, heads, ([3], [1]), torch.float32, device)


def check_decode(
    given: DeltaInputs,
    heads: Heads,
    slot_pairs: tuple[list[int], list[int]],
    dtype: torch.dtype,
    device: torch.device,
) -> None:
    read, write = slot_pairs
    slots = slots_of(heads, device, known=tuple(read))
    before = slots.clone()
    found = triton.decode(handed_over(given, dtype, device), slots, state_rows(read, write, device))
    for row in range(len(read)):
        alone = as_stored(piece(given, row, row + 1), dtype)
        expected, last = recurrence(alone, before[read[row]].cpu())
        assert relative_rms(found[row].cpu(), expected[0]) < TOLERANCE
        assert relative_rms(slots[write[row]].cpu(), last) < TOLERANCE
    untouched = [slot for slot in range(7) if slot not in write]
    assert same_bits(slots[untouched], before[untouched])


def test_a_decode_of_no_row_does_nothing(device: torch.device) -> None:
    slots = slots_of(SMALL, device, known=(0,))
    before = slots.clone()
    nothing = handed_over(piece(inputs(1, SMALL, REGIMES["random"]), 0, 0), torch.float32, device)
    assert triton.decode(nothing, slots, state_rows([], [], device)).shape == (0, 2, 8)
    assert same_bits(slots, before)


@pytest.mark.parametrize("cut", [1, 31, 32, 33])
def test_a_prefill_cut_anywhere_or_stepped_leaves_the_same_state(
    cut: int, device: torch.device
) -> None:
    given = handed_over(inputs(36, SMALL, REGIMES["random"]), torch.float32, device)
    slots = slots_of(SMALL, device, known=(0, 1))
    slots[1] = slots[0]
    expected = triton.prefill(given, slots, state_rows([0], [0], device))
    rows = state_rows([1], [1], device)
    found = [triton.prefill(piece(given, 0, cut), slots, rows)]
    found += [triton.prefill(piece(given, cut, 34), slots, rows)]
    found += [triton.decode(piece(given, token, token + 1), slots, rows) for token in (34, 35)]
    assert relative_rms(torch.cat(found).cpu(), expected.cpu()) < TOLERANCE
    assert relative_rms(slots[1].cpu(), slots[0].cpu()) < TOLERANCE
