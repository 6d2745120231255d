"""How does paged attention run on a GPU, with no page gathered?

Owns three kernels. `prefill_kernel` takes a block of a row's new tokens, all query heads of one KV
head together, through the row's pages once. `decode_kernel` takes one new token of one row through
a share of its pages, so that few rows still fill a GPU; `merge_kernel` joins the shares by their
log-sum-exp. Softmax is computed as it goes, in base two. Keys and values behind a row's frontier
are never loaded: what lies there is another time's content and may be NaN.
With bfloat16 pages, queries and softmax weights are rounded to bfloat16 before they are multiplied,
sums stay in float32. Does not know RoPE, gates or owners.
Source: Dao et al. 2022, FlashAttention (arXiv:2205.14135); the split over pages: Dao et al. 2023,
Flash-Decoding.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import triton
import triton.language as tl
from torch import Tensor

from ninfer_kernels.family_shapes import FAMILY
from ninfer_kernels.jit import kernel
from ninfer_kernels.kv_pages.rows import PAGE_TOKENS, PagedRows
from ninfer_kernels.kv_pages.scratch import GatherMeter
from ninfer_kernels.launch_form import ELEMENT_TYPES, Constant, LaunchForm, ShippedKernel
from ninfer_kernels.paged_attention.softmax import scores_of, softmax_step
from ninfer_kernels.rounding import precision_for, stored_as

LOG2_E = 1.4426950408889634

PROGRAMS_WANTED = 256
"""Programs of a decode that keep a large GPU busy: about two per multiprocessor."""

MIN_SPLIT_PAGES = 4
"""Below this a share costs more to merge than it saves."""


@kernel
def prefill_kernel(
    output: tl.tensor,
    query: tl.tensor,
    pages: tl.tensor,
    page_ids: tl.tensor,
    token_count: tl.tensor,
    start_tokens: tl.tensor,
    query_stride: tl.tensor,
    page_stride: tl.tensor,
    scale: tl.tensor,
    KV_HEADS: tl.constexpr,
    GROUP: tl.constexpr,
    DIM: tl.constexpr,
    DIM_BLOCK: tl.constexpr,
    DIM_PART: tl.constexpr,
    ROW_BLOCK: tl.constexpr,
    TOKEN_BLOCK: tl.constexpr,
    PAGE_TOKENS: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:
    """Grid: blocks of query rows, the last first, since it reads the most; then KV heads.

    A query row is a token and one of the `GROUP` heads that share a KV head.
    """
    block = tl.num_programs(0) - 1 - tl.program_id(0)
    kv_head = tl.program_id(1)
    row = block * ROW_BLOCK + tl.arange(0, ROW_BLOCK)
    token = row // GROUP
    head = kv_head * GROUP + row % GROUP
    here = token < token_count
    query_rows = query + token.to(tl.int64) * query_stride + head * DIM
    last_token = tl.minimum((block * ROW_BLOCK + ROW_BLOCK - 1) // GROUP, token_count - 1)
    end = start_tokens + last_token + 1
    frontier = start_tokens + token
    column = tl.arange(0, DIM_BLOCK)
    side_stride = PAGE_TOKENS * KV_HEADS * DIM
    largest = tl.full([ROW_BLOCK], float("-inf"), tl.float32)
    total = tl.zeros([ROW_BLOCK], tl.float32)
    summed = tl.zeros([ROW_BLOCK, DIM_BLOCK], tl.float32)
    for first in range(0, end, TOKEN_BLOCK):
        page = tl.load(page_ids + first // PAGE_TOKENS)
        position = first + tl.arange(0, TOKEN_BLOCK)
        written = position < end
        offset = (position % PAGE_TOKENS) * (KV_HEADS * DIM) + kv_head * DIM
        keys = pages + page * page_stride
        values = tl.load(
            keys + side_stride + offset[:, None] + column[None, :],
            mask=written[:, None] & (column < DIM)[None, :],
            other=0.0,
        )
        scores = scores_of(query_rows, here, keys + offset, written, DIM, DIM_PART, PRECISION)
        scores = tl.where(position[None, :] <= frontier[:, None], scores * scale, float("-inf"))
        largest, total, summed = softmax_step(scores, values, (largest, total, summed), PRECISION)
    attended = stored_as(summed / total[:, None], output.dtype.element_ty)
    place = (token.to(tl.int64)[:, None] * KV_HEADS * GROUP + head[:, None]) * DIM
    mask = here[:, None] & (column < DIM)[None, :]
    tl.store(output + place + column[None, :], attended, mask=mask)


@kernel
def decode_kernel(
    shares: tl.tensor,
    share_weights: tl.tensor,
    query: tl.tensor,
    pages: tl.tensor,
    page_ids: tl.tensor,
    bounds: tl.tensor,
    split_tokens: tl.tensor,
    query_stride: tl.tensor,
    page_stride: tl.tensor,
    scale: tl.tensor,
    KV_HEADS: tl.constexpr,
    GROUP: tl.constexpr,
    GROUP_BLOCK: tl.constexpr,
    DIM: tl.constexpr,
    DIM_BLOCK: tl.constexpr,
    DIM_PART: tl.constexpr,
    TOKEN_BLOCK: tl.constexpr,
    PAGE_TOKENS: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:
    """Grid: splits, KV heads, rows. Writes each share normalised, and its weight in base two.

    A split that begins behind its row's frontier writes zeros of weight nothing.
    """
    split = tl.program_id(0)
    kv_head = tl.program_id(1)
    row = tl.program_id(2).to(tl.int64)
    first_page = tl.load(bounds + 2 * row)
    length = tl.load(bounds + 2 * row + 1).to(tl.int32)
    group = tl.arange(0, GROUP_BLOCK)
    column = tl.arange(0, DIM_BLOCK)
    here = group < GROUP
    query_rows = query + row * query_stride + (kv_head * GROUP + group) * DIM
    side_stride = PAGE_TOKENS * KV_HEADS * DIM
    largest = tl.full([GROUP_BLOCK], float("-inf"), tl.float32)
    total = tl.zeros([GROUP_BLOCK], tl.float32)
    summed = tl.zeros([GROUP_BLOCK, DIM_BLOCK], tl.float32)
    begin = split * split_tokens
    for first in range(begin, tl.minimum(begin + split_tokens, length), TOKEN_BLOCK):
        page = tl.load(page_ids + first_page + first // PAGE_TOKENS)
        position = first + tl.arange(0, TOKEN_BLOCK)
        written = position < length
        offset = (position % PAGE_TOKENS) * (KV_HEADS * DIM) + kv_head * DIM
        keys = pages + page * page_stride
        values = tl.load(
            keys + side_stride + offset[:, None] + column[None, :],
            mask=written[:, None] & (column < DIM)[None, :],
            other=0.0,
        )
        scores = scores_of(query_rows, here, keys + offset, written, DIM, DIM_PART, PRECISION)
        scores = tl.where(written[None, :], scores * scale, float("-inf"))
        largest, total, summed = softmax_step(scores, values, (largest, total, summed), PRECISION)
    share = (row * KV_HEADS + kv_head) * tl.num_programs(0) + split
    target = (share * GROUP + group)[:, None] * DIM + column[None, :]
    empty = total == 0.0
    attended = summed / tl.where(empty, 1.0, total)[:, None]
    tl.store(shares + target, attended, mask=here[:, None] & (column < DIM)[None, :])
    weight = tl.where(empty, float("-inf"), largest + tl.log2(tl.where(empty, 1.0, total)))
    tl.store(share_weights + share * GROUP + group, weight, mask=here)


@kernel
def merge_kernel(
    output: tl.tensor,
    shares: tl.tensor,
    share_weights: tl.tensor,
    split_count: tl.tensor,
    GROUP: tl.constexpr,
    DIM: tl.constexpr,
    DIM_BLOCK: tl.constexpr,
) -> None:
    """Grid: rows times KV heads, then heads of a group. One pass over the splits of one head."""
    pair = tl.program_id(0).to(tl.int64)
    member = tl.program_id(1)
    column = tl.arange(0, DIM_BLOCK)
    mask = column < DIM
    largest = tl.full([1], float("-inf"), tl.float32)
    total = tl.zeros([1], tl.float32)
    summed = tl.zeros([DIM_BLOCK], tl.float32)
    for split in range(split_count):
        share = (pair * split_count + split) * GROUP + member
        weight = tl.load(share_weights + share)
        # The first split of a row is never empty, so `new_largest` is a number from the start.
        new_largest = tl.maximum(largest, weight)
        shrunk = tl.exp2(largest - new_largest)
        factor = tl.exp2(weight - new_largest)
        total = total * shrunk + factor
        summed = summed * shrunk + factor * tl.load(shares + share * DIM + column, mask=mask)
        largest = new_largest
    target = output + (pair * GROUP + member) * DIM + column
    tl.store(target, stored_as(summed / total, output.dtype.element_ty), mask=mask)


def prefill(query: Tensor, layer_pages: Tensor, rows: PagedRows, meter: GatherMeter) -> Tensor:
    """See `reference.prefill`; gathers nothing."""
    token_count, head_count, dim = query.shape
    output = torch.empty((token_count, head_count, dim), dtype=query.dtype, device=query.device)
    if token_count == 0:
        return output
    query = _head_runs(query)
    kv_heads = layer_pages.shape[3]
    form = prefill_form(head_count, kv_heads, dim, layer_pages.dtype)
    query_rows = token_count * (head_count // kv_heads)
    grid = (triton.cdiv(query_rows, int(form.constants["ROW_BLOCK"])), kv_heads)
    prefill_kernel[grid](
        output,
        query,
        layer_pages,
        rows.page_ids,
        token_count,
        rows.start_tokens[0],
        query.stride(0),
        layer_pages.stride(0),
        dim**-0.5 * LOG2_E,
        **form.options,
    )
    return output


def decode(query: Tensor, layer_pages: Tensor, rows: PagedRows, meter: GatherMeter) -> Tensor:
    """See `reference.decode`; gathers nothing, but holds a float32 share per split and head."""
    row_count, head_count, dim = query.shape
    output = torch.empty((row_count, head_count, dim), dtype=query.dtype, device=query.device)
    if row_count == 0:
        return output
    query = _head_runs(query)
    kv_heads = layer_pages.shape[3]
    split_pages, split_count = _splits(max(rows.length_tokens), row_count * kv_heads)
    heads = (row_count, kv_heads, split_count, head_count // kv_heads)
    shares = torch.empty((*heads, dim), dtype=torch.float32, device=query.device)
    share_weights = torch.empty(heads, dtype=torch.float32, device=query.device)
    form = decode_form(head_count, kv_heads, dim, layer_pages.dtype)
    decode_kernel[split_count, kv_heads, row_count](
        shares,
        share_weights,
        query,
        layer_pages,
        rows.page_ids,
        rows.bounds,
        split_pages * PAGE_TOKENS,
        query.stride(0),
        layer_pages.stride(0),
        dim**-0.5 * LOG2_E,
        **form.options,
    )
    merge = merge_form(head_count, kv_heads, dim)
    merge_kernel[row_count * kv_heads, head_count // kv_heads](
        output, shares, share_weights, split_count, **merge.options
    )
    return output


def prefill_form(query_heads: int, kv_heads: int, dim: int, dtype: torch.dtype) -> LaunchForm:
    """For pages of that element type."""
    narrow = dtype is torch.bfloat16
    return LaunchForm(
        constants={
            **_heads(query_heads, kv_heads, dim),
            "DIM_PART": _dim_part(dim, dtype),
            "ROW_BLOCK": 64 if narrow else 32,
            "TOKEN_BLOCK": 32 if narrow else 16,
            "PAGE_TOKENS": PAGE_TOKENS,
            "PRECISION": precision_for(dtype),
        },
        warps=8,
        stages=2,
    )


def decode_form(query_heads: int, kv_heads: int, dim: int, dtype: torch.dtype) -> LaunchForm:
    """For pages of that element type; a block product needs at least 16 rows."""
    return LaunchForm(
        constants={
            **_heads(query_heads, kv_heads, dim),
            "DIM_PART": _dim_part(dim, dtype),
            "GROUP_BLOCK": max(16, triton.next_power_of_2(query_heads // kv_heads)),
            "TOKEN_BLOCK": 32 if dtype is torch.bfloat16 else 16,
            "PAGE_TOKENS": PAGE_TOKENS,
            "PRECISION": precision_for(dtype),
        },
        warps=4,
        stages=2,
    )


def merge_form(query_heads: int, kv_heads: int, dim: int) -> LaunchForm:
    """For shares, which are float32 always."""
    heads = _heads(query_heads, kv_heads, dim)
    return LaunchForm(constants={name: heads[name] for name in ("GROUP", "DIM", "DIM_BLOCK")})


def shipped() -> Iterator[ShippedKernel]:
    """Every form of this file's kernels that ships."""
    for dtype, element in ELEMENT_TYPES.items():
        for shape in FAMILY:
            heads = (shape.query_heads, shape.kv_heads, shape.head_dim)
            paged = {
                "query": "*fp32",
                "pages": f"*{element}",
                "page_ids": "*i64",
                "query_stride": "i32",
                "page_stride": "i32",
                "scale": "fp32",
            }
            yield ShippedKernel(
                op="paged_attention prefill",
                kernel=prefill_kernel,
                geometry=shape.name,
                dtype=dtype,
                types={**paged, "output": "*fp32", "token_count": "i32", "start_tokens": "i32"},
                multiples_of_16=("query_stride", "page_stride"),
                form=prefill_form(*heads, dtype),
            )
            shares = {"shares": "*fp32", "share_weights": "*fp32"}
            yield ShippedKernel(
                op="paged_attention decode",
                kernel=decode_kernel,
                geometry=shape.name,
                dtype=dtype,
                types={**paged, **shares, "bounds": "*i64", "split_tokens": "i32"},
                multiples_of_16=("query_stride", "page_stride", "split_tokens"),
                form=decode_form(*heads, dtype),
            )
            if dtype is torch.float32:
                yield ShippedKernel(
                    op="paged_attention decode",
                    kernel=merge_kernel,
                    geometry=shape.name,
                    dtype=dtype,
                    types={**shares, "output": "*fp32", "split_count": "i32"},
                    form=merge_form(*heads),
                )


def _heads(query_heads: int, kv_heads: int, dim: int) -> dict[str, Constant]:
    return {
        "KV_HEADS": kv_heads,
        "GROUP": query_heads // kv_heads,
        "DIM": dim,
        "DIM_BLOCK": max(16, triton.next_power_of_2(dim)),
    }


def _dim_part(dim: int, dtype: torch.dtype) -> int:
    whole: int = max(16, triton.next_power_of_2(dim))
    return whole if dtype is torch.bfloat16 else min(whole, 64)


def _splits(longest_tokens: int, pairs: int) -> tuple[int, int]:
    """Pages per split and splits per row, for so many pairs of row and KV head."""
    page_count = triton.cdiv(longest_tokens, PAGE_TOKENS)
    wanted = triton.cdiv(PROGRAMS_WANTED, pairs)
    split_pages = max(MIN_SPLIT_PAGES, triton.cdiv(page_count, wanted))
    return split_pages, triton.cdiv(page_count, split_pages)


def _head_runs(query: Tensor) -> Tensor:
    """`[N, H, D]` with each token's heads one run; a view where they are so already."""
    is_run = query.stride(2) == 1 and query.stride(1) == query.shape[2]
    return query if is_run else query.contiguous()
