"""Which inactive owners are kept, and is there a place for one more?

Owns the private catalog: a fixed number of slots, each vacant, promised to an active request, or
holding one owner's summary. Adoption neither grows nor searches it: the slot was promised before
Program moved anything (SES-2). Does not know placements or sessions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import CatalogSlotId, OwnerId, OwnerRef, RequestId
from ninfer_lab.contract.result import OwnerChange, OwnerEnd, OwnerState


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateOwner:
    """One catalogued continuation.

    Attributes:
        publication_order: Of the request that published it.
        is_whole: Whether it was published with the endpoint of that request.
    """

    state: OwnerState
    publication_order: int
    is_whole: bool = True

    @property
    def id(self) -> OwnerId:
        return self.state.ref.id

    @property
    def ref(self) -> OwnerRef:
        return self.state.ref

    @property
    def checkpoints(self) -> tuple[CheckpointSummary, ...]:
        return self.state.checkpoints


class Catalog:
    """Private slots `[0, slots_count)`."""

    def __init__(self, slots_count: int) -> None:
        self._slots: list[PrivateOwner | RequestId | None] = [None] * slots_count
        self._owners: tuple[PrivateOwner, ...] | None = ()
        self._slots_by_owner: dict[OwnerId, CatalogSlotId] = {}
        self._by_id: dict[OwnerId, PrivateOwner] = {}

    def owners(self) -> tuple[PrivateOwner, ...]:
        """Catalogued owners, in slot order."""
        if self._owners is None:
            self._owners = tuple([slot for slot in self._slots if isinstance(slot, PrivateOwner)])
        return self._owners

    def by_id(self) -> Mapping[OwnerId, PrivateOwner]:
        """Catalogued owners, in no order."""
        return self._by_id

    def vacant_slot(self) -> CatalogSlotId | None:
        """The lowest slot nobody has or is promised."""
        for i, slot in enumerate(self._slots):
            if slot is None:
                return CatalogSlotId(i)
        return None

    def slot_of(self, owner: OwnerId) -> CatalogSlotId:
        """Where a catalogued owner sits."""
        slot = self._slots_by_owner.get(owner)
        if slot is None:
            raise InvariantBroken("SES catalog", f"owner {owner} is not catalogued")
        return slot

    def owner(self, owner: OwnerId) -> PrivateOwner:
        """A catalogued owner."""
        found = self._by_id.get(owner)
        if found is None:
            raise InvariantBroken("SES catalog", f"owner {owner} is not catalogued")
        return found

    def promise(self, slot: CatalogSlotId, request: RequestId) -> None:
        """Reserves a vacant slot for what an active request will publish."""
        if self._slots[slot] is not None:
            raise InvariantBroken("SES-2 publication slot", f"slot {slot} is not vacant")
        self._slots[slot] = request

    def take_promise_back(self, slot: CatalogSlotId, request: RequestId) -> None:
        """The request publishes nothing."""
        self._require_promised(slot, request)
        self._put(slot, None)

    def adopt(self, slot: CatalogSlotId, request: RequestId, owner: PrivateOwner) -> None:
        """The promised slot gets its owner."""
        self._require_promised(slot, request)
        self._put(slot, owner)

    def receive(self, owner: PrivateOwner) -> None:
        """The lowest vacant slot gets an owner that no request has published (PER-1)."""
        slot = self.vacant_slot()
        if slot is None:
            raise InvariantBroken("PER-3 free cell", f"no vacant slot for {owner.state}")
        self._put(slot, owner)

    def remove(self, end: OwnerEnd, *, surviving: frozenset[OwnerId] = frozenset()) -> PrivateOwner:
        """An owner was evicted or consumed; its deleted checkpoints must be exactly those it had,
        less the ones that go on in an active lineage (TXN-5).

        Args:
            end: Program's absolute result.
            surviving: Owners whose remaining checkpoints went on; others must have lost all.
        """
        slot = self.slot_of(end.ref.id)
        owner = self.owner(end.ref.id)
        had = frozenset(c.ref for c in owner.checkpoints)
        exact = end.deleted <= had if owner.id in surviving else end.deleted == had
        if owner.ref != end.ref or not exact:
            raise InvariantBroken(
                "TXN-5 exact claim",
                f"{owner.state} cannot have lost {sorted(end.deleted, key=str)}",
            )
        self._put(slot, None)
        return owner

    def degrade(self, change: OwnerChange) -> None:
        """An owner is still there with less; it must be exactly what it was less what it lost
        (TXN-5).
        """
        slot = self.slot_of(change.before.id)
        owner = self.owner(change.before.id)
        had = frozenset(c.ref for c in owner.checkpoints)
        left = frozenset(c.ref for c in change.state.checkpoints)
        if owner.ref != change.before or not change.deleted <= had or left != had - change.deleted:
            raise InvariantBroken(
                "TXN-5 exact claim", f"{owner.state} cannot have become {change.state}"
            )
        self._put(slot, replace(owner, state=change.state))

    def _put(self, slot: CatalogSlotId, held: PrivateOwner | None) -> None:
        before = self._slots[slot]
        if isinstance(before, PrivateOwner):
            del self._slots_by_owner[before.id], self._by_id[before.id]
        if isinstance(held, PrivateOwner):
            self._slots_by_owner[held.id], self._by_id[held.id] = slot, held
        self._slots[slot], self._owners = held, None

    def _require_promised(self, slot: CatalogSlotId, request: RequestId) -> None:
        if self._slots[slot] != request or isinstance(self._slots[slot], PrivateOwner):
            raise InvariantBroken(
                "SES-2 publication slot", f"slot {slot} is not promised to request {request}"
            )
