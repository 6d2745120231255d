"""Row tables and a measure of error, for tests of ops."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ninfer_kernels.kv_pages.rows import PAGE_TOKENS, PagedRows, RowPlacement
from ninfer_kernels.state_image.rows import StateRows

CPU = torch.device("cpu")


def normal(*shape: int, seed: int) -> Tensor:
    """Standard normal numbers, the same for the same seed."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def state_rows(read: Sequence[int], write: Sequence[int], device: torch.device = CPU) -> StateRows:
    """A table of slots."""
    return StateRows.build(read, write, device)


def paged_rows(
    spans: Sequence[tuple[int, int]], device: torch.device = CPU
) -> tuple[PagedRows, int]:
    """Rows of `(start_tokens, new_tokens)` on pages that lie apart and out of order.

    Returns:
        The table and how many pages it spreads over.
    """
    page_counts = [-(-(start + new) // PAGE_TOKENS) for start, new in spans]
    total = sum(page_counts) + 1
    order = torch.randperm(total, generator=torch.Generator().manual_seed(1)).tolist()
    placements: list[RowPlacement] = []
    for (start, new), count in zip(spans, page_counts, strict=True):
        ids, order = order[:count], order[count:]
        placements.append(RowPlacement(page_ids=ids, start_tokens=start, new_tokens=new))
    return PagedRows.build(placements, device), total


def relative_rms(found: Tensor, expected: Tensor) -> float:
    """Root mean square of the difference, as a share of the expected values' own."""
    difference = found.double() - expected.double()
    return float(difference.square().mean().sqrt() / expected.double().square().mean().sqrt())
