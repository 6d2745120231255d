"""Law: a shared owner stands beside the sequence whose state it is, complete and out of its reach;
until it does, nothing has changed for the sequence, and whatever the end it goes on.
"""

from __future__ import annotations

import pytest

from ninfer_lab.contract.errors import InvariantBroken, PlanRefused
from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.machine_work import TransferDirection
from ninfer_lab.contract.result import AbortCause, Committed
from ninfer_lab.contract.shared_capture import CaptureIntent, SharedAborted, SharedPublished
from ninfer_lab.contract.shared_report import CaptureForm
from ninfer_lab.contract.target import StageName
from ninfer_lab.contract.transaction import TransactionPhase
from program.scenes import ledger_of, on_host
from simulation.capture_world import CaptureWorld
from simulation.program_world import CONSUME, Start, closure_at, stage_uses

FREEZE, SNAPSHOT, LEND = CaptureForm.FREEZE, CaptureForm.SNAPSHOT, CaptureForm.LEND


def capture(world: CaptureWorld, of: Committed, form: CaptureForm) -> SharedPublished:
    """The shared owner, with nobody giving way."""
    session = world.session(of)
    target = session.identity(session.forms.index(form))
    assert session.judge(target).is_feasible
    result = world.run_capture(world.open_capture(of, session, target))
    assert isinstance(result, SharedPublished), result
    return result


def roomy(lanes: int = 1) -> CaptureWorld:
    return CaptureWorld(lanes=lanes, extra_slots=3, pages=8, host_slots=4, host_granules=8)


def test_a_frozen_image_stays_and_the_writer_goes_on_elsewhere() -> None:  # spec: KV-4, OWN-2
    world = roomy()
    active = world.at_offer(150, 100)
    (before,) = world.ledger.sequences
    result = capture(world, active, FREEZE)
    (after,) = world.ledger.sequences
    (owner,) = world.ledger.owners
    (kept,) = owner.checkpoints
    assert kept.image == before.write_image == after.read_image
    assert after.write_image != kept.image
    assert after.borrowed_read
    assert kept.pages == before.pages
    assert after.pages[0] == kept.pages[0]
    assert after.pages[1] != kept.pages[1]  # the partial tail stays, the writer has a copy
    assert result.published.checkpoints == (kept.summary,)
    assert after.checkpoints == ()  # no lineage's: inactive from the start
    world.prefill(active)
    world.finish(active)


def test_a_snapshot_stands_on_the_host_and_the_writer_stays_where_it_is() -> None:
    # spec: STATE-2, KV-4
    world = roomy()
    active = world.at_offer(150, 128)
    (before,) = world.ledger.sequences
    capture(world, active, SNAPSHOT)
    (after,) = world.ledger.sequences
    assert (after.read_image, after.write_image) == (before.read_image, before.write_image)
    assert after.pages == before.pages  # aligned: nothing is copied
    (owner,) = world.ledger.owners
    (kept,) = owner.checkpoints
    (replicas,) = [i for i in world.ledger.images if i.image == kept.image]
    assert replicas.device_slot is None
    assert replicas.host_slot is not None
    (transfer,) = world.machine.transfers
    assert transfer.direction is TransferDirection.D2H
    world.prefill(active)
    world.finish(active)


def test_a_checkpoint_of_the_lineage_lends_what_it_has() -> None:  # spec: SHR-6
    world = roomy()
    start = Start(owner=world.new_owner(), captures=(closure_at(100),))
    active = world.at_offer(150, 100, start)
    before = world.used
    result = capture(world, active, LEND)
    assert result.form is LEND
    assert world.used == before
    (owner,) = world.ledger.owners
    (own,) = world.ledger.sequences[0].checkpoints
    assert owner.checkpoints[0].image == own.image
    assert owner.checkpoints[0].pages == own.pages
    assert owner.checkpoints[0].summary.ref != own.summary.ref


def test_a_retained_source_lends_before_the_first_forward() -> None:  # spec: SHR-6
    world = roomy(lanes=2)
    source = world.published(range(100))
    start = Start(checkpoint=world.deepest(source), owner=world.new_owner(), offers=(100,))
    active = world.admit(world.request(range(150)), start)
    before = world.used
    capture(world, active, LEND)
    assert world.used == before
    assert len(world.ledger.owners) == 2
    world.release(source)
    world.prefill(active)
    world.finish(active)


