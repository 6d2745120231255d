"""Where do the tokens of a forward's rows lie in pages?

Owns `PagedRows`, built once per forward and read by every full-attention layer. The same value
serves a prefill (one row with T new tokens) and a decode (B rows with one new token each).
Does not know layers, owners, or how attention reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

PAGE_TOKENS = 64
"""Tokens of one page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPlacement:
    """One row before its forward.

    Attributes:
        page_ids: `page_ids[i]` holds the tokens `[64 i, 64 i + 64)` of the row.
        start_tokens: Tokens already written; the new ones follow.
        new_tokens: Tokens that this forward appends.
    """

    page_ids: Sequence[int]
    start_tokens: int
    new_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PagedRows:
    """The rows of one forward, as the attention ops read them.

    Attributes:
        page_ids: The pages that cover each row's tokens after the append, rows one after another,
            int64 `[P_1 + ... + P_B]`.
        row_page_ids: The same as one view per row, int64 `[P_row]`.
        start_tokens: Per row, tokens before the append.
        length_tokens: Per row, tokens after the append.
        bounds: Per row, its first place in `page_ids` and its tokens after the append, int64
            `[B, 2]`: what a kernel that reads all rows at once needs of them.
        append_page_ids: Page of every new token, rows one after another, int64 `[N]`.
        append_offsets: Position inside that page, int64 `[N]`.
    """

    page_ids: Tensor
    row_page_ids: tuple[Tensor, ...]
    start_tokens: tuple[int, ...]
    length_tokens: tuple[int, ...]
    bounds: Tensor
    append_page_ids: Tensor
    append_offsets: Tensor

    @staticmethod
    def build(placements: Sequence[RowPlacement], device: torch.device) -> PagedRows:
        """Builds the table of one forward; the pages of every row must cover its tokens."""
        tables: list[list[int]] = []
        bounds: list[tuple[int, int]] = []
        page_count_before = 0
        pages: list[int] = []
        offsets: list[int] = []
        for row in placements:
            length = row.start_tokens + row.new_tokens
            page_count = -(-length // PAGE_TOKENS)
            assert len(row.page_ids) >= page_count, "pages that do not cover the row"
            ids = [*row.page_ids[:page_count]]
            tables.append(ids)
            bounds.append((page_count_before, length))
            page_count_before += page_count
            positions = range(row.start_tokens, length)
            pages += [ids[position // PAGE_TOKENS] for position in positions]
            offsets += [position % PAGE_TOKENS for position in positions]
        every_page = [page for ids in tables for page in ids]
        page_ids = torch.tensor(every_page, dtype=torch.int64, device=device)
        return PagedRows(
            page_ids=page_ids,
            row_page_ids=torch.split(page_ids, [len(ids) for ids in tables]),
            start_tokens=tuple(row.start_tokens for row in placements),
            length_tokens=tuple(row.start_tokens + row.new_tokens for row in placements),
            bounds=torch.tensor(bounds, dtype=torch.int64, device=device),
            append_page_ids=torch.tensor(pages, dtype=torch.int64, device=device),
            append_offsets=torch.tensor(offsets, dtype=torch.int64, device=device),
        )
