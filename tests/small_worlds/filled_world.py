"""How does a Program come to hold exactly this world, in exactly this much room?

Owns the filling: a topology, where each content is, and a capacity become a real Program over the
machine that knows contents. The stores are filled through their own methods and the contents are
copied by the machine, so that what is filled is held to the laws like any other world. Needed
because pressure cannot drive a Program into every placement in a room that is one unit too small
for the next step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from itertools import count

from ninfer_lab.contract.cache_controller import CatalogEntry, ControllerSnapshot
from ninfer_lab.contract.capacity import Capacity, KvPool
from ninfer_lab.contract.ids import HostGranuleId, KvPageId, StateImageId
from ninfer_lab.contract.machine_work import TransferDirection
from ninfer_lab.contract.options import ResolvedOptions
from ninfer_lab.contract.placement import LedgerSnapshot
from ninfer_lab.contract.transfer import PageTransfer, StateTransfer, Transfer
from ninfer_lab.lab.laws import check_laws
from ninfer_lab.program.program import Program
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.address_space import AddressSpace
from ninfer_lab.program.storage.checkpoint_record import CheckpointRecord
from ninfer_lab.program.storage.continuation_store import Continuation
from ninfer_lab.program.storage.ledger import Ledger
from simulation.content_machine import ContentMachine
from small_worlds.plain_sets import Content, Kind
from small_worlds.topologies import Topology


class Where(Enum):
    """In which tiers a content is."""

    DEVICE = "D"
    HOST = "H"
    BOTH = "B"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A topology with places for everything.

    Attributes:
        gap_granules: Free granules behind every Host page, so that the arena has holes.
    """

    topology: Topology
    where: Mapping[Content, Where]
    gap_granules: int = 0

    def __str__(self) -> str:
        placed = " ".join(f"{c}:{self.where[c].value}" for c in self.topology.contents)
        return f"{self.topology.name}; {placed}; gaps of {self.gap_granules}"

    @property
    def last_granule(self) -> int:
        """The arena has at least so many."""
        geometry = self.topology.options.capacity.host_kv
        return sum(
            geometry.page_granules(content.kind.pool) + self.gap_granules
            for content, where in self.where.items()
            if content.kind is not Kind.IMAGE and where is not Where.DEVICE
        )


