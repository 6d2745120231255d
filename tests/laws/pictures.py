"""Hand-made pictures with everything in them, and ways to break them.

Contents and places have different numbers wherever they can, so that a law which takes one for the
other is found out.
"""

from __future__ import annotations

from dataclasses import replace

from ninfer_lab.contract.cache_controller import CatalogEntry, ControllerSnapshot
from ninfer_lab.contract.capacity import Axis, AxisUse, KvPool, Occupancy, OccupancyCounts
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
    SessionKey,
    StateImageId,
    StateSlotId,
    TransactionId,
)
from ninfer_lab.contract.options import EngineOptions, KvPageBytes, SpeculativeBackend
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
from ninfer_lab.contract.target import StageName
from ninfer_lab.contract.transaction import TransactionPhase

OPTIONS = EngineOptions(
    max_concurrency=4,
    max_context_tokens=256,
    kv_capacity_tokens=64 * 24,
    prefill_chunk_tokens=80,
    device_state_slots=4,
    host_state_slots=4,
    host_kv_capacity_bytes=4_000,
    max_private_continuations=6,
    backend=SpeculativeBackend(kv_capacity_tokens=64 * 20, lag_tokens=1),
).resolve(KvPageBytes(main=400, backend=100))
"""A granule is 100 bytes: a Main page takes four of forty, a backend page one."""

DECODING, CAPTURED, FORKED = range(3)


def _pages(*ids: int) -> tuple[KvPageId, ...]:
    return tuple(map(KvPageId, ids))


def _checkpoint(
    id: int,
    owner: int,
    frontier_tokens: int,
    image: int,
    pages: tuple[tuple[int, ...], tuple[int, ...]],
) -> CheckpointPlacement:
    return CheckpointPlacement(
        summary=CheckpointSummary(
            ref=CheckpointRef(id=CheckpointId(id), owner=OwnerId(owner)),
            kind=CheckpointKind.SESSION_ENDPOINT,
            frontier_tokens=frontier_tokens,
            prefix_digest=bytes([id]),
        ),
        image=StateImageId(image),
        pages=_pages(*pages[0]),
        backend_pages=_pages(*pages[1]),
    )


CLOSURE = _checkpoint(1, 1, 70, 0, ((0, 1), (0, 1)))
ENDPOINT = _checkpoint(2, 1, 101, 1, ((0, 2), (0, 2)))
BRANCH = _checkpoint(3, 2, 103, 2, ((0, 3), (0, 3)))
LINEAGE = _checkpoint(4, 3, 65, 4, ((5, 6), (5,)))
"""Aligned in the backend pool, which lags by a token: one page there, two in Main."""


def _space(
    pool: KvPool, pages: tuple[int, ...], immutable: int, reserved: int, entitled: int
) -> SpacePlacement:
    return SpacePlacement(
        pool=pool,
        pages=_pages(*pages),
        immutable_pages=immutable,
        reserved_pages=reserved,
        entitled_pages=entitled,
    )


_SEQUENCES = (
    SequencePlacement(
        sequence=SequenceId(9),
        lane=LaneId(0),
        history_tokens=52,
        frontier_tokens=51,
        spaces=(_space(KvPool.MAIN, (4,), 0, 2, 3), _space(KvPool.BACKEND, (4,), 0, 2, 3)),
        read_image=StateImageId(3),
        write_image=StateImageId(3),
        borrowed_read=False,
        checkpoints=(),
    ),
    SequencePlacement(
        sequence=SequenceId(10),
        lane=LaneId(1),
        history_tokens=240,
        frontier_tokens=65,
        spaces=(_space(KvPool.MAIN, (5, 7), 1, 2, 4), _space(KvPool.BACKEND, (5,), 1, 3, 4)),
        read_image=StateImageId(4),
        write_image=StateImageId(5),
        borrowed_read=True,
        checkpoints=(LINEAGE,),
    ),
    SequencePlacement(
        sequence=SequenceId(11),
        lane=LaneId(2),
        history_tokens=121,
        frontier_tokens=101,
        spaces=(_space(KvPool.MAIN, (0, 8), 1, 1, 3), _space(KvPool.BACKEND, (0, 6), 1, 1, 3)),
        read_image=StateImageId(1),
        write_image=StateImageId(6),
        borrowed_read=True,
        checkpoints=(),
    ),
)


