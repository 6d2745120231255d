"""Law: a transition goes through its stages forwards, each uses what was projected for it, and its
end is one complete result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ninfer_lab.contract.errors import InvariantBroken, PlanRefused
from ninfer_lab.contract.ids import OwnerRef
from ninfer_lab.contract.result import Committed, SequenceEnd
from ninfer_lab.contract.target import Assessment, StageName, StateTransition
from ninfer_lab.contract.transaction import TransactionPhase
from ninfer_lab.program.transactions.running_transaction import RunningTransaction
from program.scenes import Pressed, on_host
from simulation.program_world import CONSUME, ProgramWorld, Start, Used, closure_at, stage_uses

PHASES = tuple(TransactionPhase)


class Spy:
    """Looks at every stable boundary of one transition, from the inside."""

    def __init__(self, world: ProgramWorld, patch: pytest.MonkeyPatch) -> None:
        self._world = world
        self.used: list[Used] = []
        self.phases: list[TransactionPhase] = []
        self.revisions: set[int] = set()
        right = RunningTransaction._stable_boundary

        def looking(running: RunningTransaction) -> None:
            self.look()
            right(running)

        patch.setattr(RunningTransaction, "_stable_boundary", looking)

    def look(self) -> None:
        self._world.look()
        self.used.append(self._world.used)
        self.phases.append(self._world.phase)
        self.revisions.add(self._world.program.resource_revision)


def watched(scene: Pressed, patch: pytest.MonkeyPatch) -> tuple[Assessment, Committed, Spy]:
    """Runs the scene's admission under a spy, which also looks whenever it pauses."""
    world, request = scene.world, scene.world.request(range(scene.tokens), output=30)
    assessment = world.assess(request, scene.start)
    transaction = world.open(request, scene.start)
    spy = Spy(world, patch)
    while (result := world.advance(transaction)) is None:
        spy.look()
        world.arrive()
    assert isinstance(result, Committed)
    return assessment, result, spy


SCENES: dict[str, Callable[[], Pressed]] = {
    "retained": Pressed.of,
    "consumed": lambda: Pressed.of(consumed=True),
    "retained closure": lambda: Pressed.of(from_closure=True),
    "consumed closure": lambda: Pressed.of(consumed=True, from_closure=True),
}