class FilledWorld:
    """A Program that holds a world.

    Args:
        has_contents: Whether the machine knows what lies where; needed to run a plan.
    """

    def __init__(self, world: World, capacity: Capacity, *, has_contents: bool = False) -> None:
        options = replace(world.topology.options, capacity=capacity)
        self.options: ResolvedOptions = options
        self.machine = ContentMachine(capacity, backend=options.backend)
        self.program = Program(options, self.machine)
        self.ids: dict[Content, int] = {}
        self._world = world
        self._has_contents = has_contents
        self._granules = count(0)
        for content in _host_only_first(world):
            if content.kind is Kind.IMAGE:
                self._fill_image(content)
            else:
                self._fill_page(content, content.kind.pool)
        for owner in world.topology.owners:
            self.ledger.continuations.publish(self._owner(owner))
        for active in world.topology.sequences:
            self._begin(active)
        self.picture: LedgerSnapshot = self.program.snapshot()

    @property
    def ledger(self) -> Ledger:
        """Program's own."""
        return self.program._ledger

    def check(self) -> None:
        """Every law, and every content if there are any."""
        ledger = self.program.snapshot()
        known = self.picture if ledger.transition is not None else ledger  # adopted at its end
        catalog = tuple(
            CatalogEntry(
                owner=owner.owner,
                session_key=None,
                publication_order=0,
                checkpoints=tuple(c.summary for c in owner.checkpoints),
            )
            for owner in known.owners
        )
        check_laws(ControllerSnapshot(ledger=ledger, catalog=catalog), self.options)
        if self._has_contents:
            self.machine.check_contents(ledger)

    # ── places and contents ─────────────────────────────────────────────────────────────────────

    def _fill_image(self, content: Content) -> None:
        where, states = self._world.where[content], self.ledger.states
        (slot,) = states.device_places.take(1)
        image = states.create(slot)
        self.ids[content] = image
        held = self._world.topology.images[content.id]
        if held is not None and self._has_contents:
            self.machine._memory.put_image(slot, held)
        if where is Where.DEVICE:
            return
        (host_slot,) = states.host_places.take(1)
        self._copy(states=(StateTransfer(device_slot=slot, host_slot=host_slot),))
        states.publish_host(image, host_slot)
        if where is Where.HOST:
            states.drop(device_images=1 << image, host_images=0)

    def _fill_page(self, content: Content, pool: KvPool) -> None:
        where, store = self._world.where[content], self.ledger.kv[pool]
        (place,) = store.device_places.take(1)
        (page,) = store.create((place,))
        self.ids[content] = page
        held = self._world.topology.pages[pool][content.id]
        if held is not None and self._has_contents:
            self.machine._memory.put_page(pool, place, held)
        if where is Where.DEVICE:
            return
        granule = HostGranuleId(next(self._granules))
        for _ in range(store.page_granules - 1 + self._world.gap_granules):
            next(self._granules)
        self.ledger.arena.take(granule, store.page_granules)
        self._copy(pages=(PageTransfer(pool=pool, device_page=place, host_granule=granule),))
        store.publish_host(page, granule)
        if where is Where.HOST:
            store.drop(device_pages=1 << page, host_pages=0)

    def _copy(
        self, *, states: tuple[StateTransfer, ...] = (), pages: tuple[PageTransfer, ...] = ()
    ) -> None:
        if self._has_contents:
            direction = TransferDirection.D2H
            self.machine._memory.begin(Transfer(direction=direction, states=states, pages=pages))
            self.machine._memory.end()

    # ── holders ─────────────────────────────────────────────────────────────────────────────────

    def _owner(self, owner: Continuation) -> Continuation:
        return Continuation.of(
            owner.ref,
            identity=owner.identity,
            history=owner.history,
            execution_frontiers_tokens=owner.execution_frontiers_tokens,
            checkpoints=tuple(self._record(c) for c in owner.checkpoints),
        )

    def _record(self, checkpoint: CheckpointRecord) -> CheckpointRecord:
        image = StateImageId(self.ids[Content(Kind.IMAGE, checkpoint.image)])
        pages = {pool: self._pages(pool, checkpoint.pages_of(pool)) for pool in self.ledger.kv}
        return CheckpointRecord.of(checkpoint.summary, image, pages)

    def _pages(self, pool: KvPool, pages: tuple[KvPageId, ...]) -> tuple[KvPageId, ...]:
        return tuple(KvPageId(self.ids[Content(Kind.of_pool(pool), page)]) for page in pages)

    def _begin(self, active: ActiveSequence) -> None:
        read = active.read_image
        spaces = tuple(
            AddressSpace(
                space.pool,
                self._pages(space.pool, space.pages),
                immutable_pages=space.immutable_pages,
                reserved_pages=space.reserved_pages,
            )
            for space in active.spaces
        )
        self.ledger.sequences[active.handle.id] = replace(
            active,
            spaces=spaces,
            read_image=None if read is None else StateImageId(self.ids[Content(Kind.IMAGE, read)]),
            write_image=StateImageId(self.ids[Content(Kind.IMAGE, active.write_image)]),
            output=list(active.output),
            checkpoints=tuple(self._record(c) for c in active.checkpoints),
        )
        lane = active.handle.lane
        for space in spaces:
            places = self.ledger.kv[space.pool].device_pages(space.pages)
            self.machine.bind(lane, space.pool, places)
        self.machine.truth[lane] = list(self._world.topology.truth[lane])


def _host_only_first(world: World) -> list[Content]:
    """So that no Device place is needed beyond what the world has in the end, or one."""
    return sorted(
        world.topology.contents,
        key=lambda content: (world.where[content] is not Where.HOST, content),
    )