def _image(image: int, device: int | None, host: int | None) -> ImageReplicas:
    return ImageReplicas(
        image=StateImageId(image),
        device_slot=None if device is None else StateSlotId(device),
        host_slot=None if host is None else HostSlotId(host),
    )


def _page(page: int, device: int | None, host: int | None = None) -> PageReplicas:
    return PageReplicas(
        page=KvPageId(page),
        device_page=None if device is None else PageId(device),
        host_granule=None if host is None else HostGranuleId(host),
    )


def _table(lane: int, pool: KvPool, *pages: int) -> RowTable:
    return RowTable(lane=LaneId(lane), pool=pool, pages=tuple(map(PageId, pages)))


def _entry(owner: int, session: str, *checkpoints: CheckpointPlacement) -> CatalogEntry:
    return CatalogEntry(
        owner=OwnerId(owner),
        session_key=SessionKey(session),
        publication_order=owner,
        checkpoints=tuple(each.summary for each in checkpoints),
    )


def _occupancy(*counts: tuple[int, int]) -> Occupancy:
    state, host_state, pages, backend_pages, host_kv = counts
    told: OccupancyCounts = (state, host_state, pages, backend_pages, host_kv)
    return Occupancy.of(OPTIONS.capacity, told)


SOUND = ControllerSnapshot(
    ledger=LedgerSnapshot(
        resource_revision=7,
        occupancy=_occupancy((6, 0), (2, 0), (8, 5), (6, 6), (1_000, 0)),
        owners=(
            OwnerPlacement(owner=OwnerId(1), history_tokens=101, checkpoints=(CLOSURE, ENDPOINT)),
            OwnerPlacement(owner=OwnerId(2), history_tokens=103, checkpoints=(BRANCH,)),
        ),
        sequences=_SEQUENCES,
        images=(
            _image(0, None, 3),
            _image(1, 2, 1),
            _image(2, 1, None),
            _image(3, 5, None),
            _image(4, 3, None),
            _image(5, 0, None),
            _image(6, 4, None),
        ),
        pages=(
            _page(0, 10, 4),
            _page(1, None, 0),
            _page(2, 12),
            _page(3, 13),
            _page(4, 14),
            _page(5, 15),
            _page(6, 16),
            _page(7, 17),
            _page(8, 18),
        ),
        backend_pages=(
            _page(0, 9),
            _page(1, None, 8),
            _page(2, 8, 9),
            _page(3, 7),
            _page(4, 6),
            _page(5, 5),
            _page(6, 4),
        ),
        row_tables=(
            _table(0, KvPool.MAIN, 14),
            _table(0, KvPool.BACKEND, 6),
            _table(1, KvPool.MAIN, 15, 17),
            _table(1, KvPool.BACKEND, 5),
            _table(2, KvPool.MAIN, 10, 18),
            _table(2, KvPool.BACKEND, 9, 4),
        ),
    ),
    catalog=(_entry(1, "a", CLOSURE, ENDPOINT), _entry(2, "b", BRANCH)),
)
"""Two inactive owners that share a page, and three sequences.

Owner 1 has a turn closure, demoted but for the page it shares, and an endpoint with replicas on
both sides. Owner 2 branched from its endpoint. One sequence decodes, one has just captured, one has
forked from owner 1's endpoint and not run yet.
"""


def with_ledger(snapshot: ControllerSnapshot, **changes: object) -> ControllerSnapshot:
    """The same picture with other facts in its ledger."""
    return replace(snapshot, ledger=replace(snapshot.ledger, **changes))  # type: ignore[arg-type]


def with_sequence(
    snapshot: ControllerSnapshot, ordinal: int, **changes: object
) -> ControllerSnapshot:
    """The same picture with other facts about one sequence."""
    sequences: list[SequencePlacement] = list(snapshot.ledger.sequences)
    sequences[ordinal] = replace(sequences[ordinal], **changes)  # type: ignore[arg-type]
    return with_ledger(snapshot, sequences=tuple(sequences))


