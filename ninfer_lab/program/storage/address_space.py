"""How do pages make up an address space, and what does freezing one at a frontier take?

Owns the active address space of one pool (KV-3: immutable full pages | unique mutable full pages |
optional mutable tail) and the one analysis of a snapshot's shape that assessment, reservation and
commit share (KV-4). Does not know where pages lie or who else refers to them.
"""

from __future__ import annotations

from typing import NamedTuple

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.ids import KvPageId
from ninfer_lab.contract.options import PAGE_TOKENS, pages_of_tokens
from ninfer_lab.contract.placement import SpacePlacement
from ninfer_lab.program.storage.bitset import mask_of


class SnapshotShape(NamedTuple):
    """What keeping `[0, coverage_tokens)` means for the pages of one pool.

    Attributes:
        full_pages: Shared as they are.
        tail_tokens: Tokens in the last, partial page; 0 when the coverage is aligned.
    """

    coverage_tokens: int
    full_pages: int
    tail_tokens: int

    @property
    def covered_pages(self) -> int:
        return self.full_pages + (1 if self.tail_tokens else 0)

    @property
    def copied_pages(self) -> int:
        """Pages a writer that goes on from here needs for itself: the partial tail, or none."""
        return 1 if self.tail_tokens else 0


def snapshot_shape(coverage_tokens: int) -> SnapshotShape:
    """The shape at a coverage.

    Example:
        >>> snapshot_shape(130).full_pages, snapshot_shape(130).tail_tokens
        (2, 2)
        >>> snapshot_shape(128).copied_pages
        0
    """
    return SnapshotShape(
        coverage_tokens=coverage_tokens,
        full_pages=coverage_tokens // PAGE_TOKENS,
        tail_tokens=coverage_tokens % PAGE_TOKENS,
    )


class AddressSpace:
    """One active sequence's logical pages in one pool, in order, with its guaranteed growth.

    `[0, immutable_pages)` are frozen: a checkpoint or another owner may refer to them. The rest has
    this sequence as its only writer (INV-7).
    """

    def __init__(
        self,
        pool: KvPool,
        pages: tuple[KvPageId, ...],
        *,
        immutable_pages: int,
        reserved_pages: int,
    ) -> None:
        assert 0 <= immutable_pages <= len(pages)
        self.pool = pool
        self._pages = list(pages)
        self._immutable_pages = immutable_pages
        self._reserved_pages = reserved_pages
        self._entitled_pages = len(pages) + reserved_pages
        self._mask = mask_of(pages)

    @property
    def pages(self) -> tuple[KvPageId, ...]:
        return tuple(self._pages)

    @property
    def pages_count(self) -> int:
        return len(self._pages)

    @property
    def mask(self) -> int:
        """The logical pages, as a set."""
        return self._mask

    @property
    def immutable_pages(self) -> int:
        return self._immutable_pages

    @property
    def reserved_pages(self) -> int:
        """Guaranteed growth not yet mapped (ACT-2)."""
        return self._reserved_pages

    def prefix(self, coverage_tokens: int) -> tuple[KvPageId, ...]:
        """The pages that cover `[0, coverage_tokens)`."""
        return tuple(self._pages[: pages_of_tokens(coverage_tokens)])

    def grow(self, pages: tuple[KvPageId, ...]) -> None:
        """Maps writable pages out of the reservation."""
        assert len(pages) <= self._reserved_pages, "ACT-1 guarantees the growth"
        self._reserved_pages -= len(pages)
        self._pages.extend(pages)
        self._mask |= mask_of(pages)

    def lease(self, pages_count: int) -> None:
        """More growth has been reserved for it (ACT-4)."""
        self._reserved_pages += pages_count
        self._entitled_pages += pages_count

    def freeze(self, shape: SnapshotShape, tail_copy: KvPageId | None) -> None:
        """Freezes full pages in place; an unaligned tail is left behind and `tail_copy` takes its
        place.
        """
        assert (tail_copy is not None) == bool(shape.tail_tokens)
        if tail_copy is not None:
            assert len(self._pages) == shape.covered_pages
            self._mask ^= 1 << self._pages[-1] | 1 << tail_copy
            self._pages[-1] = tail_copy
        self._immutable_pages = max(self._immutable_pages, shape.full_pages)

    @property
    def placement(self) -> SpacePlacement:
        """What a picture shows."""
        return SpacePlacement(
            pool=self.pool,
            pages=self.pages,
            immutable_pages=self._immutable_pages,
            reserved_pages=self._reserved_pages,
            entitled_pages=self._entitled_pages,
        )
