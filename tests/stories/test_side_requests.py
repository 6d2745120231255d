"""Law: the published counts come out of stories that hold messages only; each way out works where
it is said to, and the obvious remedies do not.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
import pytest

from ninfer_lab.contract.events import RequestAdmitted
from ninfer_lab.contract.recording_options import EVERYTHING
from ninfer_lab.contract.request_purpose import RequestPurpose
from ninfer_lab.engine.assembly import catalog_design
from ninfer_lab.lab import stories, worlds
from ninfer_lab.lab.side_request_donts import (
    glued_on,
    more_lanes,
    pages_alone,
    put_off,
    undeclared,
)
from ninfer_lab.lab.side_request_room import beside_long, catalog_capacities, in_turns, pressed
from ninfer_lab.lab.side_request_ways import (
    WayOut,
    Ways,
    decision_table,
    every_combination,
    sweep,
    way_run,
)
from ninfer_lab.lab.side_requests import (
    PUBLISHED,
    Group,
    Lengths,
    published_table,
    side_run,
    world_of,
)
from ninfer_lab.lab.story import ChatTurn
from ninfer_lab.lab.token_sources import RecordedTokens
from ninfer_lab.lab.world import Machine
from ninfer_lab.policies.lane_owned.design import lane_owned
from ninfer_lab.policies.lane_owned.switches import (
    AS_IT_WAS,
    DETACHED_REGISTRY,
    LANE_SELECTION,
    PRESERVE_EXISTING,
    EvictionOrder,
    LaneSwitches,
)
from ninfer_lab.policies.lane_owned.trace import Destroyer, Line, Lost

PATHS = {
    Group.CONTROL: ["restore_turn_checkpoint"],
    Group.TITLE: ["full_reset", "full_reset"],
    Group.POSTFIX: ["restore_turn_checkpoint", "full_reset"],
}


@pytest.mark.parametrize("lanes_count", [1, 2])
def test_the_published_table_comes_out(lanes_count: int) -> None:  # spec: OBS-1, OBS-2, OBS-3
    table = published_table(lanes_count=lanes_count)
    assert table.reproduced == PUBLISHED
    title = table.runs[2].told[1][1].outcome.log
    assert (title.prompt_tokens, title.computed_prefill_tokens) == (1033, 71)
    assert sum("961 | 961" in line for line in str(table).splitlines()) == 1


@pytest.mark.parametrize("group", Group)
def test_the_stories_hold_messages_and_no_count(group: Group) -> None:  # spec: OBS-1
    story = world_of(group).story
    for ask in story.asks:
        assert isinstance(ask.turn, ChatTurn)
        assert ask.turn.messages
    text = stories.text_of(story)
    assert not any(str(count) in text for count in (961, 962, 1025, 1030, 1031, 1033))


@pytest.mark.parametrize("group", Group)
def test_other_lengths_take_the_same_paths(group: Group) -> None:  # spec: OBS-1
    for lanes_count in (1, 2):
        side = side_run(group, lengths=Lengths.SHORT, lanes_count=lanes_count)
        assert [each.path for each in side.observed] == PATHS[group]
        counts = {each.prompt_tokens for each in side.observed}
        assert not counts & {each.prompt_tokens for each in PUBLISHED}


@pytest.mark.parametrize("group", Group)
def test_the_trace_tells_which_line_ran_and_what_destroyed_what(  # spec: DES-1, DES-2, LANE-4
    group: Group,
) -> None:
    trace = side_run(group).trace
    assert trace.evict_calls_count == 0
    said = [[each.line for each in admission.lines] for admission in trace.admissions]
    assert said == [[Line.TAKEN, Line.RETURNED]] * len(trace.admissions)
    gone = [(each.request, each.destroyer, each.lost) for each in trace.destructions]
    executed = [
        (2, Destroyer.CAPTURE_NEW, Lost.CHECKPOINT),
        (2, Destroyer.OVERWRITTEN, Lost.FINGERPRINT),
    ]
    reset = {request: (request, Destroyer.FULL_RESET, Lost.PAGES) for request in (2, 3)}
    expected = {
        Group.CONTROL: executed,
        Group.TITLE: [reset[2], reset[3]],
        Group.POSTFIX: [*executed, reset[3]],
    }
    assert gone == expected[group]


DESIGNS: Mapping[str, LaneSwitches] = {
    "as it was": AS_IT_WAS,
    "preserve": PRESERVE_EXISTING,
    "registry": DETACHED_REGISTRY,
}
REUSED_BY_TURN_2 = {
    Group.CONTROL: {"as it was": 143, "preserve": 143, "registry": 143},
    Group.TITLE: {"as it was": 0, "preserve": 0, "registry": 151},
    Group.POSTFIX: {"as it was": 0, "preserve": 158, "registry": 0},
}
ANSWERS = {"turn 1": "The lamp is red.", "title": "The trip.", "turn 2": "The lamp is green."}


@pytest.mark.parametrize("group", Group)
@pytest.mark.parametrize("name", DESIGNS)
def test_on_real_tensors_every_answer_is_right_and_only_the_work_differs(  # spec: OBS-1, IDN-6
    group: Group, name: str
) -> None:
    side = side_run(group, DESIGNS[name], lengths=Lengths.SHORT, machine=Machine.TORCH)
    for request, told in side.told:
        assert told.outcome.answer.content == ANSWERS[request]
    assert side.last_turn.cached_tokens == REUSED_BY_TURN_2[group][name]
    log = side.told[-1][1].outcome.log
    assert log.computed_prefill_tokens == log.prompt_tokens - side.last_turn.cached_tokens


@pytest.mark.parametrize("switches", [AS_IT_WAS, DETACHED_REGISTRY, PRESERVE_EXISTING])
def test_both_worlds_decide_the_same(switches: LaneSwitches) -> None:
    world = world_of(Group.POSTFIX, Lengths.SHORT)
    design = lane_owned(switches)
    real = worlds.run(world, Machine.TORCH, design=design, recording=EVERYTHING)
    drawn = RecordedTokens.of(real.events)
    virtual = worlds.run(world, tokens=drawn, design=lane_owned(switches), recording=EVERYTHING)
    assert virtual.snapshot == real.snapshot
    assert str(virtual).splitlines()[2:] == str(real).splitlines()[2:]
    assert len(virtual.events) == len(real.events)


# ── the ways out ────────────────────────────────────────────────────────────────────────────────


def expected(ways: Ways, *, lanes_count: int, is_flagged: bool) -> tuple[bool, bool]:
    """Whether pages and pivot survive the title, said by hand."""
    if WayOut.POSTFIX in ways:
        return True, WayOut.PRESERVE_EXISTING in ways and is_flagged
    own_lane = WayOut.LANE_SELECTION in ways and lanes_count > 1
    kept = WayOut.DETACHED_REGISTRY in ways or own_lane
    return kept, kept


def test_any_combination_does_what_its_parts_do() -> None:  # spec: RT-1, RT-2, RT-3, RT-4, RT-5
    runs = sweep(Lengths.SHORT).runs
    assert len(runs) == 2 * 2 * 16 == len({(r.lanes_count, r.is_flagged, r.ways) for r in runs})
    for run in runs:
        pages, pivot = expected(run.ways, lanes_count=run.lanes_count, is_flagged=run.is_flagged)
        assert (run.pages_alive, run.pivot_alive) == (pages, pivot), run
        assert run.helps is pivot, run


def test_the_first_way_saves_its_own_prefill_and_not_the_next_turns() -> None:
    # spec: RT-1, RT-2
    alone = way_run([WayOut.POSTFIX])
    title, turn = alone.side.observed
    assert (title.cached_tokens, turn.cached_tokens) == (962, 0)
    both = way_run([WayOut.POSTFIX, WayOut.PRESERVE_EXISTING])
    assert [each.cached_tokens for each in both.side.observed] == [962, 962]


def test_the_fourth_way_needs_a_second_lane_and_gains_no_more_than_the_third() -> None:
    # spec: RT-4, RT-3
    by_key = [way_run([WayOut.LANE_SELECTION], lanes_count=n) for n in (1, 2)]
    assert [(run.title_lane, run.reused_tokens) for run in by_key] == [(0, 0), (1, 961)]
    assert way_run([WayOut.DETACHED_REGISTRY]).reused_tokens == 961


def test_under_pressure_the_order_of_pass_2_decides() -> None:  # spec: RT-4
    reused = {order: pressed(order).last_turn.cached_tokens for order in EvictionOrder}
    assert reused == {EvictionOrder.LANE: 0, EvictionOrder.RETENTION: 961}
    assert [pressed(order).trace.evict_calls_count for order in EvictionOrder] == [1, 1]


def test_what_was_offered_and_found_no_room_is_recorded() -> None:  # spec: RCD-1
    run = pressed(EvictionOrder.LANE).run
    turn = [event for event in run.events if isinstance(event, RequestAdmitted)][-1]
    assert turn.report.best_offered_tokens == 961
    offered, taken = turn.report.verdicts
    assert (offered.reuse_tokens, offered.is_feasible, taken.reuse_tokens) == (961, False, 0)
    causes = run.recording.misses.filter(pl.col("request") == turn.request)["cause"].to_list()
    assert causes[0] == "blocked by a reservation"


@pytest.mark.parametrize(
    ("conversation_tokens", "title_lane", "reused_tokens"),
    [(200_000, 1, 200_063), (261_900, 1, 261_963), (261_960, 0, 0)],
)
def test_beside_a_quarter_million_tokens_the_title_needs_two_pages(  # spec: RT-4
    conversation_tokens: int, title_lane: int, reused_tokens: int
) -> None:
    found = beside_long(conversation_tokens)
    assert (found.title_lane, found.reused_tokens) == (title_lane, reused_tokens)
    assert (found.capacity_pages - found.conversation_pages >= 2) == (title_lane == 1)


def test_a_detached_state_weighs_as_much_as_published() -> None:  # spec: RT-3
    """One whole image of the released model lies on two cards, half on each."""
    image_bytes = worlds.named("27b-agent").device.state_image_bytes
    assert round(image_bytes / 2 / 2**20, 1) == 73.4


def test_the_decision_table_holds_but_for_its_last_else() -> None:  # spec: RT-5
    decisions = decision_table(Lengths.SHORT).decisions
    assert [each.run.helps for each in decisions] == [True] * 6 + [False] * 2
    assert not any(each.without.helps for each in decisions)
    alive = [each.without.pages_alive for each in decisions]
    assert alive == [True, True, False, False, True, True, True, True]
    for each in decisions[6:]:
        assert each.run.pages_alive
        assert not each.run.pivot_alive
        assert each.run.title_lane == 0
        assert each.said.endswith("wins lane 0 by reuse and replaces the pivot")


def test_every_combination_is_there_once() -> None:
    assert len(set(every_combination())) == 16


def test_in_turns_both_find_their_prefix_with_a_registry_alone() -> None:  # spec: REG-4
    assert in_turns() == (0, 0, 0, 0)
    one_entry = LaneSwitches(detached_entries_count=1)
    assert in_turns(DETACHED_REGISTRY) == in_turns(one_entry) == (0, 0, 81, 95)
    assert in_turns(LANE_SELECTION) == in_turns(PRESERVE_EXISTING) == (0, 0, 0, 0)
    assert in_turns(catalog_design) == (0, 0, 81, 95)


def test_the_catalog_engine_needs_a_second_place_and_no_way_out() -> None:
    table = catalog_capacities()
    for each in table.capacities:
        if each.shared_slots:
            assert each.helps or (
                each.extra_slots < 4 and not (each.extra_slots and each.host_slots)
            ), each
        elif each.extra_slots == 0:
            assert not any(tokens for _, tokens in each.reused_tokens), each
        elif each.private_slots == 1:
            assert [tokens for _, tokens in each.reused_tokens] == [961, 0, 0], each
        elif each.host_slots or each.extra_slots >= each.long_anchors + 2:
            assert each.helps, each


# ── what is no way out ──────────────────────────────────────────────────────────────────────────


def test_pages_without_a_state_give_another_answer() -> None:  # spec: NOT-1
    remedy = pages_alone()
    right, wrong = remedy.rows
    assert right == ("lane-owned", 158, 0, "The lamp is purple.")
    assert wrong[:3] == ("longest prefix", 158, 128)
    assert wrong[3] != right[3]


def test_putting_it_off_moves_the_loss_by_a_turn() -> None:  # spec: NOT-2
    early, late = put_off().rows
    assert early[:3] == ("at once", "title: 0", "turn 2: 0")
    assert late == ("a turn later", "turn 2: 91", "title: 0", "turn 3: 0")


def test_more_lanes_are_of_no_use_by_themselves() -> None:  # spec: NOT-3
    assert more_lanes().rows == ((1, 0, 0), (2, 0, 0), (4, 0, 0), (8, 0, 0))


def test_gluing_on_computes_more_and_still_takes_the_pivot() -> None:  # spec: NOT-4
    assert glued_on().rows == (("prompt of its own", 42, 0), ("whole conversation", 71, 0))


def test_declaring_nothing_clears_as_well() -> None:  # spec: NOT-5
    remedy = undeclared()
    assert remedy.rows == (("declares one", "capture_new", 0), ("declares none", "drop", 0))
    assert str(remedy).splitlines()[-1].startswith("→ Drop clears")


def test_the_flag_is_in_the_story_of_the_postfix_title_alone() -> None:
    flags = {
        name: [ask.options.purpose for ask in stories.read(name).asks]
        for name in ("side-request-title", "side-request-postfix")
    }
    plain, side = RequestPurpose.CONVERSATION, RequestPurpose.SIDE_REQUEST
    assert flags == {
        "side-request-title": [plain] * 3,
        "side-request-postfix": [plain, side, plain],
    }
