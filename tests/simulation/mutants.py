"""Wrong versions of scheduler, manager and engine, each with the test that must catch it.

Those of private anchors and of shared prefixes are in `context_cache`, Program's own in
`program.mutants_of_states` and `program.mutants_of_transitions`.
"""

from __future__ import annotations

from context_cache import mutants_of_anchors, mutants_of_shared
from context_cache import test_open_transition as transitions
from engine import test_admission_boundary as boundary
from engine import test_backfill as backfill
from engine import test_growth_lease as leases
from engine import test_request_ends as request_ends
from ninfer_lab.context_cache.catalog import Catalog
from ninfer_lab.context_cache.owner_edges import OwnerEdges
from ninfer_lab.context_cache.resource_manager import ResourceManager
from ninfer_lab.context_cache.session_index import SessionBinding, SessionIndex
from ninfer_lab.contract.machine_work import TransferDirection
from ninfer_lab.contract.output import AcceptedText
from ninfer_lab.contract.result import SequenceEnd
from ninfer_lab.engine import admission_boundary
from ninfer_lab.engine.admission_boundary import AdmissionBoundary
from ninfer_lab.engine.catalog_controller import CatalogController
from ninfer_lab.engine.engine import Engine
from ninfer_lab.program.planning.backfill_proof import _Shares
from ninfer_lab.program.program import Program
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.scheduler.scheduler import BlockedHead, Scheduler
from ninfer_lab.scheduler.waiting_queue import WaitingQueue
from program.mutant import Mutant, Wrong, constant, instead
from scheduler import test_scheduler as scheduling
from simulation import test_walks as walks


def _stays_catalogued(right: Wrong) -> Wrong:
    def remove(self: Catalog, end: Wrong, *, surviving: Wrong = frozenset()) -> Wrong:
        return right(self, end, surviving=surviving) if surviving else None

    return remove


def _binds_anyway(self: SessionIndex, key: Wrong, owner: Wrong, publication_order: int) -> bool:
    self.forget(owner)
    standing = self._bindings.get(key)
    if standing is not None:
        self._keys.pop(standing.owner, None)
    self._keys[owner] = key
    self._bindings[key] = SessionBinding(owner=owner, publication_order=publication_order)
    return True


def _edge_ends_early(right: Wrong) -> Wrong:
    def on_forward(self: CatalogController, handle: Wrong) -> Wrong:
        self._manager._edges.settle(self._requests[handle.id])
        return right(self, handle)

    return on_forward


def _unmoved(right: Wrong) -> Wrong:
    def finish(self: Program, *arguments: Wrong) -> Wrong:
        revision = self._resource_revision
        settled = right(self, *arguments)
        self._resource_revision = revision
        return settled

    return finish


def _passed_over(self: Scheduler, request: Wrong, revision: int) -> None:
    self._queue.remove(request)
    self._queue.push(request)


def _across_cuts(self: ActiveSequence, chunk: int) -> int:
    known = max(len(self.prompt.tokens), self.frontier_tokens + 1)
    return min(self.frontier_tokens + chunk, known)


def _torn_and_published(right: Wrong) -> Wrong:
    def finish(self: CatalogController, handle: Wrong, end: SequenceEnd) -> Wrong:
        keeps = end is SequenceEnd.KEEP_CHECKPOINTS
        return right(self, handle, SequenceEnd.PUBLISH if keeps else end)

    return finish


def _everybody_is_a_donor(self: Scheduler, request: Wrong, revision: int) -> None:
    self._blocked = BlockedHead(request=request, revision=revision, donors=self._lanes.requests())


def _settles_at_once(right: Wrong) -> Wrong:
    def settle(self: Engine, request: Wrong, reason: Wrong, *, error: Wrong = None) -> None:
        opening, self._boundary._opening = self._boundary._opening, None
        right(self, request, reason, error=error)
        self._boundary._opening = opening

    return settle


def _youngest_first(self: ResourceManager) -> bool:
    idle = [o for o in self._catalog.owners() if not self._edges.protects(o.id)]
    if not idle:
        return False
    youngest = max(idle, key=lambda owner: owner.publication_order)
    self._catalog.remove(self._program.release(youngest.ref))
    self._sessions.forget(youngest.id)
    return True


def _all_at_once(right: Wrong) -> Wrong:
    def release_idle(self: ResourceManager) -> bool:
        found = right(self)
        while found and right(self):
            pass
        return bool(found)

    return release_idle


