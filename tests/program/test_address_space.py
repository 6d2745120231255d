"""Law: freezing at a frontier shares full pages, and copies one page only for an unaligned tail."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.ids import KvPageId
from ninfer_lab.program.storage.address_space import AddressSpace, SnapshotShape, snapshot_shape
from ninfer_lab.program.storage.bitset import mask_of


def space(*pages: int, immutable: int = 0, reserved: int = 0) -> AddressSpace:
    return AddressSpace(
        KvPool.MAIN,
        tuple(KvPageId(p) for p in pages),
        immutable_pages=immutable,
        reserved_pages=reserved,
    )


def is_consistent(mine: AddressSpace) -> bool:
    """The set that holders are joined by is the set of its pages."""
    return mine.mask == mask_of(mine.pages)


@pytest.mark.parametrize(
    ("coverage_tokens", "full", "tail", "covered", "copied"),
    [
        (0, 0, 0, 0, 0),
        (1, 0, 1, 1, 1),
        (63, 0, 63, 1, 1),
        (64, 1, 0, 1, 0),
        (65, 1, 1, 2, 1),
        (128, 2, 0, 2, 0),
        (191, 2, 63, 3, 1),
    ],
)
def test_the_shape_at_every_kind_of_coverage(  # spec: KV-4
    coverage_tokens: int, full: int, tail: int, covered: int, copied: int
) -> None:
    shape = snapshot_shape(coverage_tokens)
    assert shape == SnapshotShape(
        coverage_tokens=coverage_tokens, full_pages=full, tail_tokens=tail
    )
    assert (shape.covered_pages, shape.copied_pages) == (covered, copied)


def test_an_aligned_freeze_keeps_every_page_where_it_is() -> None:  # spec: KV-3, KV-4
    mine = space(7, 3, reserved=2)
    mine.freeze(snapshot_shape(128), None)
    assert (mine.pages, mine.immutable_pages) == ((7, 3), 2)
    mine.grow((KvPageId(9),))
    assert (mine.pages, mine.immutable_pages, mine.reserved_pages) == ((7, 3, 9), 2, 1)
    assert is_consistent(mine)


def test_an_unaligned_freeze_leaves_the_tail_and_goes_on_in_its_copy() -> None:  # spec: KV-3, KV-4
    mine = space(7, 3)
    mine.freeze(snapshot_shape(70), KvPageId(5))
    assert (mine.pages, mine.immutable_pages) == ((7, 5), 1)
    assert is_consistent(mine)


def test_freezing_never_makes_a_frozen_page_writable() -> None:  # spec: KV-3
    mine = space(7, 3, 4, immutable=2)
    mine.freeze(snapshot_shape(130), KvPageId(8))
    assert (mine.pages, mine.immutable_pages) == ((7, 3, 8), 2)
    mine.freeze(snapshot_shape(0), None)
    assert mine.immutable_pages == 2


@pytest.mark.parametrize("coverage_tokens", [0, 1, 64, 65, 128, 129])
def test_the_prefix_covers_the_tokens_and_no_more(coverage_tokens: int) -> None:
    prefix = space(7, 3, 4).prefix(coverage_tokens)
    assert prefix == (7, 3, 4)[: -(-coverage_tokens // 64)]


@pytest.mark.parametrize(("coverage_tokens", "copy"), [(128, KvPageId(5)), (70, None)])
def test_a_copy_is_taken_exactly_for_a_tail(coverage_tokens: int, copy: KvPageId | None) -> None:
    with pytest.raises(AssertionError):
        space(7, 3).freeze(snapshot_shape(coverage_tokens), copy)


def test_growth_comes_out_of_the_guarantee_and_a_lease_adds_to_it() -> None:  # spec: ACT-2
    mine = space(7, reserved=2)
    mine.grow((KvPageId(1), KvPageId(4)))
    assert (mine.reserved_pages, mine.placement.entitled_pages) == (0, 3)
    with pytest.raises(AssertionError, match="ACT-1"):
        mine.grow((KvPageId(5),))
    mine.lease(1)
    mine.grow((KvPageId(5),))
    assert (mine.pages, mine.placement.entitled_pages) == ((7, 1, 4, 5), 4)
    assert is_consistent(mine)
