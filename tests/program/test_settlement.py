"""Law: an ended sequence leaves exactly what its end asks for, and of everything else nothing."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.candidate import SourceDisposition
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import OwnerRef
from ninfer_lab.contract.options import SpeculativeBackend
from ninfer_lab.contract.result import Committed, SequenceEnd
from simulation.program_world import ProgramWorld, Start, closure_at, small_options


def is_empty(world: ProgramWorld) -> bool:
    ledger = world.ledger
    stored = (ledger.owners, ledger.sequences, ledger.row_tables, ledger.images, ledger.pages)
    return world.used == (0, 0, 0, 0, 0) and not any(stored)


def running(world: ProgramWorld, tokens: int = 100, closure: int = 70) -> Committed:
    """A root with a captured turn closure, its prompt consumed."""
    start = Start(owner=world.new_owner(), captures=(closure_at(closure),))
    result = world.admit(world.request(range(tokens), output=90), start)
    world.prefill(result)
    return result


def test_an_endpoint_is_the_tokens_its_state_has_consumed() -> None:  # spec: ACT-5
    world = ProgramWorld()
    result = running(world)
    world.forward(result)
    settlement = world.finish(result)
    assert settlement.published is not None
    endpoint = settlement.published.checkpoints[-1]
    assert (endpoint.kind, endpoint.frontier_tokens) == (CheckpointKind.SESSION_ENDPOINT, 101)
    (owner,) = world.ledger.owners
    assert owner.history_tokens == 101
    assert [c.pages for c in owner.checkpoints] == [(0, 1), (0, 2)]


@pytest.mark.parametrize("end", list(SequenceEnd))
def test_the_guarantee_is_returned_whatever_the_end(end: SequenceEnd) -> None:  # spec: ACT-5
    world = ProgramWorld(pages=5)
    result = running(world)
    assert world.ledger.occupancy.device_kv.reserved_count == 1
    world.finish(result, end)
    assert world.ledger.occupancy.device_kv.reserved_count == 0
    assert not world.ledger.sequences
    assert not world.ledger.row_tables


def test_discard_leaves_nothing() -> None:  # spec: ACT-5
    world = ProgramWorld()
    settlement = world.finish(running(world), SequenceEnd.DISCARD)
    assert settlement.published is None
    assert is_empty(world)


def test_a_state_that_is_not_to_be_continued_leaves_its_checkpoints() -> None:
    world = ProgramWorld()
    settlement = world.finish(running(world), SequenceEnd.KEEP_CHECKPOINTS)
    assert settlement.published is not None
    assert [c.frontier_tokens for c in settlement.published.checkpoints] == [70]
    assert settlement.frontier_tokens == 100
    assert world.ledger.occupancy.device_state.allocated_count == 1
    assert [page.page for page in world.ledger.pages] == [0, 1]
    assert world.ledger.owners[0].history_tokens == 70


def test_without_any_checkpoint_there_is_no_owner() -> None:
    world = ProgramWorld()
    result = world.admit(world.request(range(70)))
    world.prefill(result)
    assert world.finish(result, SequenceEnd.KEEP_CHECKPOINTS).published is None
    assert is_empty(world)


def test_a_root_that_never_ran_leaves_nothing() -> None:
    world = ProgramWorld()
    settlement = world.finish(world.admit(world.request(range(70))))
    assert (settlement.published, settlement.frontier_tokens) == (None, 0)
    assert is_empty(world)


def test_a_fork_that_never_ran_gives_its_pin_back() -> None:  # spec: STATE-4
    world = ProgramWorld()
    owner = world.published(range(70))
    before = world.owner(owner)
    start = Start(checkpoint=world.checkpoints(owner)[0].ref, owner=world.new_owner())
    settlement = world.finish(world.admit(world.request(range(90)), start))
    assert settlement.published is None
    assert world.ledger.owners == (before,)
    assert world.used == (1, 0, 2, 0, 0)


def test_a_move_that_never_ran_is_published_as_it_was() -> None:
    world = ProgramWorld()
    owner = world.published(range(70))
    (was,) = world.owner(owner).checkpoints
    again = OwnerRef(id=owner.id, generation=2)
    start = Start(checkpoint=was.summary.ref, disposition=SourceDisposition.CONSUME, owner=again)
    world.finish(world.admit(world.request(range(90)), start))
    (now,) = world.owner(again).checkpoints
    assert (now.image, now.pages) == (was.image, was.pages)
    assert now.summary.prefix_digest == was.summary.prefix_digest


def test_an_end_just_after_a_capture_keeps_the_captured_state_once() -> None:
    world = ProgramWorld()
    start = Start(owner=world.new_owner(), captures=(closure_at(70),))
    result = world.admit(world.request(range(100)), start)
    world.forward(result)
    settlement = world.finish(result)
    assert settlement.published is not None
    assert [c.kind for c in settlement.published.checkpoints] == [CheckpointKind.TURN_CLOSURE]
    assert world.ledger.occupancy.device_state.allocated_count == 1


def test_who_may_leave_nothing_behind_can_not_publish() -> None:  # spec: MODE-2
    world = ProgramWorld()
    result = world.admit(world.request(range(70)), Start(owner=None))
    world.prefill(result)
    with pytest.raises(InvariantBroken, match="MODE-2"):
        world.program.finish(result.handle, SequenceEnd.PUBLISH)


def test_a_settled_handle_is_dead() -> None:  # spec: REV-4
    world = ProgramWorld()
    result = running(world)
    world.finish(result, SequenceEnd.DISCARD)
    second = world.admit(world.request(range(70)))
    assert second.handle.lane == result.handle.lane
    for call in (world.program.next_cut, world.program.commit):
        with pytest.raises(InvariantBroken, match="is not active"):
            call(result.handle)
    with pytest.raises(InvariantBroken, match="is not active"):
        world.program.finish(result.handle, SequenceEnd.DISCARD)


def test_a_settlement_copies_and_allocates_nothing() -> None:  # spec: TXN-7
    world = ProgramWorld(lanes=1, extra_slots=1, pages=2)
    result = world.admit(world.request(range(127)))  # everything there is
    world.prefill(result)
    world.finish(result)
    assert world.machine.copies == []
    assert world.ledger.occupancy.device_kv.allocated_count == 2


def test_what_is_settled_leaves_the_host_too() -> None:  # spec: ACT-5, REC-1
    world = ProgramWorld(extra_slots=3, pages=8, host_slots=3, host_granules=8)
    owner = world.published(range(150), captures=(closure_at(70),))
    world.demote(owner)
    start = Start(
        checkpoint=world.deepest(owner),
        disposition=SourceDisposition.CONSUME,
        owner=world.next_generation(owner),
    )
    result = world.admit(world.request(range(200)), start)
    world.prefill(result)
    # The closure on the Host, the full pages in both tiers, the rest on the Device alone.
    assert world.used == (1, 1, 4, 0, 1600 - 400)
    world.finish(result, SequenceEnd.DISCARD)
    assert is_empty(world)


def test_a_retained_source_keeps_what_it_had_when_its_reader_ends() -> None:  # spec: OWN-6, KV-5
    world = ProgramWorld(extra_slots=3, pages=8, host_slots=3, host_granules=8)
    owner = world.published(range(150))
    world.demote(owner)
    before = world.owner(owner)
    result = world.admit(world.request(range(200)), Start(checkpoint=world.deepest(owner)))
    world.prefill(result)
    world.finish(result, SequenceEnd.DISCARD)
    assert world.owner(owner) == before
    # Two full pages were restored for the reader: they are the owner's redundant replicas now.
    assert world.used == (0, 1, 2, 0, 3 * 400)
    world.demote(owner)
    assert world.used == (0, 1, 0, 0, 3 * 400)


def test_an_endpoint_covers_its_own_frontier_in_every_pool() -> None:  # spec: KV-1
    options = small_options(extra_slots=1, pages=4, backend=SpeculativeBackend(lag_tokens=40))
    world = ProgramWorld(options=options)
    owner = world.published(range(100))  # 60 tokens of the backend
    (endpoint,) = world.owner(owner).checkpoints
    assert (len(endpoint.pages), len(endpoint.backend_pages)) == (2, 1)
    assert world.used == (1, 0, 2, 1, 0)
