"""Law: a capture freezes what is there and copies at most one page; it takes only what nobody holds
or is promised, and a lineage keeps one rewrite checkpoint, the newest.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from ninfer_lab.contract.candidate import SourceDisposition
from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.ids import OwnerRef, PageId
from ninfer_lab.contract.options import SpeculativeBackend
from ninfer_lab.contract.result import CaptureOutcome, CaptureResult, SequenceEnd
from ninfer_lab.contract.work import PageCopy
from simulation.program_world import ProgramWorld, Start, closure_at, planned, small_options


def captured(
    world: ProgramWorld, tokens: int, frontier_tokens: int, *, output: int = 1
) -> tuple[CaptureResult, OwnerRef]:
    """Runs a root to the frontier where its turn closure is wanted; it stays active."""
    start = Start(owner=(owner := world.new_owner()), captures=(closure_at(frontier_tokens),))
    result = world.admit(world.request(range(tokens), output=output), start)
    while world.sequence(result).frontier_tokens < frontier_tokens:
        capture = world.forward(result)
    return capture, owner


def test_an_unaligned_tail_stays_and_the_writer_gets_a_copy() -> None:  # spec: KV-4
    world = ProgramWorld()
    capture, owner = captured(world, 100, 70)
    assert capture.outcome is CaptureOutcome.CAPTURED
    (placed,) = world.ledger.sequences
    (checkpoint,) = placed.checkpoints
    assert checkpoint.summary == capture.checkpoint
    assert checkpoint.summary.ref.owner == owner.id
    (space,) = placed.spaces
    assert (checkpoint.pages, space.pages, space.immutable_pages) == ((0, 1), (0, 2), 1)
    assert world.machine.copies == [PageCopy(source=PageId(1), destination=PageId(2))]
    assert world.machine.row_table(placed.lane, KvPool.MAIN) == (0, 2)


def test_at_a_page_edge_nothing_is_copied() -> None:  # spec: KV-4
    world = ProgramWorld()
    capture, _ = captured(world, 100, 64)
    assert capture.outcome is CaptureOutcome.CAPTURED
    (placed,) = world.ledger.sequences
    (space,) = placed.spaces
    assert (placed.checkpoints[0].pages, space.pages, space.immutable_pages) == ((0,), (0,), 1)
    assert world.machine.copies == []


def test_the_image_is_frozen_where_it_lies_and_read_once_more() -> None:  # spec: STATE-2, STATE-4
    world = ProgramWorld()
    captured(world, 100, 70)
    (placed,) = world.ledger.sequences
    assert (placed.read_image, placed.write_image, placed.borrowed_read) == (0, 1, True)
    assert placed.checkpoints[0].image == 0
    assert world.ledger.images == ((0, 0, None), (1, 1, None))


def test_a_capture_takes_nothing_that_is_promised() -> None:  # spec: INV-8, INV-15, ACT-6
    world = ProgramWorld(pages=3)
    capture, _ = captured(world, 140, 70)
    assert capture.outcome is CaptureOutcome.NO_KV_PAGE
    assert capture.checkpoint is None
    (placed,) = world.ledger.sequences
    (space,) = placed.spaces
    assert (placed.checkpoints, space.pages, space.reserved_pages) == ((), (0, 1), 1)


@pytest.mark.parametrize("frontier_tokens", [64, 70])
def test_without_a_slot_nothing_is_captured_and_nothing_moves(frontier_tokens: int) -> None:
    world = ProgramWorld(extra_slots=0)
    revision_at_start = 1
    capture, _ = captured(world, 100, frontier_tokens)
    assert capture == CaptureResult(
        outcome=CaptureOutcome.NO_STATE_SLOT, frontier_tokens=frontier_tokens
    )
    assert world.program.resource_revision == revision_at_start
    (placed,) = world.ledger.sequences
    assert (placed.checkpoints, placed.borrowed_read) == ((), False)


def test_the_older_rewrite_checkpoint_makes_room_for_the_newer() -> None:
    world = ProgramWorld(lanes=1, extra_slots=1, pages=6)
    owner = world.published(range(100), captures=(closure_at(70),))
    old, endpoint = world.owner(owner).checkpoints
    slots = {replicas.image: replicas.device_slot for replicas in world.ledger.images}
    assert world.ledger.occupancy.device_state.free_count == 0
    start = Start(
        checkpoint=endpoint.summary.ref,
        disposition=SourceDisposition.CONSUME,
        owner=OwnerRef(id=owner.id, generation=2),
        captures=(closure_at(150),),
    )
    result = world.admit(world.request(range(180)), start)
    capture = world.forward(result)
    assert capture.outcome is CaptureOutcome.CAPTURED
    assert capture.replaced == old.summary.ref
    (checkpoint,) = world.sequence(result).checkpoints
    assert checkpoint.summary.frontier_tokens == 150
    now = {replicas.image: replicas.device_slot for replicas in world.ledger.images}
    assert now[world.sequence(result).write_image] == slots[old.image]
    world.prefill(result)
    world.finish(result)
    assert [c.frontier_tokens for c in world.checkpoints(owner)] == [150, 180]


def test_an_anchor_is_no_rewrite_and_stays() -> None:
    world = ProgramWorld(lanes=1, extra_slots=2, pages=6)
    anchor = planned(CheckpointKind.LONG_ANCHOR, 40)
    owner = world.published(range(100), captures=(anchor, closure_at(70)))
    assert [(c.kind, c.frontier_tokens) for c in world.checkpoints(owner)] == [
        (CheckpointKind.LONG_ANCHOR, 40),
        (CheckpointKind.TURN_CLOSURE, 70),
        (CheckpointKind.SESSION_ENDPOINT, 100),
    ]


def test_a_moved_source_can_be_captured_where_the_request_starts() -> None:
    world = ProgramWorld(pages=6)
    owner = world.published(range(70))
    start = Start(
        checkpoint=world.checkpoints(owner)[0].ref,
        disposition=SourceDisposition.CONSUME,
        owner=OwnerRef(id=owner.id, generation=2),
        captures=(closure_at(70),),
    )
    result = world.admit(world.request(range(90)), start)
    capture = world.capture_at_start(result)
    assert capture.outcome is CaptureOutcome.CAPTURED
    world.prefill(result)
    world.finish(result)
    assert [c.frontier_tokens for c in world.checkpoints(owner)] == [70, 90]


def test_a_source_that_is_only_borrowed_is_not_captured_again() -> None:
    world = ProgramWorld(extra_slots=3, pages=8)
    owner = world.published(range(70))
    start = Start(
        checkpoint=world.checkpoints(owner)[0].ref,
        owner=world.new_owner(),
        captures=(closure_at(70),),
    )
    result = world.admit(world.request(range(90)), start)
    capture = world.capture_at_start(result)
    assert capture.outcome is CaptureOutcome.NOT_WANTED
    assert world.sequence(result).checkpoints == ()


def test_a_capture_moves_the_revision_and_nothing_else_does() -> None:  # spec: REV-2
    world = ProgramWorld(chunk_tokens=50)
    start = Start(owner=world.new_owner(), captures=(closure_at(70),))
    result = world.admit(world.request(range(100)), start)
    revisions = []
    for _ in range(3):
        world.forward(result)
        revisions.append(world.program.resource_revision)
    assert revisions == [1, 2, 3]  # at 50 nothing; at 70 the capture; at 100 the end of its pin
    world.finish(result, SequenceEnd.DISCARD)


def test_a_backend_is_frozen_at_its_own_frontier() -> None:  # spec: KV-1, KV-4
    options = small_options(extra_slots=2, pages=6, backend=SpeculativeBackend(lag_tokens=6))
    world = ProgramWorld(options=options)
    capture, _ = captured(world, 100, 70)  # 64 tokens of the backend: a page edge
    assert capture.outcome is CaptureOutcome.CAPTURED
    (placed,) = world.ledger.sequences
    main, backend = placed.spaces
    assert (main.immutable_pages, backend.immutable_pages) == (1, 1)
    assert (placed.checkpoints[0].pages, placed.checkpoints[0].backend_pages) == ((0, 1), (0,))
    assert [copy.pool for copy in world.machine.copies] == [KvPool.MAIN]


def test_room_in_one_pool_is_none_in_the_other() -> None:  # spec: CAP-2, KV-1
    options = small_options(extra_slots=2, pages=6, backend=SpeculativeBackend(lag_tokens=0))
    tight = replace(options, capacity=replace(options.capacity, device_backend_kv_pages=2))
    world = ProgramWorld(options=tight)
    capture, _ = captured(world, 100, 70, output=20)
    assert capture.outcome is CaptureOutcome.NO_KV_PAGE
    assert world.machine.copies == []
    assert world.used == (1, 0, 2, 2, 0)


def test_the_last_free_slot_stays_for_a_free_lane() -> None:  # spec: STATE-1, ACT-6
    world = ProgramWorld(lanes=2, extra_slots=0, pages=6)
    capture, _ = captured(world, 100, 64)
    assert capture.outcome is CaptureOutcome.NO_STATE_SLOT
    world.admit(world.request(range(200, 210)), Start(lane=1))


def test_a_copy_that_fails_leaves_everything_as_it_was() -> None:  # spec: INV-15
    world = ProgramWorld(pages=6, chunk_tokens=70)
    start = Start(owner=world.new_owner(), captures=(closure_at(70),))
    result = world.admit(world.request(range(100)), start)
    revision, used = world.program.resource_revision, world.used
    world.machine.failing_copies.add(0)
    capture = world.forward(result)
    assert (capture.outcome, capture.checkpoint) == (CaptureOutcome.COPY_FAILED, None)
    assert (world.program.resource_revision, world.used) == (revision, used)
    world.prefill(result)
    world.finish(result)
    assert [c.frontier_tokens for c in world.checkpoints(start.owner or world.new_owner())] == [100]


def test_the_older_rewrite_is_given_up_before_a_copy_fails() -> None:  # spec: REV-2
    world = ProgramWorld(lanes=1, extra_slots=1, pages=6)
    owner = world.published(range(100), captures=(closure_at(70),))
    old, endpoint = world.checkpoints(owner)
    start = Start(
        checkpoint=endpoint.ref,
        disposition=SourceDisposition.CONSUME,
        owner=world.next_generation(owner),
        captures=(closure_at(150),),
    )
    result = world.admit(world.request(range(180)), start)
    revision = world.program.resource_revision
    world.machine.failing_copies.add(len(world.machine.copies))
    capture = world.forward(result)
    assert (capture.outcome, capture.replaced) == (CaptureOutcome.COPY_FAILED, old.ref)
    assert world.sequence(result).checkpoints == ()
    assert world.program.resource_revision == revision + 1
    assert world.used == (1, 0, 3, 0, 0)
