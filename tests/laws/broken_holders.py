"""Pictures in which a law of writers, checkpoints, sequences or catalog is broken, by its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from laws.pictures import (
    BRANCH,
    CAPTURED,
    CLOSURE,
    DECODING,
    ENDPOINT,
    FORKED,
    IN_FLIGHT,
    LINEAGE,
    SOUND,
    with_image,
    with_ledger,
    with_owner,
    with_page,
    with_sequence,
    with_space,
    with_transition,
)
from ninfer_lab.contract.cache_controller import ControllerSnapshot
from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.ids import (
    CheckpointId,
    CheckpointRef,
    KvPageId,
    LaneId,
    OwnerId,
    PageId,
    SessionKey,
    StateImageId,
)
from ninfer_lab.contract.placement import CheckpointPlacement, RowTable

MAIN, BACKEND = KvPool.MAIN, KvPool.BACKEND

Break = Callable[[], ControllerSnapshot]


def page_ids(*ids: int) -> tuple[KvPageId, ...]:
    return tuple(map(KvPageId, ids))


def with_closure(**changes: object) -> ControllerSnapshot:
    """Another first checkpoint of owner 1, in the catalog too."""
    closure = replace(CLOSURE, **changes)  # type: ignore[arg-type]
    broken = with_owner(SOUND, 0, checkpoints=(closure, ENDPOINT))
    entry = replace(SOUND.catalog[0], checkpoints=(closure.summary, ENDPOINT.summary))
    return replace(broken, catalog=(entry, *SOUND.catalog[1:]))


def at_frontier(checkpoint: CheckpointPlacement, frontier_tokens: int) -> CheckpointPlacement:
    summary = replace(checkpoint.summary, frontier_tokens=frontier_tokens)
    return replace(checkpoint, summary=summary)


def renamed(
    checkpoint: CheckpointPlacement, *, id: CheckpointId, owner: OwnerId
) -> CheckpointPlacement:
    summary = replace(checkpoint.summary, ref=CheckpointRef(id=id, owner=owner))
    return replace(checkpoint, summary=summary)


def with_table(ordinal: int, *pages: int) -> ControllerSnapshot:
    """One row table of the machine says something else."""
    tables = list(SOUND.ledger.row_tables)
    tables[ordinal] = tables[ordinal]._replace(pages=tuple(map(PageId, pages)))
    return with_ledger(SOUND, row_tables=tuple(tables))


BROKEN_HOLDERS: list[tuple[str, str, Break]] = [
    # ── writers ─────────────────────────────────────────────────────────────────────────────────
    (
        "EverythingHasOneWriter",
        "two sequences write one page",
        lambda: with_space(SOUND, FORKED, pages=(0, 7)),
    ),
    (
        "EverythingHasOneWriter",
        "two sequences write one backend page",
        lambda: with_space(SOUND, FORKED, BACKEND, pages=(0, 4)),
    ),
    (
        "EverythingHasOneWriter",
        "a writable page is mapped twice",
        lambda: with_space(SOUND, DECODING, pages=(4, 4), reserved_pages=1),
    ),
    (
        "EverythingHasOneWriter",
        "two sequences write one image",
        lambda: with_sequence(SOUND, FORKED, write_image=StateImageId(3)),
    ),
    (
        "EverythingHasOneWriter",
        "one writes what another reads",
        lambda: with_sequence(SOUND, FORKED, write_image=StateImageId(4)),
    ),
    (
        "CheckpointsAreProtected",
        "a writable tail is a checkpoint's",
        lambda: with_space(SOUND, FORKED, pages=(0, 2)),
    ),
    (
        "CheckpointsAreProtected",
        "a writable backend tail is a checkpoint's",
        lambda: with_space(SOUND, FORKED, BACKEND, pages=(0, 2)),
    ),
    (
        "CheckpointsAreProtected",
        "a shared page was not frozen",
        lambda: with_space(SOUND, CAPTURED, immutable_pages=0),
    ),
    (
        "CheckpointsAreProtected",
        "a sequence writes a checkpoint's image",
        lambda: with_sequence(SOUND, FORKED, write_image=StateImageId(1)),
    ),
    (
        "WritersLeaveNothingStale",
        "an image that is written is kept on the Host",
        lambda: with_image(SOUND, 6, 4, 2),
    ),
    (
        "WritersLeaveNothingStale",
        "a writable page is kept on the Host",
        lambda: with_page(SOUND, MAIN, 8, (18, 20)),
    ),
    (
        "WritersLeaveNothingStale",
        "a writable backend page is kept on the Host",
        lambda: with_page(SOUND, BACKEND, 6, (4, 20)),
    ),
    # ── checkpoints ─────────────────────────────────────────────────────────────────────────────
    ("CheckpointsAreComplete", "a page is missing", lambda: with_closure(pages=page_ids(0))),
    ("CheckpointsAreComplete", "a page too many", lambda: with_closure(pages=page_ids(0, 1, 4))),
    (
        "CheckpointsAreComplete",
        "a backend page is missing",
        lambda: with_closure(backend_pages=page_ids(0)),
    ),
    (
        "CheckpointsAreComplete",
        "the backend's lag is forgotten",
        lambda: with_sequence(
            SOUND,
            CAPTURED,
            checkpoints=(at_frontier(SOUND.ledger.sequences[1].checkpoints[0], 66),),
        ),
    ),
    (
        "CheckpointsAreComplete",
        "a frontier beyond its pages",
        lambda: with_closure(summary=replace(CLOSURE.summary, frontier_tokens=129)),
    ),
    (
        "CheckpointsAreComplete",
        "an image without a replica",
        lambda: with_image(SOUND, 0, None, None),
    ),
    (
        "CheckpointsAreComplete",
        "a page without a replica",
        lambda: with_page(SOUND, MAIN, 1, (None, None)),
    ),
    (
        "CheckpointsAreComplete",
        "a backend page without a replica",
        lambda: with_page(SOUND, BACKEND, 1, (None, None)),
    ),
    (
        "CheckpointsAreComplete",
        "a checkpoint of nothing",
        lambda: with_closure(
            summary=replace(CLOSURE.summary, frontier_tokens=0), pages=(), backend_pages=()
        ),
    ),
    (
        "LineagesNest",
        "two checkpoints of one name",
        lambda: with_owner(
            SOUND, 1, checkpoints=(renamed(BRANCH, id=CheckpointId(1), owner=OwnerId(2)),)
        ),
    ),
    (
        "LineagesNest",
        "a checkpoint that names another owner",
        lambda: with_owner(
            SOUND, 1, checkpoints=(renamed(BRANCH, id=CheckpointId(3), owner=OwnerId(1)),)
        ),
    ),
    (
        "LineagesNest",
        "checkpoints of a lineage in the wrong order",
        lambda: with_sequence(
            SOUND,
            CAPTURED,
            checkpoints=(
                LINEAGE,
                renamed(at_frontier(LINEAGE, 64), id=CheckpointId(9), owner=OwnerId(3)),
            ),
        ),
    ),
    (
        "LineagesNest",
        "checkpoints in the wrong order",
        lambda: with_owner(SOUND, 0, checkpoints=(ENDPOINT, CLOSURE)),
    ),
    (
        "LineagesNest",
        "two checkpoints of one owner share no page",
        lambda: with_closure(pages=page_ids(3, 1)),
    ),
    (
        "LineagesNest",
        "they share none in the backend's pool",
        lambda: with_closure(backend_pages=page_ids(3, 1)),
    ),
    (
        "LineagesNest",
        "a checkpoint of another owner",
        lambda: with_owner(SOUND, 1, checkpoints=(ENDPOINT, BRANCH)),
    ),
    ("LineagesNest", "tokens nobody keeps", lambda: with_owner(SOUND, 1, history_tokens=104)),
    (
        "LineagesNest",
        "a lineage that is no prefix of its sequence",
        lambda: with_space(SOUND, CAPTURED, pages=(4, 7)),
    ),
    (
        "LineagesNest",
        "a lineage that is none in the backend's pool",
        lambda: with_space(SOUND, CAPTURED, BACKEND, pages=(4,)),
    ),
    # ── active sequences ────────────────────────────────────────────────────────────────────────
    (
        "SequencesHoldTheirFrontier",
        "consumed tokens without a page",
        lambda: with_sequence(SOUND, DECODING, frontier_tokens=65),
    ),
    (
        "SequencesHoldTheirFrontier",
        "consumed tokens without a backend page",
        lambda: with_sequence(SOUND, CAPTURED, frontier_tokens=66),
    ),
    (
        "SequencesHoldTheirFrontier",
        "a frozen page behind the frontier",
        lambda: with_space(SOUND, DECODING, immutable_pages=2),
    ),
    (
        "SequencesHoldTheirFrontier",
        "no space in the backend's pool",
        lambda: with_sequence(SOUND, DECODING, spaces=SOUND.ledger.sequences[0].spaces[:1]),
    ),
    (
        "SequencesHoldTheirFrontier",
        "a state that came from nowhere",
        lambda: with_sequence(SOUND, DECODING, read_image=None),
    ),
    (
        "SequencesHoldTheirFrontier",
        "a foreign read without a pin",
        lambda: with_sequence(SOUND, FORKED, borrowed_read=False),
    ),
    (
        "SequencesHoldTheirFrontier",
        "a borrowed read of one's own",
        lambda: with_sequence(SOUND, DECODING, borrowed_read=True),
    ),
    (
        "SequencesRunOnDevice",
        "a borrowed image is on the Host alone",
        lambda: with_image(SOUND, 1, None, 1),
    ),
    (
        "SequencesRunOnDevice",
        "the image that is written has no slot",
        lambda: with_image(SOUND, 6, None, None),
    ),
    (
        "SequencesRunOnDevice",
        "a mapped page is on the Host alone",
        lambda: with_page(SOUND, MAIN, 0, (None, 4)),
    ),
    (
        "SequencesRunOnDevice",
        "a mapped backend page is on the Host alone",
        lambda: with_page(SOUND, BACKEND, 0, (None, 20)),
    ),
    (
        "CompletionIsGuaranteed",
        "a promise was lent",
        lambda: with_space(SOUND, DECODING, reserved_pages=1),
    ),
    (
        "CompletionIsGuaranteed",
        "a backend promise was lent",
        lambda: with_space(SOUND, DECODING, BACKEND, reserved_pages=1),
    ),
    (
        "CompletionIsGuaranteed",
        "a mapped page is still promised",
        lambda: with_space(SOUND, DECODING, reserved_pages=3),
    ),
    ("RowTablesAreCopies", "the machine missed a page", lambda: with_table(2, 15)),
    ("RowTablesAreCopies", "the machine missed a backend page", lambda: with_table(5, 9)),
    ("RowTablesAreCopies", "contents taken for places", lambda: with_table(2, 5, 7)),
    (
        "RowTablesAreCopies",
        "a replica moved and the machine was not told",
        lambda: with_page(SOUND, MAIN, 0, (20, 4)),
    ),
    (
        "RowTablesAreCopies",
        "a lane stayed bound",
        lambda: with_ledger(
            SOUND,
            row_tables=(
                *SOUND.ledger.row_tables,
                RowTable(lane=LaneId(3), pool=MAIN, pages=(PageId(19),)),
            ),
        ),
    ),
    (
        "RowTablesAreCopies",
        "two sequences in one lane",
        lambda: with_sequence(SOUND, FORKED, lane=LaneId(0)),
    ),
    (
        "RowTablesAreCopies",
        "two sequences in one lane, and the machine has the tables of the later",
        lambda: with_ledger(
            with_sequence(SOUND, FORKED, lane=LaneId(0)),
            row_tables=(
                *(table._replace(lane=LaneId(0)) for table in SOUND.ledger.row_tables[4:]),
                *SOUND.ledger.row_tables[2:4],
            ),
        ),
    ),
    # ── the catalog and the open transition ─────────────────────────────────────────────────────
    (
        "ClaimsAreKept",
        "a claimed owner left the catalog",
        lambda: replace(IN_FLIGHT, catalog=IN_FLIGHT.catalog[:1]),
    ),
    (
        "ClaimsAreKept",
        "an owner is source and victim",
        lambda: with_transition(IN_FLIGHT, claimed=(OwnerId(2), OwnerId(2))),
    ),
    ("CatalogIsExact", "an owner is missing", lambda: replace(SOUND, catalog=SOUND.catalog[1:])),
    (
        "CatalogIsExact",
        "an owner that is no more",
        lambda: replace(
            SOUND, catalog=(*SOUND.catalog, replace(SOUND.catalog[0], owner=OwnerId(9)))
        ),
    ),
    (
        "CatalogIsExact",
        "as many checkpoints, but others",
        lambda: replace(
            SOUND,
            catalog=(
                replace(SOUND.catalog[0], checkpoints=(CLOSURE.summary, BRANCH.summary)),
                *SOUND.catalog[1:],
            ),
        ),
    ),
    (
        "CatalogIsExact",
        "an owner went that the open transition has not claimed",
        lambda: with_ledger(IN_FLIGHT, owners=IN_FLIGHT.ledger.owners[1:]),
    ),
    (
        "CatalogIsExact",
        "a claimed owner has a checkpoint more",
        lambda: with_owner(IN_FLIGHT, 1, checkpoints=(CLOSURE, BRANCH)),
    ),
    (
        "CatalogIsExact",
        "one session, two owners",
        lambda: replace(
            SOUND,
            catalog=tuple(replace(entry, session_key=SessionKey("a")) for entry in SOUND.catalog),
        ),
    ),
]
