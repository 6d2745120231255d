"""Law: kernels write a row's tokens and whole pages where the reference does, bit for bit, and
nothing else; what a page holds, NaN or another time's content, moves with it.
"""

# spec: KV-6

from __future__ import annotations

import pytest
import torch

from ninfer_kernels.kv_pages import reference, triton
from ninfer_kernels.kv_pages.rows import PAGE_TOKENS
from ops.rows import normal, paged_rows

SPANS = [
    [(0, 1)],
    [(0, PAGE_TOKENS)],
    [(63, 2)],
    [(10, 131)],
    [(0, 1), (63, 1), (64, 1), (127, 1), (500, 1)],
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("heads", "dim"), [(1, 24), (2, 32), (4, 256)])
@pytest.mark.parametrize("spans", SPANS)
def test_append_writes_what_the_reference_writes(
    spans: list[tuple[int, int]], heads: int, dim: int, dtype: torch.dtype, device: torch.device
) -> None:
    rows, page_count = paged_rows(spans, device)
    pages = torch.full((page_count, 3, 2, PAGE_TOKENS, heads, dim), torch.nan, device=device)
    pages = pages.to(dtype)
    expected = pages.clone()
    new = sum(count for _, count in spans)
    # As the model hands them over: heads of keys behind heads of queries, values inside a product.
    projected = normal(new, 5 * heads, dim, seed=2).to(device)
    keys, values = projected[:, 2 * heads : 3 * heads], projected[:, 4 * heads :]
    reference.append(expected[:, 1], keys, values, rows)
    triton.append(pages[:, 1], keys, values, rows)
    assert torch.equal(pages.view(torch.uint8), expected.view(torch.uint8))


def test_append_of_no_token_writes_nothing(device: torch.device) -> None:
    rows, page_count = paged_rows([(5, 0)], device)
    pages = torch.ones(page_count, 1, 2, PAGE_TOKENS, 2, 8, device=device)
    nothing = torch.empty(0, 2, 8, device=device)
    triton.append(pages[:, 0], nothing, nothing, rows)
    assert bool((pages == 1).all())


def patterned_pages(count: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """`[count, 3, 2, S, 2, 24]` with some NaN in it."""
    pages = normal(count, 3, 2, PAGE_TOKENS, 2, 24, seed=4).to(dtype)
    pages[:, 1, 0, 60:] = torch.nan
    return pages.to(device)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("sources", "targets"), [([], []), ([3], [1]), ([3, 0, 3], [1, 4, 2])])
def test_pages_are_copied_as_the_reference_copies_them(
    sources: list[int], targets: list[int], dtype: torch.dtype, device: torch.device
) -> None:
    pages = patterned_pages(5, dtype, device)
    expected = pages.clone()
    reference.copy_pages(expected, sources, targets)
    triton.copy_pages(pages, sources, targets)
    assert torch.equal(pages.view(torch.uint8), expected.view(torch.uint8))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("page_ids", [[], [2], [4, 0, 3]])
@pytest.mark.parametrize("host", [False, True])
def test_an_extent_is_packed_and_unpacked_as_the_reference_does(
    page_ids: list[int], dtype: torch.dtype, host: bool, device: torch.device
) -> None:
    pages = patterned_pages(5, dtype, device)
    shape = (len(page_ids), *pages.shape[1:])
    expected = torch.empty(shape, dtype=dtype)
    reference.pack_extent(pages.cpu(), page_ids, expected)
    extent = torch.empty(shape, dtype=dtype, device="cpu" if host else device)
    triton.pack_extent(pages, page_ids, extent)
    assert torch.equal(extent.cpu().view(torch.uint8), expected.view(torch.uint8))
    others = patterned_pages(6, dtype, torch.device("cpu")) + 1
    found, targets = others.to(device), [page + 1 for page in page_ids]
    reference.unpack_extent(expected, others, targets)
    triton.unpack_extent(extent, found, targets)
    assert torch.equal(found.cpu().view(torch.uint8), others.view(torch.uint8))


def test_an_extent_of_other_pages_is_refused(device: torch.device) -> None:
    pages = patterned_pages(3, torch.float32, device)
    with pytest.raises(ValueError, match="extent: found"):
        triton.pack_extent(pages, [0, 1], pages[:1])


def test_an_allocation_here_is_nan_until_it_is_written(device: torch.device) -> None:
    assert bool(torch.empty(4, device=device).isnan().all())
