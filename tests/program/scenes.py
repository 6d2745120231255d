"""Program worlds that several tests start from, small enough to know every id by heart."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.ids import OwnerRef
from ninfer_lab.contract.replicas import ReplicaSet
from ninfer_lab.contract.target import OwnerOutcome
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.storage.replica_layout import Holdings
from simulation.program_world import CONSUME, RETAIN, ProgramWorld, Start, closure_at


def ledger_of(world: ProgramWorld) -> Ledger:
    """Program's own, to look at or to ask what the public interface does not tell."""
    return world.program._ledger


def branch(world: ProgramWorld, owner: OwnerRef, tokens: int) -> OwnerRef:
    """Another owner of a longer prompt, which shares what it can with the deepest checkpoint of
    this one.
    """
    return world.published(range(tokens), start=Start(checkpoint=world.deepest(owner)))


def doubled(world: ProgramWorld, owner: OwnerRef) -> OwnerOutcome:
    """An owner keeps everything where it is, and gets on the Host what is not there yet: what no
    rung of a ladder does.
    """
    ledger = ledger_of(world)
    holdings = ledger.continuations.require(world.current(owner)).holdings
    keeps = ledger.replicas_of(holdings) | ledger.layout.on_host(holdings)
    return OwnerOutcome(owner=world.current(owner), deleted=frozenset(), keeps=ReplicaSet(keeps))


def image_only_on_host(world: ProgramWorld, owner: OwnerRef) -> OwnerOutcome:
    """An owner's images go to the Host, its pages stay."""
    ledger = ledger_of(world)
    holdings = ledger.continuations.require(world.current(owner)).holdings
    images = Holdings(images=holdings.images)
    keeps = ledger.replicas_of(holdings) & ~ledger.layout.on_device(images)
    return OwnerOutcome(
        owner=world.current(owner),
        deleted=frozenset(),
        keeps=ReplicaSet(keeps | ledger.layout.on_host(images)),
    )


def on_host(world: ProgramWorld, owner: OwnerRef) -> bool:
    """Whether every replica of an owner is on the Host and none on the Device."""
    ledger = world.ledger
    placed = world.owner(owner).checkpoints
    images = {checkpoint.image for checkpoint in placed}
    places: list[tuple[object, object]] = [
        (replicas.device_slot, replicas.host_slot)
        for replicas in ledger.images
        if replicas.image in images
    ]
    for pool in KvPool:
        pages = {page for checkpoint in placed for page in checkpoint.pages_of(pool)}
        places += [
            (replicas.device_page, replicas.host_granule)
            for replicas in ledger.pages_of(pool)
            if replicas.page in pages
        ]
    return all(device is None and host is not None for device, host in places)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressed:
    """A world in which one admission has everything to do.

    Attributes:
        source: On the Host, with a closure at 70 and an endpoint at 150.
        victim: On the Device, 130 tokens; `start` demotes it.
        gone: On the Device, 60 tokens; `start` evicts it.
        start: Goes on from the source.
        tokens: Of the prompt that does.
    """

    world: ProgramWorld
    source: OwnerRef
    victim: OwnerRef
    gone: OwnerRef
    start: Start
    tokens: int = 200

    @classmethod
    def of(cls, *, consumed: bool = False, from_closure: bool = False, lanes: int = 1) -> Pressed:
        """Builds it."""
        world = ProgramWorld(lanes=lanes, extra_slots=3, pages=8, host_slots=4, host_granules=8)
        source = world.published(range(150), captures=(closure_at(70),))
        world.demote(source)
        victim = world.published(range(300, 430))
        gone = world.published(range(500, 560))
        closure, endpoint = world.checkpoints(source)
        start = Start(
            checkpoint=closure.ref if from_closure else endpoint.ref,
            disposition=CONSUME if consumed else RETAIN,
            outcomes=(world.demoted(victim),),
            evicted=(gone,),
            owner=world.next_generation(source) if consumed else world.new_owner(),
        )
        world.machine.transfers.clear()
        world.machine.copies.clear()
        return cls(world=world, source=source, victim=victim, gone=gone, start=start)

    def again(self) -> Start:
        """What is left to do of `start` once something has ended it half-way."""
        world, current = self.world, {owner.owner for owner in self.world.ledger.owners}
        victims = () if on_host(world, self.victim) else (world.demoted(self.victim),)
        owner = self.start.owner
        if self.start.disposition is CONSUME:
            owner = world.next_generation(self.source)
        return replace(
            self.start,
            outcomes=victims,
            evicted=(self.gone,) if self.gone.id in current else (),
            owner=owner,
        )
