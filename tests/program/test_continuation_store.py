"""Law: an inactive owner is found at exactly its generation, knows no more than its deepest
checkpoint needs, and loses exactly what it is said to lose.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import (
    CheckpointId,
    CheckpointRef,
    KvPageId,
    OwnerId,
    OwnerRef,
    StateImageId,
)
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.program.storage.checkpoint_record import CheckpointRecord
from ninfer_lab.program.storage.continuation_store import Continuation, ContinuationStore
from ninfer_lab.program.storage.replica_layout import Holdings
from simulation.engine_world import prepared


def owner(number: int, generation: int = 1) -> OwnerRef:
    return OwnerRef(id=OwnerId(number), generation=generation)


def checkpoint(ref: OwnerRef, frontier: int) -> CheckpointRecord:
    """The image has the frontier's number, and so has its one page."""
    summary = CheckpointSummary(
        ref=CheckpointRef(id=CheckpointId(frontier), owner=ref.id),
        kind=CheckpointKind.SESSION_ENDPOINT,
        frontier_tokens=frontier,
        prefix_digest=TokenSpan(range(9)).prefix_digest(frontier),
    )
    return CheckpointRecord.of(
        summary, StateImageId(frontier), {KvPool.MAIN: (KvPageId(frontier),)}
    )


def continuation(ref: OwnerRef, *frontiers: int) -> Continuation:
    tokens = TokenSpan(range(9))
    return Continuation.of(
        ref,
        identity=prepared(tokens).identity,
        history=tokens,
        execution_frontiers_tokens=(2, 4, 6),
        checkpoints=tuple(checkpoint(ref, frontier) for frontier in frontiers or (5,)),
    )


def test_owners_are_listed_by_id_whatever_the_order_of_publication() -> None:
    store = ContinuationStore()
    for number in (3, 1, 2):
        store.publish(continuation(owner(number)))
    assert [each.ref.id for each in store.all()] == [1, 2, 3]


@pytest.mark.parametrize("stale", [owner(1, 1), owner(1, 3), owner(2, 2)])
def test_an_old_or_foreign_generation_is_refused(stale: OwnerRef) -> None:  # spec: REV-4
    store = ContinuationStore()
    store.publish(continuation(owner(1, 2)))
    assert not store.is_current(stale)
    with pytest.raises(InvariantBroken, match="not inactive at this generation"):
        store.remove(stale)
    with pytest.raises(InvariantBroken, match="not inactive at this generation"):
        store.replace(stale, continuation(owner(1, 3)))
    assert store.is_current(owner(1, 2))
    assert store.remove(owner(1, 2)).ref == owner(1, 2)
    assert store.all() == ()


def test_an_owner_is_published_once() -> None:
    store = ContinuationStore()
    store.publish(continuation(owner(1)))
    with pytest.raises(InvariantBroken, match="already inactive"):
        store.publish(continuation(owner(1, 2)))
    assert [each.ref for each in store.all()] == [owner(1)]


def test_a_checkpoint_is_found_by_its_own_name_only() -> None:
    found = continuation(owner(1))
    (placed,) = found.checkpoints
    assert found.checkpoint(placed.summary.ref) is placed
    assert found.checkpoint(replace(placed.summary.ref, owner=OwnerId(2))) is None
    assert found.state.checkpoints == (placed.summary,)


def test_an_owner_knows_no_more_than_its_deepest_checkpoint_needs() -> None:  # spec: OWN-1, OWN-3
    found = continuation(owner(1), 3, 5)
    assert (found.history, found.execution_frontiers_tokens) == (TokenSpan(range(5)), (2, 4))
    assert found.holdings == Holdings(0b101000, 0b101000, 0)
    assert found.placement.history_tokens == 5


def test_what_has_lost_a_checkpoint_is_the_next_generation_of_the_rest() -> None:  # spec: TXN-5
    store, before = ContinuationStore(), continuation(owner(1), 3, 5)
    store.publish(before)
    deepest = before.checkpoints[1].summary.ref
    after = before.less(frozenset({deepest}))
    store.replace(before.ref, after)
    assert after.ref == owner(1, 2)
    assert after.checkpoint_refs == before.checkpoint_refs - {deepest}
    assert (after.history, after.execution_frontiers_tokens) == (TokenSpan(range(3)), (2,))
    assert tuple(store.holdings()) == (Holdings(0b1000, 0b1000, 0),)
    with pytest.raises(InvariantBroken, match=r"owner 1\.1"):
        store.require(before.ref)
