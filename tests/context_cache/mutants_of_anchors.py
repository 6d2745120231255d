"""Wrong versions of how earlier points are proposed, kept, priced and started from, of how a
schedule becomes final, and of how room is found for it.
"""

from __future__ import annotations

from dataclasses import replace

from context_cache import test_anchor_prices as prices
from context_cache import test_branches_at_anchors as branches
from context_cache import test_final_choice as choices
from context_cache import test_private_anchors as anchors
from context_cache import test_private_capture as captures
from context_cache import test_target_construction as constructions
from frontend import test_private_anchors as proposals
from ninfer_lab.context_cache import candidate_shortlist, private_capture, resource_manager
from ninfer_lab.context_cache.shared_prefixes import SharedPrefixes
from ninfer_lab.context_cache.target_construction import Construction
from ninfer_lab.contract.candidate import AdmissionCandidate, ReusePath, SourceDisposition
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.planned_capture import CaptureTerms
from ninfer_lab.contract.prompt import PreparedPrompt
from ninfer_lab.frontend import prepared_prompt
from ninfer_lab.program import program as program_module
from ninfer_lab.program.planning import (
    exact_identity,
    final_schedule,
    ledger_readied,
    planning_session,
    resource_projection,
)
from ninfer_lab.program.planning.owner_domain import OwnerDomain
from ninfer_lab.program.planning.planning_session import ProgramSession
from ninfer_lab.program.planning.resource_projection import CandidateProjector
from ninfer_lab.program.program import Program
from ninfer_lab.program.transactions.running_transaction import RunningTransaction
from program import test_final_schedule as schedules
from program import test_owner_domain as domains
from program import test_planning_session as sessions
from program.mutant import Mutant, Wrong, always, constant, instead


def _the_first(right: Wrong) -> Wrong:
    def proposed(ends: Wrong, total: int, *, limit_count: int) -> Wrong:
        return right(ends, total, limit_count=len(ends))[:limit_count]

    return proposed


def _the_end_too(right: Wrong) -> Wrong:
    def proposed(ends: Wrong, total: int, *, limit_count: int) -> Wrong:
        return right([*ends, None], total, limit_count=limit_count)

    return proposed


def _shallowest(lineage: Wrong) -> Wrong:
    return next(c for c in lineage if c.kind is CheckpointKind.LONG_ANCHOR)


def _leaves_nothing(right: Wrong) -> Wrong:
    def terms(offer: Wrong, limit: int) -> CaptureTerms:
        return CaptureTerms(gives_way=right(offer, limit).gives_way)

    return terms


def _never_full(right: Wrong) -> Wrong:
    return lambda offer, limit: right(offer, limit + 1)


def _whatever_the_gain(right: Wrong) -> Wrong:
    def kept(verified: Wrong, owners: Wrong, *, minimum_gain_tokens: int) -> Wrong:
        return right(verified, owners, minimum_gain_tokens=0)

    return kept


def _disposed(disposition: SourceDisposition) -> Wrong:
    def at_anchor(program: Wrong, found: AdmissionCandidate, *, has_vacant_slot: bool) -> Wrong:
        assert found.source is not None
        return replace(found, source=replace(found.source, disposition=disposition))

    return at_anchor


def _vacant_or_not(right: Wrong) -> Wrong:
    return lambda program, found, *, has_vacant_slot: right(program, found, has_vacant_slot=True)


def _source_ends(right: Wrong) -> Wrong:
    def lineage(continuations: Wrong, candidate: Wrong) -> Wrong:
        found = right(continuations, candidate)
        return found._replace(kept=tuple(c for c in found.kept if c is not found.source))

    return lineage


def _saves_nothing(self: RunningTransaction) -> Wrong:
    yield from ()


def _as_they_come(proposed: Wrong) -> Wrong:
    return tuple(dict.fromkeys(proposed))


def _backwards(right: Wrong) -> Wrong:
    return lambda self, node, pool: right(self, node, pool)[::-1]


def _never_saving(right: Wrong) -> Wrong:
    def work(ledger: Wrong, options: Wrong, source: Wrong, post: Wrong, prefill: Wrong) -> Wrong:
        return right(ledger, options, source, post._replace(snapshot_slots=0), prefill)

    return work


def _uncut(right: Wrong) -> Wrong:
    return lambda options, candidate: right(options, replace(candidate, captures=()))


