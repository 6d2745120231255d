"""How do pages make up an address space, and what does freezing one at a frontier take?

Owns the active address space (KV-3: immutable full pages | unique mutable full pages | optional
mutable tail) and the one analysis of a snapshot's shape that assessment, reservation and commit
share (KV-4). Does not know reference counts; the pool does.
"""

from __future__ import annotations

from dataclasses import dataclass

from ninfer_lab.contract.ids import PageId
from ninfer_lab.contract.options import PAGE_TOKENS, pages_of_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotShape:
    """What keeping `[0, frontier_tokens)` means for pages.

    Attributes:
        full_pages: Shared as they are.
        tail_tokens: Tokens in the last, partial page; 0 when the frontier is aligned.
    """

    frontier_tokens: int
    full_pages: int
    tail_tokens: int

    @property
    def covered_pages(self) -> int:
        return self.full_pages + (1 if self.tail_tokens else 0)

    @property
    def copied_pages(self) -> int:
        """Pages a writer that goes on from here needs for itself: the partial tail, or none."""
        return 1 if self.tail_tokens else 0


def snapshot_shape(frontier_tokens: int) -> SnapshotShape:
    """The shape at a frontier.

    Example:
        >>> snapshot_shape(130).full_pages, snapshot_shape(130).tail_tokens
        (2, 2)
        >>> snapshot_shape(128).copied_pages
        0
    """
    return SnapshotShape(
        frontier_tokens=frontier_tokens,
        full_pages=frontier_tokens // PAGE_TOKENS,
        tail_tokens=frontier_tokens % PAGE_TOKENS,
    )


class AddressSpace:
    """The Main KV pages of one active sequence, in order.

    `[0, immutable_pages)` are frozen: a checkpoint or another owner may refer to them. The rest has
    this sequence as its only writer (INV-7).
    """

    def __init__(self, pages: tuple[PageId, ...], immutable_pages: int) -> None:
        assert 0 <= immutable_pages <= len(pages)
        self._pages = list(pages)
        self._immutable_pages = immutable_pages

    @property
    def pages(self) -> tuple[PageId, ...]:
        return tuple(self._pages)

    @property
    def pages_count(self) -> int:
        return len(self._pages)

    @property
    def immutable_pages(self) -> int:
        return self._immutable_pages

    def prefix(self, frontier_tokens: int) -> tuple[PageId, ...]:
        """The pages that cover `[0, frontier_tokens)`."""
        return tuple(self._pages[: pages_of_tokens(frontier_tokens)])

    def grow(self, pages: tuple[PageId, ...]) -> None:
        """Appends writable pages."""
        self._pages.extend(pages)

    def freeze(self, shape: SnapshotShape, tail_copy: PageId | None) -> None:
        """Freezes full pages in place; an unaligned tail is left behind and `tail_copy` takes its
        place.
        """
        assert (tail_copy is not None) == bool(shape.tail_tokens)
        if tail_copy is not None:
            assert len(self._pages) == shape.covered_pages
            self._pages[-1] = tail_copy
        self._immutable_pages = max(self._immutable_pages, shape.full_pages)
