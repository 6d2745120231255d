"""What does Program hold, all in all?

Owns the stores side by side: places and replicas of states and pages, inactive continuations,
active sequences, and what the one open transition holds. Nothing is reference-counted: every
owner and sequence says what it refers to, and what nobody refers to any more is released.
Everything that counts or pictures the whole reads it here; what changes it are the transactions.
Does not know plans.
"""

from __future__ import annotations

from collections.abc import Iterator

from ninfer_lab.contract.capacity import (
    Axis,
    Capacity,
    ExclusiveResources,
    KvPool,
    Occupancy,
    OccupancyCounts,
)
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import LaneId, OwnerId, SequenceHandle, SequenceId
from ninfer_lab.contract.placement import LedgerSnapshot, OpenTransition, RowTable
from ninfer_lab.contract.replicas import NOTHING, ReplicaSet
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.continuation_store import ContinuationStore
from ninfer_lab.program.storage.host_arena import HostArena
from ninfer_lab.program.storage.kv_store import KvStore
from ninfer_lab.program.storage.replica_layout import Holdings, ReplicaLayout
from ninfer_lab.program.storage.state_store import StateStore

REMEMBERED_GRANULE_SETS = 4_096
"""Sets of Host pages whose granules are remembered: one per rung that a planner looks at."""


