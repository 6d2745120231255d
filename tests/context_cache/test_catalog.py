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
from ninfer_lab.contract.result import OwnerEnd, OwnerState

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
