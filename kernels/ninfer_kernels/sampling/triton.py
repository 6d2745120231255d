"""How is a token chosen on a GPU?

Owns four device functions and their launches. Greedy choice is one pass over a row. A draw sorts
the row with the library's radix sort, stable, so that the order is the reference's; then one pass
gives every token its weight and every block its running sum, and a single program finds where the
kept mass ends and where the number falls. Weights and sums are float64, as the reference's; only
what the host must know comes back, once. `uniforms` is Philox4x32-10 as `philox.uniform` has it, to
the bit.
Does not know requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from ninfer_kernels.family_shapes import FAMILY
from ninfer_kernels.jit import kernel
from ninfer_kernels.launch_form import ELEMENT_TYPES, LaunchForm, ShippedKernel
from ninfer_kernels.sampling.reference import UNUSABLE_LOGITS

BLOCK_TOKENS = 4096
"""Tokens of a program: 61 programs for the released vocabulary."""


@kernel
def greedy_kernel(
    p_logits: tl.tensor, p_token: tl.tensor, s_row: tl.tensor, V: tl.constexpr, BLOCK: tl.constexpr
) -> None:
    """One row. Every lane keeps its first largest; equals are settled by the smaller id."""
    i_row = tl.program_id(0).to(tl.int64)
    o_lane = tl.arange(0, BLOCK)
    largest = tl.full([BLOCK], float("-inf"), tl.float32)
    token = o_lane
    has_nan = tl.zeros([BLOCK], tl.int32)
    for first in range(0, V, BLOCK):
        o_token = first + o_lane
        p_block = p_logits + i_row * s_row + o_token
        x = tl.load(p_block, mask=o_token < V, other=float("-inf")).to(tl.float32)
        token = tl.where(x > largest, o_token, token)
        largest = tl.where(x > largest, x, largest)
        has_nan |= (x != x).to(tl.int32)  # noqa: PLR0124 - only NaN differs from itself
    chosen = tl.min(tl.where(largest == tl.max(largest, axis=0), token, V), axis=0)
    # No logit equals a largest one that is NaN: the reference then answers 0.
    chosen = tl.where(tl.max(has_nan, axis=0) > 0, 0, chosen)
    tl.store(p_token + i_row, chosen.to(tl.int64))


@kernel
def weights_kernel(
    p_ordered: tl.tensor,
    p_options: tl.tensor,
    p_running: tl.tensor,
    p_total: tl.tensor,
    p_counts: tl.tensor,
    kept_count: tl.tensor,
    V: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """Weights of a block of tokens, largest first, and their running sum from the block's start.

    A token behind the first `kept_count` weighs nothing. Counted are the tokens that weigh
    something, and the finite logits.
    """
    i_block = tl.program_id(0)
    o_token = i_block * BLOCK + tl.arange(0, BLOCK)
    mask = o_token < V
    temperature = tl.load(p_options)
    largest = tl.load(p_ordered).to(tl.float64) / temperature
    logit = tl.load(p_ordered + o_token, mask=mask, other=float("-inf")).to(tl.float64)
    weight = tl.where(o_token < kept_count, tl.exp(logit / temperature - largest), 0.0)
    tl.store(p_running + o_token, tl.cumsum(weight, axis=0), mask=mask)
    tl.store(p_total + i_block, tl.sum(weight, axis=0))
    is_finite = (logit > float("-inf")) & (logit < float("inf"))
    tl.store(p_counts + 2 * i_block, tl.sum((weight > 0.0).to(tl.int32), axis=0))
    tl.store(p_counts + 2 * i_block + 1, tl.sum(is_finite.to(tl.int32), axis=0))


@kernel
def choose_kernel(
    p_ordered: tl.tensor,
    p_token_ids: tl.tensor,
    p_options: tl.tensor,
    p_running: tl.tensor,
    p_total: tl.tensor,
    p_counts: tl.tensor,
    p_answer: tl.tensor,
    kept_count: tl.tensor,
    block_count: tl.tensor,
    V: tl.constexpr,
    BLOCK: tl.constexpr,
    BB: tl.constexpr,
) -> None:
    """One program: the token, and whether the logits were fit to be drawn from."""
    o_block = tl.arange(0, BB)
    m_block = o_block < block_count
    total = tl.load(p_total + o_block, mask=m_block, other=0.0)
    through = tl.cumsum(total, axis=0)
    before = through - total
    top_p = tl.load(p_options + 1)
    kept = kept_count
    if top_p < 1.0:
        bound = top_p * tl.sum(total, axis=0)
        i_block = tl.sum((m_block & (through < bound)).to(tl.int32), axis=0)
        below = running_in(p_running, before, i_block, V, BLOCK, BB) < bound
        kept = tl.minimum(kept, i_block * BLOCK + tl.sum(below.to(tl.int32), axis=0) + 1)
    # A token that weighs nothing is never drawn, however sums are rounded.
    weighing = tl.sum(tl.load(p_counts + 2 * o_block, mask=m_block, other=0), axis=0)
    kept = tl.maximum(tl.minimum(kept, weighing), 1)
    i_block = (kept - 1) // BLOCK
    mass = tl.load(p_running + kept - 1) + tl.sum(tl.where(o_block == i_block, before, 0.0), axis=0)
    target = tl.load(p_options + 2) * mass
    i_block = tl.sum((m_block & (through <= target)).to(tl.int32), axis=0)
    passed = running_in(p_running, before, i_block, V, BLOCK, BB) <= target
    place = tl.minimum(i_block * BLOCK + tl.sum(passed.to(tl.int32), axis=0), kept - 1)
    finite = tl.sum(tl.load(p_counts + 2 * o_block + 1, mask=m_block, other=0), axis=0)
    # NaN is sorted before everything, and alone is not equal to itself.
    largest = tl.load(p_ordered).to(tl.float32)
    is_fit = (finite > 0) & (largest == largest)  # noqa: PLR0124
    tl.store(p_answer, tl.load(p_token_ids + place))
    tl.store(p_answer + 1, is_fit.to(tl.int64))


@kernel
def running_in(
    p_running: tl.tensor,
    before: tl.tensor,
    i_block: tl.tensor,
    V: tl.constexpr,
    BLOCK: tl.constexpr,
    BB: tl.constexpr,
) -> tl.tensor:
    """Running sums of one block, from the first token on; behind the last token infinite."""
    o_token = i_block * BLOCK + tl.arange(0, BLOCK)
    start = tl.sum(tl.where(tl.arange(0, BB) == i_block, before, 0.0), axis=0)
    return start + tl.load(p_running + o_token, mask=o_token < V, other=float("inf"))


@kernel
def uniforms_kernel(
    p_seed: tl.tensor,
    p_position: tl.tensor,
    p_uniform: tl.tensor,
    count: tl.tensor,
    BLOCK: tl.constexpr,
) -> None:
    """Some numbers; seeds and positions are the bits of 64-bit unsigned ones."""
    o_row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = o_row < count
    seed = tl.load(p_seed + o_row, mask=mask, other=0).to(tl.uint64, bitcast=True)
    position = tl.load(p_position + o_row, mask=mask, other=0).to(tl.uint64, bitcast=True)
    k0, k1 = seed.to(tl.uint32), (seed >> 32).to(tl.uint32)
    c0, c1 = position.to(tl.uint32), (position >> 32).to(tl.uint32)
    c2, c3 = tl.zeros([BLOCK], tl.uint32), tl.zeros([BLOCK], tl.uint32)
    for _ in tl.static_range(10):
        product0 = c0.to(tl.uint64) * 0xD2511F53
        product1 = c2.to(tl.uint64) * 0xCD9E8D57
        c0 = (product1 >> 32).to(tl.uint32) ^ c1 ^ k0
        c2 = (product0 >> 32).to(tl.uint32) ^ c3 ^ k1
        c1, c3 = product1.to(tl.uint32), product0.to(tl.uint32)
        k0, k1 = k0 + 0x9E3779B9, k1 + 0xBB67AE85
    # The leading 53 bits of 64 are a float64 exactly, and so is that over 2^53.
    bits = ((c0.to(tl.uint64) << 32) | c1.to(tl.uint64)) >> 11
    tl.store(p_uniform + o_row, bits.to(tl.int64).to(tl.float64) * 2.0**-53, mask=mask)


def greedy(logits: Tensor) -> Tensor:
    """See `reference.greedy`."""
    row_count, vocab = logits.shape
    logits = logits if logits.stride(1) == 1 else logits.contiguous()
    tokens = logits.new_empty(row_count, dtype=torch.int64)
    greedy_kernel[row_count,](logits, tokens, logits.stride(0), **greedy_form(vocab).options)
    return tokens


def draw(
    logits: Tensor, temperature: float, top_k: int | None, top_p: float, uniform: float
) -> int:
    """See `reference.draw`."""
    ordered, token_ids = logits.sort(descending=True, stable=True)
    vocab = len(logits)
    kept_count = vocab if top_k is None else min(top_k, vocab)
    form = draw_form(vocab)
    blocks = triton.cdiv(vocab, BLOCK_TOKENS)
    # As a launch's arguments they would be rounded to float32.
    options = torch.tensor([temperature, top_p, uniform], dtype=torch.float64, device=logits.device)
    running = options.new_empty(vocab)
    total = options.new_empty(blocks)
    counts = token_ids.new_empty(2 * blocks, dtype=torch.int32)
    answer = token_ids.new_empty(2)
    weights_kernel[blocks,](ordered, options, running, total, counts, kept_count, **form.options)
    choose_kernel[1,](
        ordered,
        token_ids,
        options,
        running,
        total,
        counts,
        answer,
        kept_count,
        blocks,
        **choose_form(vocab).options,
    )
    token, is_fit = answer.tolist()
    if not is_fit:
        raise ValueError(UNUSABLE_LOGITS)
    return int(token)


def uniforms(seeds: Sequence[int], positions: Sequence[int], device: torch.device) -> Tensor:
    """The numbers of `philox.uniform`, float64 `[N]`; both in `[0, 2^64)`."""
    as_bits = [[value - (value >> 63 << 64) for value in side] for side in (seeds, positions)]
    given = torch.tensor(as_bits, dtype=torch.int64, device=device)
    numbers = torch.empty(len(seeds), dtype=torch.float64, device=device)
    form = uniforms_form()
    uniforms_kernel[triton.cdiv(len(seeds), int(form.constants["BLOCK"])),](
        given[0], given[1], numbers, len(seeds), **form.options
    )
    return numbers


def greedy_form(vocab: int) -> LaunchForm:
    """How `greedy_kernel` is compiled."""
    return LaunchForm(constants={"V": vocab, "BLOCK": BLOCK_TOKENS}, warps=8)


def draw_form(vocab: int) -> LaunchForm:
    """How `weights_kernel` is compiled."""
    return LaunchForm(constants={"V": vocab, "BLOCK": BLOCK_TOKENS}, warps=8)


def choose_form(vocab: int) -> LaunchForm:
    """How `choose_kernel` is compiled."""
    blocks = triton.next_power_of_2(triton.cdiv(vocab, BLOCK_TOKENS))
    return LaunchForm(constants={"V": vocab, "BLOCK": BLOCK_TOKENS, "BB": max(2, blocks)}, warps=8)


def uniforms_form() -> LaunchForm:
    """How `uniforms_kernel` is compiled."""
    return LaunchForm(constants={"BLOCK": 32}, warps=1)


def shipped() -> Iterator[ShippedKernel]:
    """Every form of this file's kernels that ships; one vocabulary serves all sizes."""
    vocab = FAMILY[-1].vocab
    sums = {
        "p_options": "*fp64",
        "p_running": "*fp64",
        "p_total": "*fp64",
        "p_counts": "*i32",
        "kept_count": "i32",
    }
    for dtype, element in ELEMENT_TYPES.items():
        ordered = {"p_ordered": f"*{element}"}
        forms = (
            (
                "greedy",
                greedy_kernel,
                {"p_logits": f"*{element}", "p_token": "*i64", "s_row": "i32"},
                greedy_form(vocab),
            ),
            ("draw", weights_kernel, {**ordered, **sums}, draw_form(vocab)),
            (
                "draw",
                choose_kernel,
                {
                    **ordered,
                    **sums,
                    "p_token_ids": "*i64",
                    "p_answer": "*i64",
                    "block_count": "i32",
                },
                choose_form(vocab),
            ),
        )
        for phase, compiled, types, form in forms:
            yield ShippedKernel(
                op=f"sampling {phase}",
                kernel=compiled,
                geometry="all",
                dtype=dtype,
                types=types,
                form=form,
            )
    yield ShippedKernel(
        op="sampling uniforms",
        kernel=uniforms_kernel,
        geometry="all",
        dtype=torch.float32,
        types={"p_seed": "*i64", "p_position": "*i64", "p_uniform": "*fp64", "count": "i32"},
        form=uniforms_form(),
    )
