"""What changed between two pictures of the ledger?

Owns the difference of two `LedgerSnapshot`s and its inverse: `applied(old, change(old, new)) ==
new`. A keyframe is the same value, taken from an empty picture. Pages are told as runs of
consecutive ids, and of an address space only what follows the part that stayed, so that a long
context costs no more than what it grows by. Does not know why anything changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ninfer_lab.contract.capacity import Occupancy
from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.ids import (
    CheckpointId,
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

Id = TypeVar("Id", bound=int)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRun:
    """The pages `[first_page, first_page + pages_count)`."""

    first_page: PageId
    pages_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PagesChange:
    """An ordered list of pages, by what it has in common with the one before.

    Attributes:
        kept_pages: Leading pages that stayed.
        appended: What follows them now.
    """

    kept_pages: int
    appended: tuple[PageRun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointChange:
    """A checkpoint that is new, or lies elsewhere."""

    summary: CheckpointSummary
    state_slot: StateSlotId
    pages: tuple[PageRun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerChange:
    """An inactive owner as it now is; its checkpoints are named, not repeated."""

    owner: OwnerId
    history_tokens: int
    checkpoints: tuple[CheckpointId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceChange:
    """An active sequence as it now is (see `SequencePlacement`)."""

    sequence: SequenceId
    lane: LaneId
    history_tokens: int
    frontier_tokens: int
    pages: PagesChange
    immutable_pages: int
    state_read_slot: StateSlotId | None
    state_write_slot: StateSlotId
    borrowed_read: bool
    reserved_pages: int
    completion_pages: int
    checkpoints: tuple[CheckpointId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferencesChange:
    """Pages that now have so many references; 0 is free."""

    run: PageRun
    references_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTableChange:
    """What a lane is bound to now; `None` is nothing."""

    lane: LaneId
    pages: PagesChange | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementChange:
    """Everything that is not as it was.

    Attributes:
        state_references: Slots that now have so many; 0 is none.
        state_pins: The same for pins.
    """

    resource_revision: int
    occupancy: Occupancy
    checkpoints: tuple[CheckpointChange, ...]
    owners: tuple[OwnerChange, ...]
    gone_owners: tuple[OwnerId, ...]
    sequences: tuple[SequenceChange, ...]
    gone_sequences: tuple[SequenceId, ...]
    state_references: tuple[tuple[StateSlotId, int], ...]
    state_pins: tuple[tuple[StateSlotId, int], ...]
    page_references: tuple[ReferencesChange, ...]
    row_tables: tuple[RowTableChange, ...]


def empty_ledger(occupancy: Occupancy) -> LedgerSnapshot:
    """What a keyframe starts from: nothing is held. Every change tells the occupancy anew."""
    return LedgerSnapshot(
        resource_revision=0,
        occupancy=occupancy,
        owners=(),
        sequences=(),
        state_references=(),
        state_pins=(),
        page_references=(),
        row_tables=(),
    )


def change(old: LedgerSnapshot, new: LedgerSnapshot) -> PlacementChange:
    """What must be told so that `new` can be made from `old`."""
    known, placed = _checkpoints(old), _checkpoints(new)
    owners = {each.owner: each for each in old.owners}
    sequences = {each.sequence: each for each in old.sequences}
    return PlacementChange(
        resource_revision=new.resource_revision,
        occupancy=new.occupancy,
        checkpoints=tuple(
            CheckpointChange(
                summary=each.summary, state_slot=each.state_slot, pages=_runs(each.pages)
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
        state_references=_counts(old.state_references, new.state_references),
        state_pins=_counts(old.state_pins, new.state_pins),
        page_references=_reference_runs(_counts(old.page_references, new.page_references)),
        row_tables=_tables(dict(old.row_tables), dict(new.row_tables)),
    )


def applied(old: LedgerSnapshot, change: PlacementChange) -> LedgerSnapshot:
    """The picture after a change.

    Raises:
        KeyError: The change was taken from another picture.
    """
    checkpoints = _checkpoints(old)
    for each in change.checkpoints:
        checkpoints[each.summary.ref.id] = CheckpointPlacement(
            summary=each.summary, state_slot=each.state_slot, pages=_pages(each.pages)
        )
    owners = {each.owner: each for each in old.owners if each.owner not in change.gone_owners}
    owners.update({each.owner: _placed_owner(each, checkpoints) for each in change.owners})
    sequences = {
        each.sequence: each for each in old.sequences if each.sequence not in change.gone_sequences
    }
    for moved in change.sequences:
        before = sequences.get(moved.sequence)
        sequences[moved.sequence] = _placed_sequence(before, moved, checkpoints)
    page_changes = (
        (page, each.references_count) for each in change.page_references for page in _run(each.run)
    )
    return LedgerSnapshot(
        resource_revision=change.resource_revision,
        occupancy=change.occupancy,
        owners=tuple(owners[id] for id in sorted(owners)),
        sequences=tuple(sequences[id] for id in sorted(sequences)),
        state_references=_counted(old.state_references, change.state_references),
        state_pins=_counted(old.state_pins, change.state_pins),
        page_references=_counted(old.page_references, page_changes),
        row_tables=_bound(dict(old.row_tables), change.row_tables),
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
    return SequenceChange(
        sequence=new.sequence,
        lane=new.lane,
        history_tokens=new.history_tokens,
        frontier_tokens=new.frontier_tokens,
        pages=_pages_change(() if old is None else old.pages, new.pages),
        immutable_pages=new.immutable_pages,
        state_read_slot=new.state_read_slot,
        state_write_slot=new.state_write_slot,
        borrowed_read=new.borrowed_read,
        reserved_pages=new.reserved_pages,
        completion_pages=new.completion_pages,
        checkpoints=_ids(new.checkpoints),
    )


def _placed_sequence(
    old: SequencePlacement | None,
    moved: SequenceChange,
    checkpoints: Mapping[CheckpointId, CheckpointPlacement],
) -> SequencePlacement:
    return SequencePlacement(
        sequence=moved.sequence,
        lane=moved.lane,
        history_tokens=moved.history_tokens,
        frontier_tokens=moved.frontier_tokens,
        pages=_changed_pages(() if old is None else old.pages, moved.pages),
        immutable_pages=moved.immutable_pages,
        state_read_slot=moved.state_read_slot,
        state_write_slot=moved.state_write_slot,
        borrowed_read=moved.borrowed_read,
        reserved_pages=moved.reserved_pages,
        completion_pages=moved.completion_pages,
        checkpoints=tuple(checkpoints[id] for id in moved.checkpoints),
    )


# ── pages ───────────────────────────────────────────────────────────────────────────────────────


def _runs(pages: Sequence[PageId]) -> tuple[PageRun, ...]:
    runs: list[PageRun] = []
    start = 0
    for end in range(1, len(pages) + 1):
        if end == len(pages) or pages[end] != pages[end - 1] + 1:
            runs.append(PageRun(first_page=pages[start], pages_count=end - start))
            start = end
    return tuple(runs)


def _run(run: PageRun) -> Iterable[PageId]:
    return (PageId(page) for page in range(run.first_page, run.first_page + run.pages_count))


def _pages(runs: Iterable[PageRun]) -> tuple[PageId, ...]:
    return tuple(page for run in runs for page in _run(run))


def _pages_change(old: Sequence[PageId], new: Sequence[PageId]) -> PagesChange:
    kept = 0
    for before, after in zip(old, new, strict=False):
        if before != after:
            break
        kept += 1
    return PagesChange(kept_pages=kept, appended=_runs(new[kept:]))


def _changed_pages(old: tuple[PageId, ...], change: PagesChange) -> tuple[PageId, ...]:
    return old[: change.kept_pages] + _pages(change.appended)


def _reference_runs(counts: Iterable[tuple[PageId, int]]) -> tuple[ReferencesChange, ...]:
    """Consecutive pages with equal counts, told together; `counts` ascends by page."""
    runs: list[tuple[PageId, int, int]] = []
    for page, references in counts:
        if runs and runs[-1][0] + runs[-1][1] == page and runs[-1][2] == references:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1, references)
        else:
            runs.append((page, 1, references))
    return tuple(
        ReferencesChange(
            run=PageRun(first_page=first, pages_count=pages), references_count=references
        )
        for first, pages, references in runs
    )


def _tables(
    old: Mapping[LaneId, tuple[PageId, ...]], new: Mapping[LaneId, tuple[PageId, ...]]
) -> tuple[RowTableChange, ...]:
    changes = []
    for lane in sorted(old.keys() | new.keys()):
        before, after = old.get(lane), new.get(lane)
        if before != after:
            pages = None if after is None else _pages_change(before or (), after)
            changes.append(RowTableChange(lane=lane, pages=pages))
    return tuple(changes)


def _bound(
    old: dict[LaneId, tuple[PageId, ...]], changes: Iterable[RowTableChange]
) -> tuple[tuple[LaneId, tuple[PageId, ...]], ...]:
    for each in changes:
        before = old.pop(each.lane, ())
        if each.pages is not None:
            old[each.lane] = _changed_pages(before, each.pages)
    return tuple((lane, old[lane]) for lane in sorted(old))


# ── counts ──────────────────────────────────────────────────────────────────────────────────────


def _counts(
    old: Iterable[tuple[Id, int]], new: Iterable[tuple[Id, int]]
) -> tuple[tuple[Id, int], ...]:
    before, after = dict(old), dict(new)
    if before == after:
        return ()
    gone = ((key, 0) for key in before if key not in after)
    moved = ((key, count) for key, count in after.items() if before.get(key) != count)
    return tuple(sorted((*gone, *moved)))


def _counted(
    old: Iterable[tuple[Id, int]], changes: Iterable[tuple[Id, int]]
) -> tuple[tuple[Id, int], ...]:
    counts = dict(old)
    counts.update(changes)
    return tuple((key, counts[key]) for key in sorted(counts) if counts[key])
