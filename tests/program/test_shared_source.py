"""Law: only a checkpoint at exactly the sequence's frontier lends its contents, one of its own
lineage or the one that it was started from and that is still kept.
"""

from __future__ import annotations

from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.result import Committed
from ninfer_lab.program.storage.shared_source import can_be_written, lending_checkpoint
from program.scenes import ledger_of
from simulation.capture_world import CaptureWorld
from simulation.program_world import CONSUME, Start, closure_at


def lender(world: CaptureWorld, of: Committed) -> tuple[CheckpointKind, int] | None:
    """Kind and frontier of the checkpoint that would lend."""
    ledger = ledger_of(world)
    found = lending_checkpoint(ledger, ledger.sequence(of.handle))
    return None if found is None else (found.summary.kind, found.summary.frontier_tokens)


def is_writable(world: CaptureWorld, of: Committed) -> bool:
    ledger = ledger_of(world)
    return can_be_written(ledger, ledger.sequence(of.handle))


def roomy() -> CaptureWorld:
    return CaptureWorld(lanes=2, extra_slots=4, pages=8)


def test_the_lineages_own_checkpoint_lends_at_its_frontier_alone() -> None:  # spec: SHR-6
    world = roomy()
    start = Start(owner=world.new_owner(), captures=(closure_at(70),))
    active = world.admit(world.request(range(150)), start)
    told = []
    while world.sequence(active).frontier_tokens < 150:
        world.forward(active)
        told.append((world.sequence(active).frontier_tokens, lender(world, active)))
    assert (70, (CheckpointKind.TURN_CLOSURE, 70)) in told
    assert all(found is None for frontier, found in told if frontier != 70)


def test_a_kept_source_lends_until_the_sequence_has_gone_on() -> None:  # spec: SHR-6
    world = roomy()
    source = world.published(range(100))
    start = Start(checkpoint=world.deepest(source), owner=world.new_owner())
    active = world.admit(world.request(range(150)), start)
    assert lender(world, active) == (CheckpointKind.SESSION_ENDPOINT, 100)
    assert is_writable(world, active)
    world.prefill(active)
    assert lender(world, active) is None
    assert is_writable(world, active), "its own image, by now"


def test_a_consumed_source_lends_nothing_and_is_the_writers_own() -> None:  # spec: SHR-6, STATE-2
    world = roomy()
    source = world.published(range(100))
    start = Start(
        checkpoint=world.deepest(source),
        disposition=CONSUME,
        owner=world.next_generation(source),
    )
    active = world.admit(world.request(range(150)), start)
    assert lender(world, active) is None
    assert is_writable(world, active)


def test_from_the_root_there_is_nothing_to_lend_and_a_pinned_read_is_not_written() -> None:
    # spec: STATE-3
    world = roomy()
    active = world.at_offer(150, 100)
    assert lender(world, active) is None
    assert is_writable(world, active)
    ledger_of(world).sequence(active.handle).pinned_read = True
    assert not is_writable(world, active)
    ledger_of(world).sequence(active.handle).pinned_read = False
