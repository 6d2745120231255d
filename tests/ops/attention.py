"""Softmax attention over a row's own tokens in float64, and pages that hold NaN wherever no row has
written: what tests of paged attention compare with and start from.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ninfer_kernels.kv_pages.rows import PAGE_TOKENS, PagedRows
from ops.rows import CPU, normal, paged_rows


def attended(query: Tensor, keys: Tensor, values: Tensor, start: int) -> Tensor:
    """`[T, H, D]` in float64, token by token."""
    outputs = []
    for token in range(len(query)):
        seen = slice(0, start + token + 1)
        group = query.shape[1] // keys.shape[1]
        k, v = (side[seen].double().repeat_interleave(group, 1) for side in (keys, values))
        scores = torch.einsum("hd,lhd->hl", query[token].double(), k) / query.shape[-1] ** 0.5
        outputs.append(torch.einsum("hl,lhd->hd", scores.softmax(-1), v))
    return torch.stack(outputs)


def filled_pages(
    spans: Sequence[tuple[int, int]],
    kv_heads: int,
    dim: int,
    dtype: torch.dtype,
    device: torch.device = CPU,
) -> tuple[PagedRows, Tensor, list[tuple[Tensor, Tensor]]]:
    """Pages that hold each row's keys and values and NaN everywhere else.

    Returns:
        The rows, one layer's pages on the device, and per row its keys and values on the CPU.
    """
    rows, page_count = paged_rows(spans, device)
    layer_pages = torch.full((page_count, 2, PAGE_TOKENS, kv_heads, dim), torch.nan, dtype=dtype)
    sides = []
    for row, (start, new) in enumerate(spans):
        keys = normal(start + new, kv_heads, dim, seed=10 + row).to(dtype)
        values = normal(start + new, kv_heads, dim, seed=50 + row).to(dtype)
        for position in range(start + new):
            page = int(rows.row_page_ids[row][position // PAGE_TOKENS])
            layer_pages[page, 0, position % PAGE_TOKENS] = keys[position]
            layer_pages[page, 1, position % PAGE_TOKENS] = values[position]
        sides.append((keys, values))
    return rows, layer_pages.to(device), sides
