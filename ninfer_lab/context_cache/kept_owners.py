"""Which inactive owners are kept, what is known of each, and who was used last when?

Owns the view over both catalogs, private and shared: a victim is a victim whichever it sits in, and
recency ranks them together (SRCH-4). Adopts what victims have become (TXN-5). Does not know why
anybody had to give way.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from ninfer_lab.context_cache.catalog import Catalog, PrivateOwner
from ninfer_lab.context_cache.demand_window import PrefixKey
from ninfer_lab.context_cache.diverged_checkpoints import DivergedCheckpoints
from ninfer_lab.context_cache.hit_history import HitHistory
from ninfer_lab.context_cache.owner_edges import OwnerEdges
from ninfer_lab.context_cache.retention import RetentionClass
from ninfer_lab.context_cache.session_index import SessionIndex
from ninfer_lab.context_cache.shared_catalog import SharedEntry
from ninfer_lab.context_cache.shared_prefixes import SharedPrefixes
from ninfer_lab.context_cache.valuation import OwnerWorth
from ninfer_lab.contract.cache_controller import CatalogEntry
from ninfer_lab.contract.candidate import AdmissionRequest
from ninfer_lab.contract.ids import OwnerId, OwnerRef, RequestId
from ninfer_lab.contract.result import OwnerChange, OwnerEnd

KeptOwner = PrivateOwner | SharedEntry


class Ended(Protocol):
    """Any result of a transition."""

    @property
    def evicted(self) -> tuple[OwnerEnd, ...]: ...
    @property
    def degraded(self) -> tuple[OwnerChange, ...]: ...


class KeptOwners:
    """Of one ResourceManager."""

    def __init__(
        self,
        catalog: Catalog,
        shared: SharedPrefixes,
        sessions: SessionIndex,
        edges: OwnerEdges,
        hits: HitHistory,
        diverged: DivergedCheckpoints,
    ) -> None:
        self._catalog = catalog
        self._shared = shared
        self._sessions = sessions
        self._edges = edges
        self._hits = hits
        self._diverged = diverged

    def hear(self, request: AdmissionRequest) -> None:
        """What a session's prompt says of the owners that the session was bound to."""
        bound = self._sessions.owner_of(request.session_key)
        self._diverged.hear(request, bound, self._catalog.owners())

    def all(self) -> tuple[KeptOwner, ...]:
        """Private ones in slot order, then shared ones in theirs."""
        return (*self._catalog.owners(), *self._shared.catalog.entries())

    def victims(self) -> list[KeptOwner]:
        """Owners that nobody leans on, ascending by id."""
        leant_on = self._edges.owners()
        kept: dict[OwnerId, KeptOwner] = {**self._catalog.by_id()}
        kept.update((entry.id, entry) for entry in self._shared.catalog.entries())
        return [kept[owner] for owner in sorted(kept) if owner not in leant_on]

    def protected(self, requests: Collection[RequestId]) -> tuple[OwnerRef, ...]:
        """Owners that somebody beside some requests leans on."""
        leant_on = self._edges.owners_besides(requests)
        return tuple(each.ref for each in self.all() if each.id in leant_on)

    def worth_of_all(self) -> dict[OwnerRef, OwnerWorth]:
        """What every owner is worth."""
        return {owner.ref: self.worth_of(owner.id) for owner in self.all()}

    def worth_of_protected(self) -> dict[OwnerRef, OwnerWorth]:
        """What owners that somebody leans on are worth."""
        leant_on = self._edges.owners()
        return {each.ref: self.worth_of(each.id) for each in self.all() if each.id in leant_on}

    def recency_order(self, victims: Sequence[KeptOwner]) -> tuple[int, ...]:
        """Ordinals, whoever was used last the longest ago in front."""
        return tuple(sorted(range(len(victims)), key=lambda i: (self.recency(victims[i]), i)))

    def recency(self, owner: KeptOwner) -> int:
        """Its publication or its last hit, as a publication order."""
        return max(owner.publication_order, self._hits.last_of(owner.id))

    def worth_of(self, owner_id: OwnerId) -> OwnerWorth:
        """What is lost with it, and how often it was hit."""
        entry = self._shared.catalog.get(owner_id)
        if entry is not None:
            return self._shared.worth_of(entry, self._hits.of(entry.checkpoint))
        owner = self._catalog.owner(owner_id)
        return OwnerWorth(
            retention=RetentionClass.of(
                is_bound=self._sessions.key_of(owner.id) is not None, is_whole=owner.is_whole
            ),
            unreachable=self._diverged.of(owner_id),
            hits={checkpoint.ref: self._hits.of(checkpoint) for checkpoint in owner.checkpoints},
            keys={each.ref: PrefixKey.of(each) for each in owner.checkpoints},
        )

    def is_private(self, owner: OwnerId) -> bool:
        """Whether its going leaves a private slot behind."""
        return self._shared.catalog.get(owner) is None

    def adopt_victims(self, result: Ended) -> None:
        """What victims have become, whatever the end was."""
        for end in result.evicted:
            self.remove(end)
        for change in result.degraded:
            if self.is_private(change.before.id):
                self._catalog.degrade(change)
            else:
                self._shared.catalog.degrade(change)

    def remove(self, end: OwnerEnd) -> None:
        """An owner is gone for good."""
        if self.is_private(end.ref.id):
            self._catalog.remove(end)
        else:
            self._shared.catalog.remove(end)
        self.forget(end.ref.id)

    def forget(self, owner: OwnerId) -> None:
        """Its lineage does not go on."""
        self._sessions.forget(owner)
        self._hits.forget(owner)
        self._diverged.forget(owner)

    def entries(self) -> tuple[CatalogEntry, ...]:
        """Both catalogs, for recordings and pictures."""
        return tuple(
            CatalogEntry(
                owner=owner.id,
                session_key=self._sessions.key_of(owner.id),
                publication_order=owner.publication_order,
                checkpoints=owner.state.checkpoints,
            )
            for owner in self.all()
        )
