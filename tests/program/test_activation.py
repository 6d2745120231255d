"""Law: an admission carries out exactly what was projected: references pass from the source to the
sequence, releases happen, and the lane is bound to the new address spaces.
"""

from __future__ import annotations

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.ids import OwnerId, OwnerRef, PageId
from ninfer_lab.contract.options import SpeculativeBackend
from ninfer_lab.contract.result import SequenceEnd
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.contract.work import PageCopy
from program.scenes import branch
from simulation.program_world import (
    CONSUME,
    ProgramWorld,
    Start,
    closure_at,
    small_options,
)


def test_a_root_has_an_image_and_no_page() -> None:  # spec: STATE-2
    world = ProgramWorld()
    result = world.admit(world.request(range(70), output=10))
    placed = world.sequence(result)
    (space,) = placed.spaces
    assert (placed.read_image, placed.write_image) == (None, 0)
    assert (space.pages, space.reserved_pages, placed.borrowed_read) == ((), 2, False)
    assert (result.state, result.consumed, result.evicted) == (StateTransition.ROOT, None, ())


def test_a_move_takes_over_image_and_pages() -> None:  # spec: STATE-2
    world = ProgramWorld()
    owner = world.published(range(70))
    (endpoint,) = world.owner(owner).checkpoints
    start = Start(
        checkpoint=endpoint.summary.ref, disposition=CONSUME, owner=world.next_generation(owner)
    )
    replicas = world.ledger.images, world.ledger.pages
    result = world.admit(world.request(range(90)), start)
    placed = world.sequence(result)
    assert result.state is StateTransition.MOVE
    assert placed.read_image == placed.write_image == endpoint.image
    assert (placed.pages, placed.spaces[0].immutable_pages) == (endpoint.pages, 1)
    assert (world.ledger.images, world.ledger.pages) == replicas
    assert (world.machine.copies, world.machine.transfers) == ([], [])
    assert world.ledger.owners == ()
    assert result.consumed is not None
    assert (result.consumed.ref, result.consumed.deleted) == (
        owner,
        frozenset({endpoint.summary.ref}),
    )


def test_a_fork_shares_full_pages_and_copies_the_tail() -> None:  # spec: STATE-2, KV-3
    world = ProgramWorld()
    owner = world.published(range(70))
    (endpoint,) = world.owner(owner).checkpoints
    result = world.admit(world.request(range(90)), Start(checkpoint=endpoint.summary.ref))
    placed = world.sequence(result)
    assert result.state is StateTransition.FORK
    assert (placed.read_image, placed.write_image) == (endpoint.image, 1)
    assert placed.borrowed_read
    (space,) = placed.spaces
    assert (endpoint.pages, space.pages, space.immutable_pages) == ((0, 1), (0, 2), 1)
    assert world.machine.copies == [PageCopy(source=PageId(1), destination=PageId(2))]
    assert world.owner(owner).checkpoints == (endpoint,)


def test_a_restore_reads_its_own_new_image() -> None:  # spec: STATE-2, STATE-4
    world = ProgramWorld(extra_slots=1, pages=8, host_slots=1, host_granules=2)
    owner = world.published(range(70))
    world.demote(owner)
    (endpoint,) = world.owner(owner).checkpoints
    result = world.admit(world.request(range(90)), Start(checkpoint=endpoint.summary.ref))
    placed = world.sequence(result)
    assert result.state is StateTransition.RESTORE
    assert placed.read_image == placed.write_image != endpoint.image
    assert not placed.borrowed_read
    (space,) = placed.spaces
    # The full page is the source's own, on the Device again; the tail went into another.
    assert (space.pages[0], space.immutable_pages) == (endpoint.pages[0], 1)
    assert space.pages[1] not in endpoint.pages
    tiers = {
        p.page: (p.device_page is not None, p.host_granule is not None) for p in world.ledger.pages
    }
    assert [tiers[page] for page in endpoint.pages] == [(True, True), (False, True)]
    assert tiers[space.pages[1]] == (True, False)
    assert world.owner(owner).checkpoints == (endpoint,)


def test_a_consumed_restore_writes_the_tail_it_got_back() -> None:  # spec: STATE-2, OWN-6
    world = ProgramWorld(extra_slots=1, pages=8, host_slots=1, host_granules=2)
    owner = world.published(range(70))
    world.demote(owner)
    (endpoint,) = world.owner(owner).checkpoints
    start = Start(
        checkpoint=endpoint.summary.ref, disposition=CONSUME, owner=world.next_generation(owner)
    )
    result = world.admit(world.request(range(90)), start)
    assert world.sequence(result).pages == endpoint.pages
    # What will be written has no replica on the Host any more.
    assert [page.host_granule is None for page in world.ledger.pages] == [False, True]
    assert [replicas.host_slot for replicas in world.ledger.images] == [None]