class Ledger:
    """The stores and their sum."""

    def __init__(self, capacity: Capacity, lanes_count: int) -> None:
        self.capacity = capacity
        self.lanes_count = lanes_count
        slots, host_slots, pages, backend_pages, host_bytes = map(capacity.of, Axis)
        self.limits = slots, host_slots, pages, backend_pages, host_bytes
        self.layout = ReplicaLayout(capacity)
        self.arena = HostArena(capacity.host_kv.granules_count)
        self.states = StateStore(capacity.device_state_slots, capacity.host_state_slots)
        self.kv = {
            pool: KvStore(
                capacity.device_pages(pool),
                capacity.host_pages(pool),
                capacity.host_kv.page_granules(pool),
                self.arena,
            )
            for pool in capacity.pools
        }
        self.continuations = ContinuationStore()
        self.sequences: dict[SequenceId, ActiveSequence] = {}
        self.held_growth_pages = dict.fromkeys(capacity.pools, 0)
        self._counted: tuple[OccupancyCounts, Occupancy] | None = None
        self._present: tuple[tuple[int, ...], ReplicaSet] = ((), NOTHING)
        self._marked: dict[OwnerId, tuple[Holdings, int]] = {}
        self._granules: dict[tuple[KvPool, int], tuple[int, int]] = {}

    # ── what is there, and for whom ─────────────────────────────────────────────────────────────

    @property
    def present(self) -> ReplicaSet:
        """Every replica there is, with the granules of the arena that are taken.

        Put together anew only where one of its parts has moved: it is asked for far more often.
        """
        states = self.states
        parts = [states.on_device, states.on_host, self.arena.taken]
        for store in self.kv.values():
            parts += (store.on_device, store.on_host)
        if self._present[0] != (key := tuple(parts)):
            self._present = (key, self._replicas_there())
        return self._present[1]

    def _replicas_there(self) -> ReplicaSet:
        layout = self.layout
        replicas = (
            layout.device_images.put(self.states.on_device)
            | layout.host_images.put(self.states.on_host)
            | layout.granules.put(self.arena.taken)
        )
        for pool, store in self.kv.items():
            replicas |= layout.device_pages[pool].put(store.on_device)
            replicas |= layout.host_pages[pool].put(store.on_host)
        return ReplicaSet(replicas)

    def replicas_of(self, holdings: Holdings) -> ReplicaSet:
        """The replicas there are of some contents, with the granules they lie on."""
        there = self.layout.anywhere(holdings) & self.present
        return ReplicaSet(there | self._granules_of(holdings))

    def kept_by_owner(self) -> dict[OwnerId, ReplicaSet]:
        """The replicas there are of what every inactive owner refers to, ascending by owner.

        An owner refers to the same as long as it is the same: where its replicas would be marked
        is remembered from the last time.
        """
        known, self._marked = self._marked, {}
        present, has_host_pages = self.present, self.arena.taken != 0
        kept: dict[OwnerId, ReplicaSet] = {}
        for owner in self.continuations.all():
            id, holdings = owner.ref.id, owner.holdings
            marked = known.get(id)
            if marked is None or marked[0] is not holdings:
                marked = (holdings, self.layout.anywhere(holdings))
            self._marked[id] = marked
            there = marked[1] & present
            if has_host_pages:
                there |= self._granules_of(holdings)
            kept[id] = ReplicaSet(there)
        return kept

    def holders(self) -> Iterator[Holdings]:
        """What every owner and every sequence refers to."""
        yield from self.continuations.holdings()
        for sequence in self.sequences.values():
            yield sequence.holdings

    def holdings_of_sequences(self) -> Holdings:
        """What all active sequences refer to together."""
        images = pages = backend_pages = 0
        for sequence in self.sequences.values():
            held = sequence.holdings
            images |= held.images
            pages |= held.pages
            backend_pages |= held.backend_pages
        return Holdings(images, pages, backend_pages)

    def unreferenced(self, contents: Holdings, *, besides: Holdings | None = None) -> Holdings:
        """Those of some contents that no holder refers to, or none but one holder.

        Nearly all that a sequence held is its owner's when it ends, who is looked at first.
        """
        images, pages, backend_pages = contents
        for kept in self.holders():
            if kept is besides:
                continue
            if not (images or pages or backend_pages):
                break
            images &= ~kept.images
            pages &= ~kept.pages
            backend_pages &= ~kept.backend_pages
        return Holdings(images, pages, backend_pages)

    def exclusive(self, owner: OwnerId) -> ExclusiveResources:
        """What removing this inactive owner alone would settle (ACC-3)."""
        continuation = self.continuations.get(owner)
        if continuation is None:
            raise InvariantBroken("OWN generation", f"owner {owner} is not inactive")
        gone = self.unreferenced(continuation.holdings, besides=continuation.holdings)
        alone = self.replicas_of(gone)
        layout = self.layout
        return ExclusiveResources(
            device_state_slots=layout.device_images.count(alone),
            host_state_slots=layout.host_images.count(alone),
            device_kv_pages=layout.device_pages[KvPool.MAIN].count(alone),
            device_backend_kv_pages=layout.device_pages[KvPool.BACKEND].count(alone),
            host_kv_bytes=layout.granules.count(alone) * self.capacity.host_kv.granule_bytes,
        )

    def _granules_of(self, holdings: Holdings) -> ReplicaSet:
        """Remembered per set of pages until a Host replica comes or goes in the pool."""
        if not self.arena.taken:
            return NOTHING
        granules = 0
        for pool, store in self.kv.items():
            pages = holdings.of_pool(pool) & store.on_host
            if not pages:
                continue
            known = self._granules.get((pool, pages))
            if known is None or known[0] != store.host_changes_count:
                if len(self._granules) > REMEMBERED_GRANULE_SETS:
                    self._granules.clear()
                known = (store.host_changes_count, store.granules_of(pages))
                self._granules[pool, pages] = known
            granules |= known[1]
        return self.layout.granules.put(granules)

    # ── releasing ───────────────────────────────────────────────────────────────────────────────

    def release_unreferenced(self, contents: Holdings) -> None:
        """Releases, in both tiers, what of these contents nobody refers to any more."""
        gone = self.unreferenced(contents)
        self.drop(ReplicaSet(self.layout.anywhere(gone) & self.present))

    def drop(self, replicas: ReplicaSet) -> None:
        """Gives replicas up, and the arena's granules with them."""
        if not replicas:
            return
        layout = self.layout
        self.states.drop(
            device_images=layout.device_images.of(replicas),
            host_images=layout.host_images.of(replicas),
        )
        for pool, store in self.kv.items():
            store.drop(
                device_pages=layout.device_pages[pool].of(replicas),
                host_pages=layout.host_pages[pool].of(replicas),
            )

    # ── counting ────────────────────────────────────────────────────────────────────────────────

    def reserved_pages(self, pool: KvPool) -> int:
        """Guaranteed growth, of active sequences and of the one being admitted (ACC-1)."""
        index = 0 if pool is KvPool.MAIN else 1
        reserved = self.held_growth_pages[pool]
        for sequence in self.sequences.values():
            reserved += sequence.spaces[index].reserved_pages
        return reserved

    def free_pages(self, pool: KvPool) -> int:
        """Neither allocated nor reserved: what anybody may have (INV-8)."""
        return self.kv[pool].device_places.free_count - self.reserved_pages(pool)

    @property
    def free_lanes(self) -> int:
        return self.lanes_count - len(self.sequences)

    def spare_device_slots(self, held_slots: int, free_lanes: int) -> int:
        """Slots that something optional may take: every free lane keeps one, for a slot that a
        running lineage holds cannot be evicted for the next request (STATE-1).

        Args:
            held_slots: Device slots under images that no eviction can free.
            free_lanes: Lanes without an active sequence.
        """
        spare = self.capacity.device_state_slots - held_slots - free_lanes
        return min(self.states.device_places.free_count, spare)

    @property
    def lineage_images(self) -> int:
        """Images no eviction can free, as a set: what active sequences read, write, captured."""
        images = 0
        for sequence in self.sequences.values():
            images |= sequence.holdings.images
        return images

    def counts(self) -> OccupancyCounts:
        """(allocated, reserved) of every axis now: a taken place without a replica is reserved."""
        states, granule_bytes = self.states, self.capacity.host_kv.granule_bytes
        device, host = states.device_count, states.host_count
        pages = [(0, 0), (0, 0)]
        host_granules = 0
        for index, (pool, store) in enumerate(self.kv.items()):
            there = store.device_count
            held = store.device_places.taken_count - there
            pages[index] = there, held + self.reserved_pages(pool)
            host_granules += store.host_count * store.page_granules
        held_granules = self.arena.taken.bit_count() - host_granules
        return (
            (device, states.device_places.taken_count - device),
            (host, states.host_places.taken_count - host),
            pages[0],
            pages[1],
            (host_granules * granule_bytes, held_granules * granule_bytes),
        )

    def occupancy(self) -> Occupancy:
        """Used_r now (ACC-1). Made anew only where a count has moved: every forward tells it."""
        counts = self.counts()
        if self._counted is None or self._counted[0] != counts:
            self._counted = (counts, Occupancy.of(self.capacity, counts))
        return self._counted[1]

    # ── sequences and pictures ──────────────────────────────────────────────────────────────────

    def sequence(self, handle: SequenceHandle) -> ActiveSequence:
        """The live sequence behind a handle.

        Raises:
            InvariantBroken: It has settled, or never was.
        """
        found = self.sequences.get(handle.id)
        # The handle itself comes back nearly always; comparing fields costs more than the rest.
        if found is None or (found.handle is not handle and found.handle != handle):
            raise InvariantBroken("ACT handle", f"{handle} is not active")
        return found

    def lane_is_taken(self, lane: LaneId) -> bool:
        return any(sequence.handle.lane == lane for sequence in self.sequences.values())

    def snapshot(
        self,
        resource_revision: int,
        row_tables: tuple[RowTable, ...],
        transition: OpenTransition | None,
    ) -> LedgerSnapshot:
        """A complete picture (for laws, recordings, views)."""
        backend = self.kv.get(KvPool.BACKEND)
        return LedgerSnapshot(
            resource_revision=resource_revision,
            occupancy=self.occupancy(),
            owners=tuple(c.placement for c in self.continuations.all()),
            sequences=tuple(self.sequences[i].placement for i in sorted(self.sequences)),
            images=self.states.replicas(),
            pages=self.kv[KvPool.MAIN].replicas(),
            backend_pages=() if backend is None else backend.replicas(),
            row_tables=row_tables,
            transition=transition,
        )
