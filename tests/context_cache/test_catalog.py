"""Law: an owner takes the slot that was promised to it, and leaves with exactly the checkpoints it
had.
"""

from __future__ import annotations

import pytest

from ninfer_lab.context_cache.catalog import Catalog, PrivateOwner
from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import (
    CatalogSlotId,
    CheckpointId,
    CheckpointRef,
    OwnerId,
    OwnerRef,
    RequestId,
)
from ninfer_lab.contract.result import OwnerChange, OwnerEnd, OwnerState

FIRST, SECOND = CatalogSlotId(0), CatalogSlotId(1)


def ref(checkpoint: int, owner: int = 1) -> CheckpointRef:
    return CheckpointRef(id=CheckpointId(checkpoint), owner=OwnerId(owner))


def owned(owner: int, *checkpoints: int, generation: int = 1) -> PrivateOwner:
    return PrivateOwner(
        state=OwnerState(
            ref=OwnerRef(id=OwnerId(owner), generation=generation),
            checkpoints=tuple(
                CheckpointSummary(
                    ref=ref(checkpoint, owner),
                    kind=CheckpointKind.SESSION_ENDPOINT,
                    frontier_tokens=checkpoint,
                    prefix_digest=b"",
                )
                for checkpoint in checkpoints
            ),
        ),
        publication_order=1,
    )


def with_owner(owner: PrivateOwner) -> Catalog:
    catalog = Catalog(2)
    catalog.promise(FIRST, RequestId(1))
    catalog.adopt(FIRST, RequestId(1), owner)
    return catalog


def test_the_lowest_vacant_slot_is_promised_then_adopted() -> None:  # spec: SES-2
    catalog = Catalog(2)
    assert catalog.vacant_slot() == FIRST
    catalog.promise(FIRST, RequestId(1))
    assert (catalog.vacant_slot(), catalog.owners()) == (SECOND, ())
    catalog.adopt(FIRST, RequestId(1), owned(7, 1))
    catalog.promise(SECOND, RequestId(2))
    assert (catalog.vacant_slot(), [o.id for o in catalog.owners()]) == (None, [7])
    catalog.take_promise_back(SECOND, RequestId(2))
    assert catalog.vacant_slot() == SECOND


@pytest.mark.parametrize(
    "wrong",
    [
        lambda catalog: catalog.promise(FIRST, RequestId(2)),
        lambda catalog: catalog.adopt(FIRST, RequestId(2), owned(7, 1)),
        lambda catalog: catalog.adopt(SECOND, RequestId(1), owned(7, 1)),
        lambda catalog: catalog.take_promise_back(FIRST, RequestId(2)),
    ],
)
def test_a_promise_is_kept_to_the_one_it_was_made_to(wrong: object) -> None:  # spec: SES-2
    catalog = Catalog(2)
    catalog.promise(FIRST, RequestId(1))
    assert callable(wrong)
    with pytest.raises(InvariantBroken, match="SES-2"):
        wrong(catalog)
    catalog.adopt(FIRST, RequestId(1), owned(7, 1))
    assert [o.id for o in catalog.owners()] == [7]


def test_an_owner_that_sits_there_can_not_be_adopted_over() -> None:
    catalog = with_owner(owned(7, 1))
    with pytest.raises(InvariantBroken, match="SES-2"):
        catalog.adopt(FIRST, RequestId(1), owned(8, 1))


@pytest.mark.parametrize(
    "deleted",
    [
        frozenset[CheckpointRef](),
        frozenset({ref(1)}),
        frozenset({ref(1), ref(3)}),  # as many, but another one
        frozenset({ref(1), ref(2), ref(3)}),
    ],
)
def test_an_evicted_owner_lost_exactly_what_it_had(  # spec: TXN-5
    deleted: frozenset[CheckpointRef],
) -> None:
    catalog, owner = with_owner(owned(1, 1, 2)), owned(1, 1, 2)
    with pytest.raises(InvariantBroken, match="TXN-5"):
        catalog.remove(OwnerEnd(ref=owner.ref, deleted=deleted))
    assert catalog.owners() == (owner,)
    catalog.remove(OwnerEnd(ref=owner.ref, deleted=frozenset({ref(1), ref(2)})))
    assert catalog.owners() == ()


def test_a_consumed_owner_may_keep_some_but_loses_none_it_never_had() -> None:  # spec: TXN-5
    owner = owned(1, 1, 2)
    surviving = frozenset({OwnerId(1)})
    catalog = with_owner(owner)
    with pytest.raises(InvariantBroken, match="TXN-5"):
        catalog.remove(OwnerEnd(ref=owner.ref, deleted=frozenset({ref(9)})), surviving=surviving)
    catalog.remove(OwnerEnd(ref=owner.ref, deleted=frozenset({ref(2)})), surviving=surviving)
    assert catalog.vacant_slot() == FIRST


def test_another_generation_is_another_owner() -> None:  # spec: REV-4
    catalog = with_owner(owned(1, 1, generation=2))
    end = OwnerEnd(ref=owned(1, generation=1).ref, deleted=frozenset({ref(1)}))
    with pytest.raises(InvariantBroken, match="TXN-5"):
        catalog.remove(end)
    with pytest.raises(InvariantBroken, match="owner 9 is not catalogued"):
        catalog.slot_of(OwnerId(9))


def changed(before: PrivateOwner, after: PrivateOwner, *deleted: int) -> OwnerChange:
    return OwnerChange(
        before=before.ref,
        state=after.state,
        deleted=frozenset(ref(checkpoint, before.id) for checkpoint in deleted),
    )


def test_a_degraded_owner_stays_in_its_slot_with_what_is_left() -> None:  # spec: TXN-5
    was, now = owned(1, 1, 2, 3), owned(1, 2, 3, generation=2)
    catalog = with_owner(was)
    catalog.degrade(changed(was, now, 1))
    assert [owner.state for owner in catalog.owners()] == [now.state]
    assert catalog.owners()[0].publication_order == was.publication_order
    assert catalog.slot_of(was.id) == FIRST


@pytest.mark.parametrize(
    ("left", "deleted"),
    [
        ((2, 3), ()),  # fewer than it is said to have lost
        ((1, 2, 3), (1,)),  # more
        ((1, 2), (1,)),  # as many, but another one
        ((2, 3, 4), (1,)),  # one that it never had
        ((2, 3), (1, 9)),
        ((3,), (1,)),
    ],
)
def test_what_is_left_is_exactly_what_it_had_less_what_it_lost(  # spec: TXN-5
    left: tuple[int, ...], deleted: tuple[int, ...]
) -> None:
    was = owned(1, 1, 2, 3)
    catalog = with_owner(was)
    with pytest.raises(InvariantBroken, match="TXN-5"):
        catalog.degrade(changed(was, owned(1, *left, generation=2), *deleted))
    assert catalog.owners() == (was,)


def test_a_change_of_another_generation_is_refused() -> None:  # spec: TXN-5, REV-4
    catalog = with_owner(owned(1, 1, 2, generation=2))
    with pytest.raises(InvariantBroken, match="TXN-5"):
        catalog.degrade(changed(owned(1, 1, 2), owned(1, 2, generation=2), 1))
