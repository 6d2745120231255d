"""How are rows normalised, rotated and gated on a GPU?

Owns four device functions and their launches, each one pass over its rows: a norm with or without a
gate behind it, a norm of heads with their rotation, the delta rule's gates, and the table of
rotations of positions on one or three axes. All arithmetic is float32; only what is stored is
rounded, once.
Does not know layers.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import triton
import triton.language as tl
from torch import Tensor

from ninfer_kernels.family_shapes import FAMILY, FamilyShape
from ninfer_kernels.jit import kernel
from ninfer_kernels.launch_form import ELEMENT_TYPES, LaunchForm, ShippedKernel
from ninfer_kernels.rounding import stored_as

TILE_ELEMENTS = 2048
"""Of a program's rows together: 16 a thread."""

MROPE_SECTION = (11, 11, 10)
"""Frequencies of time, height and width in the released models."""


@kernel
def norm_kernel(
    p_rows: tl.tensor,
    p_gate: tl.tensor,
    p_scale: tl.tensor,
    p_output: tl.tensor,
    row_count: tl.tensor,
    s_row: tl.tensor,
    s_gate: tl.tensor,
    s_gate_head: tl.tensor,
    eps: tl.tensor,
    H: tl.constexpr,
    D: tl.constexpr,
    BR: tl.constexpr,
    BD: tl.constexpr,
    IS_GATED: tl.constexpr,
) -> None:
    """Some rows; H of them in a row belong to one token, which is how the gate lies."""
    o_row = (tl.program_id(0) * BR + tl.arange(0, BR)).to(tl.int64)[:, None]
    o_dim = tl.arange(0, BD)[None, :]
    m_dim = o_dim < D
    mask = (o_row < row_count) & m_dim
    x = tl.load(p_rows + o_row * s_row + o_dim, mask=mask, other=0.0).to(tl.float32)
    scale = tl.load(p_scale + o_dim, mask=m_dim, other=0.0)
    inverse = tl.rsqrt(tl.sum(x * x, axis=1, keep_dims=True) / D + eps)
    result = x * inverse * scale
    if IS_GATED:
        p_beside = p_gate + (o_row // H) * s_gate + (o_row % H) * s_gate_head + o_dim
        gate = tl.load(p_beside, mask=mask, other=0.0).to(tl.float32)
        result = result * (gate / (1.0 + tl.exp(-gate)))
    result = stored_as(result, p_output.dtype.element_ty)
    tl.store(p_output + o_row * D + o_dim, result, mask=mask)


@kernel
def head_kernel(
    p_heads: tl.tensor,
    p_scale: tl.tensor,
    p_cosine: tl.tensor,
    p_sine: tl.tensor,
    p_output: tl.tensor,
    row_count: tl.tensor,
    s_token: tl.tensor,
    s_head: tl.tensor,
    eps: tl.tensor,
    H: tl.constexpr,
    D: tl.constexpr,
    HALF: tl.constexpr,
    BR: tl.constexpr,
    BD: tl.constexpr,
) -> None:
    """Some heads of some tokens. Each number is read once more beside the one it is paired with."""
    o_row = (tl.program_id(0) * BR + tl.arange(0, BR)).to(tl.int64)[:, None]
    o_token = o_row // H
    o_head = o_row % H
    o_dim = tl.arange(0, BD)[None, :]
    mask = (o_row < row_count) & (o_dim < D)
    p_row = p_heads + o_token * s_token + o_head * s_head
    x = tl.load(p_row + o_dim, mask=mask, other=0.0).to(tl.float32)
    inverse = tl.rsqrt(tl.sum(x * x, axis=1, keep_dims=True) / D + eps)
    x = x * inverse * tl.load(p_scale + o_head * D + o_dim, mask=mask, other=0.0)
    is_first = o_dim < HALF
    o_pair = tl.where(is_first, o_dim + HALF, o_dim - HALF)
    m_turned = (o_row < row_count) & (o_dim < 2 * HALF)
    pair = tl.load(p_row + o_pair, mask=m_turned, other=0.0).to(tl.float32)
    pair = pair * inverse * tl.load(p_scale + o_head * D + o_pair, mask=m_turned, other=0.0)
    o_angle = o_token * HALF + tl.where(is_first, o_dim, o_dim - HALF)
    cosine = tl.load(p_cosine + o_angle, mask=m_turned, other=1.0)
    sine = tl.load(p_sine + o_angle, mask=m_turned, other=0.0)
    result = x * cosine + pair * tl.where(is_first, -sine, sine)
    result = stored_as(result, p_output.dtype.element_ty)
    tl.store(p_output + o_row * D + o_dim, result, mask=mask)


@kernel
def gates_kernel(
    p_decay_input: tl.tensor,
    p_beta_input: tl.tensor,
    p_decay_rate: tl.tensor,
    p_decay_bias: tl.tensor,
    p_log_decay: tl.tensor,
    p_beta: tl.tensor,
    value_count: tl.tensor,
    s_decay_input: tl.tensor,
    s_beta_input: tl.tensor,
    HV: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """Some heads of some tokens."""
    o_value = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)
    mask = o_value < value_count
    o_token = o_value // HV
    o_head = o_value % HV
    p_decay = p_decay_input + o_token * s_decay_input + o_head
    x = tl.load(p_decay, mask=mask, other=0.0).to(tl.float32)
    x += tl.load(p_decay_bias + o_head, mask=mask, other=0.0)
    # softplus(x) = max(x, 0) + log(1 + e), e = exp(-|x|). Where 1 + e is rounded, what was lost is
    # in (1 + e) - 1: the logarithm over that difference is smooth, and e makes up for it.
    e = tl.exp(-tl.abs(x))
    above_one = 1.0 + e
    difference = above_one - 1.0
    log_one_plus = tl.where(
        difference == 0.0, e, tl.log(above_one) * (e / tl.where(difference == 0.0, 1.0, difference))
    )
    softplus = tl.maximum(x, 0.0) + log_one_plus
    rate = tl.load(p_decay_rate + o_head, mask=mask, other=0.0)
    tl.store(p_log_decay + o_value, -rate * softplus, mask=mask)
    y = tl.load(p_beta_input + o_token * s_beta_input + o_head, mask=mask, other=0.0)
    tl.store(p_beta + o_value, 1.0 / (1.0 + tl.exp(-y.to(tl.float32))), mask=mask)


@kernel
def rotations_kernel(
    p_positions: tl.tensor,
    p_frequencies: tl.tensor,
    p_cosine: tl.tensor,
    p_sine: tl.tensor,
    token_count: tl.tensor,
    s_axis: tl.tensor,
    HALF: tl.constexpr,
    HEIGHT: tl.constexpr,
    WIDTH: tl.constexpr,
    BT: tl.constexpr,
    BD: tl.constexpr,
) -> None:
    """Some positions at all frequencies; `HEIGHT` and `WIDTH` frequencies turn with those axes."""
    o_token = (tl.program_id(0) * BT + tl.arange(0, BT)).to(tl.int64)[:, None]
    o_dim = tl.arange(0, BD)[None, :]
    mask = (o_token < token_count) & (o_dim < HALF)
    turn = o_dim % 3
    is_height = (turn == 1) & (o_dim < 3 * HEIGHT)
    is_width = (turn == 2) & (o_dim < 3 * WIDTH)
    axis = tl.where(is_height, 1, tl.where(is_width, 2, 0))
    position = tl.load(p_positions + axis * s_axis + o_token, mask=mask, other=0)
    frequency = tl.load(p_frequencies + o_dim, mask=o_dim < HALF, other=0.0)
    angle = position.to(tl.float32) * frequency
    tl.store(p_cosine + o_token * HALF + o_dim, tl.cos(angle), mask=mask)
    tl.store(p_sine + o_token * HALF + o_dim, tl.sin(angle), mask=mask)


def rms_norm(rows: Tensor, scale: Tensor, eps: float) -> Tensor:
    """See `reference.rms_norm`."""
    form = norm_form(1, rows.shape[-1], is_gated=False)
    return _norm(rows, rows.reshape(-1, 1, rows.shape[-1]), scale, eps, form)


def gated_rms_norm(rows: Tensor, gate: Tensor, scale: Tensor, eps: float) -> Tensor:
    """See `reference.gated_rms_norm`."""
    heads, dim = (rows.shape[-2] if rows.dim() > 2 else 1), rows.shape[-1]
    by_head = _dim_runs(gate.reshape(-1, heads, dim))
    return _norm(rows, by_head, scale, eps, norm_form(heads, dim, is_gated=True))


def head_norm_rope(
    heads: Tensor, scale: Tensor, cosine: Tensor, sine: Tensor, eps: float
) -> Tensor:
    """See `reference.head_norm_rope`."""
    token_count, head_count, dim = heads.shape
    heads = _dim_runs(heads)
    form = head_form(head_count, dim, cosine.shape[-1])
    output = heads.new_empty(heads.shape)
    row_count = token_count * head_count
    head_kernel[triton.cdiv(row_count, int(form.constants["BR"])),](
        heads,
        scale,
        cosine.contiguous(),
        sine.contiguous(),
        output,
        row_count,
        heads.stride(0),
        heads.stride(1),
        eps,
        **form.options,
    )
    return output


def delta_gates(
    decay_input: Tensor, beta_input: Tensor, decay_rate: Tensor, decay_bias: Tensor
) -> tuple[Tensor, Tensor]:
    """See `reference.delta_gates`."""
    decay_input, beta_input = _dim_runs(decay_input), _dim_runs(beta_input)
    form = gates_form(decay_input.shape[1])
    log_decay = decay_rate.new_empty(decay_input.shape)
    beta = decay_rate.new_empty(decay_input.shape)
    gates_kernel[triton.cdiv(beta.numel(), int(form.constants["BLOCK"])),](
        decay_input,
        beta_input,
        decay_rate,
        decay_bias,
        log_decay,
        beta,
        beta.numel(),
        decay_input.stride(0),
        beta_input.stride(0),
        **form.options,
    )
    return log_decay, beta


def rotations(
    positions: Tensor, frequencies: Tensor, section: tuple[int, ...] = ()
) -> tuple[Tensor, Tensor]:
    """See `reference.rotations`."""
    positions = positions.contiguous()
    axis_count, token_count = positions.shape
    form = rotations_form(len(frequencies), section if axis_count == 3 else ())
    cosine = frequencies.new_empty((token_count, len(frequencies)))
    sine = torch.empty_like(cosine)
    rotations_kernel[triton.cdiv(token_count, int(form.constants["BT"])),](
        positions,
        frequencies,
        cosine,
        sine,
        token_count,
        positions.stride(0),
        **form.options,
    )
    return cosine, sine


def norm_form(heads: int, dim: int, *, is_gated: bool) -> LaunchForm:
    """How `norm_kernel` is compiled for rows of `dim`, `heads` of them to a token."""
    block = triton.next_power_of_2(dim)
    return LaunchForm(
        constants={
            "H": heads,
            "D": dim,
            "BR": max(1, TILE_ELEMENTS // block),
            "BD": block,
            "IS_GATED": is_gated,
        },
        warps=8 if block > 2 * TILE_ELEMENTS else 4,
    )


def head_form(heads: int, dim: int, half: int) -> LaunchForm:
    """How `head_kernel` is compiled for heads of `dim`, twice `half` of it rotated."""
    block = triton.next_power_of_2(dim)
    return LaunchForm(
        constants={
            "H": heads,
            "D": dim,
            "HALF": half,
            "BR": max(1, TILE_ELEMENTS // block),
            "BD": block,
        }
    )


def gates_form(heads: int) -> LaunchForm:
    """How `gates_kernel` is compiled."""
    return LaunchForm(constants={"HV": heads, "BLOCK": 512})


def rotations_form(half: int, section: tuple[int, ...]) -> LaunchForm:
    """How `rotations_kernel` is compiled; without a section all frequencies turn with axis 0."""
    _, height, width = section or (half, 0, 0)
    return LaunchForm(
        constants={
            "HALF": half,
            "HEIGHT": height,
            "WIDTH": width,
            "BT": 16,
            "BD": triton.next_power_of_2(half),
        }
    )


def shipped() -> Iterator[ShippedKernel]:
    """Every form of this file's kernels that ships."""
    for dtype, element in ELEMENT_TYPES.items():
        for family in FAMILY:
            yield from _of_family(family, dtype, element)


def _of_family(family: FamilyShape, dtype: torch.dtype, element: str) -> Iterator[ShippedKernel]:
    rows = {"p_output": f"*{element}", "row_count": "i32", "eps": "fp32", "p_scale": "*fp32"}
    sizes = zip(family.name.split(), family.hidden_sizes, strict=True)
    norms = [("norm", size, norm_form(1, hidden, is_gated=False)) for size, hidden in sizes]
    gated = norm_form(family.value_heads, family.value_dim, is_gated=True)
    for verb, geometry, form in (*norms, ("gated norm", family.name, gated)):
        yield ShippedKernel(
            op=f"norm_rope {verb}",
            kernel=norm_kernel,
            geometry=geometry,
            dtype=dtype,
            types={
                **rows,
                "p_rows": f"*{element}",
                "p_gate": f"*{element}",
                **dict.fromkeys(("s_row", "s_gate", "s_gate_head"), "i32"),
            },
            multiples_of_16=("s_row", "s_gate", "s_gate_head"),
            form=form,
        )
    yield ShippedKernel(
        op="norm_rope head norm and rotation",
        kernel=head_kernel,
        geometry=family.name,
        dtype=dtype,
        types={
            **rows,
            "p_heads": f"*{element}",
            "p_cosine": "*fp32",
            "p_sine": "*fp32",
            "s_token": "i32",
            "s_head": "i32",
        },
        multiples_of_16=("s_token", "s_head"),
        form=head_form(
            family.query_heads + family.kv_heads, family.head_dim, family.rotary_dim // 2
        ),
    )
    yield ShippedKernel(
        op="norm_rope delta gates",
        kernel=gates_kernel,
        geometry=family.name,
        dtype=dtype,
        types={
            "p_decay_input": f"*{element}",
            "p_beta_input": f"*{element}",
            **dict.fromkeys(("p_decay_rate", "p_decay_bias", "p_log_decay", "p_beta"), "*fp32"),
            **dict.fromkeys(("value_count", "s_decay_input", "s_beta_input"), "i32"),
        },
        form=gates_form(family.value_heads),
    )
    if family is FAMILY[-1] and dtype is torch.float32:
        yield ShippedKernel(
            op="norm_rope rotations",
            kernel=rotations_kernel,
            geometry="all",
            dtype=dtype,
            types={
                "p_positions": "*i64",
                **dict.fromkeys(("p_frequencies", "p_cosine", "p_sine"), "*fp32"),
                **dict.fromkeys(("token_count", "s_axis"), "i32"),
            },
            form=rotations_form(family.rotary_dim // 2, MROPE_SECTION),
        )


def _norm(rows: Tensor, gate: Tensor, scale: Tensor, eps: float, form: LaunchForm) -> Tensor:
    """`gate` is `[N, H, D]`; it is not read where the form has no gate."""
    dim = rows.shape[-1]
    flat = _dim_runs(rows.reshape(-1, dim))
    output = rows.new_empty(rows.shape)
    norm_kernel[triton.cdiv(len(flat), int(form.constants["BR"])),](
        flat,
        gate,
        scale,
        output,
        len(flat),
        flat.stride(0),
        gate.stride(0),
        gate.stride(1),
        eps,
        **form.options,
    )
    return output


def _dim_runs(rows: Tensor) -> Tensor:
    return rows if rows.stride(-1) == 1 else rows.contiguous()
