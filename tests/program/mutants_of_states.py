"""Wrong versions of what is kept where, what it counts as, and what a target makes of it."""

from __future__ import annotations

from ninfer_lab.contract.capacity import Axis
from ninfer_lab.contract.options import PAGE_TOKENS, ResolvedOptions
from ninfer_lab.contract.target import StageName, StateTransition
from ninfer_lab.program.planning import ladder, resource_projection, transfer_work
from ninfer_lab.program.planning.ledger_readied import Projected
from ninfer_lab.program.planning.resource_projection import CandidateProjector
from ninfer_lab.program.planning.stage_order import StageOrder
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.address_space import AddressSpace, SnapshotShape
from ninfer_lab.program.storage.host_arena import FreeRuns
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.storage.place_pool import PlacePool
from ninfer_lab.program.transactions import capture
from program import (
    test_activation,
    test_address_space,
    test_capture,
    test_fixed_sizes,
    test_ladder,
    test_ledger,
    test_place_pool,
    test_program,
    test_projection_of_tiers,
    test_resource_projection,
    test_stage_order,
    test_transfer_work,
)
from program.mutant import Mutant, Wrong, always, constant, instead


def _by_bytes(self: FreeRuns, run_granules: int) -> int | None:
    return 0 if sum(self.lengths) >= run_granules else None


def _net_end(right: Wrong) -> Wrong:
    """What a demotion holds counts only once the stale replica has made room for it."""

    def uses(self: StageOrder, post: Wrong) -> Wrong:
        found = right(self, post)
        _, *end = found[-1]
        between = (StageName.DEMOTION_RESERVED, StageName.DEMOTED, StageName.DESTINATIONS_RESERVED)
        return tuple(
            (name, *end) if name in between else (name, allocated, reserved)
            for name, allocated, reserved in found
        )

    return uses


def _whatever_is_short(right: Wrong) -> Wrong:
    return property(lambda projected: True)


def _own_credits(right: Wrong) -> Wrong:
    """What an evicted owner had is gone, whoever else has it."""

    def project(self: CandidateProjector, outcomes: Wrong) -> Wrong:
        survivors: int = self._projector.active
        for kept in self._projector.kept_by_owner.values():
            survivors |= kept
        for outcome in outcomes:
            survivors &= ~self._projector.kept_by_owner[outcome.owner.id]
        return self.post_state(survivors, ())

    return project


def _restoring_all(right: Wrong) -> Wrong:
    def needs(self: CandidateProjector, share: Wrong, others: int, destined: int) -> Wrong:
        found = right(self, share, others, destined)
        return found._replace(restored=share.source_pages)

    return needs


def _untailed(coverage_tokens: int) -> SnapshotShape:
    full_pages = coverage_tokens // PAGE_TOKENS
    return SnapshotShape(coverage_tokens=coverage_tokens, full_pages=full_pages, tail_tokens=0)


def _thawing(self: AddressSpace, shape: SnapshotShape, tail_copy: Wrong) -> None:
    if tail_copy is not None:
        self._pages[-1] = tail_copy
    self._immutable_pages = shape.full_pages


def _without_read(self: ActiveSequence) -> Wrong:
    held = _RIGHT_HOLDINGS(self)
    return held._replace(images=1 << self.write_image)


_RIGHT_HOLDINGS: Wrong = ActiveSequence.holdings.fget  # type: ignore[attr-defined]


def _hoarding(self: Ledger, holdings: Wrong) -> Wrong:
    granules = 0
    for pool, store in self.kv.items():
        pages = holdings.of_pool(pool) & store.on_host
        self._granules[pool, pages] = (store.host_changes_count, store.granules_of(pages))
        granules |= self._granules[pool, pages][1]
    return self.layout.granules.put(granules)


