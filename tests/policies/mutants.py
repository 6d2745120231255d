"""Wrong versions of the lane-owned engine, each with the test that must catch it."""

from __future__ import annotations

from dataclasses import replace

from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.result import CaptureResult
from ninfer_lab.lab.side_requests import Group
from ninfer_lab.policies import longest_prefix
from ninfer_lab.policies.lane_owned import controller, lane_selection, reuse_plan
from ninfer_lab.policies.lane_owned.bundle import Fingerprint, LaneBundle
from ninfer_lab.policies.lane_owned.bundle_store import BundleStore
from ninfer_lab.policies.lane_owned.controller import LaneOwnedController
from ninfer_lab.policies.lane_owned.detached_registry import DetachedRegistry
from ninfer_lab.policies.lane_owned.lane_selection import Selection
from ninfer_lab.policies.lane_owned.reuse_plan import FULL_RESET, CheckpointAction
from ninfer_lab.policies.lane_owned.switches import EvictionOrder, LaneKey, LaneSwitches
from ninfer_lab.policies.row_ledger import RowLedger
from policies import test_detached_registry as registry
from policies import test_lane_owned as lanes
from policies import test_lane_selection as selecting
from policies import test_longest_prefix as longest
from policies import test_reuse_plan as planning
from policies import test_row_ledger as rows
from program.mutant import Mutant, Wrong, constant, instead
from stories import test_side_requests as side


def _of_equals_the_last(right: Wrong) -> Wrong:
    def key(by: LaneKey, plan: Wrong, bundle_pages: int) -> tuple[int, ...]:
        _of_equals_the_last_calls.append(0)
        return (*right(by, plan, bundle_pages), len(_of_equals_the_last_calls))

    return key


_of_equals_the_last_calls: list[int] = []


def _prefers_the_empty_lane(by: LaneKey, plan: Wrong, bundle_pages: int) -> tuple[int, ...]:
    return plan.reuse_tokens, -bundle_pages


def _destruction_first(by: LaneKey, plan: Wrong, bundle_pages: int) -> tuple[int, ...]:
    return -bundle_pages, plan.reuse_tokens


def _longest_common_prefix(self: Fingerprint, prompt: Wrong, frontier_tokens: int) -> bool:
    return frontier_tokens < len(prompt.tokens) and self.ledger[:8] == prompt.tokens[:8]


def _tokens_alone(self: Fingerprint, prompt: Wrong, frontier_tokens: int) -> bool:
    common = self.ledger.common_prefix_tokens(prompt.tokens)
    return frontier_tokens < len(prompt.tokens) and common >= frontier_tokens


def _drop_keeps(right: Wrong) -> Wrong:
    return property(lambda self: self is CheckpointAction.CAPTURE_NEW)


def _degrades_to_drop(right: Wrong) -> Wrong:
    def action(*arguments: Wrong) -> CheckpointAction:
        found: CheckpointAction = right(*arguments)
        preserves = found is CheckpointAction.PRESERVE_EXISTING
        return CheckpointAction.DROP if preserves else found

    return action


def _keeps_the_frontier(right: Wrong) -> Wrong:
    def kept(self: LaneOwnedController, running: Wrong, ended: Wrong, end: Wrong) -> Wrong:
        preserved = running.preserved
        if preserved is not None:
            running.action = CheckpointAction.KEEP
        return right(self, running, ended, end)

    return kept


def _keeps_pages(right: Wrong) -> Wrong:
    def claim(self: BundleStore, request: Wrong, lane: Wrong, plan: Wrong) -> LaneBundle | None:
        if plan.is_full_reset and not self._registry.is_on:
            self._retained.pop(lane, None)
            return None
        found: LaneBundle | None = right(self, request, lane, plan)
        return found

    return claim


def _slots_stay_with_the_lane(right: Wrong) -> Wrong:
    def detach(self: BundleStore, request: Wrong, bundle: LaneBundle) -> None:
        right(self, request, bundle)
        self._ledger.slots.give_back(bundle.slots)

    return detach


def _pages_too(right: Wrong) -> Wrong:
    def detach(self: BundleStore, request: Wrong, bundle: LaneBundle) -> None:
        right(self, request, bundle)
        self._ledger.pages.give_back(bundle.pages)

    return detach


