"""How are keys and values written into pages, and whole pages copied, on a GPU?

Owns the kernel behind `reference.append`, a block of tokens per program, one side each, and the
launches of the copies, whose kernel is `run_copy`'s. An extent on the Host is packed or unpacked on
the GPU beside the pages and crosses over in one transfer; with pinned memory the call returns
before it has ended, and the stream keeps the order.
Does not know who may write where.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from ninfer_kernels.family_shapes import FAMILY
from ninfer_kernels.jit import kernel
from ninfer_kernels.kv_pages.reference import check_extent
from ninfer_kernels.kv_pages.rows import PAGE_TOKENS, PagedRows
from ninfer_kernels.launch_form import ELEMENT_TYPES, LaunchForm, ShippedKernel
from ninfer_kernels.rounding import stored_as
from ninfer_kernels.run_copy import copy_runs, shipped_copy


@kernel
def append_kernel(
    pages: tl.tensor,
    keys: tl.tensor,
    values: tl.tensor,
    page_ids: tl.tensor,
    offsets: tl.tensor,
    token_count: tl.tensor,
    page_stride: tl.tensor,
    key_stride: tl.tensor,
    value_stride: tl.tensor,
    WIDTH: tl.constexpr,
    WIDTH_BLOCK: tl.constexpr,
    TOKEN_BLOCK: tl.constexpr,
    PAGE_TOKENS: tl.constexpr,
) -> None:
    """Grid: blocks of tokens, then sides (keys, values). `WIDTH` is heads times head dim."""
    side = tl.program_id(1)
    token = tl.program_id(0) * TOKEN_BLOCK + tl.arange(0, TOKEN_BLOCK)
    here = token < token_count
    page = tl.load(page_ids + token, mask=here, other=0)
    offset = tl.load(offsets + token, mask=here, other=0)
    column = tl.arange(0, WIDTH_BLOCK)[None, :]
    mask = here[:, None] & (column < WIDTH)
    row = token.to(tl.int64)[:, None]
    if side == 0:
        new = tl.load(keys + row * key_stride + column, mask=mask)
    else:
        new = tl.load(values + row * value_stride + column, mask=mask)
    # A page's stride times its number may pass 2^31: page numbers are int64.
    place = page * page_stride + (side * PAGE_TOKENS + offset) * WIDTH
    target = pages + place[:, None] + column
    tl.store(target, stored_as(new, pages.dtype.element_ty), mask=mask)


def append(layer_pages: Tensor, keys: Tensor, values: Tensor, rows: PagedRows) -> None:
    """See `reference.append`."""
    token_count, width = len(keys), keys[0].numel() if len(keys) else 0
    if token_count == 0:
        return
    form = append_form(width)
    keys, values = _token_runs(keys), _token_runs(values)
    grid = (triton.cdiv(token_count, int(form.constants["TOKEN_BLOCK"])), 2)
    append_kernel[grid](
        layer_pages,
        keys,
        values,
        rows.append_page_ids,
        rows.append_offsets,
        token_count,
        layer_pages.stride(0),
        keys.stride(0),
        values.stride(0),
        **form.options,
    )


def copy_pages(pages: Tensor, sources: Sequence[int], targets: Sequence[int]) -> None:
    """See `reference.copy_pages`; one launch for all."""
    copy_runs(pages, pages, sources, targets)


def pack_extent(pages: Tensor, page_ids: Sequence[int], extent: Tensor) -> None:
    """See `reference.pack_extent`; one launch, and one transfer to an extent on the Host."""
    check_extent(pages, page_ids, extent)
    beside = (
        extent if extent.device == pages.device else torch.empty_like(extent, device=pages.device)
    )
    copy_runs(pages, beside, page_ids, range(len(page_ids)))
    if beside is not extent:
        extent.copy_(beside, non_blocking=extent.is_pinned())


def unpack_extent(extent: Tensor, pages: Tensor, page_ids: Sequence[int]) -> None:
    """See `reference.unpack_extent`; one transfer from an extent on the Host, and one launch."""
    check_extent(pages, page_ids, extent)
    beside = extent.to(pages.device, non_blocking=extent.is_pinned())
    copy_runs(beside, pages, range(len(page_ids)), page_ids)


def append_form(width: int) -> LaunchForm:
    """For tokens of `width` numbers a side."""
    return LaunchForm(
        constants={
            "WIDTH": width,
            "WIDTH_BLOCK": triton.next_power_of_2(width),
            "TOKEN_BLOCK": 4,
            "PAGE_TOKENS": PAGE_TOKENS,
        }
    )


def shipped() -> Iterator[ShippedKernel]:
    """Every form of these ops that ships."""
    yield shipped_copy("kv_pages copy, pack, unpack")
    for dtype, element in ELEMENT_TYPES.items():
        for shape in FAMILY:
            yield ShippedKernel(
                op="kv_pages append",
                kernel=append_kernel,
                geometry=shape.name,
                dtype=dtype,
                types={
                    "pages": f"*{element}",
                    "keys": "*fp32",
                    "values": "*fp32",
                    "page_ids": "*i64",
                    "offsets": "*i64",
                    "token_count": "i32",
                    "page_stride": "i32",
                    "key_stride": "i32",
                    "value_stride": "i32",
                },
                multiples_of_16=("page_stride", "key_stride", "value_stride"),
                form=append_form(shape.kv_width),
            )


def _token_runs(side: Tensor) -> Tensor:
    """`[N, H, D]` with each token's numbers one run; a view where they are so already."""
    _, heads, dim = side.shape
    is_run = (side.stride(2) == 1 or dim == 1) and (side.stride(1) == dim or heads == 1)
    return side if is_run else side.contiguous()
