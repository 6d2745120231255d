"""Law: a published prefix is complete and nobody's lineage; nothing stands before the tails are
copied, and the writer's pages and image are its own afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import pytest

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.result import Committed, OwnerState
from ninfer_lab.contract.shared_capture import CaptureIntent
from ninfer_lab.contract.shared_report import CaptureForm
from ninfer_lab.program.capture_desk import CaptureDesk
from ninfer_lab.program.planning.ledger_readied import LedgerReadied
from ninfer_lab.program.transactions.held_places import HeldPlaces
from ninfer_lab.program.transactions.shared_publication import TailsNotCopied, publish_shared
from program.scenes import ledger_of
from simulation.capture_world import CaptureWorld
from simulation.program_world import Start, closure_at

FREEZE, SNAPSHOT, LEND = CaptureForm.FREEZE, CaptureForm.SNAPSHOT, CaptureForm.LEND


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A sequence of 150 tokens at a frontier."""

    world: CaptureWorld
    active: Committed

    @classmethod
    def at(cls, frontier_tokens: int, *, closure: bool = False) -> Scene:
        world = CaptureWorld(extra_slots=3, pages=8, host_slots=2, host_granules=8)
        captures = (closure_at(frontier_tokens),) if closure else ()
        start = Start(owner=world.new_owner(), captures=captures)
        return cls(world=world, active=world.at_offer(150, frontier_tokens, start))

    def publish(self, form: CaptureForm) -> OwnerState:
        """Without a transaction around it."""
        world, ledger = self.world, ledger_of(self.world)
        session = self.world.session(self.active)
        intent = CaptureIntent(
            handle=self.active.handle, destination=self.world.new_owner(), form=form
        )
        desk = CaptureDesk(ledger, count(100))
        plan = desk.seal(session.assess(session.identity(session.forms.index(form))), intent)
        proven = desk.take(
            plan, LedgerReadied(ledger, world.options, world.program.resource_revision)
        )
        held = HeldPlaces(ledger)
        held.hold_device(proven.post)
        held.hold_snapshot(proven.post.snapshot_slots)
        state = publish_shared(ledger, world.machine, world.options, proven, held)
        assert (held.snapshot_slots, held.device_slots, held.device_pages) == ((), (), {})
        return state


@pytest.mark.parametrize("form", [FREEZE, SNAPSHOT])
@pytest.mark.parametrize("frontier_tokens", [100, 128])
def test_what_is_published_is_the_state_at_the_frontier(  # spec: OWN-2, IDN-1
    form: CaptureForm, frontier_tokens: int
) -> None:
    scene = Scene.at(frontier_tokens)
    (before,) = scene.world.ledger.sequences
    state = scene.publish(form)
    (summary,) = state.checkpoints
    assert summary.kind is CheckpointKind.SHARED_STABLE_PREFIX
    assert (summary.frontier_tokens, summary.ref.owner) == (frontier_tokens, state.ref.id)
    prompt = scene.world.request(range(150)).prompt
    assert summary.prefix_digest == prompt.tokens.prefix_digest(frontier_tokens)
    owner = ledger_of(scene.world).continuations.require(state.ref)
    assert owner.history == prompt.tokens[:frontier_tokens]
    assert owner.identity == prompt.identity
    (kept,), (after,) = scene.world.ledger.owners[0].checkpoints, scene.world.ledger.sequences
    assert kept.pages == before.pages
    tails_count = frontier_tokens % 64 != 0
    assert len(scene.world.machine.copies) == tails_count
    assert set(after.pages) & set(kept.pages) == set(kept.pages[: frontier_tokens // 64])
    assert (kept.image == before.write_image) is (form is FREEZE)
    assert (after.write_image == before.write_image) is (form is SNAPSHOT)
    assert after.borrowed_read is (form is FREEZE)


def test_what_is_lent_is_the_same_contents_under_another_owner() -> None:  # spec: SHR-6
    scene = Scene.at(100, closure=True)
    copies = list(scene.world.machine.copies)
    (before,) = scene.world.ledger.sequences
    state = scene.publish(LEND)
    assert scene.world.machine.copies == copies
    assert scene.world.ledger.sequences == (before,)
    (own,), (kept,) = before.checkpoints, scene.world.ledger.owners[0].checkpoints
    assert (kept.image, kept.pages) == (own.image, own.pages)
    assert state.checkpoints[0].ref != own.summary.ref


@pytest.mark.parametrize("form", [FREEZE, SNAPSHOT])
def test_a_tail_that_is_not_copied_leaves_no_owner(form: CaptureForm) -> None:  # spec: INV-15
    scene = Scene.at(100)
    before = scene.world.ledger.sequences
    scene.world.machine.failing_copies = {0}
    with pytest.raises(TailsNotCopied):
        scene.publish(form)
    assert scene.world.ledger.owners == ()
    assert scene.world.ledger.sequences == before


def test_the_main_pool_alone_is_covered_where_there_is_no_other() -> None:  # spec: KV-4
    scene = Scene.at(100)
    state = scene.publish(FREEZE)
    owner = ledger_of(scene.world).continuations.require(state.ref)
    (checkpoint,) = owner.checkpoints
    assert len(checkpoint.pages_of(KvPool.MAIN)) == 2
