"""How are keys and values written into pages, and whole pages copied, packed and unpacked?

Owns the readable form of all four, and the layout of a packed extent: `[n, L, 2, S, H, D]`, the
pages one after another as they stand in `pages`, so that a page keeps its bytes and its place among
the layers. An extent is one contiguous run of memory: moving it between Device and Host is one
transfer, however far its pages lay apart.
Does not know who may write where. Source: spec KV-3, KV-4 (partial-tail copy), KV-6.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ninfer_kernels.kv_pages.rows import PagedRows

KEYS, VALUES = 0, 1


def append(layer_pages: Tensor, keys: Tensor, values: Tensor, rows: PagedRows) -> None:
    """Writes every new token of every row at its place.

    Args:
        layer_pages: One layer's view of the pages, `[P, 2, S, H, D]`; written in place.
        keys: `[N, H, D]`, rows one after another.
        values: `[N, H, D]`.
        rows: Says where each of the N tokens goes.
    """
    layer_pages[rows.append_page_ids, KEYS, rows.append_offsets] = keys.to(layer_pages.dtype)
    layer_pages[rows.append_page_ids, VALUES, rows.append_offsets] = values.to(layer_pages.dtype)


def copy_pages(pages: Tensor, sources: Sequence[int], targets: Sequence[int]) -> None:
    """Copies whole pages of all layers.

    Args:
        pages: `[P, L, 2, S, H, D]`; written in place.
        sources: Page ids; one may stand here several times.
        targets: One for each source; each once, and none of them a source.
    """
    for source, target in zip(sources, targets, strict=True):
        pages[target].copy_(pages[source])


def pack_extent(pages: Tensor, page_ids: Sequence[int], extent: Tensor) -> None:
    """Gathers whole pages of all layers into one contiguous run.

    Args:
        pages: `[P, L, 2, S, H, D]`.
        page_ids: n of them.
        extent: `[n, L, 2, S, H, D]` contiguous, of the pages' type, on their device or on the Host;
            written.
    """
    check_extent(pages, page_ids, extent)
    for place, page in enumerate(page_ids):
        extent[place].copy_(pages[page])


def unpack_extent(extent: Tensor, pages: Tensor, page_ids: Sequence[int]) -> None:
    """The way back: page `page_ids[i]` becomes `extent[i]`; arguments as `pack_extent`."""
    check_extent(pages, page_ids, extent)
    for place, page in enumerate(page_ids):
        pages[page].copy_(extent[place])


def check_extent(pages: Tensor, page_ids: Sequence[int], extent: Tensor) -> None:
    """Refuses an extent that does not hold exactly those pages.

    Raises:
        ValueError: Another shape or type, or not contiguous.
    """
    expected = torch.Size((len(page_ids), *pages.shape[1:]))
    if extent.shape != expected or extent.dtype != pages.dtype or not extent.is_contiguous():
        raise ValueError(
            f"extent: found {tuple(extent.shape)} {extent.dtype}, contiguous "
            f"{extent.is_contiguous()}; legal: {tuple(expected)} {pages.dtype}, contiguous"
        )
