"""Law: a row's token lands at its place in its page, a page is copied, packed and unpacked whole,
and nothing else in memory changes.
"""

# spec: KV-6

from __future__ import annotations

import pytest
import torch

from ninfer_kernels.kv_pages.reference import append, copy_pages, pack_extent, unpack_extent
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


def test_pages_are_copied_whole_in_all_layers() -> None:
    pages = normal(5, 2, 2, PAGE_TOKENS, 1, 4, seed=4)
    expected = pages.clone()
    expected[1], expected[4] = pages[3], pages[3]
    copy_pages(pages, [3, 3], [1, 4])
    assert torch.equal(pages, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("page_ids", [[], [2], [4, 0, 3]])
def test_an_extent_holds_its_pages_in_order_and_gives_them_back_elsewhere(
    page_ids: list[int], dtype: torch.dtype
) -> None:
    pages = normal(5, 2, 2, PAGE_TOKENS, 1, 4, seed=5).to(dtype)
    extent = torch.empty((len(page_ids), *pages.shape[1:]), dtype=dtype)
    pack_extent(pages, page_ids, extent)
    assert torch.equal(extent, pages[page_ids])
    others = normal(6, 2, 2, PAGE_TOKENS, 1, 4, seed=6).to(dtype)
    expected = others.clone()
    targets = [page + 1 for page in page_ids]
    expected[targets] = pages[page_ids]
    unpack_extent(extent, others, targets)
    assert torch.equal(others, expected)


def test_an_extent_of_other_pages_is_refused() -> None:
    pages = normal(5, 2, 2, PAGE_TOKENS, 1, 4, seed=5)
    for wrong in (pages[:1], pages[:2].bfloat16(), pages[:4:2]):
        with pytest.raises(ValueError, match="extent: found"):
            pack_extent(pages, [0, 1], wrong)
        with pytest.raises(ValueError, match="extent: found"):
            unpack_extent(wrong, pages, [0, 1])


def test_the_kernels_and_the_contract_mean_the_same_page() -> None:
    assert PAGE_TOKENS == options.PAGE_TOKENS
