"""Which owners share what, and who is running beside them? The shapes of the small worlds.

Owns them: each is driven with the real Program, through its public interface and in ample room, and
then taken off it as a `Topology`: owners, sequences and contents, without places. Two owners with
two checkpoints each; the first at an aligned or unaligned frontier, the second, too; the second
owner on its own, grown from a checkpoint of the first, or standing on the very same first
checkpoint; nobody active, a request of its own, or one that has begun from the first owner.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from itertools import product

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import LaneId, OwnerRef
from ninfer_lab.contract.options import ResolvedOptions, SpeculativeBackend
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.checkpoint_record import CheckpointRecord
from ninfer_lab.program.storage.continuation_store import Continuation
from ninfer_lab.program.storage.ledger import Ledger
from simulation.content_memory import Cells, Consumed
from simulation.program_world import ProgramWorld, Start, planned, small_options
from small_worlds.plain_sets import Content, Kind

CLOSURE, ANCHOR = CheckpointKind.TURN_CLOSURE, CheckpointKind.LONG_ANCHOR
SHAPES_TOKENS = ((64, 128), (64, 100), (30, 60), (30, 64))
"""Frontiers of the first owner's checkpoints: every pair of aligned and unaligned ones."""
BRANCH_TOKENS = 40
"""What each of the second owner's checkpoints adds."""
LANE = LaneId(1)
"""Of the request beside; the candidate's is lane 0."""


class Sharing(Enum):
    """What the second owner has of the first."""

    NOTHING = "nothing"
    FIRST = "grown from the first checkpoint"
    SECOND = "grown from the second checkpoint"
    TWIN = "the first checkpoint itself, as a promoted prefix has it"


class Beside(Enum):
    """Who is active."""

    NOBODY = "nobody"
    STRANGER = "a request from the root, in its prompt"
    PINNED_FIRST = "a request that is about to read the first checkpoint"
    PINNED_SECOND = "a request that is about to read the second checkpoint"
    FORKED = "a request that has read the second checkpoint"


@dataclass(frozen=True, kw_only=True)
class Topology:
    """A world without places.

    Attributes:
        images: What each image holds; `None` where nothing has been written yet.
        pages: The same of each logical page, by pool.
        truth: Of every active sequence, by lane.
    """

    name: str
    options: ResolvedOptions
    owners: tuple[Continuation, ...]
    sequences: tuple[ActiveSequence, ...]
    images: Mapping[int, Consumed | None]
    pages: Mapping[KvPool, Mapping[int, Cells | None]]
    truth: Mapping[LaneId, tuple[int, ...]]

    @property
    def contents(self) -> tuple[Content, ...]:
        """Every image and page."""
        pages = (
            Content(Kind.of_pool(pool), page) for pool, held in self.pages.items() for page in held
        )
        return (*(Content(Kind.IMAGE, image) for image in self.images), *pages)

    @cached_property
    def bound_to_device(self) -> frozenset[Content]:
        """What an active sequence reads, writes or maps."""
        bound: set[Content] = set()
        for active in self.sequences:
            bound |= {
                Content(Kind.of_pool(space.pool), page)
                for space in active.spaces
                for page in space.pages
            }
            bound.add(Content(Kind.IMAGE, active.write_image))
            if active.read_image is not None:
                bound.add(Content(Kind.IMAGE, active.read_image))
        return frozenset(bound)

    @cached_property
    def owned(self) -> frozenset[Content]:
        """What inactive owners refer to."""
        return frozenset().union(*map(self.contents_of, range(len(self.owners))))

    def contents_of(self, owner: int) -> frozenset[Content]:
        """What an owner, by its ordinal, refers to."""
        found: set[Content] = set()
        for checkpoint in self.owners[owner].checkpoints:
            found.add(Content(Kind.IMAGE, checkpoint.image))
            for pool in self.pages:
                found |= {Content(Kind.of_pool(pool), page) for page in checkpoint.pages_of(pool)}
        return frozenset(found)


def topologies(
    *,
    without: Sharing | None = None,
    beside: Beside | None = None,
    backend: SpeculativeBackend | None = None,
) -> Iterator[Topology]:
    """Every shape, sharing and company; a first checkpoint is an anchor in every other one.

    Args:
        without: A sharing that is left out.
        beside: The only company that is wanted.
        backend: Of a second pool.
    """
    for number, (shape, sharing, company) in enumerate(product(SHAPES_TOKENS, Sharing, Beside)):
        if sharing is not without and beside in (None, company):
            yield driven(shape, sharing, company, (CLOSURE, ANCHOR)[number % 2], backend=backend)