def test_a_borrowed_source_counts_once_and_nobody_pays_for_it_twice() -> None:  # spec: ACT-3, ACC-3
    world = ProgramWorld(pages=4)
    owner = world.published(range(70))
    start = Start(checkpoint=world.checkpoints(owner)[0].ref)
    result = world.admit(world.request(range(90), output=100), start)
    (space,) = world.sequence(result).spaces
    # Of its three promised pages the first is the source's, mapped and immutable.
    assert (space.entitled_pages, len(space.pages), space.reserved_pages) == (3, 2, 1)
    assert world.used == (2, 0, 4, 0, 0)


def test_a_fork_at_a_page_edge_copies_nothing() -> None:  # spec: KV-4
    world = ProgramWorld()
    owner = world.published(range(128))
    result = world.admit(
        world.request(range(150)), Start(checkpoint=world.checkpoints(owner)[0].ref)
    )
    assert world.machine.copies == []
    assert world.sequence(result).pages == (0, 1)
    world.prefill(result)
    assert world.sequence(result).pages == (0, 1, 2)


def test_a_consumed_lineage_goes_on_with_what_lies_below_the_source() -> None:  # spec: OWN-3
    world = ProgramWorld(pages=6)
    owner = world.published(range(150), captures=(closure_at(70),))
    closure, endpoint = world.owner(owner).checkpoints
    start = Start(
        checkpoint=endpoint.summary.ref, disposition=CONSUME, owner=world.next_generation(owner)
    )
    result = world.admit(world.request(range(180)), start)
    assert world.sequence(result).checkpoints == (closure,)
    assert result.consumed is not None
    assert result.consumed.deleted == {endpoint.summary.ref}


def test_a_rewrite_gives_up_what_lies_above_it() -> None:  # spec: TXN-5
    world = ProgramWorld(pages=6)
    owner = world.published(range(150), captures=(closure_at(70),))
    closure, endpoint = world.owner(owner).checkpoints
    start = Start(
        checkpoint=closure.summary.ref, disposition=CONSUME, owner=world.next_generation(owner)
    )
    result = world.admit(world.request([*range(70), *range(300, 330)]), start)
    assert result.consumed is not None
    # One absolute end, though the endpoint had ended before the source did.
    assert (result.consumed.ref, result.degraded) == (owner, ())
    assert result.consumed.deleted == {closure.summary.ref, endpoint.summary.ref}
    assert world.sequence(result).pages == closure.pages
    assert [page.page for page in world.ledger.pages] == list(closure.pages)
    assert [replicas.image for replicas in world.ledger.images] == [closure.image]


def test_a_consumed_source_that_another_reads_is_borrowed_by_both() -> None:  # spec: STATE-4
    world = ProgramWorld(lanes=2, extra_slots=2, pages=8)
    owner = world.published(range(70))
    (endpoint,) = world.owner(owner).checkpoints
    reader = world.admit(world.request(range(90)), Start(checkpoint=endpoint.summary.ref, lane=1))
    start = Start(
        checkpoint=endpoint.summary.ref, disposition=CONSUME, owner=world.next_generation(owner)
    )
    taker = world.admit(world.request(range(95)), start)
    assert taker.state is StateTransition.FORK
    assert [s.read_image for s in world.ledger.sequences] == [endpoint.image] * 2
    assert world.used[0] == 3
    world.prefill(taker)
    assert world.used[0] == 3
    world.prefill(reader)
    assert world.used[0] == 2
    assert endpoint.image not in [replicas.image for replicas in world.ledger.images]


def test_a_borrowed_read_survives_the_eviction_of_its_source() -> None:  # spec: STATE-4
    world = ProgramWorld(lanes=2, extra_slots=1, pages=8)
    owner = world.published(range(70))
    (endpoint,) = world.owner(owner).checkpoints
    reader = world.admit(world.request(range(90)), Start(checkpoint=endpoint.summary.ref, lane=1))
    evictor = world.admit(world.request(range(500, 520)), Start(evicted=(owner,)))
    assert [end.ref for end in evictor.evicted] == [owner]
    assert evictor.evicted[0].deleted == {endpoint.summary.ref}
    assert world.used[0] == 3
    world.prefill(evictor)
    world.prefill(reader)  # the machine would notice a slot that was given away
    assert world.used[0] == 2


