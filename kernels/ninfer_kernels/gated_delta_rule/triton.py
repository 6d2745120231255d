"""How does the gated delta rule run on a GPU?

Owns the launches of the device functions in `chunk_kernels`, and the decode: one pass over the
state, in which every element is read from one slot and written to the other once.
Products are float32 to about 2e-7 whatever the inputs' type, for their error would stay in the
state; all of them together are under a hundredth of a model's own.
Does not know slots' owners. Source: Yang et al. 2024 (arXiv:2412.06464), §3.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from ninfer_kernels.family_shapes import FAMILY
from ninfer_kernels.gated_delta_rule.chunk_kernels import prepare_kernel, scan_kernel
from ninfer_kernels.gated_delta_rule.inputs import DeltaInputs
from ninfer_kernels.gated_delta_rule.reference import CHUNK_TOKENS, UNIT_EPS
from ninfer_kernels.jit import kernel
from ninfer_kernels.launch_form import ELEMENT_TYPES, LaunchForm, ShippedKernel
from ninfer_kernels.rounding import TF32X3
from ninfer_kernels.state_image.rows import StateRows

BLOCK_TOKENS = 1024
"""Tokens whose chunks are prepared together. Bounds the scratch of a long prefill: 100 MiB for the
48 heads of 27B."""


@kernel
def step_kernel(
    p_query_and_key: tl.tensor,
    p_value: tl.tensor,
    p_log_decay: tl.tensor,
    p_beta: tl.tensor,
    p_output: tl.tensor,
    p_state: tl.tensor,
    p_read_slots: tl.tensor,
    p_write_slots: tl.tensor,
    s_query_and_key: tl.tensor,
    s_value: tl.tensor,
    s_log_decay: tl.tensor,
    s_beta: tl.tensor,
    s_slot: tl.tensor,
    eps: tl.tensor,
    HK: tl.constexpr,
    HV: tl.constexpr,
    K: tl.constexpr,
    V: tl.constexpr,
    BK: tl.constexpr,
    BV: tl.constexpr,
) -> None:
    """One token of one row: some columns of one head's state, read once and written once."""
    i_row = tl.program_id(2)
    i_head = tl.program_id(1)
    i_key_head = i_head // (HV // HK)
    o_k = tl.arange(0, BK)
    o_v = tl.program_id(0) * BV + tl.arange(0, BV)
    m_k = o_k < K
    m_v = o_v < V
    m_state = m_k[:, None] & m_v[None, :]
    o_state = (i_head * K + o_k[:, None]) * V + o_v[None, :]
    state = tl.load(
        p_state + tl.load(p_read_slots + i_row) * s_slot + o_state, mask=m_state, other=0.0
    )
    p_query = p_query_and_key + i_row * s_query_and_key + i_key_head * K + o_k
    query = tl.load(p_query, mask=m_k, other=0.0).to(tl.float32)
    key = tl.load(p_query + HK * K, mask=m_k, other=0.0).to(tl.float32)
    value = tl.load(p_value + i_row * s_value + i_head * V + o_v, mask=m_v, other=0.0)
    query *= tl.rsqrt(tl.sum(query * query, axis=0) + eps) * K**-0.5
    key *= tl.rsqrt(tl.sum(key * key, axis=0) + eps)
    state *= tl.exp(tl.load(p_log_decay + i_row * s_log_decay + i_head))
    predicted = tl.sum(state * key[:, None], axis=0)
    beta = tl.load(p_beta + i_row * s_beta + i_head)
    correction = (value.to(tl.float32) - predicted) * beta
    state += key[:, None] * correction[None, :]
    output = tl.sum(state * query[:, None], axis=0)
    tl.store(p_output + (i_row * HV + i_head) * V + o_v, output, mask=m_v)
    # Every element's new value needs its old one, so that a row may work in place.
    tl.store(p_state + tl.load(p_write_slots + i_row) * s_slot + o_state, state, mask=m_state)


def prefill(inputs: DeltaInputs, state: Tensor, rows: StateRows) -> Tensor:
    """See `reference.prefill`."""
    token_count, HV, V = inputs.value.shape
    output = inputs.value.new_empty((token_count, HV, V), dtype=torch.float32)
    source = rows.read_index
    # Of no token, one pass remains: it hands the state on.
    for start in range(0, max(token_count, 1), BLOCK_TOKENS):
        part = slice(start, start + BLOCK_TOKENS)
        block = DeltaInputs(
            query_and_key=inputs.query_and_key[part],
            value=inputs.value[part],
            log_decay=inputs.log_decay[part],
            beta=inputs.beta[part],
        )
        _advance(block, output[part], state, (source, rows.write_index))
        source = rows.write_index
    return output


def decode(inputs: DeltaInputs, state: Tensor, rows: StateRows) -> Tensor:
    """See `reference.decode`."""
    row_count, HV, V = inputs.value.shape
    given = _runs(inputs)
    form = decode_form(HeadShape.of(inputs))
    output = given.value.new_empty((row_count, HV, V), dtype=torch.float32)
    grid = (triton.cdiv(V, int(form.constants["BV"])), HV, row_count)
    step_kernel[grid](
        given.query_and_key,
        given.value,
        given.log_decay,
        given.beta,
        output,
        state,
        rows.read_index,
        rows.write_index,
        *_row_strides(given),
        state.stride(0),
        UNIT_EPS,
        **form.options,
    )
    return output


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadShape:
    """Heads and dims that the kernels are compiled for."""

    HK: int
    HV: int
    K: int
    V: int

    @staticmethod
    def of(inputs: DeltaInputs) -> HeadShape:
        """Those of some inputs."""
        _, _, HK, K = inputs.query_and_key.shape
        _, HV, V = inputs.value.shape
        return HeadShape(HK=HK, HV=HV, K=K, V=V)


