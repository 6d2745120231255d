"""Which pages are in use, and by how many references?

Owns one typed pool of 64-token pages: the free list and the reference counts. A page is free
exactly when nothing refers to it; who refers to it is the business of address spaces and
checkpoints. Does not know contents, owners or reservations.
"""

from __future__ import annotations

from collections.abc import Iterable

from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import PageId


class PagePool:
    """Reference-counted pages `[0, capacity_pages)`.

    The free list is a stack whose order depends on nothing but the calls made, so the same run
    gives the same page ids.
    """

    def __init__(self, capacity_pages: int) -> None:
        self._capacity_pages = capacity_pages
        self._free = [PageId(page) for page in reversed(range(capacity_pages))]
        self._references = [0] * capacity_pages

    @property
    def capacity_pages(self) -> int:
        return self._capacity_pages

    @property
    def allocated_pages(self) -> int:
        """Unique pages with at least one reference (ACC-2)."""
        return self._capacity_pages - len(self._free)

    def allocate(self, pages_count: int) -> tuple[PageId, ...]:
        """Takes free pages, each with one reference.

        Raises:
            InvariantBroken: More than are free. Callers prove room first (STG-1), so this is a bug.
        """
        if pages_count > len(self._free):
            raise InvariantBroken(
                "ACC-4 occupancy", f"{pages_count} pages wanted, {len(self._free)} free"
            )
        taken = tuple(self._free.pop() for _ in range(pages_count))
        for page in taken:
            self._references[page] = 1
        return taken

    def retain(self, pages: Iterable[PageId]) -> None:
        """One more reference to each allocated page."""
        for page in pages:
            self._require_allocated(page)
            self._references[page] += 1

    def release(self, pages: Iterable[PageId]) -> None:
        """One reference less to each; the last one frees the page."""
        for page in pages:
            self._require_allocated(page)
            self._references[page] -= 1
            if self._references[page] == 0:
                self._free.append(page)

    def references_of(self, page: PageId) -> int:
        return self._references[page]

    def references(self) -> tuple[tuple[PageId, int], ...]:
        """Every allocated page and its references, in page order."""
        return tuple((PageId(i), count) for i, count in enumerate(self._references) if count)

    def _require_allocated(self, page: PageId) -> None:
        if self._references[page] == 0:
            raise InvariantBroken(
                "KV reference", f"page {page} has no reference to retain or release"
            )
