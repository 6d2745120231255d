"""Law: an admission that takes time has claimed what it needs before it starts; its end, whichever
it is, is adopted whole, and an abort takes every claim back.
"""

from __future__ import annotations

from ninfer_lab.context_cache.resource_manager import ResourceManager
from ninfer_lab.contract.cache_controller import (
    AdmissionAborted,
    Admitted,
    NeedsTransfer,
    PermanentlyInfeasible,
    TemporarilyBlocked,
)
from ninfer_lab.contract.candidate import AdmissionRequest, ReusePath
from ninfer_lab.contract.ids import LaneId, RequestId, SessionKey
from ninfer_lab.contract.options import CacheMode, EngineOptions
from ninfer_lab.contract.result import SequenceEnd
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.contract.transaction import TransactionPhase
from ninfer_lab.engine.catalog_controller import CatalogController
from simulation.content_machine import answer_to
from simulation.engine_world import MAIN_PAGE_BYTES, EngineWorld, engine_world, prepared


def tight(*, lanes: int = 1, private: int = 4, host_pages: int = 8, slots: int = 3) -> EngineWorld:
    """Two owners of two pages each, where there are five; sessions "a" and "b"."""
    world = engine_world(
        EngineOptions(
            max_concurrency=lanes,
            max_context_tokens=320,
            kv_capacity_tokens=320,
            device_state_slots=slots,
            host_state_slots=4,
            host_kv_capacity_bytes=host_pages * MAIN_PAGE_BYTES,
            max_private_continuations=private,
        )
    )
    for session, start in (("a", 0), ("b", 300)):
        world.finish(world.submit(range(start, start + 100), output=1, session=session))
    return world


def manager_of(world: EngineWorld) -> ResourceManager:
    design = world.controller._design
    assert isinstance(design, CatalogController)
    return design._manager


def asked(
    world: EngineWorld,
    tokens: range | list[int],
    *,
    output: int = 1,
    session: str | None = None,
    order: int = 90,
    lane: int = 0,
) -> AdmissionRequest:
    """What the Scheduler would hand over; no other request of the engine is in the way."""
    return AdmissionRequest(
        request=RequestId(order),
        prompt=prepared(tokens),
        max_output_tokens=output,
        mode=CacheMode.READ_WRITE,
        session_key=None if session is None else SessionKey(session),
        publication_order=order,
        free_lanes=(LaneId(lane),),
    )


def ended(world: EngineWorld) -> Admitted | AdmissionAborted:
    """Waits for the transition under way."""
    while (end := world.controller.poll()) is None:
        arrival_ns = world.machine.next_completion_ns()
        assert arrival_ns is not None
        world.machine.clock.wait_until(arrival_ns)
    assert isinstance(end, Admitted | AdmissionAborted), "nobody captures here"
    return end


def owners(world: EngineWorld) -> list[int]:
    return [entry.owner for entry in world.controller.describe().catalog]


def test_there_are_four_answers_and_each_is_meant() -> None:  # spec: RES-1
    world = tight(lanes=2)
    small, large = range(600, 610), range(600, 800)
    ready = world.controller.admit(asked(world, small))
    assert isinstance(ready, Admitted)
    never = world.controller.admit(asked(world, range(300), output=30, order=91, lane=1))
    assert isinstance(never, PermanentlyInfeasible)
    # Five pages less the one that runs are enough for four, once both owners are on the Host.
    transfer = world.controller.admit(asked(world, large, output=50, order=92, lane=1))
    assert isinstance(transfer, NeedsTransfer)
    second = ended(world)
    assert isinstance(second, Admitted)
    world.controller.finish(second.handle, SequenceEnd.DISCARD)
    blocked = world.controller.admit(asked(world, large, output=60, order=93, lane=1))
    assert isinstance(blocked, TemporarilyBlocked)
    assert blocked.revision == world.controller.revision
    world.controller.finish(ready.handle, SequenceEnd.DISCARD)
    assert world.controller.revision != blocked.revision
    assert isinstance(
        world.controller.admit(asked(world, large, output=60, order=93, lane=1)), Admitted
    )


def test_what_is_claimed_stays_in_the_catalog_until_the_end() -> None:  # spec: TXN-3
    world = tight()
    before = world.controller.describe().catalog
    assert isinstance(world.controller.admit(asked(world, range(600, 900))), NeedsTransfer)
    open_ = world.controller.describe()
    assert (open_.catalog, open_.ledger.transition is not None) == (before, True)
    admitted = ended(world)
    assert isinstance(admitted, Admitted)
    # Both had room on the Host, and nobody is gone.
    assert (admitted.evicted, owners(world)) == ((), [1, 2])


def test_who_is_moved_to_the_host_is_reused_from_there() -> None:  # spec: STATE-2
    world = tight(slots=1)
    world.finish(world.submit(range(600, 850), output=2))
    back = world.submit([*range(100), *answer_to(range(100), 1), 7], output=2, session="a")
    outcome = world.finish(back)
    admission = world.admission_of(back)
    assert (admission.path, admission.state) == (
        ReusePath.PRIVATE_ENDPOINT,
        StateTransition.RESTORE,
    )
    assert outcome.output_tokens == answer_to([*range(100), *answer_to(range(100), 1), 7], 2)