def prepare_form(shape: HeadShape) -> LaunchForm:
    """How `prepare_kernel` is compiled for some heads."""
    return LaunchForm(
        constants={
            "HK": shape.HK,
            "HV": shape.HV,
            "K": shape.K,
            "V": shape.V,
            "C": CHUNK_TOKENS,
            "DOUBLINGS": CHUNK_TOKENS.bit_length() - 1,
            "BK": min(_block(shape.K), 32),
            "BV": min(_block(shape.V), 32),
            "PRECISION": TF32X3,
        },
    )


def scan_form(shape: HeadShape) -> LaunchForm:
    """How `scan_kernel` is compiled for some heads."""
    return LaunchForm(
        constants={
            "HV": shape.HV,
            "K": shape.K,
            "V": shape.V,
            "C": CHUNK_TOKENS,
            "BK": _block(shape.K // 2),
            "BV": min(_block(shape.V), 32),
            "PRECISION": TF32X3,
        },
    )


def decode_form(shape: HeadShape) -> LaunchForm:
    """How `step_kernel` is compiled for some heads."""
    return LaunchForm(
        constants={
            "HK": shape.HK,
            "HV": shape.HV,
            "K": shape.K,
            "V": shape.V,
            "BK": _block(shape.K),
            "BV": min(_block(shape.V), 32),
        },
    )


def shipped() -> Iterator[ShippedKernel]:
    """Every form of this file's kernels that ships."""
    for dtype, element in ELEMENT_TYPES.items():
        for family in FAMILY:
            shape = HeadShape(
                HK=family.key_heads, HV=family.value_heads, K=family.key_dim, V=family.value_dim
            )
            given = {
                "p_query_and_key": f"*{element}",
                "p_value": f"*{element}",
                "p_log_decay": "*fp32",
                "p_beta": "*fp32",
                "s_query_and_key": "i32",
                "s_value": "i32",
                "s_log_decay": "i32",
                "s_beta": "i32",
                "eps": "fp32",
            }
            state = {"p_state": "*fp32", "s_slot": "i32"}
            names = ("p_written", "p_reads", "p_key", "p_kept", "p_output")
            scratch = {**dict.fromkeys(names, "*fp32"), "T": "i32"}
            yield ShippedKernel(
                op="gated_delta_rule prefill",
                kernel=prepare_kernel,
                geometry=family.name,
                dtype=dtype,
                types={**given, **scratch},
                multiples_of_16=("s_query_and_key", "s_value"),
                form=prepare_form(shape),
            )
            if dtype is torch.float32:
                slots = {"p_read_slot": "*i64", "p_write_slot": "*i64"}
                yield ShippedKernel(
                    op="gated_delta_rule prefill",
                    kernel=scan_kernel,
                    geometry=family.name,
                    dtype=dtype,
                    types={**scratch, **slots, **state, "chunk_count": "i32"},
                    multiples_of_16=("s_slot",),
                    form=scan_form(shape),
                )
            slots = {"p_read_slots": "*i64", "p_write_slots": "*i64"}
            yield ShippedKernel(
                op="gated_delta_rule decode",
                kernel=step_kernel,
                geometry=family.name,
                dtype=dtype,
                types={**given, **slots, **state, "p_output": "*fp32"},
                multiples_of_16=("s_query_and_key", "s_value", "s_slot"),
                form=decode_form(shape),
            )


def _advance(
    inputs: DeltaInputs, output: Tensor, state: Tensor, slots: tuple[Tensor, Tensor]
) -> None:
    """At most `BLOCK_TOKENS` tokens of one row, from the slot in `slots[0]` to that in `slots[1]`.

    Effects: writes `output` `[T, HV, V]` and the second slot.
    """
    given = _runs(inputs)
    shape = HeadShape.of(inputs)
    token_count = len(given.value)
    chunk_count = triton.cdiv(token_count, CHUNK_TOKENS)
    tiles = (shape.HV, chunk_count, CHUNK_TOKENS)
    written = output.new_empty((*tiles, shape.V))
    reads = output.new_empty((*tiles[:2], 2, CHUNK_TOKENS, shape.K))
    key = output.new_empty((*tiles, shape.K))
    kept = output.new_empty(tiles[:2])
    scratch = (written, reads, key, kept, output)
    prepare_kernel[chunk_count, shape.HV](
        given.query_and_key,
        given.value,
        given.log_decay,
        given.beta,
        *scratch,
        token_count,
        *_row_strides(given),
        UNIT_EPS,
        **prepare_form(shape).options,
    )
    form = scan_form(shape)
    scan_kernel[triton.cdiv(shape.V, int(form.constants["BV"])), shape.HV](
        *scratch,
        state,
        *slots,
        token_count,
        chunk_count,
        state.stride(0),
        **form.options,
    )


def _runs(inputs: DeltaInputs) -> DeltaInputs:
    """The same, each token's numbers one run behind the other; views where they are so already."""
    return DeltaInputs(
        query_and_key=_token_runs(inputs.query_and_key),
        value=_token_runs(inputs.value),
        log_decay=_token_runs(inputs.log_decay),
        beta=_token_runs(inputs.beta),
    )


def _token_runs(rows: Tensor) -> Tensor:
    return rows if rows[:1].is_contiguous() else rows.contiguous()


def _row_strides(inputs: DeltaInputs) -> tuple[int, int, int, int]:
    return (
        inputs.query_and_key.stride(0),
        inputs.value.stride(0),
        inputs.log_decay.stride(0),
        inputs.beta.stride(0),
    )


def _block(dim: int) -> int:
    """A dim as blocks have it: a power of two, and no less than a product takes."""
    return max(16, int(triton.next_power_of_2(dim)))
