"""How does the causal convolution run on a GPU?

Owns two device functions and their launches. A prefill takes a block of tokens and of channels per
program; only the programs of the first tokens read the carried columns, and the same ones write
those left behind, so that a row may work in place. Sums are float32.
Does not know what the channels are.
"""

from __future__ import annotations

from collections.abc import Iterator

import triton
import triton.language as tl
from torch import Tensor

from ninfer_kernels.family_shapes import FAMILY
from ninfer_kernels.jit import kernel
from ninfer_kernels.launch_form import ELEMENT_TYPES, LaunchForm, ShippedKernel
from ninfer_kernels.rounding import stored_as
from ninfer_kernels.state_image.rows import StateRows


@kernel
def prefill_kernel(
    p_inputs: tl.tensor,
    p_taps: tl.tensor,
    p_history: tl.tensor,
    p_output: tl.tensor,
    p_read_slot: tl.tensor,
    p_write_slot: tl.tensor,
    T: tl.tensor,
    s_input: tl.tensor,
    s_slot: tl.tensor,
    C: tl.constexpr,
    W: tl.constexpr,
    BT: tl.constexpr,
    BC: tl.constexpr,
    BH: tl.constexpr,
) -> None:
    """Some tokens of some channels; `BT >= W - 1`, so that only block 0 reaches before token 0."""
    i_block = tl.program_id(0)
    o_token = i_block * BT + tl.arange(0, BT)
    o_channel = tl.program_id(1) * BC + tl.arange(0, BC)[None, :]
    m_channel = o_channel < C
    p_read = p_history + tl.load(p_read_slot) * s_slot + o_channel
    summed = tl.zeros([BT, BC], tl.float32)
    for i_tap in tl.static_range(W):
        o_from = (o_token + (i_tap - W + 1))[:, None]
        m_new = (o_from >= 0) & (o_from < T) & m_channel
        m_carried = (o_from < 0) & m_channel
        p_new = p_inputs + o_from.to(tl.int64) * s_input + o_channel
        new = tl.load(p_new, mask=m_new, other=0.0).to(tl.float32)
        carried = tl.load(p_read + (o_from + (W - 1)) * C, mask=m_carried, other=0.0)
        tap = tl.load(p_taps + i_tap * C + o_channel, mask=m_channel, other=0.0).to(tl.float32)
        summed += (new + carried.to(tl.float32)) * tap
    p_result = p_output + o_token.to(tl.int64)[:, None] * C + o_channel
    result = stored_as(summed / (1.0 + tl.exp(-summed)), p_output.dtype.element_ty)
    tl.store(p_result, result, mask=(o_token < T)[:, None] & m_channel)
    if i_block == 0:
        o_kept = tl.arange(0, BH)[:, None]
        m_kept = (o_kept < W - 1) & m_channel
        o_source = T - (W - 1) + o_kept
        p_source = p_inputs + o_source.to(tl.int64) * s_input + o_channel
        kept = tl.load(p_source, mask=(o_source >= 0) & m_kept, other=0.0).to(tl.float32)
        p_moved = p_read + (o_source + (W - 1)) * C
        moved = tl.load(p_moved, mask=(o_source < 0) & m_kept, other=0.0).to(tl.float32)
        # In place, a column is written over by another thread than those that read it.
        tl.debug_barrier()
        p_write = p_history + tl.load(p_write_slot) * s_slot + o_kept * C + o_channel
        tl.store(p_write, stored_as(kept + moved, p_history.dtype.element_ty), mask=m_kept)


