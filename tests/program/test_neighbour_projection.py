"""Law: a target that differs in one owner's outcome is told by what differs, exactly as if it were
projected whole: the same stages, and no hole where there is none.
"""

from __future__ import annotations

from collections import Counter
from functools import reduce
from operator import or_

from ninfer_lab.contract.candidate import AdmissionCandidate
from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.ids import OwnerId, OwnerRef
from ninfer_lab.contract.replicas import NOTHING, ReplicaSet
from ninfer_lab.contract.target import OwnerOutcome
from ninfer_lab.program.planning.neighbour_projection import NeighbourProjector
from ninfer_lab.program.planning.resource_projection import Projector
from ninfer_lab.program.planning.stage_order import StageOrder
from program.scenes import branch, ledger_of
from program.walks import OPTIONS, Walk
from simulation.program_world import ProgramWorld, Start, small_options

STEPS = 60
CANDIDATES = 2
NEIGHBOURS = 3

NARROW = small_options(
    lanes=2, extra_slots=5, pages=16, chunk_tokens=64, host_slots=8, host_granules=3
)
"""Slots and pages for many owners, and an arena in which few of their extents find a hole."""


def test_a_neighbour_is_what_it_is_projected_whole(  # spec: REC-2, STG-1, CAP-2
    soaking: bool,
) -> None:
    seen: Counter[str] = Counter()
    for options in (*OPTIONS.values(), NARROW):
        for seed in range(200 if soaking else 6):
            walk = Walk(options, seed)
            share(walk)
            for _ in range(STEPS):
                walk.step()
                compare_neighbours(walk, seen)
            walk.close()
    wanted = {"deleted", "makes", "beside demotion", "holds the source's", "no hole", "nothing new"}
    rare = {way: seen[way] for way in wanted if seen[way] < 3}
    assert not rare, f"too rare to prove anything: {rare} of {seen}"


def test_who_shares_a_demoted_page_splits_the_extent_it_would_lie_in(  # spec: CAP-2, REC-2
) -> None:
    world = ProgramWorld(extra_slots=5, pages=8, host_slots=4, host_granules=3)
    first = world.published(range(64))
    second = branch(world, first, 128)
    before, between = world.published(range(300, 364)), world.published(range(400, 464))
    world.demote(before, between)
    world.release(before)  # of the arena's three granules the middle one is taken
    ledger = ledger_of(world)
    projector = Projector(ledger, world.options)
    projected = projector.candidate(world.candidate(world.request(range(500, 510)), Start()))
    demoted = world.demoted(second)
    neighbours = NeighbourProjector(projector, projected, [demoted])
    # The second demotes the page it shares and its own: two granules in a row.
    ref, checkpoint = world.current(first), world.owner(first).checkpoints[0]
    gone = OwnerOutcome(owner=ref, deleted=frozenset({checkpoint.summary.ref}), keeps=NOTHING)
    assert not neighbours.tell(gone).post.is_placed
    # The first has it on the Host besides, makes nothing new with that, and is placed before.
    (shared,) = checkpoint.pages
    keeps = ledger.replicas_of(ledger.continuations.require(ref).holdings)
    keeps = ReplicaSet(keeps | ledger.layout.host_pages[KvPool.MAIN].put(1 << shared))
    beside = OwnerOutcome(owner=ref, deleted=frozenset(), keeps=keeps)
    post = projected.project([beside, demoted])
    assert [(extent.first, extent.run_granules) for extent in post.extents] == [(0, 1), (2, 1)]
    assert neighbours.tell(beside) == (post, projector.order.uses(post))


def share(walk: Walk) -> None:
    """Two owners of the same beginning and a third, which random lives bring about too rarely."""
    first = walk.world.published(range(100))
    walk.histories[first.id] = list(range(100))
    for tokens in (130, 140):
        walk.histories[branch(walk.world, first, tokens).id] = list(range(tokens))


def compare_neighbours(walk: Walk, seen: Counter[str]) -> None:
    """A random target at this moment, and some outcomes of every owner beside it."""
    for _ in range(CANDIDATES):
        compare_with(walk, any_candidate(walk), seen)


def compare_with(walk: Walk, candidate: AdmissionCandidate, seen: Counter[str]) -> None:
    """The same for one candidate."""
    own = None if candidate.source is None else candidate.source.owner.id
    owners = [owner for owner in sorted(walk.histories) if owner != own]
    outcomes = [walk.outcome(owner) for owner in owners if walk.chance.random() < 0.5]
    ledger = ledger_of(walk.world)
    projector = Projector(ledger, walk.world.options)
    projected = projector.candidate(candidate)
    neighbours = NeighbourProjector(projector, projected, outcomes)
    for owner in owners:
        others = [outcome for outcome in outcomes if outcome.owner.id != owner]
        drawn = [walk.outcome(owner) for _ in range(NEIGHBOURS)]
        for changed in (*drawn, *joining(walk, owner, others)):
            post = projected.project(sorted([*others, changed], key=_owner))
            order, layout = StageOrder(ledger), ledger.layout
            assert neighbours.tell(changed) == (post, order.uses(post))
            kept_by_others: dict[OwnerId, int] = dict(projector.kept_by_owner)
            kept_by_others.update({outcome.owner.id: outcome.keeps for outcome in others})
            del kept_by_others[owner]
            if projected.lineage.consumed is not None:
                del kept_by_others[projected.lineage.consumed.ref.id]
            kept_anyway: int = reduce(or_, kept_by_others.values(), projected.active)
            demoted = kept_anyway | changed.keeps | projected.consumed
            assert post.demoted == demoted
            assert post.released == (demoted | layout.under_host(post.pending)) & ledger.present
            placed_granules = sum(extent.run_granules for extent in post.extents)
            geometry = ledger.capacity.host_kv
            assert order.places(post.pending)[4] == placed_granules * geometry.granule_bytes
            alone = changed.keeps & ~kept_anyway
            seen["deleted"] += not changed.keeps
            seen["makes"] += alone & ~projected.present != 0
            seen["beside demotion"] += any(o.keeps & ~projected.present for o in others)
            seen["holds the source's"] += alone & projected.source_marks != 0
            seen["no hole"] += not post.is_placed
            seen["nothing new"] += alone == 0


def joining(
    walk: Walk, owner: OwnerId, others: list[OwnerOutcome]
) -> tuple[OwnerOutcome, OwnerOutcome]:
    """An owner stays as it is; and has made besides only what others have made anyway."""
    ledger = ledger_of(walk.world)
    current = walk.world.current(OwnerRef(id=owner, generation=0))
    continuation = ledger.continuations.require(current)
    holdings = continuation.holdings
    stays = ledger.replicas_of(holdings)
    made_by_others = reduce(or_, [int(outcome.keeps) for outcome in others], 0) & ~ledger.present
    shares = stays | ledger.layout.on_host(holdings) & made_by_others
    ref = continuation.ref
    return (
        OwnerOutcome(owner=ref, deleted=frozenset(), keeps=stays),
        OwnerOutcome(owner=ref, deleted=frozenset(), keeps=ReplicaSet(shares)),
    )


def any_candidate(walk: Walk) -> AdmissionCandidate:
    """Root, or the reuse of any checkpoint."""
    source, disposition, tokens = walk.source()
    request = walk.world.request(tokens, output=walk.chance.choice((1, 20, 90)))
    program = walk.world.program
    if source is None:
        return program.root_candidate(request)
    found = program.verify(request, source, disposition)
    assert isinstance(found, AdmissionCandidate), found
    return found


def _owner(outcome: OwnerOutcome) -> int:
    return outcome.owner.id
