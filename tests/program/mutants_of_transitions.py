"""Wrong versions of what may happen, when, and what is told of it."""

from __future__ import annotations

from dataclasses import replace

from context_cache import test_catalog, test_open_transition, test_resource_manager
from ninfer_lab.context_cache.catalog import Catalog
from ninfer_lab.context_cache.resource_manager import ResourceManager
from ninfer_lab.contract.ids import StateImageId
from ninfer_lab.program import program as program_module
from ninfer_lab.program.planning.ledger_readied import LedgerReadied
from ninfer_lab.program.program import Program
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.bitset import ordinals_of
from ninfer_lab.program.storage.continuation_store import ContinuationStore
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.transactions.held_places import HeldPlaces
from ninfer_lab.program.transactions.running_transaction import RunningTransaction
from program import (
    test_capture,
    test_continuation_store,
    test_forward_step,
    test_growth_lease,
    test_named_owners,
    test_program,
    test_running_transaction,
    test_transaction_aborts,
)
from program.mutant import Mutant, Wrong, always, constant, instead


def _remembering(right: Wrong) -> Wrong:
    def start(self: Program, plan: Wrong) -> Wrong:
        handle = right(self, plan)
        self._sealed[plan.id] = plan
        return handle

    return start


def _by_equality(right: Wrong) -> Wrong:
    def preflight(self: Program, plan: Wrong) -> Wrong:
        sealed = self._sealed.get(plan.id)
        return right(self, sealed if sealed == plan else plan)

    return preflight


def _moving_revision(right: Wrong) -> Wrong:
    def moved(self: Program, *arguments: Wrong) -> Wrong:
        self._resource_revision += 1
        return right(self, *arguments)

    return moved


def _still_revision(right: Wrong) -> Wrong:
    def still(self: Program, *arguments: Wrong) -> Wrong:
        revision = self._resource_revision
        answer = right(self, *arguments)
        self._resource_revision = revision
        return answer

    return still


def _told_less(right: Wrong) -> Wrong:
    def abort(self: RunningTransaction, stopped: Wrong) -> Wrong:
        self._degraded.clear()
        return right(self, stopped)

    return abort


def _always_told(right: Wrong) -> Wrong:
    def abort(self: RunningTransaction, stopped: Wrong) -> Wrong:
        return replace(
            right(self, stopped), resource_revision=self._proven.plan.resource_revision + 1
        )

    return abort


def _counting(right: Wrong) -> Wrong:
    """As many checkpoints are as good as the same ones."""

    def degrade(self: Catalog, change: Wrong) -> None:
        slot = self.slot_of(change.before.id)
        owner: Wrong = self._slots[slot]
        had = len(owner.checkpoints)
        if len(change.state.checkpoints) != had - len(change.deleted):
            right(self, change)
        self._slots[slot] = replace(owner, state=change.state)

    return degrade


def _believing(right: Wrong) -> Wrong:
    def projected(self: LedgerReadied, assessment: Wrong) -> Wrong:
        found = right(self, assessment)
        return found._replace(post=found.post._replace(state=assessment.state))

    return projected


def _promoting(right: Wrong) -> Wrong:
    def commit(self: Program, handle: Wrong) -> Wrong:
        states = self._ledger.states
        for image in ordinals_of(states.on_host ^ (states.on_host & states.on_device)):
            states.publish_device(StateImageId(image), states.device_places.take(1)[0])
        return right(self, handle)

    return commit


def _greedy(right: Wrong) -> Wrong:
    def lease(ledger: Ledger, sequence: ActiveSequence, growth: Wrong) -> bool:
        for space, wanted in zip(sequence.spaces, growth.window_pages, strict=True):
            space.lease(wanted)
        return True

    return lease


