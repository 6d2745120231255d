"""Law: the convolution on a GPU equals its sum in float64 whatever the blocks and types; it reads
one slot, writes the last columns into one, in place too, and what lies in others never reaches it.
"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from ninfer_kernels.causal_conv import triton
from ninfer_kernels.family_shapes import FAMILY, FamilyShape
from ops.convolution import convolved
from ops.rows import normal, relative_rms, state_rows

TOLERANCE = {torch.float32: 2e-6, torch.bfloat16: 4e-3}
"""Of bfloat16 the output is rounded, which is 2^-9 of it."""

F32, BF16 = torch.float32, torch.bfloat16
TYPES = [(F32, F32), (F32, BF16), (BF16, BF16)]
"""Of inputs and of history; the second is what a bfloat16 model has."""


def slots_of(
    width: int, channels: int, dtype: torch.dtype, known: list[int], device: torch.device
) -> Tensor:
    """Six slots of a model's second layer; all but the known ones hold NaN."""
    layers = torch.full((6, 3, width - 1, channels), torch.nan)
    for slot in known:
        layers[slot, 1] = normal(width - 1, channels, seed=30 + slot)
    return layers.to(device, dtype)[:, 1]


def inside(values: Tensor, dtype: torch.dtype, device: torch.device) -> Tensor:
    """As the fused projection hands channels over: a view of something wider."""
    wider = torch.full((len(values), values.shape[1] + 16), torch.nan)
    wider[:, 8:-8] = values
    return wider.to(device, dtype)[:, 8:-8]


def same_bits(left: Tensor, right: Tensor) -> bool:
    """NaN equals itself here."""
    return torch.equal(left.contiguous().view(torch.uint8), right.contiguous().view(torch.uint8))


@pytest.mark.parametrize(("dtype", "stored"), TYPES)
@pytest.mark.parametrize("slots_used", [(1, 2), (1, 1)], ids=["forks", "in place"])
@pytest.mark.parametrize(("width", "channels"), [(2, 10), (3, 260), (4, 24)])
def test_prefill_reads_the_history_and_leaves_its_own(
    width: int,
    channels: int,
    slots_used: tuple[int, int],
    dtype: torch.dtype,
    stored: torch.dtype,
    device: torch.device,
) -> None:
    read, write = slots_used
    taps = normal(width, channels, seed=1)
    for token_count in (1, 2, 3, 4, 15, 16, 17, 40):
        inputs = inside(normal(token_count, channels, seed=token_count), dtype, device)
        slots = slots_of(width, channels, stored, [read], device)
        before = slots.clone()
        found = triton.prefill(inputs, taps.to(device), slots, state_rows([read], [write], device))
        expected = convolved(inputs.cpu(), taps, before[read].cpu())
        assert found.dtype is dtype
        assert relative_rms(found.cpu(), expected) < TOLERANCE[dtype], f"{token_count} tokens"
        left = torch.cat([before[read].float(), inputs.float()])[-(width - 1) :].to(stored)
        assert torch.equal(slots[write], left), f"{token_count} tokens"
        others = [slot for slot in range(6) if slot != write]
        assert same_bits(slots[others], before[others])


@pytest.mark.parametrize(("dtype", "stored"), TYPES)
@pytest.mark.parametrize("width", [2, 3, 4])
@pytest.mark.parametrize(("read", "write"), [([5], [5]), ([0], [1]), ([5, 0, 2, 2], [5, 1, 4, 3])])
def test_decode_advances_each_row_by_one(
    read: list[int],
    write: list[int],
    width: int,
    dtype: torch.dtype,
    stored: torch.dtype,
    device: torch.device,
) -> None:
    taps = normal(width, 300, seed=3)
    inputs = inside(normal(len(read), 300, seed=4), dtype, device)
    slots = slots_of(width, 300, stored, read, device)
    before = slots.clone()
    found = triton.decode(inputs, taps.to(device), slots, state_rows(read, write, device))
    for row in range(len(read)):
        carried = before[read[row]].cpu()
        expected = convolved(inputs[row : row + 1].cpu(), taps, carried)
        assert relative_rms(found[row : row + 1].cpu(), expected) < TOLERANCE[dtype]
        left = torch.cat([carried[1:].float(), inputs[row : row + 1].cpu().float()]).to(stored)
        assert torch.equal(slots[write[row]].cpu(), left)
    untouched = [slot for slot in range(6) if slot not in write]
    assert same_bits(slots[untouched], before[untouched])


@pytest.mark.parametrize("shape", FAMILY, ids=lambda shape: shape.name)
def test_every_size_convolves_all_its_channels(shape: FamilyShape, device: torch.device) -> None:
    width, channels = shape.conv_width, shape.conv_channels
    taps, inputs = normal(width, channels, seed=8), normal(2, channels, seed=9)
    slots = slots_of(width, channels, BF16, [0], device)
    carried = slots[0].cpu().clone()
    expected = convolved(inputs, taps, carried)
    rows = state_rows([0], [0], device)
    first = triton.prefill(inputs[:1].to(device), taps.to(device), slots, rows)
    # The second token finds the first in its history, rounded as it was stored.
    rounded = convolved(inputs[1:], taps, torch.cat([carried, inputs[:1].to(BF16)])[1:])
    second = triton.decode(inputs[1:].to(device), taps.to(device), slots, rows)
    assert relative_rms(first.cpu(), expected[:1]) < TOLERANCE[F32]
    assert relative_rms(second.cpu(), rounded) < TOLERANCE[F32]


def test_no_token_hands_the_history_on_and_no_row_does_nothing(device: torch.device) -> None:
    taps = normal(4, 24, seed=1).to(device)
    slots = slots_of(4, 24, F32, [2], device)
    before = slots.clone()
    nothing = torch.empty(0, 24, device=device)
    assert triton.decode(nothing, taps, slots, state_rows([], [], device)).shape == (0, 24)
    assert same_bits(slots, before)
    assert triton.prefill(nothing, taps, slots, state_rows([2], [3], device)).shape == (0, 24)
    assert torch.equal(slots[3], before[2])
