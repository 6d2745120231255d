"""Law: a checkpoint refers to its own image and to exactly the pages that cover it, pool by pool;
what several refer to together is the union.
"""

from __future__ import annotations

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.ids import CheckpointId, CheckpointRef, KvPageId, OwnerId, StateImageId
from ninfer_lab.program.storage.checkpoint_record import CheckpointRecord, holdings_of
from ninfer_lab.program.storage.replica_layout import Holdings

MAIN, BACKEND = KvPool.MAIN, KvPool.BACKEND


def record(image: int, main: list[int], backend: list[int] | None = None) -> CheckpointRecord:
    pages = {MAIN: tuple(map(KvPageId, main))}
    if backend is not None:
        pages[BACKEND] = tuple(map(KvPageId, backend))
    summary = CheckpointSummary(
        ref=CheckpointRef(id=CheckpointId(image), owner=OwnerId(1)),
        kind=CheckpointKind.SESSION_ENDPOINT,
        frontier_tokens=64 * len(main),
        prefix_digest=b"",
    )
    return CheckpointRecord.of(summary, StateImageId(image), pages)


def test_it_refers_to_pages_of_every_pool() -> None:  # spec: KV-1, OWN-3
    checkpoint = record(2, [5, 0, 3], [1])
    assert checkpoint.holdings == Holdings(0b100, 0b101001, 0b10)
    assert (checkpoint.pages_of(MAIN), checkpoint.pages_of(BACKEND)) == ((5, 0, 3), (1,))
    placed = checkpoint.placement
    assert (placed.image, placed.pages, placed.backend_pages) == (2, (5, 0, 3), (1,))


def test_without_a_backend_it_refers_to_none() -> None:
    assert record(0, [1]).holdings == Holdings(1, 0b10, 0)
    assert record(0, [1]).pages_of(BACKEND) == ()


def test_what_two_share_is_referred_to_once() -> None:  # spec: ACC-2
    one, other = record(0, [0, 1], [4]), record(1, [0, 2], [4])
    assert holdings_of((one, other)) == Holdings(0b11, 0b111, 0b10000)
    assert holdings_of(()) == Holdings()
