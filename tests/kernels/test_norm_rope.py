"""Law: norms, rotations and gates on a GPU equal their formulas in float64 of the same stored rows,
for rows of any stride, and only what is stored is rounded.
"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from ninfer_kernels.family_shapes import FAMILY, FamilyShape
from ninfer_kernels.norm_rope import reference, triton
from ninfer_kernels.norm_rope.triton import MROPE_SECTION
from ops.rows import normal, relative_rms

F32, BF16 = torch.float32, torch.bfloat16
EPS = 1e-6
TOLERANCE = {F32: 2e-6, BF16: 4e-3}
"""Of bfloat16 the result is rounded, which is 2^-9 of it."""


def inside(values: Tensor, dtype: torch.dtype, device: torch.device) -> Tensor:
    """As a fused projection hands rows over: a view of something wider, the rest of it NaN."""
    count, width = len(values), values.numel() // max(1, len(values))
    wider = torch.full((count, width + 16), torch.nan)
    wider[:, 8 : 8 + width] = values.reshape(count, width)
    return wider.to(device, dtype)[:, 8 : 8 + width].view(values.shape)


def normed(rows: Tensor, scale: Tensor) -> Tensor:
    """In float64, on the CPU."""
    x = rows.cpu().double()
    return x / (x.square().mean(-1, keepdim=True) + EPS).sqrt() * scale.double()


def silu(gate: Tensor) -> Tensor:
    z = gate.cpu().double()
    return z / (1.0 + torch.exp(-z))


@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize(
    ("row_count", "dim"), [(1, 1), (1, 33), (63, 33), (64, 32), (65, 32), (3, 2560), (2, 5120)]
)
def test_rms_norm_of_large_small_and_zero_rows(
    row_count: int, dim: int, dtype: torch.dtype, device: torch.device
) -> None:
    scale = normal(dim, seed=1)
    for size in (1e-4, 1.0, 1e4):
        rows = inside(normal(row_count, dim, seed=2) * size, dtype, device)
        found = triton.rms_norm(rows, scale.to(device), EPS)
        assert found.dtype is dtype
        assert relative_rms(found.cpu(), normed(rows, scale)) < TOLERANCE[dtype], f"size {size}"
    zero = torch.zeros(2, dim, dtype=dtype, device=device)
    assert torch.equal(triton.rms_norm(zero, scale.to(device), EPS), zero)


@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize(("token_count", "heads", "dim"), [(1, 1, 8), (5, 3, 24), (17, 4, 32)])
def test_the_gate_follows_the_norm(
    token_count: int, heads: int, dim: int, dtype: torch.dtype, device: torch.device
) -> None:
    scale = normal(dim, seed=5)
    rows = normal(token_count, heads, dim, seed=3).to(device, dtype)
    gate = inside(normal(token_count, heads, dim, seed=4) * 4.0, dtype, device)
    kept = rows.clone()
    found = triton.gated_rms_norm(rows, gate, scale.to(device), EPS)
    expected = normed(rows, scale) * silu(gate)
    assert relative_rms(found.cpu(), expected) < TOLERANCE[dtype]
    assert torch.equal(rows, kept)


@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize("rotary", [2, 8, 24])
def test_a_rotation_turns_pairs_of_the_leading_part_and_keeps_the_rest(
    rotary: int, dtype: torch.dtype, device: torch.device
) -> None:
    check_rotation(7, 3, 24, rotary, dtype, device)


@pytest.mark.parametrize("shape", FAMILY, ids=lambda shape: shape.name)
def test_every_size_is_normed_and_turned(shape: FamilyShape, device: torch.device) -> None:
    check_rotation(
        2, shape.query_heads + shape.kv_heads, shape.head_dim, shape.rotary_dim, F32, device
    )
    rows = normal(2, shape.value_heads, shape.value_dim, seed=3)
    gate, scale = normal(*rows.shape, seed=4), normal(shape.value_dim, seed=5)
    found = triton.gated_rms_norm(rows.to(device), gate.to(device), scale.to(device), EPS)
    assert relative_rms(found.cpu(), normed(rows, scale) * silu(gate)) < TOLERANCE[F32]


def check_rotation(
    token_count: int, heads: int, dim: int, rotary: int, dtype: torch.dtype, device: torch.device
) -> None:
    rows = inside(normal(token_count, heads, dim, seed=6), dtype, device)
    scale = normal(heads, dim, seed=7)
    angle = torch.arange(float(token_count))[:, None] * torch.logspace(0, -2, rotary // 2)[None]
    cosine, sine = angle.cos().to(device), angle.sin().to(device)
    found = triton.head_norm_rope(rows, scale.to(device), cosine, sine, EPS)
    expected = normed(rows, scale)
    pair = torch.complex(expected[..., : rotary // 2], expected[..., rotary // 2 : rotary])
    turned = pair * torch.polar(torch.ones_like(angle), angle).to(torch.complex128)[:, None]
    expected = torch.cat([turned.real, turned.imag, expected[..., rotary:]], dim=-1)
    assert found.dtype is dtype
    assert relative_rms(found.cpu(), expected) < TOLERANCE[dtype]
    # Position 0 is not turned at all.
    assert relative_rms(found[0].cpu(), normed(rows[0], scale)) < TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize("token_count", [1, 3, 300])
def test_gates_equal_their_formulas_row_by_row(
    token_count: int, dtype: torch.dtype, device: torch.device
) -> None:
    decay_input = inside(normal(token_count, 5, seed=8) * 8.0, dtype, device)
    beta_input = inside(normal(token_count, 5, seed=9) * 8.0, dtype, device)
    rate, bias = normal(5, seed=10).exp(), normal(5, seed=11)
    log_decay, beta = triton.delta_gates(decay_input, beta_input, rate.to(device), bias.to(device))
    x = decay_input.cpu().double() + bias.double()
    expected = -rate.double() * (x.clamp(min=0.0) + torch.log1p(torch.exp(-x.abs())))
    assert relative_rms(log_decay.cpu(), expected) < TOLERANCE[F32]
    expected = 1.0 / (1.0 + torch.exp(-beta_input.cpu().double()))
    assert relative_rms(beta.cpu(), expected) < TOLERANCE[F32]


@pytest.mark.filterwarnings("ignore:overflow encountered in exp")  # a GPU's infinity, as meant
def test_a_gate_stays_in_its_range_and_keeps_its_digits_at_any_input(device: torch.device) -> None:
    # Each input counts by itself: a decay of 1e-13 must not vanish beside one of 1e4.
    extreme = torch.tensor([-1e4, -30.0, -17.0, -16.5, -3.0, 0.0, 3.0, 30.0, 1e4], device=device)
    one, zero = torch.ones(9, device=device), torch.zeros(9, device=device)
    log_decay, beta = triton.delta_gates(extreme[None], extreme[None], one, zero)
    x = extreme.cpu().double()
    expected = -(x.clamp(min=0.0) + torch.log1p(torch.exp(-x.abs())))
    torch.testing.assert_close(log_decay[0].cpu().double(), expected, rtol=1e-5, atol=0.0)
    assert bool((log_decay <= 0.0).all())
    assert bool(((beta >= 0.0) & (beta <= 1.0)).all())


@pytest.mark.parametrize("section", [MROPE_SECTION, (2, 1, 1), (1, 0, 3)])
@pytest.mark.parametrize("token_count", [1, 16, 17])
def test_a_picture_turns_each_frequency_with_its_own_axis(
    token_count: int, section: tuple[int, ...], device: torch.device
) -> None:
    half = sum(section)
    frequencies = 1.0 / 1e7 ** (torch.arange(half, dtype=F32) / half)
    # Time, height and width run apart, far out in a long context.
    starts = torch.tensor([[0], [1_000], [262_000]])
    positions = starts + torch.arange(token_count) * torch.tensor([[1], [3], [7]])
    cosine, sine = triton.rotations(positions.to(device), frequencies.to(device), section)
    left = {1: section[1], 2: section[2]}
    for i in range(half):
        axis = i % 3
        if axis and not left[axis]:
            axis = 0
        elif axis:
            left[axis] -= 1
        angle = (positions[axis].float() * frequencies[i]).double()
        # A float32 cosine of the angle as it is: absolute, for a zero crossing has no digits.
        torch.testing.assert_close(cosine[:, i].cpu().double(), angle.cos(), rtol=0, atol=2e-7)
        torch.testing.assert_close(sine[:, i].cpu().double(), angle.sin(), rtol=0, atol=2e-7)
    found = reference.rotations(positions, frequencies, section)
    torch.testing.assert_close((cosine.cpu(), sine.cpu()), found, rtol=0, atol=2e-7)


def test_text_turns_all_frequencies_with_its_one_position(device: torch.device) -> None:
    positions = torch.arange(5, 30, device=device)[None]
    frequencies = torch.logspace(0, -3, 32, device=device)
    text = triton.rotations(positions, frequencies)
    as_picture = triton.rotations(positions.expand(3, -1), frequencies, MROPE_SECTION)
    assert torch.equal(text[0], as_picture[0])
    assert torch.equal(text[1], as_picture[1])
    angle = positions[0].float()[:, None] * frequencies
    torch.testing.assert_close(text[0], angle.cos(), rtol=0, atol=2e-7)


def test_no_row_gives_no_row(device: torch.device) -> None:
    scale = normal(8, seed=1).to(device)
    nothing = torch.empty(0, 2, 8, device=device)
    assert triton.rms_norm(nothing, scale, EPS).shape == (0, 2, 8)
    assert triton.gated_rms_norm(nothing, nothing, scale, EPS).shape == (0, 2, 8)
    table = torch.empty(0, 4, device=device)
    assert triton.head_norm_rope(nothing, scale.expand(2, 8), table, table, EPS).shape == (0, 2, 8)
    log_decay, beta = triton.delta_gates(nothing[:, 0], nothing[:, 0], scale, scale)
    assert log_decay.shape == beta.shape == (0, 8)
