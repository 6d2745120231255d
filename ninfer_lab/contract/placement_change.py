"""What changed between two pictures of the ledger?

Owns the difference of two `LedgerSnapshot`s and its inverse: `applied(old, change(old, new)) ==
new`. A keyframe is the same value, taken from an empty picture. Pages are told as runs, of an
address space only what follows the part that stayed, and a checkpoint once for as long as it lives,
so that a long context costs no more than what it grows by. Does not know why anything changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from ninfer_lab.contract.capacity import KvPool, Occupancy
from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.ids import (
    CheckpointId,
    KvPageId,
    LaneId,
    OwnerId,
    PageId,
    SequenceId,
    StateImageId,
)
from ninfer_lab.contract.page_runs import (
    IdRun,
    IdsChange,
    ReplicaRun,
    TransitionRuns,
    changed_ids,
    id_runs,
    ids_change,
    listed,
    listed_replicas,
    replica_runs,
)
from ninfer_lab.contract.placement import (
    CheckpointPlacement,
    ImageReplicas,
    LedgerSnapshot,
    OwnerPlacement,
    PageReplicas,
    RowTable,
    SequencePlacement,
    SpacePlacement,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointChange:
    """A checkpoint that is new; its contents never change, so it is told once (OWN-6)."""

    summary: CheckpointSummary
    image: StateImageId
    pages: tuple[IdRun, ...]
    backend_pages: tuple[IdRun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerChange:
    """An inactive owner as it now is; its checkpoints are named, not repeated."""

    owner: OwnerId
    history_tokens: int
    checkpoints: tuple[CheckpointId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceChange:
    """An active address space as it now is (see `SpacePlacement`)."""

    pool: KvPool
    pages: IdsChange
    immutable_pages: int
    reserved_pages: int
    entitled_pages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceChange:
    """An active sequence as it now is (see `SequencePlacement`)."""

    sequence: SequenceId
    lane: LaneId
    history_tokens: int
    frontier_tokens: int
    spaces: tuple[SpaceChange, ...]
    read_image: StateImageId | None
    write_image: StateImageId
    borrowed_read: bool
    checkpoints: tuple[CheckpointId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PagesPlacedChange:
    """Logical pages of one pool that are new or lie elsewhere, and those that are no more."""

    pool: KvPool
    placed: tuple[ReplicaRun, ...]
    gone: tuple[IdRun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTableChange:
    """What a lane is bound to now in one pool; `None` is nothing."""

    lane: LaneId
    pool: KvPool
    pages: IdsChange | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementChange:
    """Everything that is not as it was; occupancy and transition are told every time.

    Attributes:
        transition: The open one, `None` while there is none.
    """

    resource_revision: int
    occupancy: Occupancy
    transition: TransitionRuns | None
    checkpoints: tuple[CheckpointChange, ...]
    owners: tuple[OwnerChange, ...]
    gone_owners: tuple[OwnerId, ...]
    sequences: tuple[SequenceChange, ...]
    gone_sequences: tuple[SequenceId, ...]
    images: tuple[ImageReplicas, ...]
    gone_images: tuple[StateImageId, ...]
    pages: tuple[PagesPlacedChange, ...]
    row_tables: tuple[RowTableChange, ...]


def empty_ledger(occupancy: Occupancy) -> LedgerSnapshot:
    """What a keyframe starts from: nothing is held. Every change tells the occupancy anew."""
    return LedgerSnapshot(
        resource_revision=0,
        occupancy=occupancy,
        owners=(),
        sequences=(),
        images=(),
        pages=(),
        backend_pages=(),
        row_tables=(),
    )


def change(old: LedgerSnapshot, new: LedgerSnapshot) -> PlacementChange:
    """What must be told so that `new` can be made from `old`."""
    known, placed = _checkpoints(old), _checkpoints(new)
    owners = {each.owner: each for each in old.owners}
    sequences = {each.sequence: each for each in old.sequences}
    images = set(old.images)
    return PlacementChange(
        resource_revision=new.resource_revision,
        occupancy=new.occupancy,
        transition=None if new.transition is None else TransitionRuns.of(new.transition),
        checkpoints=tuple(
            CheckpointChange(
                summary=each.summary,
                image=each.image,
                pages=id_runs(each.pages),
                backend_pages=id_runs(each.backend_pages),
            )
            for id, each in placed.items()
            if known.get(id) != each
        ),
        owners=tuple(_owner(each) for each in new.owners if owners.get(each.owner) != each),
        gone_owners=tuple(sorted(owners.keys() - {each.owner for each in new.owners})),
        sequences=tuple(
            _sequence(sequences.get(each.sequence), each)
            for each in new.sequences
            if sequences.get(each.sequence) != each
        ),
        gone_sequences=tuple(sorted(sequences.keys() - {each.sequence for each in new.sequences})),
        images=tuple(each for each in new.images if each not in images),
        gone_images=tuple(sorted({i.image for i in images} - {i.image for i in new.images})),
        pages=tuple(
            moved
            for pool in KvPool
            if (moved := _moved_pages(pool, old.pages_of(pool), new.pages_of(pool))) is not None
        ),
        row_tables=_tables(old.row_tables, new.row_tables),
    )


def applied(old: LedgerSnapshot, change: PlacementChange) -> LedgerSnapshot:
    """The picture after a change.

    Raises:
        KeyError: The change was taken from another picture.
    """
    checkpoints = _checkpoints(old)
    for each in change.checkpoints:
        checkpoints[each.summary.ref.id] = CheckpointPlacement(
            summary=each.summary,
            image=each.image,
            pages=cast("tuple[KvPageId, ...]", listed(each.pages)),
            backend_pages=cast("tuple[KvPageId, ...]", listed(each.backend_pages)),
        )
    owners = {each.owner: each for each in old.owners if each.owner not in change.gone_owners}
    owners.update({each.owner: _placed_owner(each, checkpoints) for each in change.owners})
    sequences = {
        each.sequence: each for each in old.sequences if each.sequence not in change.gone_sequences
    }
    for moved in change.sequences:
        before = sequences.get(moved.sequence)
        sequences[moved.sequence] = _placed_sequence(before, moved, checkpoints)
    images = {each.image: each for each in old.images if each.image not in change.gone_images}
    images.update({each.image: each for each in change.images})
    pages = {pool: old.pages_of(pool) for pool in KvPool}
    for told in change.pages:
        pages[told.pool] = _placed_pages(pages[told.pool], told)
    return LedgerSnapshot(
        resource_revision=change.resource_revision,
        occupancy=change.occupancy,
        owners=tuple(owners[id] for id in sorted(owners)),
        sequences=tuple(sequences[id] for id in sorted(sequences)),
        images=tuple(images[id] for id in sorted(images)),
        pages=pages[KvPool.MAIN],
        backend_pages=pages[KvPool.BACKEND],
        row_tables=_bound(old.row_tables, change.row_tables),
        transition=None if change.transition is None else change.transition.transition,
    )


# ── checkpoints, owners, sequences ──────────────────────────────────────────────────────────────


def _checkpoints(ledger: LedgerSnapshot) -> dict[CheckpointId, CheckpointPlacement]:
    """Every checkpoint by its id; an id is never given twice."""
    held: dict[CheckpointId, CheckpointPlacement] = {}
    holders: tuple[OwnerPlacement | SequencePlacement, ...] = (*ledger.owners, *ledger.sequences)
    for holder in holders:
        for placed in holder.checkpoints:
            held[placed.summary.ref.id] = placed
    return held


def _ids(checkpoints: Iterable[CheckpointPlacement]) -> tuple[CheckpointId, ...]:
    return tuple(each.summary.ref.id for each in checkpoints)


def _owner(new: OwnerPlacement) -> OwnerChange:
    return OwnerChange(
        owner=new.owner, history_tokens=new.history_tokens, checkpoints=_ids(new.checkpoints)
    )


def _placed_owner(
    moved: OwnerChange, checkpoints: Mapping[CheckpointId, CheckpointPlacement]
) -> OwnerPlacement:
    return OwnerPlacement(
        owner=moved.owner,
        history_tokens=moved.history_tokens,
        checkpoints=tuple(checkpoints[id] for id in moved.checkpoints),
    )


def _sequence(old: SequencePlacement | None, new: SequencePlacement) -> SequenceChange:
    before = {} if old is None else {space.pool: space.pages for space in old.spaces}
    return SequenceChange(
        sequence=new.sequence,
        lane=new.lane,
        history_tokens=new.history_tokens,
        frontier_tokens=new.frontier_tokens,
        spaces=tuple(
            SpaceChange(
                pool=space.pool,
                pages=ids_change(before.get(space.pool, ()), space.pages),
                immutable_pages=space.immutable_pages,
                reserved_pages=space.reserved_pages,
                entitled_pages=space.entitled_pages,
            )
            for space in new.spaces
        ),
        read_image=new.read_image,
        write_image=new.write_image,
        borrowed_read=new.borrowed_read,
        checkpoints=_ids(new.checkpoints),
    )


def _placed_sequence(
    old: SequencePlacement | None,
    moved: SequenceChange,
    checkpoints: Mapping[CheckpointId, CheckpointPlacement],
) -> SequencePlacement:
    before = {} if old is None else {space.pool: space.pages for space in old.spaces}
    return SequencePlacement(
        sequence=moved.sequence,
        lane=moved.lane,
        history_tokens=moved.history_tokens,
        frontier_tokens=moved.frontier_tokens,
        spaces=tuple(
            SpacePlacement(
                pool=space.pool,
                pages=cast(
                    "tuple[KvPageId, ...]", changed_ids(before.get(space.pool, ()), space.pages)
                ),
                immutable_pages=space.immutable_pages,
                reserved_pages=space.reserved_pages,
                entitled_pages=space.entitled_pages,
            )
            for space in moved.spaces
        ),
        read_image=moved.read_image,
        write_image=moved.write_image,
        borrowed_read=moved.borrowed_read,
        checkpoints=tuple(checkpoints[id] for id in moved.checkpoints),
    )


# ── places ──────────────────────────────────────────────────────────────────────────────────────


def _moved_pages(
    pool: KvPool, old: tuple[PageReplicas, ...], new: tuple[PageReplicas, ...]
) -> PagesPlacedChange | None:
    if old == new:
        return None
    before = set(old)
    gone = sorted({each.page for each in old} - {each.page for each in new})
    return PagesPlacedChange(
        pool=pool,
        placed=replica_runs(each for each in new if each not in before),
        gone=id_runs(gone),
    )


def _placed_pages(
    old: tuple[PageReplicas, ...], told: PagesPlacedChange
) -> tuple[PageReplicas, ...]:
    pages: dict[int, PageReplicas] = {each.page: each for each in old}
    for page in listed(told.gone):
        del pages[page]
    pages.update({each.page: each for each in listed_replicas(told.placed)})
    return tuple(pages[page] for page in sorted(pages))


def _tables(old: Iterable[RowTable], new: Iterable[RowTable]) -> tuple[RowTableChange, ...]:
    before, after = _by_row(old), _by_row(new)
    return tuple(
        RowTableChange(
            lane=row[0],
            pool=row[1],
            pages=None if row not in after else ids_change(before.get(row, ()), after[row]),
        )
        for row in sorted(before.keys() | after.keys(), key=_row_order)
        if before.get(row) != after.get(row)
    )


def _bound(old: Iterable[RowTable], changes: Iterable[RowTableChange]) -> tuple[RowTable, ...]:
    tables = _by_row(old)
    for each in changes:
        before = tables.pop((each.lane, each.pool), ())
        if each.pages is not None:
            after = cast("tuple[PageId, ...]", changed_ids(before, each.pages))
            tables[each.lane, each.pool] = after
    return tuple(
        RowTable(lane=row[0], pool=row[1], pages=tables[row])
        for row in sorted(tables, key=_row_order)
    )


_Row = tuple[LaneId, KvPool]
_POOLS = tuple(KvPool)


def _by_row(tables: Iterable[RowTable]) -> dict[_Row, tuple[PageId, ...]]:
    return {(each.lane, each.pool): each.pages for each in tables}


def _row_order(row: _Row) -> tuple[int, int]:
    return row[0], _POOLS.index(row[1])
