"""Law: in worlds that requests have made, too, every stage uses what the brute force says.

No store is filled by hand here: owners are published, demoted, restored and forked by admissions
through Program's public interface, and each world on the way is asked for every target. So the
filled worlds are no others than those that Program makes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from ninfer_lab.contract.ids import LaneId, OwnerRef
from ninfer_lab.contract.placement import LedgerSnapshot
from ninfer_lab.contract.result import SequenceEnd
from ninfer_lab.program.program import Program
from ninfer_lab.program.storage.ledger import Ledger
from simulation.program_world import CONSUME, ProgramWorld, Start, closure_at
from small_worlds.brute_force import BruteForce
from small_worlds.outcomes import Outcome, outcomes, sealed_form
from small_worlds.plain_sets import Kind, Replica, Tier, contents_of, replicas_in
from small_worlds.proof import uses_by_stage
from small_worlds.targets import Asked, Target, from_owner, from_root, request_for

ROOT_STRIDE = 5
"""Of the pairs of outcomes against a request from the root, which are many in every world."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Driven:
    """A world as it stands."""

    world: ProgramWorld
    picture: LedgerSnapshot

    @property
    def program(self) -> Program:
        return self.world.program

    @property
    def ledger(self) -> Ledger:
        """Program's own."""
        return self.world.program._ledger


def history(world: ProgramWorld) -> Iterator[str]:
    """Two owners with two checkpoints each, on their way through both tiers; stops where there is
    something new to be asked.
    """
    first = world.published(range(130), captures=(closure_at(70),))
    shallow, deep = world.checkpoints(first)
    branch = [*range(70), *range(300, 420)]
    second = world.published(
        branch, start=Start(checkpoint=shallow.ref), captures=(closure_at(150),)
    )
    yield "both on the Device, the first page shared"
    world.demote(first)
    yield "the first on the Host, its shared page in both tiers"
    images_to_host(world, second)
    yield "the second's images on the Host, too"
    request = world.request([*range(130), *range(600, 605)], output=70)
    reader = world.admit(request, Start(checkpoint=deep.ref, lane=LaneId(1)))
    yield "a reader has restored the first's second checkpoint, not yet run"
    world.prefill(reader)
    yield "and has run"
    world.finish(reader, SequenceEnd.DISCARD)
    yield "and is gone"
    request = world.request([*branch, *range(650, 660)])
    again = Start(
        checkpoint=world.deepest(second),
        disposition=CONSUME,
        owner=world.next_generation(second),
    )
    follower = world.admit(request, again)
    world.prefill(follower)
    world.finish(follower)
    yield "the second has gone on by a turn"
    world.release(first)
    world.demote(second)
    yield "the second is alone, on the Host"


def images_to_host(world: ProgramWorld, owner: OwnerRef) -> None:
    """Pressure moves an owner's images to the Host; its pages stay."""
    driven = Driven(world=world, picture=world.ledger)
    there, _ = replicas_in(driven.picture)
    refers = {content for c in world.owner(owner).checkpoints for content in contents_of(c)}
    kept = {replica for replica in there if replica.content in refers}
    images = {replica for replica in kept if replica.content.kind is Kind.IMAGE}
    keeps = kept - images | {Replica(replica.content, Tier.HOST) for replica in images}
    outcome: Outcome = frozenset(), frozenset(keeps)
    world.degrade(sealed_form(driven.ledger, world.current(owner), outcome))


def compare(world: ProgramWorld) -> Counter[bool]:
    """Asks for every target of the world as it stands.

    Returns:
        How many fitted, and how many did not.
    """
    driven = Driven(world=world, picture=world.ledger)
    force = BruteForce(driven.picture, world.options)
    verdicts: Counter[bool] = Counter()
    for target in targets_of(driven.picture):
        asked = Asked(driven, target, request_for(driven, target.source))
        assessment, played = world.program.assess(asked.sketch), force.play(asked.move)
        assert uses_by_stage(assessment) == played.stages, str(target)
        assert assessment.is_feasible is played.fits(world.options.capacity), str(target)
        assert (assessment.state, assessment.cow_pages) == (played.state, played.cow_pages)
        verdicts[assessment.is_feasible] += 1
    return verdicts


def targets_of(picture: LedgerSnapshot) -> Iterator[Target]:
    """From every owner, all; from the root, some."""
    tried = {owner.owner: outcomes(picture, owner) for owner in picture.owners}
    for ordinal in range(len(picture.owners)):
        yield from from_owner(picture, ordinal, tried)
    yield from islice(from_root(picture, tried), 0, None, ROOT_STRIDE)


def test_every_world_on_the_way_is_as_the_brute_force_says() -> None:  # spec: ACC-1, STG-1
    world = ProgramWorld(lanes=2, extra_slots=2, pages=8, host_slots=4, host_granules=5)
    verdicts: Counter[bool] = Counter()
    for step in history(world):
        try:
            verdicts += compare(world)
        except AssertionError as difference:
            difference.add_note(f"in the world where {step}")
            raise
    assert verdicts[True] > 800, verdicts
    assert verdicts[False] > 300, verdicts
