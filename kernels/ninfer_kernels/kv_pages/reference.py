"""How are new keys and values written into pages, and one page copied to another?

Owns the readable form of both. Does not know who may write where.
Source: spec KV-3, KV-4 (partial-tail copy), KV-6.
"""

from __future__ import annotations

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


def copy_page(pages: Tensor, source_page: int, target_page: int) -> None:
    """Copies one page of all layers, `pages` being `[P, L, 2, S, H, D]`."""
    pages[target_page].copy_(pages[source_page])