def _states_swapped(right: Wrong) -> Wrong:
    def attach(self: DetachedRegistry, owner: OwnerId) -> LaneBundle:
        entry: LaneBundle = right(self, owner)
        if entry.rewrite is None or entry.frontier is None:
            return entry
        slots = entry.rewrite.slot, entry.frontier.slot
        return replace(
            entry,
            rewrite=replace(entry.rewrite, slot=slots[1]),
            frontier=replace(entry.frontier, slot=slots[0]),
        )

    return attach


def _handed_out_and_kept(self: DetachedRegistry, owner: OwnerId) -> LaneBundle:
    return self._entries[owner]


def _most_reusable(self: DetachedRegistry) -> LaneBundle | None:
    return max(self.entries, key=lambda e: e.reusable_prompt_tokens, default=None)


def _evicts_at_once(right: Wrong) -> Wrong:
    def select(request: Wrong, now: Wrong, switches: LaneSwitches) -> Wrong:
        found, lines = right(request, now, switches)
        if isinstance(found, Selection) and found.lane in now.retained:
            found = replace(found, evicted=(found.lane,), plan=FULL_RESET)
        return found, lines

    return select


def _captures_nothing(right: Wrong) -> Wrong:
    def on_forward(self: LaneOwnedController, handle: Wrong) -> CaptureResult:
        self._running[handle.id].capture = None
        result: CaptureResult = right(self, handle)
        return result

    return on_forward


def _lends_nothing(right: Wrong) -> Wrong:
    def start(self: RowLedger, request: Wrong, lane: Wrong, start: Wrong) -> Wrong:
        return right(self, request, lane, replace(start, is_lent=False))

    return start


def _by_lane(scan: Wrong) -> Wrong:
    scan.switches = replace(scan.switches, eviction_order=EvictionOrder.LANE)
    return [lane for lane in scan.now.lanes if lane in scan.request.free_lanes]


def _promises_one_page_less(right: Wrong) -> Wrong:
    def entitled(self: RowLedger, request: Wrong) -> int:
        pages: int = right(self, request)
        return max(1, pages - 1)

    return entitled


_TITLE = lanes.test_a_full_reset_returns_the_pages_at_entry_and_evicts_nobody
_TABLE = side.test_the_published_table_comes_out
_EQUALS = selecting.test_of_equal_reuse_the_first_lane_is_taken_though_it_holds_a_conversation