def _without_offers(right: Wrong) -> Wrong:
    def schedule(options: Wrong, candidate: Wrong, intent: Wrong) -> Wrong:
        chosen = replace(intent.schedule, offers_tokens=())
        return right(options, candidate, replace(intent, schedule=chosen))

    return schedule


def _by_name(right: Wrong) -> Wrong:
    def start(self: Program, plan: Wrong) -> Wrong:
        return right(self, self._sealed.get(plan.id, plan))

    return start


def _wherever_it_is_wanted(right: Wrong) -> Wrong:
    def want(self: Wrong, candidate: Wrong, *told: Wrong) -> Wrong:
        offered = candidate.request.prompt.shared_candidates
        right(self, candidate, *told)
        return tuple(each.frontier_tokens for each in offered)

    return want


PROPOSALS = (
    Mutant(
        rule="ANC-1",
        what="the first boundaries instead of the last",
        where=prepared_prompt,
        name="anchors_at_message_boundaries",
        make=_the_first,
        killer=proposals.test_the_last_boundaries_between_messages_are_proposed,
        arguments=(2,),
    ),
    Mutant(
        rule="ANC-1",
        what="the end of the last message, too",
        where=prepared_prompt,
        name="anchors_at_message_boundaries",
        make=_the_end_too,
        killer=proposals.test_the_last_boundaries_between_messages_are_proposed,
        arguments=(1,),
    ),
    Mutant(
        rule="ANC-2",
        what="a raw prompt whose end is never proposed",
        where=prepared_prompt,
        name="anchor_before_last_token",
        make=constant(()),
        killer=anchors.test_the_same_raw_prompt_again_computes_one_token,
        arguments=(True, 99, [100]),
    ),
    Mutant(
        rule="ANC-1",
        what="a caller's mark that counts no more than the engine's own",
        where=PreparedPrompt,
        name="marked_anchors_tokens",
        make=always(frozenset()),
        killer=captures.test_what_the_caller_marks_comes_before_what_lies_deeper,
    ),
    Mutant(
        rule="ANC-1",
        what="two proposals at one frontier",
        where=prepared_prompt,
        name="merged_anchors",
        make=instead(_as_they_come),
        killer=proposals.test_on_one_frontier_it_is_one_with_the_engine_s_own,
    ),
    Mutant(
        rule="IDN-3",
        what="an anchor whose cuts nobody compares",
        where=exact_identity,
        name="_below",
        make=constant(()),
        killer=anchors.test_an_anchor_below_other_cuts_is_not_taken,
    ),
)

KEPT = (
    Mutant(
        rule="ANC-1",
        what="the shallowest anchor gives way",
        where=private_capture,
        name="select_long_anchor_replacement",
        make=instead(_shallowest),
        killer=anchors.test_a_history_keeps_no_more_than_it_may,
    ),
    Mutant(
        rule="CAP-3",
        what="one anchor more than may be kept",
        where=resource_manager,
        name="capture_terms",
        make=_never_full,
        killer=anchors.test_a_history_keeps_no_more_than_it_may,
    ),
    Mutant(
        rule="OWN-5",
        what="an anchor that takes the turn closure's slot",
        where=resource_manager,
        name="capture_terms",
        make=_leaves_nothing,
        killer=anchors.test_an_anchor_leaves_the_last_slot_to_the_turn_closure,
    ),
    Mutant(
        rule="ANC-3",
        what="every endpoint becomes an anchor",
        where=private_capture,
        name="endpoint_to_keep",
        make=_whatever_the_gain,
        killer=anchors.test_only_a_long_endpoint_does,
        arguments=(103, False),
    ),
    Mutant(
        rule="ANC-3",
        what="an anchor where the source stays",
        where=private_capture,
        name="_starts_where_an_endpoint_was",
        make=constant(True),
        killer=captures.test_only_a_consumed_endpoint_leaves_an_anchor_where_it_was,
        arguments=((CheckpointKind.SESSION_ENDPOINT, SourceDisposition.RETAIN), []),
    ),
    Mutant(
        rule="ANC-3",
        what="an image that is never saved to the Host",
        where=RunningTransaction,
        name="_save_image_at_start",
        make=instead(_saves_nothing),
        killer=anchors.test_without_a_device_slot_the_image_is_saved_to_the_host,
        arguments=(None,),
    ),
    Mutant(
        rule="ANC-3",
        what="an image that is always saved to the Host",
        where=CandidateProjector,
        name="_snapshot_slots",
        make=constant(1),
        killer=anchors.test_a_device_slot_is_taken_before_one_of_the_host,
    ),
)