def test_a_request_taken_back_leaves_its_victims_as_they_have_become() -> None:  # spec: TXN-6
    world = tight(host_pages=2)  # one of the two can go to the Host, the other must end
    assert isinstance(world.controller.admit(asked(world, range(600, 900))), NeedsTransfer)
    world.controller.cancel_admission()
    aborted = ended(world)
    assert isinstance(aborted, AdmissionAborted)
    assert aborted.was_cancelled
    assert (aborted.phase, aborted.evicted) == (TransactionPhase.COPY_PUBLICATION, (1,))
    assert owners(world) == [2]
    assert [entry.session_key for entry in world.controller.describe().catalog] == ["b"]
    # The slot that was promised to it is vacant again, and so is what it would have used.
    again = world.controller.admit(asked(world, range(600, 900), order=91))
    assert isinstance(again, Admitted)


def test_every_claim_is_taken_back() -> None:  # spec: TXN-3, SES-2
    world = tight(private=3)
    for order in range(90, 96):
        request = asked(world, range(600, 900), order=order)
        if isinstance(world.controller.admit(request), NeedsTransfer):
            world.controller.cancel_admission()
            assert isinstance(ended(world), AdmissionAborted)
        else:
            break
    assert owners(world) == [1, 2]
    manager = manager_of(world)
    assert manager._catalog.vacant_slot() is None  # the last one was admitted, and promised it
    assert order == 91


def test_a_copy_that_fails_is_told_and_tried_again_by_nobody_here() -> None:  # spec: TXN-6
    world = tight()
    world.machine.failing_transfers.add(0)
    assert isinstance(world.controller.admit(asked(world, range(600, 900))), NeedsTransfer)
    aborted = ended(world)
    assert isinstance(aborted, AdmissionAborted)
    assert not aborted.was_cancelled
    assert "transfer 0 failed" in aborted.detail
    assert (aborted.evicted, aborted.deleted, owners(world)) == ((), (), [1, 2])
    assert world.controller.describe().ledger.transition is None


def continued(world: EngineWorld, *, order: int, session: str | None) -> AdmissionRequest:
    """Goes on from session "a", with more than fits beside "b"."""
    tokens = [*range(100), *answer_to(range(100), 1), *range(900, 1_000)]
    return asked(world, tokens, output=50, order=order, session=session)


def test_a_retained_source_is_leant_on_until_the_abort() -> None:  # spec: ROLE-5, TXN-6
    world = tight()
    edges = manager_of(world)._edges
    assert isinstance(
        world.controller.admit(continued(world, order=90, session=None)), NeedsTransfer
    )
    assert edges.protects(manager_of(world)._catalog.owners()[0].id)
    world.controller.cancel_admission()
    assert isinstance(ended(world), AdmissionAborted)
    assert not any(edges.protects(owner.id) for owner in manager_of(world)._catalog.owners())


def test_a_session_whose_request_was_taken_back_still_has_its_owner() -> None:  # spec: SES-1, TXN-6
    world = tight()
    request = continued(world, order=90, session="a")
    assert isinstance(world.controller.admit(request), NeedsTransfer)
    world.controller.cancel_admission()
    assert isinstance(ended(world), AdmissionAborted)
    assert [(e.owner, e.session_key) for e in world.controller.describe().catalog] == [
        (1, "a"),
        (2, "b"),
    ]
    again = world.controller.admit(continued(world, order=91, session="a"))
    assert isinstance(again, Admitted)
    assert (again.path, again.reuse_tokens) == (ReusePath.PRIVATE_ENDPOINT, 100)
    assert owners(world) == [2]  # consumed now


def test_the_oldest_idle_owner_goes_first() -> None:  # spec: ACT-4
    world = tight()
    manager = manager_of(world)
    assert manager.release_idle()
    assert owners(world) == [2]
    assert [entry.session_key for entry in manager.entries()] == ["b"]
    assert manager.release_idle()
    assert not manager.release_idle()
    assert owners(world) == []


def test_an_owner_that_somebody_leans_on_is_not_idle() -> None:  # spec: ACT-4, ROLE-5
    world = tight(lanes=2)
    tokens = [*range(100), *answer_to(range(100), 1), 7]
    admitted = world.controller.admit(asked(world, tokens))
    assert isinstance(admitted, Admitted)
    assert manager_of(world).release_idle()
    assert owners(world) == [1]
    assert not manager_of(world).release_idle()


def test_a_borrower_is_proven_with_what_others_lean_on() -> None:  # spec: BKF-1
    world = tight(lanes=3)
    # Two pages, for which both owners go to the Host.
    assert isinstance(
        world.controller.admit(asked(world, range(600, 610), output=60)), NeedsTransfer
    )
    donor = ended(world)
    assert isinstance(donor, Admitted)
    head = asked(world, range(700, 900), output=90, order=91, lane=1)  # five pages
    assert isinstance(world.controller.admit(head), TemporarilyBlocked)
    borrower = asked(world, range(650, 660), order=92, lane=1)
    donors = {RequestId(90): donor.handle}
    assert not world.controller.may_backfill(head, borrower, donors)
    shorter = asked(world, range(700, 900), output=50, order=91, lane=1)  # four pages
    assert world.controller.may_backfill(shorter, borrower, donors)
    never = asked(world, range(300), output=30, order=92, lane=1)
    assert not world.controller.may_backfill(shorter, never, donors)