MUTANTS = (
    Mutant(
        rule="LANE-1",
        what="tokens are all of a fingerprint",
        where=Fingerprint,
        name="agrees",
        make=instead(_tokens_alone),
        killer=planning.test_tokens_are_not_all_of_a_fingerprint,
    ),
    Mutant(
        rule="LANE-2",
        what="a common beginning is enough",
        where=Fingerprint,
        name="agrees",
        make=instead(_longest_common_prefix),
        killer=planning.test_a_plan_looks_at_ledger_and_checkpoint,
        arguments=("parts below it", [*range(59), 7, 8], "full_reset", 0),
    ),
    Mutant(
        rule="LANE-3",
        what="Drop leaves the checkpoint alone",
        where=CheckpointAction,
        name="clears",
        make=_drop_keeps,
        killer=lanes.test_what_declares_nothing_clears_as_well,
    ),
    Mutant(
        rule="LANE-4",
        what="of equal reuse the last lane is taken",
        where=lane_selection,
        name="_key",
        make=_of_equals_the_last,
        killer=_EQUALS,
    ),
    Mutant(
        rule="LANE-4",
        what="of equal reuse the empty lane is taken",
        where=lane_selection,
        name="_key",
        make=instead(_prefers_the_empty_lane),
        killer=_EQUALS,
    ),
    Mutant(
        rule="LANE-4",
        what="room is not looked at",
        where=lane_selection,
        name="_can_admit_lane",
        make=constant(True),
        killer=selecting.test_what_lies_on_the_lane_itself_counts_as_room,
    ),
    Mutant(
        rule="LANE-5",
        what="a full reset forgets the pages",
        where=BundleStore,
        name="claim",
        make=_keeps_pages,
        killer=_TITLE,
    ),
    Mutant(
        rule="LANE-6",
        what="a checkpoint that stays is written in place",
        where=RowLedger,
        name="start",
        make=_lends_nothing,
        killer=lanes.test_preserving_writes_nothing_and_only_the_checkpoint_can_be_resumed,
    ),
    Mutant(
        rule="DES-1",
        what="the reset goes through the eviction function",
        where=controller,
        name="select_lane",
        make=_evicts_at_once,
        killer=side.test_the_trace_tells_which_line_ran_and_what_destroyed_what,
        arguments=(Group.TITLE,),
    ),
    Mutant(
        rule="DES-2",
        what="no turn leaves a checkpoint",
        where=LaneOwnedController,
        name="on_forward",
        make=_captures_nothing,
        killer=lanes.test_ordinary_turns_resume_from_the_checkpoint,
    ),
    Mutant(
        rule="OBS-1",
        what="every plan is a full reset",
        where=lane_selection,
        name="plan_reuse",
        make=constant(FULL_RESET),
        killer=_TABLE,
        arguments=(1,),
    ),
    Mutant(
        rule="RT-2",
        what="a side request's captures degrade to Drop",
        where=controller,
        name="checkpoint_action",
        make=_degrades_to_drop,
        killer=side.test_the_first_way_saves_its_own_prefill_and_not_the_next_turns,
    ),
    Mutant(
        rule="RT-2",
        what="the title's own state is left as the ledger's frontier",
        where=LaneOwnedController,
        name="_kept",
        make=_keeps_the_frontier,
        killer=lanes.test_the_old_frontier_is_gone_after_a_preserving_request,
    ),
    Mutant(
        rule="RT-3",
        what="the most reusable leaves the registry first",
        where=DetachedRegistry,
        name="least_reusable",
        make=instead(_most_reusable),
        killer=registry.test_the_least_reusable_gives_way_and_of_equals_the_older,
    ),
    Mutant(
        rule="RT-4",
        what="destruction is weighed before reuse",
        where=lane_selection,
        name="_key",
        make=instead(_destruction_first),
        killer=selecting.test_destruction_is_looked_at_only_where_reuse_is_equal,
    ),
    Mutant(
        rule="RT-4",
        what="pass 2 goes by lane whatever was chosen",
        where=lane_selection,
        name="_eviction_order",
        make=instead(_by_lane),
        killer=side.test_under_pressure_the_order_of_pass_2_decides,
    ),
    Mutant(
        rule="REG-1",
        what="a detached bundle leaves its slots to the lane",
        where=BundleStore,
        name="_detach",
        make=_slots_stay_with_the_lane,
        killer=registry.test_a_detached_state_is_written_by_no_lane,
    ),
    Mutant(
        rule="REG-2",
        what="a detached bundle's pages go back as well",
        where=BundleStore,
        name="_detach",
        make=_pages_too,
        killer=registry.test_a_detached_bundle_holds_its_pages,
    ),
    Mutant(
        rule="REG-2",
        what="an entry that is handed out stays in the registry",
        where=DetachedRegistry,
        name="attach",
        make=instead(_handed_out_and_kept),
        killer=registry.test_an_entry_goes_in_once_and_comes_out_once,
    ),
    Mutant(
        rule="REG-3",
        what="at attach the two states are exchanged",
        where=DetachedRegistry,
        name="attach",
        make=_states_swapped,
        killer=registry.test_at_attach_the_state_is_where_its_frontier_says,
    ),
    Mutant(
        rule="REG-4",
        what="nothing without a lane is recognised",
        where=DetachedRegistry,
        name="match",
        make=constant(None),
        killer=side.test_in_turns_both_find_their_prefix_with_a_registry_alone,
    ),
    Mutant(
        rule="NOT-5",
        what="a mute side request is heard all the same",
        where=reuse_plan,
        name="_action",
        make=constant(CheckpointAction.KEEP),
        killer=side.test_declaring_nothing_clears_as_well,
    ),
    Mutant(
        rule="ACT-1",
        what="one page less is promised",
        where=RowLedger,
        name="entitled_pages",
        make=_promises_one_page_less,
        killer=rows.test_the_whole_request_is_promised_and_mapped_cut_by_cut,
    ),
    Mutant(
        rule="NOT-1",
        what="no page is ever whole, so none is reused",
        where=longest_prefix,
        name="PAGE_TOKENS",
        make=instead(1_000_000),
        killer=longest.test_the_machine_has_no_state_for_pages_alone,
    ),
)
