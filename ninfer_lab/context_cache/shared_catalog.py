"""Which shared prefixes are kept, which of them might go, and is there a place for one more?

Owns the shared catalog: a fixed number of engine-wide slots, each vacant, promised to a capture
under way, or holding one owner's summary with its use and its credit. What is worth what is
`portfolio_value`'s; placements are Program's.
Source: spec SHR-5, EVD-2, EVD-3, VAL-5.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from enum import Enum

from ninfer_lab.context_cache.demand_window import DEMAND_WINDOW_REQUESTS, PrefixKey
from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import CatalogSlotId, OwnerId, OwnerRef
from ninfer_lab.contract.result import OwnerChange, OwnerEnd, OwnerState


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedEntry:
    """One catalogued shared prefix.

    Attributes:
        publication_order: Of the request that published it.
        published_epoch: Requests that had become Active when it was published.
        used_epoch: The same at its last hit, or at its publication.
        publication_ordinal: Which publication of this catalog it was.
        has_credit: Declared, and not yet matched by a later request.
        inherited: Keys whose demand rolled on to it.
    """

    state: OwnerState
    publication_order: int
    published_epoch: int
    used_epoch: int
    publication_ordinal: int
    has_credit: bool
    inherited: frozenset[PrefixKey] = frozenset()

    @property
    def id(self) -> OwnerId:
        return self.state.ref.id

    @property
    def ref(self) -> OwnerRef:
        return self.state.ref

    @property
    def checkpoint(self) -> CheckpointSummary:
        """The one it has."""
        (checkpoint,) = self.state.checkpoints
        return checkpoint

    @property
    def key(self) -> PrefixKey:
        """Under which it is wanted again."""
        return PrefixKey.of(self.checkpoint)

    def is_credited(self, epoch: int) -> bool:
        """Whether its credit is live: not consumed, and younger than a whole window (VAL-5)."""
        return self.has_credit and epoch - self.published_epoch < DEMAND_WINDOW_REQUESTS


class _Promised(Enum):
    """A slot for the capture under way; there is one at a time (INV-9)."""

    TO_A_CAPTURE = "to a capture"


class SharedCatalog:
    """Slots `[0, slots_count)`."""

    def __init__(self, slots_count: int) -> None:
        self._slots: list[SharedEntry | _Promised | None] = [None] * slots_count
        self._publications_count = 0

    def entries(self) -> tuple[SharedEntry, ...]:
        """In slot order."""
        return tuple([slot for slot in self._slots if isinstance(slot, SharedEntry)])

    def get(self, owner: OwnerId) -> SharedEntry | None:
        """The entry of an owner, if it is catalogued here."""
        return next((entry for entry in self.entries() if entry.id == owner), None)

    @property
    def vacant_count(self) -> int:
        """Slots that nobody has or is promised."""
        return self._slots.count(None)

    def recyclable(
        self, epoch: int, is_protected: Callable[[OwnerId], bool], extended: Collection[PrefixKey]
    ) -> tuple[SharedEntry, ...]:
        """Automatic entries that may go, the least recently used first; of equals the one that was
        published earlier (EVD-2).

        Args:
            is_protected: Whether a transaction or an active request holds an owner.
            extended: Keys that the request itself extends: such an entry serves whoever could use
                the longer prefix, so it is never recycled for that (EVD-3).
        """
        free = (
            entry
            for entry in self.entries()
            if not entry.is_credited(epoch)
            and not is_protected(entry.id)
            and entry.key not in extended
        )
        return tuple(sorted(free, key=lambda entry: (entry.used_epoch, entry.publication_ordinal)))

    def promise(self) -> CatalogSlotId | None:
        """Reserves the lowest vacant slot for a capture, if there is one (SES-2)."""
        for i, slot in enumerate(self._slots):
            if slot is None:
                self._slots[i] = _Promised.TO_A_CAPTURE
                return CatalogSlotId(i)
        return None

    def take_promise_back(self, slot: CatalogSlotId) -> None:
        """The capture publishes nothing there."""
        self._require_promised(slot)
        self._slots[slot] = None

    def adopt(
        self,
        slot: CatalogSlotId,
        state: OwnerState,
        *,
        publication_order: int,
        epoch: int,
        is_declared: bool,
        inherited: frozenset[PrefixKey] = frozenset(),
    ) -> SharedEntry:
        """The promised slot gets its owner."""
        self._require_promised(slot)
        self._publications_count += 1
        entry = SharedEntry(
            state=state,
            publication_order=publication_order,
            published_epoch=epoch,
            used_epoch=epoch,
            publication_ordinal=self._publications_count,
            has_credit=is_declared,
            inherited=inherited,
        )
        self._slots[slot] = entry
        return entry

    def hit(self, owner: OwnerId, epoch: int) -> None:
        """A request that started from it became Active."""
        self._change(owner, lambda entry: replace(entry, used_epoch=epoch))

    def consume_credit(self, owner: OwnerId) -> None:
        """A later request matched it exactly (VAL-5)."""
        self._change(owner, lambda entry: replace(entry, has_credit=False))

    def remove(self, end: OwnerEnd) -> CatalogSlotId:
        """An owner is gone, and its one checkpoint with it (TXN-5).

        Returns:
            The slot, vacant now.
        """
        slot, entry = self._find(end.ref.id)
        if entry.ref != end.ref or end.deleted != frozenset((entry.checkpoint.ref,)):
            raise InvariantBroken(
                "TXN-5 exact claim",
                f"{entry.state} cannot have lost {sorted(end.deleted, key=str)}",
            )
        self._slots[slot] = None
        return slot

    def degrade(self, change: OwnerChange) -> None:
        """Its replicas are others; its one checkpoint is the same (TXN-5)."""
        slot, entry = self._find(change.before.id)
        if (
            entry.ref != change.before
            or change.deleted
            or change.state.checkpoints != entry.state.checkpoints
        ):
            raise InvariantBroken(
                "TXN-5 exact claim", f"{entry.state} cannot have become {change.state}"
            )
        self._slots[slot] = replace(entry, state=change.state)

    # ── leaves ──────────────────────────────────────────────────────────────────────────────────

    def _find(self, owner: OwnerId) -> tuple[CatalogSlotId, SharedEntry]:
        for i, slot in enumerate(self._slots):
            if isinstance(slot, SharedEntry) and slot.id == owner:
                return CatalogSlotId(i), slot
        raise InvariantBroken("SES catalog", f"owner {owner} is no shared prefix")

    def _change(self, owner: OwnerId, changed: Callable[[SharedEntry], SharedEntry]) -> None:
        slot, entry = self._find(owner)
        self._slots[slot] = changed(entry)

    def _require_promised(self, slot: CatalogSlotId) -> None:
        if self._slots[slot] is not _Promised.TO_A_CAPTURE:
            raise InvariantBroken("SES-2 publication slot", f"shared slot {slot} is not promised")