STARTED_FROM = (
    Mutant(
        rule="ANC-4",
        what="a conversation that is never rewritten",
        where=candidate_shortlist,
        name="candidate_at_anchor",
        make=instead(_disposed(SourceDisposition.RETAIN)),
        killer=branches.test_without_a_state_slot_the_conversation_is_rewritten,
    ),
    Mutant(
        rule="ANC-4",
        what="a conversation that is always rewritten",
        where=candidate_shortlist,
        name="candidate_at_anchor",
        make=instead(_disposed(SourceDisposition.CONSUME)),
        killer=branches.test_a_branch_that_fits_stands_beside_its_conversation,
    ),
    Mutant(
        rule="ANC-4",
        what="a branch with nowhere to be published",
        where=candidate_shortlist,
        name="candidate_at_anchor",
        make=_vacant_or_not,
        killer=branches.test_without_a_vacant_place_the_conversation_is_rewritten,
    ),
    Mutant(
        rule="ANC-5",
        what="an anchor that ends where it is restored",
        where=resource_projection,
        name="source_lineage",
        make=_source_ends,
        killer=branches.test_a_sibling_costs_the_old_branch_its_endpoint_and_not_its_prefill,
    ),
)

PRICES = (
    Mutant(
        rule="ANC-3",
        what="an image saved to the Host that nobody pays for",
        where=ledger_readied,
        name="machine_work",
        make=_never_saving,
        killer=prices.test_the_price_of_an_anchor_changes_from_where_a_request_starts,
        arguments=(3_000_000, ReusePath.PRIVATE_LONG_ANCHOR, 102),
    ),
    Mutant(
        rule="COST-2",
        what="cuts of anchors that nobody pays for",
        where=planning_session,
        name="prefill_work",
        make=_uncut,
        killer=prices.test_every_cut_of_an_anchor_is_a_forward_that_is_paid_for,
    ),
    Mutant(
        rule="SRCH-2",
        what="a copy that nobody's slot ever spares",
        where=CandidateProjector,
        name="_snapshot_slots",
        make=constant(1),
        killer=prices.test_somebody_s_slot_spares_the_copy_where_that_is_worth_it,
        arguments=(10**9, False),
    ),
)

AMOUNTS = (
    Mutant(
        rule="TGT-5",
        what="pages that leave by halves alone",
        where=ProgramSession,
        name="_missing_pages",
        make=constant({}),
        killer=sessions.test_who_must_make_room_for_little_gives_up_little,
    ),
    Mutant(
        rule="TGT-5",
        what="earlier pages that leave before later ones",
        where=OwnerDomain,
        name="_in_order",
        make=_backwards,
        killer=domains.test_as_many_pages_as_are_missing_leave_together,
    ),
    Mutant(
        rule="SRCH-5",
        what="a search that never begins otherwise",
        where=Construction,
        name="begin_otherwise",
        make=constant(None),
        killer=constructions.test_more_room_on_the_host_is_no_dearer,
        arguments=(480,),
    ),
)

FINAL_CHOICES = (
    Mutant(
        rule="CPT-4",
        what="forwards that are told without their offers",
        where=program_module,
        name="final_schedule",
        make=_without_offers,
        killer=schedules.test_the_forwards_that_are_sealed_are_those_that_run,
    ),
    Mutant(
        rule="CPT-4",
        what="cuts that nobody looks at",
        where=final_schedule,
        name="_require_on_the_way",
        make=constant(None),
        killer=schedules.test_what_lies_behind_the_start_is_no_cut,
    ),
    Mutant(
        rule="CPT-4",
        what="a sealed plan that is taken by its name",
        where=Program,
        name="start",
        make=_by_name,
        killer=schedules.test_a_sealed_schedule_cannot_be_changed,
    ),
    Mutant(
        rule="CPT-4",
        what="offers where the candidate that was taken never comes by",
        where=SharedPrefixes,
        name="want",
        make=_wherever_it_is_wanted,
        killer=choices.test_offers_lie_where_the_candidate_that_was_taken_comes_by,
    ),
)

MUTANTS = (*PRICES, *AMOUNTS, *FINAL_CHOICES, *PROPOSALS, *KEPT, *STARTED_FROM)