def test_a_consumed_source_is_frozen_before_the_first_forward() -> None:  # spec: SHR-6
    world = roomy()
    source = world.published(range(100))
    start = Start(
        checkpoint=world.deepest(source),
        disposition=CONSUME,
        owner=world.next_generation(source),
        offers=(100,),
    )
    active = world.admit(world.request(range(150)), start)
    assert world.program.is_offered(active.handle)
    capture(world, active, FREEZE)
    world.prefill(active)
    world.finish(active)
    assert len(world.ledger.owners) == 2


def test_pressure_and_capture_are_one_transaction() -> None:  # spec: CPT-2, TXN-4
    world = CaptureWorld(extra_slots=2, pages=8, host_slots=1, host_granules=4)
    victim, gone = world.published(range(300, 350)), world.published(range(500, 550))
    active = world.at_offer(150, 100)
    session = world.session(active)
    target = session.identity(0)
    assert session.forms[0] is FREEZE
    assert not session.judge(target).is_feasible
    owners = [owner.id for owner in session.owners]
    evicted = session.maximal(0).choices[owners.index(gone.id)]
    off_device = session.rung(0, (), rest_leaves=True).choices[owners.index(victim.id)]
    target = target.with_choice(owners.index(gone.id), evicted)
    target = target.with_choice(owners.index(victim.id), off_device)
    assert session.judge(target).is_feasible
    transaction = world.open_capture(active, session, target)
    phases = [world.phase]
    assert world.advance_capture(transaction) is None
    phases.append(world.phase)
    assert phases == [TransactionPhase.HOST_RELEASES, TransactionPhase.COPIES_IN_FLIGHT]
    assert not world.program.can_run(active.handle)
    result = world.run_capture(transaction)
    assert isinstance(result, SharedPublished)
    assert [end.ref.id for end in result.evicted] == [gone.id]
    assert [change.before.id for change in result.degraded] == [victim.id]
    assert on_host(world, victim)
    world.prefill(active)
    world.finish(active)


def test_a_protected_owner_gives_no_way() -> None:  # spec: TGT-2
    world = roomy()
    kept = world.published(range(300, 350))
    active = world.at_offer(150, 100)
    session = world.session(active, kept)
    assert list(session.steps(session.identity(0))) == []
    assert session.maximal(0).is_identity


def test_the_sequence_rests_while_its_image_is_copied_and_another_may_run() -> None:
    # spec: TXN-7, CPT-2
    world = roomy(lanes=2)
    other = world.admit(world.request(range(700, 830)), Start(owner=world.new_owner(), lane=1))
    active = world.at_offer(150, 100)
    session = world.session(active)
    transaction = world.open_capture(active, session, session.identity(1))
    assert world.advance_capture(transaction) is None
    assert not world.program.can_run(active.handle)
    assert world.program.can_run(other.handle)
    world.prefill(other)
    assert isinstance(world.run_capture(transaction), SharedPublished)
    assert world.program.can_run(active.handle)
    world.prefill(active)


def test_a_capture_that_is_taken_back_or_fails_leaves_the_sequence_as_it_was() -> None:
    # spec: TXN-6, INV-15
    for fails in (False, True):
        world = roomy()
        active = world.at_offer(150, 100)
        before, used = world.ledger.sequences, world.used
        session = world.session(active)
        transaction = world.open_capture(active, session, session.identity(1))
        assert world.advance_capture(transaction) is None
        if fails:
            world.machine.failing_transfers = {0}
        else:
            world.program.cancel(transaction)
        result = world.run_capture(transaction)
        assert isinstance(result, SharedAborted)
        assert result.cause is (AbortCause.COPY_FAILED if fails else AbortCause.CANCELLED)
        assert (world.ledger.sequences, world.used) == (before, used)
        assert world.ledger.owners == ()
        world.prefill(active)
        world.finish(active)


