"""How does paged attention run on a CPU without a copy of the keys per query head?

Owns the same forms as `reference`. Pages are gathered once per call, one contiguous copy per page;
query heads of a group share their keys as strided views. A prefill reads its history
without a mask and its own tokens causally, and joins the two by their log-sum-exp, so that no mask
of T by L is ever built. Does not know RoPE, gates or owners.
Source: the join is that of Dao et al. 2022, FlashAttention (arXiv:2205.14135).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from ninfer_kernels.kv_pages.reference import KEYS, VALUES
from ninfer_kernels.kv_pages.rows import PAGE_TOKENS, PagedRows
from ninfer_kernels.kv_pages.scratch import GatherMeter


def prefill(query: Tensor, layer_pages: Tensor, rows: PagedRows, meter: GatherMeter) -> Tensor:
    """See `reference.prefill`."""
    token_count, head_count, dim = query.shape
    start = rows.start_tokens[0]
    length = rows.length_tokens[0]
    keys, values = (side[:length] for side in _gather(layer_pages, rows, meter))
    kv_heads = keys.shape[1]
    grouped = query.view(token_count, kv_heads, -1, dim).permute(1, 2, 0, 3)  # [HKV, G, T, D]
    groups = head_count // kv_heads
    key_heads, value_heads = (_per_query_head(side, groups) for side in (keys, values))
    if start == 0:
        attended = F.scaled_dot_product_attention(grouped, key_heads, value_heads, is_causal=True)
    else:
        attended = _attend_split(grouped, key_heads, value_heads, start)
    return attended.permute(2, 0, 1, 3).reshape(token_count, head_count, dim)


def decode(query: Tensor, layer_pages: Tensor, rows: PagedRows, meter: GatherMeter) -> Tensor:
    """See `reference.decode`."""
    row_count, head_count, dim = query.shape
    all_keys, all_values = _gather(layer_pages, rows, meter)  # [P_1 S + ... + P_B S, HKV, D]
    kv_heads = all_keys.shape[1]
    # The heads of a group stand where the tokens of a prefill would: all read the same keys.
    grouped = query.view(row_count, kv_heads, 1, -1, dim)
    outputs: list[Tensor] = []
    first = 0
    for row, length in enumerate(rows.length_tokens):
        keys, values = (side[first : first + length] for side in (all_keys, all_values))
        outputs.append(
            F.scaled_dot_product_attention(
                grouped[row], keys.transpose(0, 1)[:, None], values.transpose(0, 1)[:, None]
            )
        )
        first += len(rows.row_page_ids[row]) * PAGE_TOKENS
    return torch.stack(outputs).view(row_count, head_count, dim)


def _attend_split(query: Tensor, keys: Tensor, values: Tensor, start: int) -> Tensor:
    """`[HKV, G, T, D]`: the tokens `[0, start)` in full, the rest causally, joined."""
    flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    past, past_weight = flash(query, keys[:, :, :start], values[:, :, :start], 0.0, False)
    own, own_weight = flash(query, keys[:, :, start:], values[:, :, start:], 0.0, True)
    share = torch.sigmoid(past_weight - own_weight)[..., None]
    return torch.lerp(own, past, share)


def _gather(layer_pages: Tensor, rows: PagedRows, meter: GatherMeter) -> tuple[Tensor, Tensor]:
    """Keys and values of all pages of all rows, float32 `[P S, HKV, D]` each.

    What lies behind a row's frontier comes along: it is cut off before anything reads it.
    """
    gathered = [layer_pages[:, side].index_select(0, rows.page_ids) for side in (KEYS, VALUES)]
    meter.count(sum(side.numel() * side.element_size() for side in gathered))
    keys, values = (side.flatten(0, 1).float() for side in gathered)
    return keys, values


def _per_query_head(side: Tensor, groups: int) -> Tensor:
    """`[L, HKV, D]` to `[HKV, G, L, D]`; the heads of a group are one view."""
    length, kv_heads, dim = side.shape
    return side.transpose(0, 1)[:, None].expand(kv_heads, groups, length, dim)
