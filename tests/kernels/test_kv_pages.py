"""Law: a kernel writes a row's tokens where the reference does, bit for bit, and nothing else."""

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


def test_an_allocation_here_is_nan_until_it_is_written(device: torch.device) -> None:
    assert bool(torch.empty(4, device=device).isnan().all())
