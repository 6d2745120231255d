"""Law: freezing at a frontier shares full pages, and copies one page only for an unaligned tail."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.ids import PageId
from ninfer_lab.program.storage.kv_store import AddressSpace, SnapshotShape, snapshot_shape


def space(*pages: int, immutable: int = 0) -> AddressSpace:
    return AddressSpace(tuple(PageId(p) for p in pages), immutable)


@pytest.mark.parametrize(
    ("frontier_tokens", "full", "tail", "covered", "copied"),
    [
        (1, 0, 1, 1, 1),
        (63, 0, 63, 1, 1),
        (64, 1, 0, 1, 0),
        (65, 1, 1, 2, 1),
        (128, 2, 0, 2, 0),
        (191, 2, 63, 3, 1),
    ],
)
def test_the_shape_at_every_kind_of_frontier(  # spec: KV-4
    frontier_tokens: int, full: int, tail: int, covered: int, copied: int
) -> None:
    shape = snapshot_shape(frontier_tokens)
    assert shape == SnapshotShape(
        frontier_tokens=frontier_tokens, full_pages=full, tail_tokens=tail
    )
    assert (shape.covered_pages, shape.copied_pages) == (covered, copied)


def test_an_aligned_freeze_keeps_every_page_where_it_is() -> None:  # spec: KV-3, KV-4
    mine = space(7, 3)
    mine.freeze(snapshot_shape(128), None)
    assert (mine.pages, mine.immutable_pages) == ((7, 3), 2)
    mine.grow((PageId(9),))
    assert (mine.pages, mine.immutable_pages) == ((7, 3, 9), 2)


def test_an_unaligned_freeze_leaves_the_tail_and_goes_on_in_its_copy() -> None:  # spec: KV-3, KV-4
    mine = space(7, 3)
    mine.freeze(snapshot_shape(70), PageId(5))
    assert (mine.pages, mine.immutable_pages) == ((7, 5), 1)


def test_freezing_never_makes_a_frozen_page_writable() -> None:
    mine = space(7, 3, 4, immutable=2)
    mine.freeze(snapshot_shape(130), PageId(8))
    assert (mine.pages, mine.immutable_pages) == ((7, 3, 8), 2)


@pytest.mark.parametrize("frontier_tokens", [1, 64, 65, 128, 129])
def test_the_prefix_covers_the_frontier_and_no_more(frontier_tokens: int) -> None:
    prefix = space(7, 3, 4).prefix(frontier_tokens)
    assert len(prefix) == -(-frontier_tokens // 64)
    assert prefix == (7, 3, 4)[: len(prefix)]


@pytest.mark.parametrize(("frontier_tokens", "copy"), [(128, PageId(5)), (70, None)])
def test_a_copy_is_taken_exactly_for_a_tail(frontier_tokens: int, copy: PageId | None) -> None:
    with pytest.raises(AssertionError):
        space(7, 3).freeze(snapshot_shape(frontier_tokens), copy)