@kernel
def decode_kernel(
    p_inputs: tl.tensor,
    p_taps: tl.tensor,
    p_history: tl.tensor,
    p_output: tl.tensor,
    p_read_slots: tl.tensor,
    p_write_slots: tl.tensor,
    s_input: tl.tensor,
    s_slot: tl.tensor,
    C: tl.constexpr,
    W: tl.constexpr,
    BC: tl.constexpr,
    BH: tl.constexpr,
) -> None:
    """One token of one row, some channels."""
    i_row = tl.program_id(1)
    o_channel = tl.program_id(0) * BC + tl.arange(0, BC)[None, :]
    m_channel = o_channel < C
    o_kept = tl.arange(0, BH)[:, None]
    m_kept = (o_kept < W - 1) & m_channel
    p_new = p_inputs + i_row * s_input + o_channel
    new = tl.load(p_new, mask=m_channel, other=0.0).to(tl.float32)
    p_read = p_history + tl.load(p_read_slots + i_row) * s_slot + o_kept * C + o_channel
    carried = tl.load(p_read, mask=m_kept, other=0.0).to(tl.float32)
    p_tap = p_taps + o_kept * C + o_channel
    taps = tl.load(p_tap, mask=m_kept, other=0.0).to(tl.float32)
    last_tap = tl.load(p_taps + (W - 1) * C + o_channel, mask=m_channel, other=0.0)
    summed = tl.sum(carried * taps, axis=0, keep_dims=True) + new * last_tap.to(tl.float32)
    result = stored_as(summed / (1.0 + tl.exp(-summed)), p_output.dtype.element_ty)
    tl.store(p_output + i_row * C + o_channel, result, mask=m_channel)
    m_moved = (o_kept < W - 2) & m_channel
    moved = tl.load(p_read + C, mask=m_moved, other=0.0).to(tl.float32)
    left = tl.where(o_kept == W - 2, new, moved)
    # In place, a column is written over by another thread than those that read it.
    tl.debug_barrier()
    p_write = p_history + tl.load(p_write_slots + i_row) * s_slot + o_kept * C + o_channel
    tl.store(p_write, stored_as(left, p_history.dtype.element_ty), mask=m_kept)


def prefill(inputs: Tensor, taps: Tensor, history: Tensor, rows: StateRows) -> Tensor:
    """See `reference.prefill`."""
    token_count, channels = inputs.shape
    inputs = _channel_runs(inputs)
    form = prefill_form(channels, len(taps))
    output = inputs.new_empty((token_count, channels))
    # Of no token, one block of programs remains: it hands the history on.
    blocks = max(1, triton.cdiv(token_count, int(form.constants["BT"])))
    prefill_kernel[blocks, triton.cdiv(channels, int(form.constants["BC"]))](
        inputs,
        taps,
        history,
        output,
        rows.read_index,
        rows.write_index,
        token_count,
        inputs.stride(0),
        history.stride(0),
        **form.options,
    )
    return output


def decode(inputs: Tensor, taps: Tensor, history: Tensor, rows: StateRows) -> Tensor:
    """See `reference.decode`."""
    row_count, channels = inputs.shape
    inputs = _channel_runs(inputs)
    form = decode_form(channels, len(taps))
    output = inputs.new_empty((row_count, channels))
    decode_kernel[triton.cdiv(channels, int(form.constants["BC"])), row_count](
        inputs,
        taps,
        history,
        output,
        rows.read_index,
        rows.write_index,
        inputs.stride(0),
        history.stride(0),
        **form.options,
    )
    return output


def prefill_form(channels: int, width: int) -> LaunchForm:
    """How `prefill_kernel` is compiled."""
    history_block = triton.next_power_of_2(width - 1)
    return LaunchForm(
        constants={
            "C": channels,
            "W": width,
            "BT": max(8, history_block),
            "BC": 256,
            "BH": history_block,
        }
    )


def decode_form(channels: int, width: int) -> LaunchForm:
    """How `decode_kernel` is compiled."""
    return LaunchForm(
        constants={
            "C": channels,
            "W": width,
            "BC": 256,
            "BH": triton.next_power_of_2(width - 1),
        }
    )


def shipped() -> Iterator[ShippedKernel]:
    """Every form of this file's kernels that ships."""
    for dtype, element in ELEMENT_TYPES.items():
        for family in FAMILY:
            given = {
                "p_inputs": "*fp32",
                "p_taps": "*fp32",
                "p_history": f"*{element}",
                "p_output": "*fp32",
                "s_input": "i32",
                "s_slot": "i32",
            }
            yield ShippedKernel(
                op="causal_conv prefill",
                kernel=prefill_kernel,
                geometry=family.name,
                dtype=dtype,
                types={**given, "p_read_slot": "*i64", "p_write_slot": "*i64", "T": "i32"},
                multiples_of_16=("s_input", "s_slot"),
                form=prefill_form(family.conv_channels, family.conv_width),
            )
            yield ShippedKernel(
                op="causal_conv decode",
                kernel=decode_kernel,
                geometry=family.name,
                dtype=dtype,
                types={**given, "p_read_slots": "*i64", "p_write_slots": "*i64"},
                multiples_of_16=("s_input", "s_slot"),
                form=decode_form(family.conv_channels, family.conv_width),
            )


def _channel_runs(inputs: Tensor) -> Tensor:
    return inputs if inputs.stride(1) == 1 else inputs.contiguous()
