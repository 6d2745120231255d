"""What does attention over paged keys and values give?

Owns the readable forms. Keys and values of a row are gathered into a per-call scratch that is
dropped when the call returns and whose bytes are counted.
Does not know RoPE, gates or owners. Source: Vaswani et al. 2017; grouped queries: Ainslie et al.
2023; spec KV-6.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ninfer_kernels.kv_pages.rows import PagedRows
from ninfer_kernels.kv_pages.scratch import GatherMeter


def prefill(query: Tensor, layer_pages: Tensor, rows: PagedRows, meter: GatherMeter) -> Tensor:
    """T new tokens of one row, each reading the row's tokens up to itself.

    Args:
        query: `[T, H, D]`; its keys are already in the pages.
        layer_pages: One layer's view of the pages, `[P, 2, S, HKV, D]`; query head i reads KV head
            `i // (H / HKV)`.
        rows: One row.
        meter: Told how much was gathered.

    Returns:
        `[T, H, D]` in the type of `query`.
    """
    return _attend_row(query, layer_pages, rows, 0, meter)


def decode(query: Tensor, layer_pages: Tensor, rows: PagedRows, meter: GatherMeter) -> Tensor:
    """One new token of each of B rows; arguments as `prefill`, with `query` `[B, H, D]`."""
    outputs = [
        _attend_row(query[row : row + 1], layer_pages, rows, row, meter)
        for row in range(len(query))
    ]
    return torch.cat(outputs)


def _attend_row(
    query: Tensor, layer_pages: Tensor, rows: PagedRows, row: int, meter: GatherMeter
) -> Tensor:
    token_count, head_count, dim = query.shape
    gathered = layer_pages[rows.row_page_ids[row]]  # [P_row, 2, S, HKV, D]
    meter.count(gathered.numel() * gathered.element_size())
    length = rows.length_tokens[row]
    # Whatever lies behind the frontier in the last page is another time's content: cut off, never
    # masked.
    keys, values = (
        gathered[:, side].flatten(0, 1)[:length].float() for side in (0, 1)
    )  # [L, HKV, D]
    repeats = head_count // keys.shape[1]
    keys, values = (side.repeat_interleave(repeats, dim=1) for side in (keys, values))
    scores = torch.einsum("thd,lhd->htl", query.float(), keys) * dim**-0.5
    positions = torch.arange(length, device=query.device)
    frontier = positions[length - token_count :, None]
    scores = scores.masked_fill(positions > frontier, -torch.inf)
    return torch.einsum("htl,lhd->thd", scores.softmax(dim=-1), values).to(query.dtype)
