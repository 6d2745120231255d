"""Law: the difference of two pictures of a ledger, applied to the first, is exactly the second."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ninfer_lab.contract.capacity import Axis, AxisUse, Occupancy
from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.ids import (
    CheckpointId,
    CheckpointRef,
    LaneId,
    OwnerId,
    PageId,
    SequenceId,
    StateSlotId,
)
from ninfer_lab.contract.placement import (
    CheckpointPlacement,
    LedgerSnapshot,
    OwnerPlacement,
    SequencePlacement,
)
from ninfer_lab.contract.placement_change import (
    CheckpointChange,
    PageRun,
    PagesChange,
    applied,
    change,
    empty_ledger,
)
from ninfer_lab.contract.token_span import PrefixDigest

PAGES = st.lists(st.integers(0, 9), max_size=6).map(lambda ids: tuple(map(PageId, ids)))


def occupancy(kv_pages: int) -> Occupancy:
    return Occupancy(
        device_state=AxisUse(
            axis=Axis.DEVICE_STATE, allocated_count=1, reserved_count=0, capacity_count=4
        ),
        device_kv=AxisUse(
            axis=Axis.DEVICE_KV, allocated_count=kv_pages, reserved_count=1, capacity_count=9
        ),
    )


def checkpoint(id: int, pages: tuple[PageId, ...], slot: int = 0) -> CheckpointPlacement:
    return CheckpointPlacement(
        summary=CheckpointSummary(
            ref=CheckpointRef(id=CheckpointId(id), owner=OwnerId(1)),
            kind=CheckpointKind.SESSION_ENDPOINT,
            frontier_tokens=64,
            prefix_digest=PrefixDigest(bytes([id])),
        ),
        state_slot=StateSlotId(slot),
        pages=pages,
    )


def sequence(
    id: int, pages: tuple[PageId, ...], checkpoints: tuple[CheckpointPlacement, ...] = ()
) -> SequencePlacement:
    return SequencePlacement(
        sequence=SequenceId(id),
        lane=LaneId(id % 2),
        history_tokens=70,
        frontier_tokens=64,
        pages=pages,
        immutable_pages=0,
        state_read_slot=None if id % 2 else StateSlotId(1),
        state_write_slot=StateSlotId(2),
        borrowed_read=False,
        reserved_pages=1,
        completion_pages=3,
        checkpoints=checkpoints,
    )


@st.composite
def ledgers(draw: st.DrawFn) -> LedgerSnapshot:
    """Any pictures at all, lawful or not: a recording of a broken ledger must show it broken."""
    ids = iter(range(100))
    shelf = [checkpoint(next(ids), draw(PAGES), draw(st.integers(0, 3))) for _ in range(3)]

    def some() -> tuple[CheckpointPlacement, ...]:
        return tuple(each for each in shelf if draw(st.booleans()))

    def counted(limit: int) -> list[tuple[int, int]]:
        counts = draw(st.dictionaries(st.integers(0, limit), st.integers(1, 2)))
        return sorted(counts.items())

    return LedgerSnapshot(
        resource_revision=draw(st.integers(0, 3)),
        occupancy=occupancy(draw(st.integers(0, 3))),
        owners=tuple(
            OwnerPlacement(
                owner=OwnerId(id), history_tokens=draw(st.integers(0, 2)), checkpoints=some()
            )
            for id in range(3)
            if draw(st.booleans())
        ),
        sequences=tuple(
            sequence(id, draw(PAGES), some()) for id in range(3) if draw(st.booleans())
        ),
        state_references=tuple((StateSlotId(k), n) for k, n in counted(3)),
        state_pins=tuple((StateSlotId(k), n) for k, n in counted(3)),
        page_references=tuple((PageId(k), n) for k, n in counted(9)),
        row_tables=tuple((LaneId(lane), draw(PAGES)) for lane in range(2) if draw(st.booleans())),
    )


@given(ledgers(), ledgers())
def test_any_picture_can_be_told_from_any_other(old: LedgerSnapshot, new: LedgerSnapshot) -> None:
    assert applied(old, change(old, new)) == new
    assert applied(empty_ledger(old.occupancy), change(empty_ledger(old.occupancy), new)) == new


@given(ledgers())
def test_of_what_stayed_nothing_is_told(ledger: LedgerSnapshot) -> None:
    same = change(ledger, ledger)
    told = (
        *same.checkpoints,
        *same.owners,
        *same.gone_owners,
        *same.sequences,
        *same.gone_sequences,
        *same.state_references,
        *same.state_pins,
        *same.page_references,
        *same.row_tables,
    )
    assert told == ()


def test_a_long_sequence_that_grows_by_a_page_tells_one_page() -> None:
    long = tuple(PageId(i) for i in range(3_000))
    old = replace(empty_ledger(occupancy(0)), sequences=(sequence(0, long),))
    new = replace(old, sequences=(sequence(0, (*long, PageId(7_000))),))
    (grown,) = change(old, new).sequences
    assert grown.pages == PagesChange(
        kept_pages=3_000, appended=(PageRun(first_page=PageId(7_000), pages_count=1),)
    )


def test_a_checkpoint_is_told_once_and_then_named() -> None:
    kept = checkpoint(5, (PageId(0), PageId(1), PageId(4)), slot=2)
    old = replace(empty_ledger(occupancy(0)), sequences=(sequence(0, (), (kept,)),))
    owner = OwnerPlacement(owner=OwnerId(1), history_tokens=64, checkpoints=(kept,))
    first = change(empty_ledger(occupancy(0)), old)
    assert first.checkpoints == (
        CheckpointChange(
            summary=kept.summary,
            state_slot=StateSlotId(2),
            pages=(
                PageRun(first_page=PageId(0), pages_count=2),
                PageRun(first_page=PageId(4), pages_count=1),
            ),
        ),
    )
    moved = change(old, replace(old, sequences=(), owners=(owner,)))
    assert moved.checkpoints == ()
    assert moved.owners[0].checkpoints == (CheckpointId(5),)
    assert moved.gone_sequences == (SequenceId(0),)