@pytest.mark.parametrize("name", SCENES)
def test_every_stage_uses_what_was_projected(  # spec: TXN-2, STG-1, ACC-4
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = SCENES[name]()
    assessment, _, spy = watched(scene, monkeypatch)
    uses = stage_uses(assessment)
    observed = [
        uses[StageName.NOW],
        uses[StageName.RELEASED],
        uses[StageName.DEMOTION_RESERVED],
        uses[StageName.DEMOTION_RESERVED],  # paused, while the demotion is in flight
        uses[StageName.DEMOTED],
        uses[StageName.DESTINATIONS_RESERVED],  # paused, while the restoration is
        uses[StageName.DESTINATIONS_RESERVED],
    ]
    assert spy.used == observed
    assert scene.world.used == uses[StageName.COMMITTED]


def test_phases_only_go_forwards(monkeypatch: pytest.MonkeyPatch) -> None:  # spec: TXN-4, REV-4
    scene = Pressed.of()
    revision = scene.world.program.resource_revision
    _, result, spy = watched(scene, monkeypatch)
    assert spy.phases == [
        TransactionPhase.HOST_RELEASES,
        TransactionPhase.HOST_RELEASES,
        TransactionPhase.COPY_PREPARATION,
        TransactionPhase.COPIES_IN_FLIGHT,
        TransactionPhase.COPY_PUBLICATION,
        TransactionPhase.COPY_PUBLICATION,
        TransactionPhase.COPY_PUBLICATION,
    ]
    # No stage publishes a revision, and the end publishes one.
    assert spy.revisions == {revision}
    assert result.resource_revision == scene.world.program.resource_revision == revision + 1


def test_without_a_demotion_no_copy_is_in_flight(  # spec: TXN-4
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = Pressed.of()
    without = replace(scene, start=replace(scene.start, outcomes=()))
    _, _, spy = watched(without, monkeypatch)
    assert TransactionPhase.COPIES_IN_FLIGHT not in spy.phases
    assert [PHASES.index(phase) for phase in spy.phases] == sorted(
        PHASES.index(phase) for phase in spy.phases
    )


def test_an_admission_without_copies_ends_at_once() -> None:  # spec: RES-1, TXN-1
    world = ProgramWorld(extra_slots=2)
    owner = world.published(range(70))
    transaction = world.open(world.request(range(90)), Start(checkpoint=world.deepest(owner)))
    assert isinstance(world.advance(transaction), Committed)
    with pytest.raises(PlanRefused, match="transaction"):
        world.program.advance(transaction)


def test_the_result_says_what_has_become_of_everybody() -> None:  # spec: TXN-5, INV-11
    scene = Pressed.of(consumed=True, from_closure=True)
    world = scene.world
    refs = {owner: world.current(owner) for owner in (scene.source, scene.victim, scene.gone)}
    closure, endpoint = world.checkpoints(scene.source)
    (victims,) = world.checkpoints(scene.victim)
    result = world.admit(world.request([*range(70), 999, 998]), scene.start)
    assert result.state is StateTransition.RESTORE
    assert result.consumed is not None
    assert result.consumed.ref == refs[scene.source]
    assert result.consumed.deleted == {closure.ref, endpoint.ref}
    (evicted,) = result.evicted
    assert (evicted.ref, len(evicted.deleted)) == (refs[scene.gone], 1)
    (degraded,) = result.degraded
    assert (degraded.before, degraded.deleted) == (refs[scene.victim], frozenset())
    assert degraded.state.checkpoints == (victims,)
    assert degraded.state.ref == OwnerRef(
        id=scene.victim.id, generation=refs[scene.victim].generation + 1
    )
    assert on_host(world, scene.victim)
    assert [owner.owner for owner in world.ledger.owners] == [scene.victim.id]


def test_a_checkpoint_that_ends_is_told_by_its_name() -> None:  # spec: TXN-5
    world = ProgramWorld(extra_slots=3, pages=8)
    owner = world.published(range(150), captures=(closure_at(70),))
    closure, endpoint = world.checkpoints(owner)
    rung = next(r for r in world.program.ladder(owner) if r.deleted and not r.is_eviction)
    result = world.admit(world.request(range(900, 903)), Start(outcomes=(rung,)))
    (change,) = result.degraded
    assert change.deleted == {closure.ref}
    assert change.state.checkpoints == (endpoint,)


def test_what_a_transition_has_claimed_is_told_until_its_end() -> None:  # spec: TXN-3, REV-4
    scene = Pressed.of()
    world = scene.world
    transaction = world.open(world.request(range(scene.tokens)), scene.start)
    claimed = tuple(sorted(o.id for o in (scene.source, scene.victim, scene.gone)))
    while True:
        open_ = world.ledger.transition
        assert open_ is not None
        assert open_.claimed == claimed
        if world.advance(transaction) is not None:
            break
        world.arrive()
    assert world.ledger.transition is None


def test_a_second_transition_waits_for_the_first() -> None:  # spec: TXN-1, INV-9
    scene = Pressed.of(lanes=2)
    world = scene.world
    transaction = world.open(world.request(range(scene.tokens)), scene.start)
    assert world.advance(transaction) is None
    plan = world.seal(world.request(range(900, 903)), Start(lane=1))
    before = world.ledger
    with pytest.raises(PlanRefused, match="one at a time"):
        world.program.start(plan)
    assert world.ledger == before
    world.run(transaction)
    with pytest.raises(PlanRefused, match="assess again at the current revision"):
        world.program.start(plan)


def test_nothing_has_happened_before_a_transition_advances() -> None:  # spec: TXN-2
    scene = Pressed.of()
    world = scene.world
    before = world.ledger
    world.open(world.request(range(scene.tokens)), scene.start)
    assert replace(world.ledger, transition=None) == before
    assert world.machine.transfers == []


def test_a_law_that_breaks_in_a_copy_is_no_abort(  # spec: TXN-6
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = Pressed.of()
    world = scene.world
    transaction = world.open(world.request(range(scene.tokens)), scene.start)

    def broken(_: object) -> None:
        raise InvariantBroken("CONTENT", "a place that is not there")

    monkeypatch.setattr(world.machine, "start_transfer", broken)
    with pytest.raises(InvariantBroken, match="a place that is not there"):
        world.program.advance(transaction)


def test_a_whole_life_in_both_tiers_leaves_nothing() -> None:  # spec: ACC-2, INV-15
    scene = Pressed.of(consumed=True)
    world = scene.world
    result = world.admit(world.request(range(scene.tokens)), scene.start)
    world.prefill(result)
    world.finish(result)
    again = world.admit(
        world.request(range(250)),
        Start(
            checkpoint=world.deepest(scene.source),
            disposition=CONSUME,
            owner=world.next_generation(scene.source),
        ),
    )
    world.prefill(again)
    world.finish(again, SequenceEnd.DISCARD)
    world.release(scene.victim)
    assert world.used == (0, 0, 0, 0, 0)
    assert (world.ledger.images, world.ledger.pages) == ((), ())
