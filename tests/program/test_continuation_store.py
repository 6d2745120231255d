"""Law: an inactive owner is found at exactly its generation, and at no other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import (
    CheckpointId,
    CheckpointRef,
    OwnerId,
    OwnerRef,
    PageId,
    StateSlotId,
)
from ninfer_lab.contract.placement import CheckpointPlacement
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.program.storage.continuation_store import Continuation, ContinuationStore
from simulation.engine_world import prepared


def owner(number: int, generation: int = 1) -> OwnerRef:
    return OwnerRef(id=OwnerId(number), generation=generation)


def continuation(ref: OwnerRef) -> Continuation:
    tokens = TokenSpan(range(5))
    summary = CheckpointSummary(
        ref=CheckpointRef(id=CheckpointId(ref.id * 10), owner=ref.id),
        kind=CheckpointKind.SESSION_ENDPOINT,
        frontier_tokens=5,
        prefix_digest=tokens.prefix_digest(5),
    )
    placed = CheckpointPlacement(summary=summary, state_slot=StateSlotId(0), pages=(PageId(0),))
    return Continuation(
        ref=ref,
        identity=prepared(tokens).identity,
        history=tokens,
        execution_frontiers_tokens=(),
        checkpoints=(placed,),
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
    assert found.placement.history_tokens == 5