MUTANTS_OF_STATES: tuple[Mutant, ...] = (
    Mutant(
        rule="CAP-2",
        what="an extent that fits by its bytes",
        where=FreeRuns,
        name="first_fit",
        make=instead(_by_bytes),
        killer=test_stage_order.test_free_bytes_do_not_prove_that_an_extent_fits,
    ),
    Mutant(
        rule="ACC-1",
        what="promised growth that nobody counts",
        where=Ledger,
        name="reserved_pages",
        make=constant(0),
        killer=test_ledger.test_an_allocation_counts_once_and_a_promise_is_none,
    ),
    Mutant(
        rule="ACC-2",
        what="a place that is given back twice",
        where=PlacePool,
        name="give_back",
        make=instead(lambda self, places: self._free.extend(places)),
        killer=test_place_pool.test_a_place_is_given_back_once,
    ),
    Mutant(
        rule="ACC-3",
        what="shared contents among the exclusive ones",
        where=Ledger,
        name="unreferenced",
        make=instead(lambda self, contents, besides=None: contents),
        killer=test_ledger.test_what_two_share_is_in_nobodys_exclusive_set,
    ),
    Mutant(
        rule="REC-2",
        what="what a victim had is gone, whoever shares it",
        where=CandidateProjector,
        name="project",
        make=_own_credits,
        killer=test_resource_projection.test_dropping_one_of_two_that_share_frees_only_what_it_alone_held,
    ),
    Mutant(
        rule="REC-3",
        what="a Move of what somebody reads",
        where=CandidateProjector,
        name="_state",
        make=constant(StateTransition.MOVE),
        killer=test_resource_projection.test_a_consumed_source_that_another_still_reads_is_forked,
    ),
    Mutant(
        rule="STG-1",
        what="a target that always fits",
        where=Projected,
        name="fits",
        make=_whatever_is_short,
        killer=test_program.test_what_does_not_fit_is_never_sealed,
    ),
    Mutant(
        rule="STG-2",
        what="only the beginning and the end are counted",
        where=StageOrder,
        name="uses",
        make=_net_end,
        killer=test_stage_order.test_the_net_end_does_not_hide_what_is_held_before_the_old_goes,
        arguments=(Axis.HOST_STATE,),
    ),
    Mutant(
        rule="STG-2",
        what="replicas that writing makes stale and nobody drops",
        where=CandidateProjector,
        name="_stale",
        make=instead(lambda self, state, needs, others, destined: 0),
        killer=test_projection_of_tiers.test_what_a_consumed_source_had_on_the_host_goes_where_it_becomes_stale,
    ),
    Mutant(
        rule="STATE-1",
        what="a capture that takes the slot of a free lane",
        where=Ledger,
        name="free_lanes",
        make=always(0),
        killer=test_capture.test_the_last_free_slot_stays_for_a_free_lane,
    ),
    Mutant(
        rule="STATE-2",
        what="a source on the Host that is forked",
        where=CandidateProjector,
        name="_state",
        make=constant(StateTransition.FORK),
        killer=test_projection_of_tiers.test_an_image_that_is_on_the_host_alone_is_restored,
    ),
    Mutant(
        rule="STATE-4",
        what="a borrowed read that nobody holds",
        where=ActiveSequence,
        name="holdings",
        make=instead(property(_without_read)),
        killer=test_activation.test_a_borrowed_read_survives_the_eviction_of_its_source,
    ),
    Mutant(
        rule="KV-1",
        what="a backend that ends where Main does",
        where=ResolvedOptions,
        name="coverage_tokens",
        make=instead(lambda self, pool, frontier_tokens: frontier_tokens),
        killer=test_projection_of_tiers.test_a_backend_has_a_frontier_of_its_own,
        arguments=(70, 6, 1, 1),
    ),
    Mutant(
        rule="KV-3",
        what="a frozen page that becomes writable",
        where=AddressSpace,
        name="freeze",
        make=instead(_thawing),
        killer=test_address_space.test_freezing_never_makes_a_frozen_page_writable,
    ),
    Mutant(
        rule="KV-4",
        what="a capture that copies no tail",
        where=capture,
        name="snapshot_shape",
        make=instead(_untailed),
        killer=test_capture.test_an_unaligned_tail_stays_and_the_writer_gets_a_copy,
    ),
    Mutant(
        rule="KV-4",
        what="a Fork into the tail that it shares",
        where=resource_projection,
        name="snapshot_shape",
        make=instead(_untailed),
        killer=test_resource_projection.test_only_an_unaligned_tail_is_copied_for_a_second_writer,
        arguments=(65, 1),
    ),
    Mutant(
        rule="KV-5",
        what="pages restored that are on the Device already",
        where=CandidateProjector,
        name="_needs",
        make=_restoring_all,
        killer=test_projection_of_tiers.test_pages_of_one_checkpoint_lie_in_both_tiers,
    ),
    Mutant(
        rule="OWN-2",
        what="branches that write into the tail of what they fork",
        where=resource_projection,
        name="snapshot_shape",
        make=instead(_untailed),
        killer=test_activation.test_many_branches_fork_one_source_which_stays_what_it_is,
    ),
    Mutant(
        rule="TGT-5",
        what="a rung that takes back what was given up",
        where=ladder,
        name="_last",
        make=instead(lambda rungs, keeps: keeps),
        killer=test_ladder.test_what_a_rung_has_given_up_no_lower_one_keeps,
        arguments=("on the Device",),
    ),
    Mutant(
        rule="COST-2",
        what="pages that need no call",
        where=transfer_work,
        name="runs_count",
        make=constant(0),
        killer=test_transfer_work.test_a_transition_with_everything_in_it,
    ),
    Mutant(
        rule="CFG-3",
        what="a memory without a bound",
        where=Ledger,
        name="_granules_of",
        make=instead(_hoarding),
        killer=test_fixed_sizes.test_what_is_remembered_of_granules_is_bounded,
    ),
)
