"""Law: a hit is counted where it fell, and a place that an owner has once hands its count on."""

from __future__ import annotations

from ninfer_lab.context_cache.hit_history import NEVER, HitHistory
from ninfer_lab.contract.candidate import CheckpointSource, SourceDisposition
from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.ids import CheckpointId, CheckpointRef, OwnerId, OwnerRef

ENDPOINT, ANCHOR = CheckpointKind.SESSION_ENDPOINT, CheckpointKind.LONG_ANCHOR


def source(owner: int, checkpoint: int, kind: CheckpointKind = ENDPOINT) -> CheckpointSource:
    return CheckpointSource(
        owner=OwnerRef(id=OwnerId(owner), generation=1),
        checkpoint=CheckpointRef(id=CheckpointId(checkpoint), owner=OwnerId(owner)),
        kind=kind,
        disposition=SourceDisposition.RETAIN,
    )


def kept(owner: int, checkpoint: int, kind: CheckpointKind = ENDPOINT) -> CheckpointSummary:
    return CheckpointSummary(
        ref=source(owner, checkpoint).checkpoint, kind=kind, frontier_tokens=9, prefix_digest=b""
    )


def test_what_stands_in_a_place_inherits_its_history() -> None:  # spec: SRCH-8
    hits = HitHistory()
    hits.hit(source(1, 10), 5)
    hits.hit(source(1, 10), 7)
    # The next turn's endpoint has another id and the same lineage.
    assert hits.of(kept(1, 11)) == (2, 7)
    assert hits.of(kept(1, 11, CheckpointKind.TURN_CLOSURE)) == NEVER
    assert hits.of(kept(2, 10)) == NEVER


def test_anchors_are_counted_one_by_one() -> None:
    hits = HitHistory()
    hits.hit(source(1, 10, ANCHOR), 5)
    assert hits.of(kept(1, 10, ANCHOR)) == (1, 5)
    assert hits.of(kept(1, 11, ANCHOR)) == NEVER


def test_an_older_request_does_not_make_a_hit_older() -> None:
    hits = HitHistory()
    hits.hit(source(1, 10), 7)
    hits.hit(source(1, 10), 3)
    assert hits.of(kept(1, 10)) == (2, 7)


def test_an_owner_was_used_when_anything_of_it_was() -> None:  # spec: SRCH-4
    hits = HitHistory()
    hits.hit(source(1, 10), 5)
    hits.hit(source(1, 12, ANCHOR), 4)
    assert (hits.last_of(OwnerId(1)), hits.last_of(OwnerId(2))) == (5, 0)
    hits.forget(OwnerId(1))
    assert (hits.last_of(OwnerId(1)), hits.of(kept(1, 10))) == (0, NEVER)
