"""Law: whatever ends a transition half-way, it ends at a stable boundary: what was held is given
back, what was published stays and is told, the source is valid, and the same request can come
again.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ninfer_lab.contract.capacity import Occupancy
from ninfer_lab.contract.errors import PlanRefused
from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.result import AbortCause, Aborted, Committed, SequenceEnd
from ninfer_lab.contract.transaction import TransactionHandle, TransactionPhase
from ninfer_lab.program.transactions.running_transaction import RunningTransaction
from program.scenes import Pressed, on_host
from simulation.program_world import ProgramWorld, Start

SCENES: dict[str, Callable[[], Pressed]] = {
    "retained": Pressed.of,
    "consumed": lambda: Pressed.of(consumed=True),
    "consumed closure": lambda: Pressed.of(consumed=True, from_closure=True),
}

BOUNDARIES = 5
"""Before anything; victims released; Host places held; demotions published; restoration arrived."""


def opened(scene: Pressed) -> TransactionHandle:
    return scene.world.open(scene.world.request(range(scene.tokens)), scene.start)


def nothing_is_held(occupancy: Occupancy) -> bool:
    return all(use.reserved_count == 0 for use in occupancy.axes)


def is_told(scene: Pressed, before: frozenset[OwnerId], result: Aborted) -> bool:
    """What the result says of owners is exactly how they differ from before."""
    after = {owner.owner: owner for owner in scene.world.ledger.owners}
    gone = {end.ref.id for end in result.evicted}
    fewer = {change.before.id for change in result.degraded if change.deleted}
    for change in result.degraded:
        told = change.state.checkpoints
        assert told == tuple(c.summary for c in after[change.before.id].checkpoints)
    return before - set(after) == gone and fewer <= set(after)


def cancel_at(boundary: int, patch: pytest.MonkeyPatch) -> None:
    """The request is taken back just before this stable boundary, counted from 0."""
    right, seen = RunningTransaction._stable_boundary, [0]

    def cancelling(running: RunningTransaction) -> None:
        if seen[0] == boundary:
            running.cancel()
        seen[0] += 1
        right(running)

    patch.setattr(RunningTransaction, "_stable_boundary", cancelling)


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("boundary", range(BOUNDARIES))
def test_a_cancellation_is_taken_at_every_stable_boundary(  # spec: TXN-4, TXN-6
    boundary: int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = SCENES[name]()
    world = scene.world
    before = frozenset(owner.owner for owner in world.ledger.owners)
    source, revision = world.owner(scene.source), world.program.resource_revision
    with monkeypatch.context() as patch:
        cancel_at(boundary, patch)
        result = world.run(opened(scene))
    assert isinstance(result, Aborted)
    assert (result.cause, result.candidate.reuse_tokens > 0) == (AbortCause.CANCELLED, True)
    assert nothing_is_held(world.ledger.occupancy)
    assert is_told(scene, before, result)
    assert (world.ledger.transition, world.ledger.sequences) == (None, ())
    # Victims are released from the second boundary on, and demoted from the fourth.
    assert [end.ref.id for end in result.evicted] == ([scene.gone.id] if boundary else [])
    assert on_host(world, scene.victim) is (boundary >= 3)
    assert (world.program.resource_revision > revision) is bool(boundary)
    assert result.resource_revision == world.program.resource_revision <= revision + 1
    # The source itself is there, with everything up to its own frontier.
    left = world.owner(scene.source).checkpoints
    assert left == source.checkpoints[: len(left)]
    assert any(c.summary.ref == scene.start.checkpoint for c in left)
    # And it is not too late for the same request.
    again = world.admit(world.request(range(scene.tokens)), scene.again())
    world.prefill(again)
    world.finish(again)


@pytest.mark.parametrize(
    ("transfers_before", "phase"),
    [
        (0, TransactionPhase.HOST_RELEASES),
        (1, TransactionPhase.COPY_PUBLICATION),
        (2, TransactionPhase.COPY_PUBLICATION),
    ],
)
def test_a_cancellation_from_outside_waits_for_the_copies_in_flight(  # spec: TXN-4
    transfers_before: int, phase: TransactionPhase
) -> None:
    scene = Pressed.of()
    world, transaction = scene.world, opened(scene)
    for ordinal in range(transfers_before):
        assert world.advance(transaction) is None
        if ordinal + 1 < transfers_before:
            world.arrive()
    world.program.cancel(transaction)
    if transfers_before:
        assert world.advance(transaction) is None  # its destinations are still being written
        world.arrive()
    result = world.advance(transaction)
    assert isinstance(result, Aborted)
    assert (result.cause, result.phase) == (AbortCause.CANCELLED, phase)
    assert on_host(world, scene.victim) is (transfers_before > 0)


@pytest.mark.parametrize("name", SCENES)
def test_a_demotion_that_fails_leaves_its_victim_on_the_device(name: str) -> None:  # spec: TXN-6
    scene = SCENES[name]()
    world = scene.world
    victim = world.owner(scene.victim)
    host = world.used[1], world.used[4]
    world.machine.failing_transfers.add(0)
    result = world.run(opened(scene))
    assert isinstance(result, Aborted)
    assert (result.cause, result.phase) == (
        AbortCause.COPY_FAILED,
        TransactionPhase.COPIES_IN_FLIGHT,
    )
    assert result.detail == "d2h: MachineFault: transfer 0 failed"
    assert world.owner(scene.victim) == victim
    assert (world.used[1], world.used[4]) == host
    assert nothing_is_held(world.ledger.occupancy)
    again = world.admit(world.request(range(scene.tokens)), scene.again())
    world.prefill(again)


@pytest.mark.parametrize("name", SCENES)
def test_a_restoration_that_fails_keeps_finished_demotions(name: str) -> None:  # spec: TXN-6
    scene = SCENES[name]()
    world = scene.world
    world.machine.failing_transfers.add(1)
    result = world.run(opened(scene))
    assert isinstance(result, Aborted)
    assert (result.cause, result.phase) == (
        AbortCause.COPY_FAILED,
        TransactionPhase.COPY_PUBLICATION,
    )
    assert result.detail == "h2d: MachineFault: transfer 1 failed"
    assert on_host(world, scene.victim)
    assert nothing_is_held(world.ledger.occupancy)
    assert world.used[:1] + world.used[2:4] == (0, 0, 0)
    again = world.admit(world.request(range(scene.tokens)), scene.again())
    world.prefill(again)


def test_a_consumed_owner_tells_what_it_lost_before_the_end() -> None:  # spec: TXN-5, TXN-6
    scene = Pressed.of(consumed=True, from_closure=True)
    world = scene.world
    closure, endpoint = world.checkpoints(scene.source)
    world.machine.failing_transfers.add(1)
    result = world.run(opened(scene))
    assert isinstance(result, Aborted)
    assert scene.source.id in [change.before.id for change in result.degraded]
    change = next(c for c in result.degraded if c.before.id == scene.source.id)
    assert change.deleted == {endpoint.ref}
    assert change.state.checkpoints == (closure,)
    assert world.checkpoints(scene.source) == (closure,)


def test_a_copy_within_the_device_that_fails_ends_it_too() -> None:  # spec: TXN-6
    world = ProgramWorld(extra_slots=2, pages=6)
    owner = world.published(range(70))
    before = world.ledger
    world.machine.failing_copies.add(0)
    start = Start(checkpoint=world.deepest(owner))
    result = world.run(world.open(world.request(range(90)), start))
    assert isinstance(result, Aborted)
    assert result.detail.startswith("d2d: MachineFault")
    # Nothing had been published, so nothing has changed, and no revision says so.
    assert world.ledger == before
    assert isinstance(world.run(world.open(world.request(range(90)), start)), Committed)


def test_a_transfer_that_can_not_be_started_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Pressed.of()
    world = scene.world

    def refused(_: object) -> None:
        raise OSError("no stream")

    with monkeypatch.context() as patch:
        patch.setattr(world.machine, "start_transfer", refused)
        result = world.run(opened(scene))
    assert isinstance(result, Aborted)
    assert result.detail == "d2h: OSError: no stream"
    assert nothing_is_held(world.ledger.occupancy)
    world.admit(world.request(range(scene.tokens)), scene.again())


def test_running_requests_are_not_touched_by_an_abort() -> None:  # spec: TXN-6, INV-8
    scene = Pressed.of(lanes=2)
    world = scene.world
    running = world.admit(world.request(range(600, 610), output=100), Start(lane=1))
    world.prefill(running)
    placed = world.sequence(running)
    world.machine.failing_transfers.add(0)
    assert isinstance(world.run(opened(scene)), Aborted)
    assert world.sequence(running) == placed
    for _ in range(20):
        world.forward(running)
    world.finish(running, SequenceEnd.DISCARD)


def test_an_aborted_plan_is_used_up() -> None:  # spec: TXN-1, TXN-2
    scene = Pressed.of()
    world = scene.world
    plan = world.seal(world.request(range(scene.tokens)), scene.start)
    transaction = world.program.start(plan)
    world.program.cancel(transaction)
    assert isinstance(world.advance(transaction), Aborted)
    before = world.ledger
    with pytest.raises(PlanRefused, match="has not yet run"):
        world.program.start(plan)
    assert world.ledger == before
