"""Law: attention that reads pages in place equals softmax attention over the row's own tokens in
float64; what lies behind a frontier, or in other pages, never reaches it, and nothing is gathered.
"""

# spec: KV-6

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from ninfer_kernels.kv_pages.scratch import GatherMeter
from ninfer_kernels.paged_attention import triton
from ops.attention import attended, filled_pages
from ops.rows import normal, relative_rms

TOLERANCE = {torch.float32: 2e-6, torch.bfloat16: 4e-3}
"""Of bfloat16 the queries and weights are rounded as well, which is 2^-9 of each."""

HEADS = [(1, 1, 16), (6, 1, 24), (4, 2, 32)]
PREFILLS = [(0, 1), (0, 2), (0, 64), (0, 65), (1, 2), (63, 2), (64, 3), (65, 70), (200, 5)]
DECODES = [[0], [63], [64], [0, 1, 62, 63, 64, 65, 128, 200], [300, 3]]
FAMILY_HEADS = [(8, 2, 256), (16, 4, 256), (24, 4, 256)]


def check_prefill(
    heads: tuple[int, int, int], span: tuple[int, int], dtype: torch.dtype, device: torch.device
) -> None:
    query_heads, kv_heads, dim = heads
    start, new = span
    rows, layer_pages, [(keys, values)] = filled_pages([span], kv_heads, dim, dtype, device)
    query = handed_over(new, query_heads, kv_heads, dim, seed=3).to(device)
    meter = GatherMeter()
    found = triton.prefill(query, layer_pages, rows, meter)
    expected = attended(query.cpu(), keys, values, start)
    assert found.shape == expected.shape
    assert relative_rms(found.cpu(), expected) < TOLERANCE[dtype], f"{new} tokens from {start}"
    assert meter.total_bytes == 0


def check_decode(
    heads: tuple[int, int, int], starts: list[int], dtype: torch.dtype, device: torch.device
) -> None:
    query_heads, kv_heads, dim = heads
    spans = [(start, 1) for start in starts]
    rows, layer_pages, sides = filled_pages(spans, kv_heads, dim, dtype, device)
    query = handed_over(len(starts), query_heads, kv_heads, dim, seed=4).to(device)
    meter = GatherMeter()
    found = triton.decode(query, layer_pages, rows, meter).cpu()
    # Each row counts the same: one long row's small numbers must not hide behind a short one's.
    errors = [
        relative_rms(found[row : row + 1], attended(query[row : row + 1].cpu(), *sides[row], start))
        for row, start in enumerate(starts)
    ]
    assert sum(e * e for e in errors) / len(errors) < TOLERANCE[dtype] ** 2, f"{errors}, {starts}"
    assert meter.total_bytes == 0


def handed_over(count: int, query_heads: int, kv_heads: int, dim: int, seed: int) -> Tensor:
    """Queries as the model has them: a view beside the keys of the same tokens."""
    return normal(count, query_heads + kv_heads, dim, seed=seed)[:, :query_heads]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("heads", HEADS)
def test_prefill_from_any_frontier(
    heads: tuple[int, int, int], dtype: torch.dtype, device: torch.device
) -> None:
    for span in PREFILLS:
        check_prefill(heads, span, dtype, device)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("heads", HEADS)
def test_decode_of_rows_at_their_own_frontiers(
    heads: tuple[int, int, int], dtype: torch.dtype, device: torch.device
) -> None:
    for starts in DECODES:
        check_decode(heads, starts, dtype, device)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("heads", FAMILY_HEADS)
def test_the_heads_of_the_family(
    heads: tuple[int, int, int], dtype: torch.dtype, device: torch.device
) -> None:
    check_prefill(heads, (61, 20), dtype, device)
    check_decode(heads, [0, 66, 130], dtype, device)


@pytest.mark.filterwarnings("ignore:All-NaN slice:RuntimeWarning")
def test_a_row_alone_and_among_others_differs_by_its_split_alone(device: torch.device) -> None:
    # The number of splits follows the longest row; a row's own bits may follow the splits, and no
    # other row's content.
    spans = [(70, 1), (400, 1)]
    rows, layer_pages, _ = filled_pages(spans, 2, 32, torch.float32, device)
    query = normal(2, 4, 32, seed=5).to(device)
    before = triton.decode(query, layer_pages, rows, GatherMeter())
    layer_pages[rows.row_page_ids[1]] = torch.nan
    after = triton.decode(query, layer_pages, rows, GatherMeter())
    assert torch.equal(after[0], before[0])
    assert bool(after[1].isnan().all())


def test_no_token_and_no_row_give_nothing(device: torch.device) -> None:
    rows, layer_pages, _ = filled_pages([(5, 0)], 2, 8, torch.float32, device)
    nothing = torch.empty(0, 4, 8, device=device)
    assert triton.prefill(nothing, layer_pages, rows, GatherMeter()).shape == (0, 4, 8)
    assert triton.decode(nothing, layer_pages, rows, GatherMeter()).shape == (0, 4, 8)
