"""Law: the difference of two pictures of a ledger, applied to the first, is exactly the second, and
what stayed, or grew by a page, costs no more than that.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ninfer_lab.contract.capacity import Capacity, HostArenaGeometry, KvPool, Occupancy
from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.ids import (
    CheckpointId,
    CheckpointRef,
    HostGranuleId,
    HostSlotId,
    KvPageId,
    LaneId,
    OwnerId,
    PageId,
    SequenceId,
    StateImageId,
    StateSlotId,
    TransactionId,
)
from ninfer_lab.contract.page_runs import IdRun, IdsChange, ReplicaRun
from ninfer_lab.contract.placement import (
    CheckpointPlacement,
    ImageReplicas,
    LedgerSnapshot,
    OpenTransition,
    OwnerPlacement,
    PageReplicas,
    RowTable,
    SequencePlacement,
    SpacePlacement,
)
from ninfer_lab.contract.placement_change import (
    CheckpointChange,
    PagesPlacedChange,
    applied,
    change,
    empty_ledger,
)
from ninfer_lab.contract.target import StageName
from ninfer_lab.contract.token_span import PrefixDigest
from ninfer_lab.contract.transaction import TransactionPhase

CAPACITY = Capacity(
    device_state_slots=4,
    device_kv_pages=9,
    host_state_slots=2,
    device_backend_kv_pages=5,
    host_kv=HostArenaGeometry.divide(640, main_page_bytes=32, backend_page_bytes=8),
)
IDS = st.lists(st.integers(0, 9), max_size=6).map(tuple)
PLACE = st.none() | st.integers(0, 9)


def occupancy(kv_pages: int) -> Occupancy:
    return Occupancy.of(CAPACITY, ((1, 0), (0, 1), (kv_pages, 1), (0, 0), (32, 0)))


NOTHING_HELD = empty_ledger(occupancy(0))


def kv_pages(ids: tuple[int, ...]) -> tuple[KvPageId, ...]:
    return tuple(map(KvPageId, ids))


def checkpoint(
    id: int, pages: tuple[int, ...], backend_pages: tuple[int, ...] = (), image: int = 0
) -> CheckpointPlacement:
    return CheckpointPlacement(
        summary=CheckpointSummary(
            ref=CheckpointRef(id=CheckpointId(id), owner=OwnerId(1)),
            kind=CheckpointKind.SESSION_ENDPOINT,
            frontier_tokens=64,
            prefix_digest=PrefixDigest(bytes([id])),
        ),
        image=StateImageId(image),
        pages=kv_pages(pages),
        backend_pages=kv_pages(backend_pages),
    )


def space(pool: KvPool, pages: tuple[int, ...]) -> SpacePlacement:
    return SpacePlacement(
        pool=pool, pages=kv_pages(pages), immutable_pages=0, reserved_pages=1, entitled_pages=3
    )


def sequence(
    id: int, spaces: tuple[SpacePlacement, ...], checkpoints: tuple[CheckpointPlacement, ...] = ()
) -> SequencePlacement:
    return SequencePlacement(
        sequence=SequenceId(id),
        lane=LaneId(id % 2),
        history_tokens=70,
        frontier_tokens=64,
        spaces=spaces,
        read_image=None if id % 2 else StateImageId(1),
        write_image=StateImageId(2),
        borrowed_read=False,
        checkpoints=checkpoints,
    )


@st.composite
def replicas(draw: st.DrawFn) -> tuple[PageReplicas, ...]:
    """Neighbours in some tier, in both or in none, and single pages between them."""
    pages, next_page = [], 0
    for _ in range(draw(st.integers(0, 3))):
        next_page += draw(st.integers(0, 2))
        device, host, step = draw(PLACE), draw(PLACE), draw(st.integers(-2, 4))
        for i in range(draw(st.integers(1, 4))):
            pages.append(
                PageReplicas(
                    page=KvPageId(next_page),
                    device_page=None if device is None else PageId(device + i),
                    host_granule=None if host is None else HostGranuleId(host + i * step),
                )
            )
            next_page += 1
    return tuple(pages)


@st.composite
def transitions(draw: st.DrawFn) -> OpenTransition:
    return OpenTransition(
        transaction=TransactionId(draw(st.integers(1, 2))),
        phase=draw(st.sampled_from(TransactionPhase)),
        stage=draw(st.sampled_from(StageName)),
        claimed=tuple(map(OwnerId, draw(IDS))),
        device_slots=tuple(map(StateSlotId, draw(IDS))),
        host_slots=tuple(map(HostSlotId, draw(IDS))),
        device_pages=tuple(map(PageId, draw(IDS))),
        device_backend_pages=tuple(map(PageId, draw(IDS))),
        host_granules=tuple(map(HostGranuleId, draw(IDS))),
        growth_pages=draw(st.integers(0, 3)),
        backend_growth_pages=draw(st.integers(0, 3)),
    )


@st.composite
def ledgers(draw: st.DrawFn) -> LedgerSnapshot:
    """Any pictures at all, lawful or not: a recording of a broken ledger must show it broken."""
    shelf = [checkpoint(id, draw(IDS), draw(IDS), draw(st.integers(0, 3))) for id in range(3)]

    def some() -> tuple[CheckpointPlacement, ...]:
        return tuple(each for each in shelf if draw(st.booleans()))

    def spaces() -> tuple[SpacePlacement, ...]:
        main = space(KvPool.MAIN, draw(IDS))
        return (main, space(KvPool.BACKEND, draw(IDS))) if draw(st.booleans()) else (main,)

    places = st.tuples(PLACE, PLACE)
    images = sorted(draw(st.dictionaries(st.integers(0, 3), places)).items())
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
        sequences=tuple(sequence(id, spaces(), some()) for id in range(3) if draw(st.booleans())),
        images=tuple(
            ImageReplicas(
                image=StateImageId(image),
                device_slot=None if slot is None else StateSlotId(slot),
                host_slot=None if host_slot is None else HostSlotId(host_slot),
            )
            for image, (slot, host_slot) in images
        ),
        pages=draw(replicas()),
        backend_pages=draw(replicas()),
        row_tables=tuple(
            RowTable(lane=LaneId(lane), pool=pool, pages=tuple(map(PageId, draw(IDS))))
            for lane in range(2)
            for pool in KvPool
            if draw(st.booleans())
        ),
        transition=draw(st.none() | transitions()),
    )


@given(ledgers(), ledgers())
def test_any_picture_can_be_told_from_any_other(old: LedgerSnapshot, new: LedgerSnapshot) -> None:
    assert applied(old, change(old, new)) == new
    assert applied(NOTHING_HELD, change(NOTHING_HELD, new)) == new


@given(ledgers())
def test_of_what_stayed_nothing_is_told(ledger: LedgerSnapshot) -> None:
    same = change(ledger, ledger)
    told = (
        *same.checkpoints,
        *same.owners,
        *same.gone_owners,
        *same.sequences,
        *same.gone_sequences,
        *same.images,
        *same.gone_images,
        *same.pages,
        *same.row_tables,
    )
    assert told == ()


def long_context(pages_count: int, *, host_from: int | None = None) -> LedgerSnapshot:
    """A sequence of so many pages one behind the other, with the Host replicas of the first."""
    pages = tuple(range(pages_count))
    return replace(
        NOTHING_HELD,
        sequences=(sequence(0, (space(KvPool.MAIN, pages),)),),
        pages=tuple(
            PageReplicas(
                page=KvPageId(i),
                device_page=PageId(500 + i),
                host_granule=None if host_from is None else HostGranuleId(host_from + 4 * i),
            )
            for i in pages
        ),
        row_tables=(
            RowTable(lane=LaneId(0), pool=KvPool.MAIN, pages=tuple(PageId(500 + i) for i in pages)),
        ),
    )


def test_a_long_sequence_that_grows_by_a_page_tells_one_page() -> None:
    grown = change(long_context(3_000), long_context(3_001))
    ((told,),) = (each.spaces for each in grown.sequences)
    assert told.pages == IdsChange(kept_count=3_000, appended=(IdRun(first=3_000, ids_count=1),))
    (table,) = grown.row_tables
    assert table.pages == IdsChange(kept_count=3_000, appended=(IdRun(first=3_500, ids_count=1),))
    assert grown.pages == (
        PagesPlacedChange(
            pool=KvPool.MAIN,
            placed=(
                ReplicaRun(
                    first_page=KvPageId(3_000),
                    pages_count=1,
                    first_device_page=PageId(3_500),
                    first_host_granule=None,
                    host_step_granules=0,
                ),
            ),
            gone=(),
        ),
    )


def test_a_whole_demoted_context_is_one_run() -> None:
    demoted = change(long_context(3_000), long_context(3_000, host_from=40))
    assert demoted.pages == (
        PagesPlacedChange(
            pool=KvPool.MAIN,
            placed=(
                ReplicaRun(
                    first_page=KvPageId(0),
                    pages_count=3_000,
                    first_device_page=PageId(500),
                    first_host_granule=HostGranuleId(40),
                    host_step_granules=4,
                ),
            ),
            gone=(),
        ),
    )
    assert change(long_context(3_000), NOTHING_HELD).pages[0].gone == (
        IdRun(first=0, ids_count=3_000),
    )


def test_a_checkpoint_is_told_once_and_then_named() -> None:
    kept = checkpoint(5, (0, 1, 4), (2,), image=2)
    old = replace(
        NOTHING_HELD, sequences=(sequence(0, (space(KvPool.MAIN, ()),), checkpoints=(kept,)),)
    )
    owner = OwnerPlacement(owner=OwnerId(1), history_tokens=64, checkpoints=(kept,))
    first = change(NOTHING_HELD, old)
    assert first.checkpoints == (
        CheckpointChange(
            summary=kept.summary,
            image=StateImageId(2),
            pages=(IdRun(first=0, ids_count=2), IdRun(first=4, ids_count=1)),
            backend_pages=(IdRun(first=2, ids_count=1),),
        ),
    )
    moved = change(old, replace(old, sequences=(), owners=(owner,)))
    assert moved.checkpoints == ()
    assert moved.owners[0].checkpoints == (CheckpointId(5),)
    assert moved.gone_sequences == (SequenceId(0),)