@pytest.mark.parametrize("form", [FREEZE, SNAPSHOT])
def test_without_the_tails_copy_no_owner_stands(form: CaptureForm) -> None:  # spec: INV-15
    world = roomy()
    active = world.at_offer(150, 100)
    world.machine.failing_copies = {0}
    before, used = world.ledger.sequences, world.used
    session = world.session(active)
    target = session.identity(session.forms.index(form))
    result = world.run_capture(world.open_capture(active, session, target))
    assert isinstance(result, SharedAborted)
    assert (world.ledger.sequences, world.used) == (before, used)
    world.prefill(active)
    world.finish(active)


def test_only_the_capture_sealed_last_runs_and_once_and_at_its_revision() -> None:
    # spec: TXN-1, TXN-2
    world = roomy()
    active = world.at_offer(150, 128)
    session = world.session(active)
    target = session.identity(0)

    def intent() -> CaptureIntent:
        return CaptureIntent(handle=active.handle, destination=world.new_owner(), form=FREEZE)

    older = world.program.seal_capture(session.assess(target), intent())
    newer = world.program.seal_capture(session.assess(target), intent())
    with pytest.raises(PlanRefused, match="the capture sealed last"):
        world.program.start_capture(older)
    world.run_capture(world.program.start_capture(newer))
    with pytest.raises(PlanRefused, match="again at the current revision"):
        world.program.start_capture(newer)
    taken = CaptureIntent(handle=active.handle, destination=newer.intent.destination, form=FREEZE)
    again = world.session(active)
    with pytest.raises(PlanRefused, match="an owner that is not there"):
        world.program.seal_capture(again.assess(again.identity(0)), taken)


def test_a_plan_of_another_form_than_was_assessed_is_seen() -> None:  # spec: TXN-2
    world = CaptureWorld(extra_slots=0, pages=8, host_slots=2, host_granules=8)
    active = world.at_offer(150, 100)
    session = world.session(active)
    assert [session.judge(session.identity(i)).is_feasible for i in (0, 1)] == [False, True]
    wrong = CaptureIntent(handle=active.handle, destination=world.new_owner(), form=FREEZE)
    plan = world.program.seal_capture(session.assess(session.identity(1)), wrong)
    with pytest.raises(InvariantBroken, match="does not hold"):
        world.program.start_capture(plan)


def test_an_exact_prefix_is_told_by_everything_that_makes_it_one() -> None:  # spec: SHR-6, IDN-3
    world = roomy(lanes=2)
    active = world.at_offer(150, 100)
    published = capture(world, active, FREEZE).published.checkpoints[0].ref
    world.prefill(active)
    world.finish(active)
    same = world.at_offer(150, 100)
    assert world.program.is_prefix_of(published, same.handle)
    world.prefill(same)
    assert not world.program.is_prefix_of(published, same.handle)  # another frontier by now
    assert ledger_of(world).continuations.get(OwnerId(published.owner)) is not None


def test_a_checkpoint_at_another_frontier_lends_nothing() -> None:  # spec: SHR-6
    world = roomy()
    start = Start(owner=world.new_owner(), captures=(closure_at(70),))
    active = world.at_offer(150, 100, start)
    assert list(world.session(active).forms) == [FREEZE, SNAPSHOT]
    published = capture(world, active, FREEZE).published.checkpoints[0]
    assert published.frontier_tokens == 100
    world.prefill(active)
    world.finish(active)


def test_a_snapshot_takes_a_host_slot_from_its_reservation_on() -> None:  # spec: STG-1, ACC-1
    world = CaptureWorld(extra_slots=2, pages=8, host_slots=1, host_granules=8)
    active = world.at_offer(150, 100)
    session = world.session(active)
    uses = stage_uses(session.assess(session.identity(1)))
    host = {stage: used[1] for stage, used in uses.items()}
    assert host[StageName.RELEASED] == 0
    assert host[StageName.DESTINATIONS_RESERVED] == host[StageName.COMMITTED] == 1
    full = CaptureWorld(extra_slots=2, pages=8, host_slots=1, host_granules=8)
    full.demote(full.published(range(300, 350)))
    later = full.session(full.at_offer(150, 100))
    assert not later.judge(later.identity(1)).is_feasible
    assert later.judge(later.identity(0)).is_feasible