def test_a_borrowed_read_survives_the_demotion_of_its_source() -> None:  # spec: STATE-4, REC-1
    world = ProgramWorld(lanes=2, extra_slots=1, pages=8, host_slots=1, host_granules=2)
    owner = world.published(range(70))
    (endpoint,) = world.owner(owner).checkpoints
    reader = world.admit(world.request(range(90)), Start(checkpoint=endpoint.summary.ref, lane=1))
    world.demote(owner)
    # The owner has it all on the Host; the image that is read, and the shared page, stay here too.
    assert world.used == (2, 1, 2, 0, 2 * 400)
    world.prefill(reader)
    world.finish(reader, SequenceEnd.DISCARD)
    # What was kept for the reader is the owner's now, and redundant; no copy is needed to drop it.
    assert world.used == (1, 1, 1, 0, 2 * 400)
    world.machine.transfers.clear()
    world.demote(owner)
    assert (world.used, world.machine.transfers) == ((0, 1, 0, 0, 2 * 400), [])


def test_a_capture_may_be_leant_on_by_the_writer_alone() -> None:  # spec: STATE-4, ACT-3
    world = ProgramWorld(pages=8, extra_slots=2)
    start = Start(owner=world.new_owner(), captures=(closure_at(70),))
    result = world.admit(world.request(range(100)), start)
    world.forward(result)
    placed = world.sequence(result)
    # One image, billed through the checkpoint; the primary binding owns the write destination.
    assert placed.checkpoints[0].image == placed.read_image != placed.write_image
    assert world.used[0] == 2
    world.finish(result, SequenceEnd.KEEP_CHECKPOINTS)
    assert world.used[0] == 1


def test_evicted_owners_leave_nothing_of_their_own() -> None:
    world = ProgramWorld(lanes=1, extra_slots=2, pages=6)
    gone = [world.published(range(n * 100, n * 100 + 70)) for n in range(2)]
    result = world.admit(world.request(range(500, 650)), Start(evicted=tuple(gone)))
    assert [end.ref.id for end in result.evicted] == [OwnerId(1), OwnerId(2)]
    assert (world.ledger.owners, world.ledger.pages) == ((), ())


def test_every_pool_is_bound_to_its_own_pages() -> None:  # spec: KV-1
    options = small_options(extra_slots=2, pages=8, backend=SpeculativeBackend(lag_tokens=30))
    world = ProgramWorld(options=options)
    owner = world.published(range(150))
    branch(world, owner, 170)
    result = world.admit(world.request(range(160)), Start(checkpoint=world.deepest(owner)))
    for space in world.sequence(result).spaces:
        replicas = {page.page: page.device_page for page in world.ledger.pages_of(space.pool)}
        table = world.machine.row_table(result.handle.lane, space.pool)
        assert table == tuple(replicas[page] for page in space.pages)
    assert {space.pool for space in world.sequence(result).spaces} == set(KvPool)


def test_many_branches_fork_one_source_which_stays_what_it_is() -> None:  # spec: OWN-2
    world = ProgramWorld(lanes=3, extra_slots=2, pages=16)
    trunk = world.published(range(70))
    before = world.owner(trunk), world.ledger.images, world.ledger.pages
    (endpoint,) = before[0].checkpoints
    admitted = []
    for lane in range(3):
        tokens = [*range(70), *range(1_000 * (lane + 1), 1_000 * (lane + 1) + 60)]
        start = Start(checkpoint=endpoint.summary.ref, lane=lane, owner=world.new_owner())
        admitted.append(world.admit(world.request(tokens, output=3), start))
        assert admitted[-1].state is StateTransition.FORK
    # Each has an image, and a tail, of its own; the full page is everybody's.
    placed = [world.sequence(result) for result in admitted]
    assert len({each.write_image for each in placed} | {endpoint.image}) == 4
    assert {each.pages[0] for each in placed} == {endpoint.pages[0]}
    assert len({each.pages[1] for each in placed} | {endpoint.pages[1]}) == 4
    for _ in range(4):
        for result in admitted:
            world.forward(result)
            assert world.owner(trunk) == before[0]
    for result in admitted:
        world.finish(result)
    for owner in (OwnerId(2), OwnerId(3), OwnerId(4)):
        world.release(OwnerRef(id=owner, generation=0))
    assert (world.owner(trunk), world.ledger.images, world.ledger.pages) == before
