"""Law: a shared prefix is asked for where it was planned and can be given, and what is sealed is
used once, by the one that was sealed last.
"""

from __future__ import annotations

from itertools import count

import pytest

from ninfer_lab.contract.errors import PlanRefused
from ninfer_lab.contract.ids import CheckpointId, CheckpointRef, OwnerId, OwnerRef
from ninfer_lab.contract.result import Committed
from ninfer_lab.contract.shared_capture import CaptureIntent, CapturePlan
from ninfer_lab.contract.shared_report import CaptureForm
from ninfer_lab.program.capture_desk import CaptureDesk
from ninfer_lab.program.planning.ledger_readied import LedgerReadied
from program.scenes import ledger_of
from simulation.capture_world import CaptureWorld
from simulation.program_world import CONSUME, Start


class Scene:
    """A sequence of 150 tokens at 100, where it is to be asked, and a desk of its own over the
    ledger.
    """

    def __init__(self) -> None:
        self.world = CaptureWorld(extra_slots=3, pages=8)
        self.active: Committed = self.world.at_offer(150, 100)
        self.ledger = ledger_of(self.world)
        self.desk = CaptureDesk(self.ledger, count(100))

    def sealed(self, destination: OwnerRef | None = None) -> CapturePlan:
        session = self.world.session(self.active)
        intent = CaptureIntent(
            handle=self.active.handle,
            destination=destination or self.world.new_owner(),
            form=CaptureForm.FREEZE,
        )
        return self.desk.seal(session.assess(session.identity(0)), intent)

    @property
    def readied(self) -> LedgerReadied:
        world = self.world
        return LedgerReadied(self.ledger, world.options, world.program.resource_revision)


def test_it_is_asked_where_it_was_planned_and_nowhere_else() -> None:  # spec: CPT-2
    world = CaptureWorld(extra_slots=3, pages=8)
    start = Start(owner=world.new_owner(), offers=(70, 100))
    active = world.admit(world.request(range(150)), start)
    desk = CaptureDesk(ledger_of(world), count(100))
    asked = []
    while world.sequence(active).frontier_tokens < 150:
        if desk.is_offered(active.handle):
            asked.append(world.sequence(active).frontier_tokens)
        world.forward(active)
    assert asked == [70, 100]


def test_what_goes_on_from_a_pinned_image_is_not_asked() -> None:  # spec: STATE-3, CPT-2
    world = CaptureWorld(lanes=2, extra_slots=3, pages=8)
    source = world.published(range(100))
    desk = CaptureDesk(ledger_of(world), count(100))
    kept = Start(checkpoint=world.deepest(source), owner=world.new_owner(), offers=(100,))
    retained = world.admit(world.request(range(150)), kept)
    assert desk.is_offered(retained.handle), "its source lends"
    world.prefill(retained)
    world.finish(retained)
    taken = Start(
        checkpoint=world.deepest(source),
        disposition=CONSUME,
        owner=world.next_generation(source),
        offers=(100,),
    )
    consumed = world.admit(world.request(range(150)), taken)
    assert desk.is_offered(consumed.handle), "its image is its own"
    ledger_of(world).sequence(consumed.handle).pinned_read = True
    assert not desk.is_offered(consumed.handle)


def test_a_capture_is_used_once_and_only_the_last() -> None:  # spec: TXN-1
    scene = Scene()
    older, newer = scene.sealed(), scene.sealed()
    with pytest.raises(PlanRefused, match="the capture sealed last"):
        scene.desk.take(older, scene.readied)
    proven = scene.desk.take(newer, scene.readied)
    assert proven.plan is newer
    assert proven.sequence.handle == scene.active.handle
    with pytest.raises(PlanRefused, match="the capture sealed last"):
        scene.desk.take(newer, scene.readied)
    assert len({older.id, newer.id, proven.checkpoint}) == 3


def test_what_does_not_fit_is_not_sealed() -> None:  # spec: TXN-2
    world = CaptureWorld(extra_slots=0, pages=8, host_slots=2, host_granules=8)
    active = world.at_offer(150, 100)
    desk = CaptureDesk(ledger_of(world), count(100))
    session = world.session(active)
    intent = CaptureIntent(
        handle=active.handle, destination=world.new_owner(), form=CaptureForm.FREEZE
    )
    with pytest.raises(PlanRefused, match="a feasible one"):
        desk.seal(session.assess(session.identity(0)), intent)


def test_no_owner_is_written_over() -> None:  # spec: OWN-6
    world = CaptureWorld(extra_slots=4, pages=8)
    kept = world.published(range(300, 350))
    active = world.at_offer(150, 100)
    desk = CaptureDesk(ledger_of(world), count(100))
    session = world.session(active)
    intent = CaptureIntent(handle=active.handle, destination=kept, form=CaptureForm.FREEZE)
    with pytest.raises(PlanRefused, match="an owner that is not there"):
        desk.seal(session.assess(session.identity(0)), intent)


def test_an_owner_that_is_gone_is_nobodys_prefix() -> None:  # spec: SHR-6
    scene = Scene()
    gone = CheckpointRef(id=CheckpointId(1), owner=OwnerId(77))
    sequence = scene.ledger.sequence(scene.active.handle)
    assert not scene.desk.is_prefix_of(gone, sequence)
