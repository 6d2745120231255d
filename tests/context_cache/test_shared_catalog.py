"""Law: a shared slot is vacant, promised to the one capture, or one owner's; who goes first is who
was used last the longest ago, and a live credit, a lease or the request itself keeps an entry.
"""

from __future__ import annotations

import pytest

from ninfer_lab.context_cache.demand_window import PrefixKey
from ninfer_lab.context_cache.shared_catalog import SharedCatalog, SharedEntry
from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import CatalogSlotId, CheckpointId, CheckpointRef, OwnerId, OwnerRef
from ninfer_lab.contract.result import OwnerChange, OwnerEnd, OwnerState


def state(ordinal: int, generation: int = 1) -> OwnerState:
    owner = OwnerId(ordinal)
    return OwnerState(
        ref=OwnerRef(id=owner, generation=generation),
        checkpoints=(
            CheckpointSummary(
                ref=CheckpointRef(id=CheckpointId(100 + ordinal), owner=owner),
                kind=CheckpointKind.SHARED_STABLE_PREFIX,
                frontier_tokens=10 * ordinal,
                prefix_digest=bytes([ordinal]),
            ),
        ),
    )


def publish(
    catalog: SharedCatalog, ordinal: int, *, epoch: int, is_declared: bool = False
) -> SharedEntry:
    slot = catalog.promise()
    assert slot is not None
    return catalog.adopt(
        slot, state(ordinal), publication_order=ordinal, epoch=epoch, is_declared=is_declared
    )


def gone(ordinal: int) -> OwnerEnd:
    refs = frozenset(c.ref for c in state(ordinal).checkpoints)
    return OwnerEnd(ref=state(ordinal).ref, deleted=refs)


def going(
    catalog: SharedCatalog,
    *,
    epoch: int,
    protected: frozenset[int] = frozenset(),
    extended: frozenset[PrefixKey] = frozenset(),
) -> list[int]:
    return [e.id for e in catalog.recyclable(epoch, protected.__contains__, extended)]


def test_a_slot_is_promised_before_it_is_filled_and_once() -> None:  # spec: SES-2
    catalog = SharedCatalog(1)
    assert catalog.vacant_count == 1
    slot = catalog.promise()
    assert slot == CatalogSlotId(0)
    assert (catalog.vacant_count, catalog.promise(), catalog.entries()) == (0, None, ())
    catalog.take_promise_back(slot)
    with pytest.raises(InvariantBroken, match="not promised"):
        catalog.take_promise_back(slot)
    with pytest.raises(InvariantBroken, match="not promised"):
        catalog.adopt(slot, state(1), publication_order=1, epoch=1, is_declared=False)
    assert publish(catalog, 1, epoch=1) == catalog.get(OwnerId(1))
    assert catalog.remove(gone(1)) == slot
    assert catalog.get(OwnerId(1)) is None


def test_the_least_recently_used_goes_first() -> None:  # spec: EVD-2
    catalog = SharedCatalog(3)
    for ordinal in (1, 2, 3):
        publish(catalog, ordinal, epoch=ordinal)
    assert going(catalog, epoch=3) == [1, 2, 3]
    catalog.hit(OwnerId(1), 4)
    assert going(catalog, epoch=4) == [2, 3, 1]


def test_of_equals_the_one_that_was_published_earlier_goes() -> None:  # spec: EVD-2
    catalog = SharedCatalog(3)
    for ordinal in (3, 1, 2):
        publish(catalog, ordinal, epoch=5)
    assert going(catalog, epoch=5) == [3, 1, 2]


def test_what_somebody_leans_on_or_extends_does_not_go() -> None:  # spec: EVD-2, EVD-3
    catalog = SharedCatalog(3)
    for ordinal in (1, 2, 3):
        publish(catalog, ordinal, epoch=ordinal)
    assert going(catalog, epoch=3, protected=frozenset({1})) == [2, 3]
    assert going(catalog, epoch=3, extended=frozenset({PrefixKey(20, b"\x02")})) == [1, 3]


def test_a_credit_keeps_its_entry_until_a_match_or_for_a_window() -> None:  # spec: EVD-2, VAL-5
    catalog = SharedCatalog(2)
    publish(catalog, 1, epoch=1, is_declared=True)
    publish(catalog, 2, epoch=1, is_declared=True)
    assert going(catalog, epoch=32) == []
    assert going(catalog, epoch=33) == [1, 2]
    catalog.consume_credit(OwnerId(2))
    assert going(catalog, epoch=2) == [2]
    entry = catalog.get(OwnerId(1))
    assert entry is not None
    assert [entry.is_credited(epoch) for epoch in (1, 32, 33)] == [True, True, False]


def test_what_is_left_is_exactly_what_it_had() -> None:  # spec: TXN-5
    catalog = SharedCatalog(1)
    publish(catalog, 1, epoch=1)
    change = OwnerChange(before=state(1).ref, state=state(1, 2), deleted=frozenset())
    with pytest.raises(InvariantBroken, match="cannot have become"):
        catalog.degrade(OwnerChange(before=state(1).ref, state=state(2), deleted=frozenset()))
    catalog.degrade(change)
    with pytest.raises(InvariantBroken, match="cannot have lost"):
        catalog.remove(gone(1))  # another generation by now
    kept = catalog.get(OwnerId(1))
    assert kept is not None
    assert kept.ref.generation == 2
    with pytest.raises(InvariantBroken, match="no shared prefix"):
        catalog.hit(OwnerId(9), 1)
