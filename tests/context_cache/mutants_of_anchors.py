"""Wrong versions of how earlier points are proposed, kept and started from."""

from __future__ import annotations

from dataclasses import replace

from context_cache import test_branches_at_anchors as branches
from context_cache import test_private_anchors as anchors
from context_cache import test_private_capture as captures
from frontend import test_private_anchors as proposals
from ninfer_lab.context_cache import candidate_shortlist, private_capture, resource_manager
from ninfer_lab.contract.candidate import AdmissionCandidate, SourceDisposition
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.plan import CaptureTerms
from ninfer_lab.frontend import prepared_prompt
from ninfer_lab.program.planning import exact_identity, resource_projection
from ninfer_lab.program.transactions.running_transaction import RunningTransaction
from program.mutant import Mutant, Wrong, constant, instead


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
        where=RunningTransaction,
        name="_lacks_slot",
        make=constant(True),
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

MUTANTS = (*PROPOSALS, *KEPT, *STARTED_FROM)
