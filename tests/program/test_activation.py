"""Law: an admission carries out exactly what was projected: references pass from the source to the
sequence, releases happen, and the lane is bound to the new address space.
"""

from __future__ import annotations

from ninfer_lab.contract.candidate import SourceDisposition
from ninfer_lab.contract.ids import OwnerId, OwnerRef
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.contract.work import PageCopy
from simulation.program_world import ProgramWorld, Start, closure_at

CONSUME = SourceDisposition.CONSUME


def test_a_root_has_a_slot_and_no_page() -> None:  # spec: STATE-2
    world = ProgramWorld()
    result = world.admit(world.request(range(70), output=10))
    placed = world.sequence(result)
    assert (placed.state_read_slot, placed.state_write_slot) == (None, 0)
    assert (placed.pages, placed.reserved_pages, placed.borrowed_read) == ((), 2, False)
    assert (result.state, result.consumed, result.evicted) == (StateTransition.ROOT, None, ())


def test_a_move_takes_over_slot_and_pages() -> None:  # spec: STATE-2
    world = ProgramWorld()
    owner = world.published(range(70))
    (endpoint,) = world.owner(owner).checkpoints
    next_generation = OwnerRef(id=owner.id, generation=2)
    start = Start(
        checkpoint=endpoint.summary.ref, disposition=CONSUME, owner=next_generation, lane=0
    )
    result = world.admit(world.request(range(90)), start)
    placed = world.sequence(result)
    assert result.state is StateTransition.MOVE
    assert placed.state_read_slot == placed.state_write_slot == endpoint.state_slot
    assert (placed.pages, placed.immutable_pages) == (endpoint.pages, 0)
    assert world.machine.copies == []
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
    assert (placed.state_read_slot, placed.state_write_slot) == (0, 1)
    assert placed.borrowed_read
    assert (endpoint.pages, placed.pages, placed.immutable_pages) == ((0, 1), (0, 2), 1)
    assert world.machine.copies == [PageCopy(source=endpoint.pages[1], destination=placed.pages[1])]
    assert world.ledger.page_references == ((0, 2), (1, 1), (2, 1))
    assert world.owner(owner).checkpoints == (endpoint,)


def test_a_borrowed_source_counts_once_and_nobody_pays_for_it_twice() -> None:  # spec: ACT-3, ACC-3
    world = ProgramWorld(pages=4)
    owner = world.published(range(70))
    start = Start(checkpoint=world.checkpoints(owner)[0].ref)
    result = world.admit(world.request(range(90), output=100), start)
    placed = world.sequence(result)
    # Of its three promised pages the first is the source's, mapped and immutable.
    assert (placed.completion_pages, len(placed.pages), placed.reserved_pages) == (3, 2, 1)
    assert world.ledger.occupancy.device_kv.used_count == 4
    assert world.ledger.occupancy.device_state.used_count == 2


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


def test_a_consumed_lineage_goes_on_with_what_lies_below_the_source() -> None:
    world = ProgramWorld(pages=6)
    owner = world.published(range(150), captures=(closure_at(70),))
    closure, endpoint = world.owner(owner).checkpoints
    start = Start(
        checkpoint=endpoint.summary.ref,
        disposition=CONSUME,
        owner=OwnerRef(id=owner.id, generation=2),
    )
    result = world.admit(world.request(range(180)), start)
    assert world.sequence(result).checkpoints == (closure,)
    assert result.consumed is not None
    assert result.consumed.deleted == {endpoint.summary.ref}
    # The first page is the closure's too, the rest is the sequence's own.
    assert world.sequence(result).immutable_pages == 1


def test_a_rewrite_gives_up_what_lies_above_it() -> None:
    world = ProgramWorld(pages=6)
    owner = world.published(range(150), captures=(closure_at(70),))
    closure, endpoint = world.owner(owner).checkpoints
    start = Start(
        checkpoint=closure.summary.ref,
        disposition=CONSUME,
        owner=OwnerRef(id=owner.id, generation=2),
    )
    result = world.admit(world.request([*range(70), *range(300, 330)]), start)
    assert result.consumed is not None
    assert result.consumed.deleted == {closure.summary.ref, endpoint.summary.ref}
    assert world.sequence(result).pages == closure.pages
    assert world.ledger.page_references == ((0, 1), (1, 1))
    assert world.ledger.state_references == ((closure.state_slot, 1),)


def test_a_consumed_source_that_another_reads_is_borrowed_by_both() -> None:  # spec: STATE-4
    world = ProgramWorld(lanes=2, extra_slots=2, pages=8)
    owner = world.published(range(70))
    (endpoint,) = world.owner(owner).checkpoints
    reader = world.admit(world.request(range(90)), Start(checkpoint=endpoint.summary.ref, lane=1))
    start = Start(
        checkpoint=endpoint.summary.ref,
        disposition=CONSUME,
        owner=OwnerRef(id=owner.id, generation=2),
    )
    taker = world.admit(world.request(range(95)), start)
    assert taker.state is StateTransition.FORK
    assert world.pins == {endpoint.state_slot: 2}
    assert endpoint.state_slot not in dict(world.ledger.state_references)
    world.prefill(taker)
    assert world.pins == {endpoint.state_slot: 1}
    world.prefill(reader)
    assert world.pins == {}
    assert world.ledger.occupancy.device_state.allocated_count == 2


def test_a_borrowed_read_survives_the_eviction_of_its_source() -> None:  # spec: STATE-4
    world = ProgramWorld(lanes=2, extra_slots=1, pages=8)
    owner = world.published(range(70))
    (endpoint,) = world.owner(owner).checkpoints
    reader = world.admit(world.request(range(90)), Start(checkpoint=endpoint.summary.ref, lane=1))
    evictor = world.admit(world.request(range(500, 520)), Start(evicted=(owner,)))
    assert [end.ref for end in evictor.evicted] == [owner]
    assert evictor.evicted[0].deleted == {endpoint.summary.ref}
    assert world.pins == {endpoint.state_slot: 1}
    world.prefill(evictor)
    world.prefill(reader)  # the machine would notice a slot that was given away
    assert world.pins == {}
    assert world.ledger.occupancy.device_state.allocated_count == 2


def test_evicted_owners_leave_nothing_of_their_own() -> None:
    world = ProgramWorld(lanes=1, extra_slots=2, pages=6)
    gone = [world.published(range(n * 100, n * 100 + 70)) for n in range(2)]
    result = world.admit(world.request(range(500, 650)), Start(evicted=tuple(gone)))
    assert [end.ref.id for end in result.evicted] == [OwnerId(1), OwnerId(2)]
    assert (world.ledger.owners, world.ledger.page_references) == ((), ())