MANAGER = (
    Mutant(
        rule="TXN-5",
        what="an evicted owner that stays in the catalog",
        where=Catalog,
        name="remove",
        make=_stays_catalogued,
        killer=walks.test_without_room,
    ),
    Mutant(
        rule="INV-14",
        what="a session that goes back to an older publication",
        where=SessionIndex,
        name="bind",
        make=instead(_binds_anyway),
        killer=walks.test_in_company,
    ),
    Mutant(
        rule="ROLE-5",
        what="owner edges nobody heeds",
        where=OwnerEdges,
        name="owners",
        make=constant(frozenset()),
        killer=transitions.test_an_owner_that_somebody_leans_on_is_not_idle,
    ),
    Mutant(
        rule="ROLE-5",
        what="owner edges that end with the first forward",
        where=CatalogController,
        name="on_forward",
        make=_edge_ends_early,
        killer=walks.test_in_company,
    ),
    Mutant(
        rule="ACT-4",
        what="the youngest gives way first",
        where=ResourceManager,
        name="release_idle",
        make=instead(_youngest_first),
        killer=leases.test_idle_owners_give_way_the_oldest_first_and_no_more_than_must,
    ),
    Mutant(
        rule="ACT-4",
        what="everybody gives way",
        where=ResourceManager,
        name="release_idle",
        make=_all_at_once,
        killer=leases.test_idle_owners_give_way_the_oldest_first_and_no_more_than_must,
    ),
    Mutant(
        rule="BKF-1",
        what="a borrower whose checkpoints nobody counts",
        where=_Shares,
        name="_of_captures",
        make=instead(lambda self, captures: self._of_nobody()),
        killer=backfill.test_a_borrower_s_checkpoints_leave_the_head_its_room,
    ),
    Mutant(
        rule="BKF-1",
        what="a proof that is always given",
        where=ResourceManager,
        name="may_backfill",
        make=constant(True),
        killer=backfill.test_who_would_leave_the_head_too_little_is_not_let_past,
    ),
)

SCHEDULER = (
    Mutant(
        rule="INV-1",
        what="last in, first out",
        where=WaitingQueue,
        name="head",
        make=instead(lambda self: self._waiting[-1] if self._waiting else None),
        killer=walks.test_without_room,
    ),
    Mutant(
        rule="RES-1",
        what="a blocked head that is passed over",
        where=Scheduler,
        name="blocked",
        make=instead(_passed_over),
        killer=walks.test_without_room,
    ),
    Mutant(
        rule="REV-2",
        what="an end that nobody waiting is told of",
        where=Program,
        name="finish",
        make=_unmoved,
        killer=walks.test_without_room,
    ),
    Mutant(
        rule="BKF-1",
        what="borrowers that the head waits for",
        where=Scheduler,
        name="blocked",
        make=instead(_everybody_is_a_donor),
        killer=scheduling.test_who_was_let_past_is_no_donor_of_the_head,
    ),
    Mutant(
        rule="TXN-7",
        what="lanes that never rest",
        where=Engine,
        name="_resting_lanes",
        make=constant(frozenset()),
        killer=boundary.test_a_prefill_that_would_capture_rests,
    ),
)

ENGINE = (
    Mutant(
        rule="IDN-3",
        what="forwards that run across cuts",
        where=ActiveSequence,
        name="next_end_tokens",
        make=instead(_across_cuts),
        killer=walks.test_a_conversation,
    ),
    Mutant(
        rule="ACT-5",
        what="a torn state that is published",
        where=CatalogController,
        name="finish",
        make=_torn_and_published,
        killer=walks.test_past_faults,
    ),
    Mutant(
        rule="IDN-5",
        what="an endpoint above the cut of a stop string",
        where=AcceptedText,
        name="allows_endpoint_at",
        make=constant(True),
        killer=walks.test_past_faults,
    ),
    Mutant(
        rule="ACT-5",
        what="an end in the middle of somebody's transition",
        where=Engine,
        name="_settle",
        make=_settles_at_once,
        killer=boundary.test_who_ends_beside_it_keeps_everything_until_it_is_closed,
    ),
    Mutant(
        rule="TXN-6",
        what="one bad copy and no second try",
        where=admission_boundary,
        name="ADMISSION_ATTEMPTS",
        make=instead(1),
        killer=boundary.test_a_copy_that_fails_is_tried_again,
        arguments=(TransferDirection.D2H,),
    ),
    Mutant(
        rule="INV-15",
        what="a copy that is tried for ever",
        where=AdmissionBoundary,
        name="_give_up",
        make=constant(None),
        killer=boundary.test_a_request_whose_copies_never_arrive_fails_and_harms_nobody,
        arguments=(TransferDirection.H2D,),
    ),
    Mutant(
        rule="TXN-6",
        what="a tail that is tried once",
        where=admission_boundary,
        name="ADMISSION_ATTEMPTS",
        make=instead(1),
        killer=request_ends.test_a_failed_tail_copy_is_tried_again_and_its_source_stays_whole,
    ),
)

MUTANTS = (*MANAGER, *SCHEDULER, *ENGINE, *mutants_of_anchors.MUTANTS, *mutants_of_shared.MUTANTS)
