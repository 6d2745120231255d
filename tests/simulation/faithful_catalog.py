"""The catalog of a manager that adopts ends, and ends only: what Program has, under other names."""

from __future__ import annotations

from ninfer_lab.contract.cache_controller import CatalogEntry, ControllerSnapshot
from ninfer_lab.contract.placement import LedgerSnapshot, OwnerPlacement


class FaithfulCatalog:
    """As it was when no transition was open last."""

    def __init__(self) -> None:
        self._entries: tuple[CatalogEntry, ...] = ()

    def picture(self, ledger: LedgerSnapshot) -> ControllerSnapshot:
        """The ledger with the catalog beside it."""
        if ledger.transition is None:
            self._entries = tuple(map(_entry, ledger.owners))
        return ControllerSnapshot(ledger=ledger, catalog=self._entries)


def _entry(owner: OwnerPlacement) -> CatalogEntry:
    return CatalogEntry(
        owner=owner.owner,
        session_key=None,
        publication_order=0,
        checkpoints=tuple(c.summary for c in owner.checkpoints),
    )