def with_space(
    snapshot: ControllerSnapshot, ordinal: int, pool: KvPool = KvPool.MAIN, **changes: object
) -> ControllerSnapshot:
    """The same picture with other facts about one address space; `pages` may be plain numbers."""
    if "pages" in changes:
        pages = changes["pages"]
        assert isinstance(pages, tuple)
        changes["pages"] = _pages(*pages)
    spaces = tuple(
        replace(space, **changes) if space.pool is pool else space  # type: ignore[arg-type]
        for space in snapshot.ledger.sequences[ordinal].spaces
    )
    return with_sequence(snapshot, ordinal, spaces=spaces)


def with_owner(snapshot: ControllerSnapshot, ordinal: int, **changes: object) -> ControllerSnapshot:
    """The same picture with other facts about one inactive owner."""
    owners: list[OwnerPlacement] = list(snapshot.ledger.owners)
    owners[ordinal] = replace(owners[ordinal], **changes)  # type: ignore[arg-type]
    return with_ledger(snapshot, owners=tuple(owners))


def with_image(
    snapshot: ControllerSnapshot, image: int, device: int | None, host: int | None = None
) -> ControllerSnapshot:
    """The same picture with one image elsewhere, or with one more."""
    images = {each.image: each for each in snapshot.ledger.images}
    images[StateImageId(image)] = _image(image, device, host)
    return with_ledger(snapshot, images=tuple(images[id] for id in sorted(images)))


def with_page(
    snapshot: ControllerSnapshot, pool: KvPool, page: int, places: tuple[int | None, int | None]
) -> ControllerSnapshot:
    """The same picture with one logical page elsewhere, or with one more."""
    pages = {each.page: each for each in snapshot.ledger.pages_of(pool)}
    pages[KvPageId(page)] = _page(page, *places)
    name = "pages" if pool is KvPool.MAIN else "backend_pages"
    return with_ledger(snapshot, **{name: tuple(pages[id] for id in sorted(pages))})


def with_use(snapshot: ControllerSnapshot, axis: Axis, **counts: int) -> ControllerSnapshot:
    """The same picture with so many units more on one axis."""
    names = ("device_state", "host_state", "device_kv", "device_backend_kv", "host_kv")
    occupancy = snapshot.ledger.occupancy
    uses: dict[str, AxisUse] = dict(zip(names, occupancy.axes, strict=True))
    name = names[tuple(Axis).index(axis)]
    changed = {each: getattr(uses[name], each) + more for each, more in counts.items()}
    return with_ledger(
        snapshot, occupancy=occupancy._replace(**{name: uses[name]._replace(**changed)})
    )


# ── with a transition open ──────────────────────────────────────────────────────────────────────

IN_FLIGHT = with_ledger(
    SOUND,
    occupancy=_occupancy((6, 0), (2, 1), (8, 5), (6, 6), (1_000, 500)),
    transition=OpenTransition(
        transaction=TransactionId(4),
        phase=TransactionPhase.COPIES_IN_FLIGHT,
        stage=StageName.DEMOTION_RESERVED,
        claimed=(OwnerId(2),),
        device_slots=(),
        host_slots=(HostSlotId(0),),
        device_pages=(),
        device_backend_pages=(),
        host_granules=tuple(map(HostGranuleId, (10, 12, 13, 14, 15))),
    ),
)
"""Owner 2 is being demoted: its Device replicas are still there, Host places are held."""

RESERVED = with_ledger(
    with_page(
        with_page(with_image(SOUND, 2, None, 0), KvPool.MAIN, 3, (None, 12)),
        KvPool.BACKEND,
        3,
        (None, 10),
    ),
    occupancy=_occupancy((5, 1), (3, 0), (7, 8), (5, 9), (1_500, 0)),
    transition=OpenTransition(
        transaction=TransactionId(4),
        phase=TransactionPhase.COPY_PUBLICATION,
        stage=StageName.DESTINATIONS_RESERVED,
        claimed=(OwnerId(2),),
        device_slots=(StateSlotId(1),),
        host_slots=(),
        device_pages=(PageId(13),),
        device_backend_pages=(PageId(7),),
        host_granules=(),
        growth_pages=2,
        backend_growth_pages=2,
    ),
)
"""Owner 2 has been demoted; what it left is held for the candidate, with its growth."""


def with_transition(snapshot: ControllerSnapshot, **changes: object) -> ControllerSnapshot:
    """The same picture with other facts about the open transition."""
    transition = snapshot.ledger.transition
    assert transition is not None
    return with_ledger(snapshot, transition=replace(transition, **changes))  # type: ignore[arg-type]
