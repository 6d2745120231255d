"""Law: attention through a page table equals softmax attention over the row's own tokens in
float64; what lies behind a frontier, or in other pages, never reaches it.
"""

# spec: KV-6

from __future__ import annotations

from types import ModuleType

import pytest
import torch

from ninfer_kernels.kv_pages.reference import append
from ninfer_kernels.kv_pages.rows import PAGE_TOKENS
from ninfer_kernels.kv_pages.scratch import GatherMeter
from ninfer_kernels.paged_attention import cpu, reference
from ops.attention import attended, filled_pages
from ops.rows import normal, relative_rms

FORMS = [reference, cpu]
HEADS = [(1, 1, 16), (4, 4, 8), (8, 2, 16), (6, 1, 24)]
PREFILLS = [(0, 2), (0, 64), (0, 65), (1, 2), (63, 2), (64, 3), (65, 130), (200, 5)]
DECODES = [[0], [63], [64], [0, 1, 62, 63, 64, 65, 128, 200]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("heads", "kv_heads", "dim"), HEADS)
@pytest.mark.parametrize("form", FORMS)
def test_prefill_from_any_frontier(
    form: ModuleType, heads: int, kv_heads: int, dim: int, dtype: torch.dtype
) -> None:
    for start, new in PREFILLS:
        rows, layer_pages, [(keys, values)] = filled_pages([(start, new)], kv_heads, dim, dtype)
        query = normal(new, heads, dim, seed=3)
        found = form.prefill(query, layer_pages, rows, GatherMeter())
        expected = attended(query, keys, values, start)
        assert found.shape == expected.shape
        assert relative_rms(found, expected) < 2e-6, f"{new} tokens from {start}"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("heads", "kv_heads", "dim"), HEADS)
@pytest.mark.parametrize("form", FORMS)
def test_decode_of_rows_at_their_own_frontiers(
    form: ModuleType, heads: int, kv_heads: int, dim: int, dtype: torch.dtype
) -> None:
    for starts in DECODES:
        rows, layer_pages, sides = filled_pages(
            [(start, 1) for start in starts], kv_heads, dim, dtype
        )
        query = normal(len(starts), heads, dim, seed=4)
        found = form.decode(query, layer_pages, rows, GatherMeter())
        expected = torch.cat(
            [attended(query[row : row + 1], *sides[row], start) for row, start in enumerate(starts)]
        )
        assert relative_rms(found, expected) < 2e-6, f"frontiers {starts}"


@pytest.mark.parametrize(("form", "calls", "largest_pages"), [(reference, 3, 4), (cpu, 1, 7)])
def test_every_gathered_byte_is_counted(form: ModuleType, calls: int, largest_pages: int) -> None:
    spans = [(0, 1), (64, 1), (200, 1)]  # 1, 2 and 4 pages
    rows, layer_pages, _ = filled_pages(spans, kv_heads=2, dim=8, dtype=torch.bfloat16)
    meter = GatherMeter()
    form.decode(normal(3, 4, 8, seed=5), layer_pages, rows, meter)
    page_bytes = 2 * PAGE_TOKENS * 2 * 8 * 2
    assert meter.total_bytes == 7 * page_bytes
    assert (meter.call_count, meter.largest_call_bytes) == (calls, largest_pages * page_bytes)


@pytest.mark.parametrize("form", FORMS)
def test_appended_tokens_are_read_in_the_same_forward(form: ModuleType) -> None:
    (rows, layer_pages, [(keys, values)]) = filled_pages([(70, 20)], 2, 8, torch.float32)
    new_keys, new_values = normal(20, 2, 8, seed=6), normal(20, 2, 8, seed=7)
    append(layer_pages, new_keys, new_values, rows)
    query = normal(20, 4, 8, seed=8)
    expected = attended(
        query, torch.cat([keys[:70], new_keys]), torch.cat([values[:70], new_values]), 70
    )
    assert relative_rms(form.prefill(query, layer_pages, rows, GatherMeter()), expected) < 2e-6
