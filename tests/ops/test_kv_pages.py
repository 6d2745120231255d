"""Law: a row's token lands at its place in its page, and nothing else in memory changes."""

# spec: KV-6

from __future__ import annotations

import pytest
import torch

from ninfer_kernels.kv_pages.reference import append, copy_page
from ninfer_kernels.kv_pages.rows import PAGE_TOKENS
from ninfer_lab.contract import options
from ops.rows import normal, paged_rows

SPANS = [
    [(0, 1)],
    [(0, PAGE_TOKENS)],
    [(63, 1)],
    [(63, 2)],
    [(64, 1)],
    [(10, 300)],
    [(0, 1), (63, 1), (64, 1), (127, 1), (500, 1)],
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("spans", SPANS)
def test_each_token_lands_at_its_place_and_nothing_else_changes(
    spans: list[tuple[int, int]], dtype: torch.dtype
) -> None:
    rows, page_count = paged_rows(spans)
    heads, dim, layer_count = 2, 4, 3
    pages = normal(page_count, layer_count, 2, PAGE_TOKENS, heads, dim, seed=1).to(dtype)
    new = sum(count for _, count in spans)
    keys, values = normal(new, heads, dim, seed=2), normal(new, heads, dim, seed=3)
    expected = pages.clone()
    token = 0
    for row, (start, count) in enumerate(spans):
        for position in range(start, start + count):
            page = int(rows.row_page_ids[row][position // PAGE_TOKENS])
            expected[page, 1, 0, position % PAGE_TOKENS] = keys[token].to(dtype)
            expected[page, 1, 1, position % PAGE_TOKENS] = values[token].to(dtype)
            token += 1
    append(pages[:, 1], keys, values, rows)
    assert torch.equal(pages, expected)


def test_a_page_is_copied_whole_in_all_layers() -> None:
    pages = normal(4, 2, 2, PAGE_TOKENS, 1, 4, seed=4)
    expected = pages.clone()
    expected[1] = pages[3]
    copy_page(pages, 3, 1)
    assert torch.equal(pages, expected)


def test_the_kernels_and_the_contract_mean_the_same_page() -> None:
    assert PAGE_TOKENS == options.PAGE_TOKENS
