"""Law: norms, rotation and gates equal their formulas in float64, for rows of any stride."""

from __future__ import annotations

from types import ModuleType

import pytest
import torch

from ninfer_kernels.norm_rope import cpu, reference
from ops.rows import normal, relative_rms

FORMS = [reference, cpu]
EPS = 1e-6
TOLERANCE = 2e-6


@pytest.mark.parametrize("form", FORMS)
def test_rms_norm_of_large_small_and_zero_rows(form: ModuleType) -> None:
    scale = normal(33, seed=1)
    for size in (1e-4, 1.0, 1e4):
        rows = normal(7, 40, seed=2)[:, :33] * size
        x = rows.double()
        expected = x / (x.square().mean(-1, keepdim=True) + EPS).sqrt() * scale.double()
        assert relative_rms(form.rms_norm(rows, scale, EPS), expected) < TOLERANCE
    assert torch.equal(form.rms_norm(torch.zeros(2, 33), scale, EPS), torch.zeros(2, 33))


@pytest.mark.parametrize("form", FORMS)
def test_the_gate_follows_the_norm(form: ModuleType) -> None:
    rows, gate, scale = normal(5, 3, 16, seed=3), normal(5, 3, 16, seed=4), normal(16, seed=5)
    x, z = rows.double(), gate.double()
    normed = x / (x.square().mean(-1, keepdim=True) + EPS).sqrt() * scale.double()
    expected = normed * z / (1.0 + torch.exp(-z))
    kept = rows.clone()
    assert relative_rms(form.gated_rms_norm(rows, gate, scale, EPS), expected) < TOLERANCE
    assert torch.equal(rows, kept)


@pytest.mark.parametrize("rotary", [2, 8, 16])
@pytest.mark.parametrize("form", FORMS)
def test_a_rotation_turns_pairs_of_the_leading_part_and_keeps_the_rest(
    form: ModuleType, rotary: int
) -> None:
    heads = normal(6, 70, seed=6)[:, :48].view(6, 3, 16)
    scale = normal(3, 16, seed=7)
    angle = torch.arange(6.0)[:, None] * torch.logspace(0, -2, rotary // 2)[None]
    found = form.head_norm_rope(heads, scale, angle.cos(), angle.sin(), EPS)
    x = heads.double()
    normed = x / (x.square().mean(-1, keepdim=True) + EPS).sqrt() * scale.double()
    pair = torch.complex(normed[..., : rotary // 2], normed[..., rotary // 2 : rotary])
    turned = pair * torch.polar(torch.ones_like(angle), angle).to(torch.complex128)[:, None]
    expected = torch.cat([turned.real, turned.imag, normed[..., rotary:]], dim=-1)
    assert relative_rms(found, expected) < TOLERANCE
    # Position 0 is not turned at all.
    assert torch.equal(found[0], form.rms_norm(heads, scale, EPS)[0])


def test_gates_stay_in_their_ranges_at_any_input() -> None:
    extreme = torch.tensor([[-1e4, -30.0, 0.0, 30.0, 1e4]])
    rate, bias = torch.full((5,), 2.0), torch.full((5,), 0.5)
    log_decay, beta = reference.delta_gates(extreme, extreme, rate, bias)
    expected = -2.0 * torch.log1p(torch.exp(-(extreme.double() + 0.5).abs()))
    expected = expected - 2.0 * (extreme.double() + 0.5).clamp(min=0.0)
    assert relative_rms(log_decay, expected) < TOLERANCE
    assert bool((log_decay <= 0.0).all())
    assert bool(((beta >= 0.0) & (beta <= 1.0)).all())
    assert relative_rms(beta, 1.0 / (1.0 + torch.exp(-extreme.double()))) < TOLERANCE