MUTANTS_OF_TRANSITIONS: tuple[Mutant, ...] = (
    Mutant(
        rule="REV-1",
        what="a plan that holds for ever",
        where=Program,
        name="_require_current",
        make=constant(None),
        killer=test_program.test_a_plan_goes_stale_with_the_revision,
    ),
    Mutant(
        rule="REV-2",
        what="a release that nobody is told of",
        where=Program,
        name="release",
        make=_still_revision,
        killer=test_program.test_every_stable_change_makes_a_plan_stale,
        arguments=("release", "assess again at the current revision"),
    ),
    Mutant(
        rule="REV-3",
        what="an accepted token that moves the revision",
        where=Program,
        name="accept",
        make=_moving_revision,
        killer=test_forward_step.test_no_forward_of_a_root_moves_the_revision,
    ),
    Mutant(
        rule="REV-4",
        what="an owner that is known by its id alone",
        where=ContinuationStore,
        name="is_current",
        make=instead(lambda self, ref: self.get(ref.id) is not None),
        killer=test_continuation_store.test_an_old_or_foreign_generation_is_refused,
        arguments=(test_continuation_store.owner(1, 1),),
    ),
    Mutant(
        rule="TXN-6",
        what="an abort without effect that moves the revision",
        where=RunningTransaction,
        name="_abort",
        make=_always_told,
        killer=test_transaction_aborts.test_a_copy_within_the_device_that_fails_ends_it_too,
    ),
    Mutant(
        rule="TXN-1",
        what="a plan that is not used up",
        where=Program,
        name="start",
        make=_remembering,
        killer=test_program.test_a_plan_that_was_overtaken_by_its_own_run_is_refused,
    ),
    Mutant(
        rule="TXN-1",
        what="a plan that is known by its looks",
        where=Program,
        name="_preflight",
        make=_by_equality,
        killer=test_program.test_an_equal_plan_is_not_the_plan,
    ),
    Mutant(
        rule="TXN-2",
        what="outcomes that are not asked for their generation",
        where=program_module,
        name="require_current",
        make=constant(None),
        killer=test_named_owners.test_an_outcome_of_an_old_generation_is_refused_before_anything_happens,
    ),
    Mutant(
        rule="TXN-3",
        what="a transition that claims nobody",
        where=RunningTransaction,
        name="claimed",
        make=always(frozenset()),
        killer=test_running_transaction.test_what_a_transition_has_claimed_is_told_until_its_end,
    ),
    Mutant(
        rule="TXN-4",
        what="a cancellation that nobody hears",
        where=RunningTransaction,
        name="_stable_boundary",
        make=constant(None),
        killer=test_transaction_aborts.test_a_cancellation_is_taken_at_every_stable_boundary,
        arguments=(1, "retained"),
    ),
    Mutant(
        rule="TXN-5",
        what="as many checkpoints instead of the same",
        where=Catalog,
        name="degrade",
        make=_counting,
        killer=test_catalog.test_what_is_left_is_exactly_what_it_had_less_what_it_lost,
        arguments=((1, 2), (1,)),
    ),
    Mutant(
        rule="TXN-5",
        what="an abort that forgets what it has degraded",
        where=RunningTransaction,
        name="_abort",
        make=_told_less,
        killer=test_transaction_aborts.test_a_consumed_owner_tells_what_it_lost_before_the_end,
    ),
    Mutant(
        rule="TXN-6",
        what="an abort that keeps what it holds",
        where=HeldPlaces,
        name="give_back",
        make=constant(None),
        killer=test_transaction_aborts.test_a_demotion_that_fails_leaves_its_victim_on_the_device,
        arguments=("retained",),
    ),
    Mutant(
        rule="TXN-7",
        what="a capture beside a transition",
        where=Program,
        name="can_run",
        make=constant(True),
        killer=test_forward_step.test_what_captures_next_waits_for_the_end_of_a_transition,
        arguments=(640,),
    ),
    Mutant(
        rule="INV-8",
        what="a capture out of what is promised",
        where=Ledger,
        name="free_pages",
        make=instead(lambda self, pool: self.kv[pool].device_places.free_count),
        killer=test_capture.test_a_capture_takes_nothing_that_is_promised,
    ),
    Mutant(
        rule="INV-9",
        what="a settlement beside a transition",
        where=Program,
        name="_require_no_transition",
        make=constant(None),
        killer=test_forward_step.test_nothing_settles_and_nobody_is_released_beside_a_transition,
    ),
    Mutant(
        rule="ACT-4",
        what="a window where there is no room for it",
        where=program_module,
        name="lease",
        make=_greedy,
        killer=test_growth_lease.test_where_the_next_forward_does_not_fit_nothing_is_taken,
    ),
    Mutant(
        rule="ACT-4",
        what="a lease that is always enough",
        where=program_module,
        name="wanted_lease",
        make=constant(None),
        killer=test_growth_lease.test_the_next_window_is_held_when_the_last_one_is_used_up,
    ),
    Mutant(
        rule="RES-1",
        what="a request too large for any engine",
        where=Program,
        name="can_ever_run",
        make=constant(True),
        killer=test_open_transition.test_there_are_four_answers_and_each_is_meant,
    ),
    Mutant(
        rule="ROLE-3",
        what="a transition that believes its asker",
        where=LedgerReadied,
        name="projected",
        make=_believing,
        killer=test_program.test_what_is_where_is_not_for_a_manager_to_say,
    ),
    Mutant(
        rule="TGT-8",
        what="a decode that brings images back on the side",
        where=Program,
        name="commit",
        make=_promoting,
        killer=test_forward_step.test_nothing_inactive_moves_while_others_decode,
    ),
    Mutant(
        rule="MODE-2",
        what="a mode that nobody looks at",
        where=ResourceManager,
        name="_reads",
        make=constant(True),
        killer=test_resource_manager.test_a_disabled_request_reads_nothing_and_leaves_nothing,
        arguments=("a",),
    ),
)