def driven(
    shape_tokens: tuple[int, int],
    sharing: Sharing,
    beside: Beside,
    kind: CheckpointKind = CLOSURE,
    *,
    backend: SpeculativeBackend | None = None,
    owners_count: int = 2,
) -> Topology:
    """Drives one world. A third owner shares nothing."""
    options = small_options(lanes=2, extra_slots=8, pages=24, host_granules=24, backend=backend)
    world = ProgramWorld(options=options)
    first_tokens, second_tokens = shape_tokens
    first = world.published(range(second_tokens), captures=(planned(kind, first_tokens),))
    second = _second(world, first, sharing)
    for number in range(2, owners_count):
        prompt = range(2_000 * number, 2_000 * number + second_tokens)
        world.published(prompt, captures=(planned(CLOSURE, first_tokens),))
    _company(world, first, beside)
    name = f"{shape_tokens} {kind.value}; {sharing.value}; beside {beside.value}"
    topology = _taken(world, name)
    return _twin(topology, second) if sharing is Sharing.TWIN else topology


def _second(world: ProgramWorld, first: OwnerRef, sharing: Sharing) -> OwnerRef:
    shallow, deep = world.checkpoints(first)
    source = {Sharing.NOTHING: None, Sharing.SECOND: deep}.get(sharing, shallow)
    reused = 0 if source is None else source.frontier_tokens
    prompt = [*range(reused), *range(300, 300 + 2 * BRANCH_TOKENS)]
    start = None if source is None else Start(checkpoint=source.ref)
    return world.published(
        prompt, start=start, captures=(planned(CLOSURE, reused + BRANCH_TOKENS),)
    )


def _company(world: ProgramWorld, first: OwnerRef, beside: Beside) -> None:
    shallow, deep = world.checkpoints(first)
    source = deep
    match beside:
        case Beside.NOBODY:
            return
        case Beside.STRANGER:
            request = world.request(range(700, 700 + BRANCH_TOKENS), output=60)
            world.prefill(world.admit(request, Start(lane=LANE)))
            return
        case Beside.PINNED_FIRST:
            source = shallow
        case Beside.PINNED_SECOND | Beside.FORKED:
            pass
    request = world.request([*range(source.frontier_tokens), *range(600, 610)], output=70)
    admitted = world.admit(request, Start(checkpoint=source.ref, lane=LANE))
    if beside is Beside.FORKED:
        world.prefill(admitted)


def _taken(world: ProgramWorld, name: str) -> Topology:
    ledger: Ledger = world.program._ledger
    memory = world.machine._memory
    images: dict[int, Consumed | None] = {}
    for image, slot, _ in ledger.states.replicas():
        assert slot is not None
        try:
            images[image] = memory.image(slot)
        except InvariantBroken:
            images[image] = None
    pages: dict[KvPool, dict[int, Cells | None]] = {}
    for pool, store in ledger.kv.items():
        pages[pool] = {}
        for page, place, _ in store.replicas():
            assert place is not None
            try:
                pages[pool][page] = memory.page(pool, place)
            except InvariantBroken:
                pages[pool][page] = None
    return Topology(
        name=name,
        options=world.options,
        owners=ledger.continuations.all(),
        sequences=tuple(ledger.sequences.values()),
        images=images,
        pages=pages,
        truth={lane: tuple(tokens) for lane, tokens in world.machine.truth.items()},
    )


def _twin(topology: Topology, second: OwnerRef) -> Topology:
    """The second owner's first checkpoint becomes another name for the first owner's first one:
    what a promotion without a prefill leaves, which no path of Program makes yet.
    """
    first, owner, *rest = topology.owners
    assert owner.ref.id == second.id
    shared, (own, deep) = first.checkpoints[0], owner.checkpoints
    summary = replace(shared.summary, ref=own.summary.ref, kind=CheckpointKind.SHARED_STABLE_PREFIX)
    pages = {pool: shared.pages_of(pool) for pool in topology.pages}
    twin = CheckpointRecord.of(summary, shared.image, pages)
    owners = (
        first,
        Continuation.of(
            owner.ref,
            identity=owner.identity,
            history=owner.history,
            execution_frontiers_tokens=owner.execution_frontiers_tokens,
            checkpoints=(twin, deep),
        ),
        *rest,
    )
    changed = replace(topology, owners=owners)
    held = changed.bound_to_device | changed.owned
    return replace(
        changed,
        images={i: v for i, v in topology.images.items() if Content(Kind.IMAGE, i) in held},
        pages={
            pool: {i: v for i, v in held_pages.items() if Content(Kind.of_pool(pool), i) in held}
            for pool, held_pages in topology.pages.items()
        },
    )
