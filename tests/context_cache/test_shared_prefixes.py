"""Law: what several requests begin with is computed once, kept where nobody loses by it, and forked
by whoever comes next; a frontier that nobody else has asked for is not kept on a guess.
"""

from __future__ import annotations

import pytest

from context_cache.shared_worlds import (
    ASKED,
    EXPLICIT,
    HEAD_TOKENS,
    MARKER,
    OBSERVED,
    ROOT,
    SHARED,
    STRUCTURE,
    ask,
    chances,
    head,
    outcomes,
    reused,
    rounds,
    shared_frontiers,
    shared_world,
    tail,
)
from ninfer_lab.contract.candidate import ReusePath
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.options import CacheMode
from ninfer_lab.contract.shared_prefix import Evidence
from ninfer_lab.contract.shared_report import CaptureForm, SharedOutcome, SlotSource
from ninfer_lab.contract.target import StateTransition
from simulation.content_machine import answer_to
from simulation.engine_world import EngineWorld, prepared

PUBLISHED, NO_SLOT = SharedOutcome.PUBLISHED, SharedOutcome.NO_SLOT
DEDUPLICATED, NO_ROOM = SharedOutcome.DEDUPLICATED, SharedOutcome.NO_ROOM


def test_the_second_request_forks_the_head_that_the_first_has_left() -> None:
    # spec: OWN-2, SHR-6
    world = shared_world()
    first = ask(world, 0, 0)
    assert reused(world, first) == (ROOT, 0)
    assert outcomes(world, first) == [(HEAD_TOKENS, PUBLISHED)]
    second = ask(world, 0, 1)
    assert reused(world, second) == (SHARED, HEAD_TOKENS)
    assert world.admission_of(second).state is StateTransition.FORK
    assert shared_frontiers(world) == [HEAD_TOKENS]
    assert outcomes(world, second) == []


def test_a_shared_source_stays_as_it_is_whoever_forks_it() -> None:  # spec: OWN-2
    world = shared_world()
    ask(world, 0, 0)
    before = next(e for e in world.snapshot.catalog if e.checkpoints[0].frontier_tokens == 100)
    for ordinal in range(1, 4):
        assert reused(world, ask(world, 0, ordinal, session="mine")) == (SHARED, HEAD_TOKENS)
    assert before in world.snapshot.catalog


@pytest.mark.parametrize(
    ("evidence", "created"),
    [
        (EXPLICIT, True),
        (ASKED, True),
        (MARKER, False),
        (STRUCTURE, True),
        (OBSERVED, False),
        (MARKER | STRUCTURE, True),
    ],
)
def test_what_may_be_created_at_first_sight(  # spec: EVD-1, EVD-5
    evidence: Evidence, created: bool
) -> None:
    world = shared_world()
    first = ask(world, 0, 0, evidence=evidence)
    assert (outcomes(world, first) == [(HEAD_TOKENS, PUBLISHED)]) is created
    assert shared_frontiers(world) == [HEAD_TOKENS] * created


@pytest.mark.parametrize("evidence", [MARKER, OBSERVED])
def test_two_independent_requests_make_a_key_repeated(evidence: Evidence) -> None:
    # spec: EVD-1
    world = shared_world()
    ask(world, 0, 0, evidence=evidence)
    second = ask(world, 0, 1, evidence=evidence)
    assert outcomes(world, second) == [(HEAD_TOKENS, PUBLISHED)]
    assert reused(world, ask(world, 0, 2)) == (SHARED, HEAD_TOKENS)


def test_one_session_that_asks_twice_is_one_domain() -> None:  # spec: EVD-1, VAL-1
    world = shared_world()
    for ordinal in (0, 1):
        ask(world, 0, ordinal, evidence=OBSERVED, session="mine")
    assert shared_frontiers(world) == []
    ask(world, 0, 2, evidence=OBSERVED, session="yours")
    assert shared_frontiers(world) == [HEAD_TOKENS]


def test_a_prefix_before_the_source_is_demand_and_no_more() -> None:  # spec: SHR-6
    world = shared_world()
    ask(world, 0, 0)
    earlier = ask(world, 0, 1, also={40: EXPLICIT})
    assert reused(world, earlier) == (SHARED, HEAD_TOKENS)
    assert outcomes(world, earlier) == []
    # A later root request of another head has its own; the head's beginning is still only wanted.
    assert shared_frontiers(world) == [HEAD_TOKENS]


def test_a_private_base_is_promoted_before_anything_is_computed() -> None:  # spec: SHR-6
    world = shared_world()
    base = [*head(0), *tail(0)]
    ask(world, 0, 0, evidence=None)
    known = [*base, *answer_to(base, 2)[:1]]
    prompt = prepared([*known, 5, 6, 7], shared={len(known): EXPLICIT})
    second = world.submit(prompt, output=2)
    world.finish(second)
    assert reused(world, second) == (ReusePath.PRIVATE_ENDPOINT, len(known))
    (told,) = chances(world, second)
    assert told.outcome is PUBLISHED
    assert told.scenario is not None
    assert told.scenario.form is CaptureForm.LEND
    assert told.work is not None
    assert told.work.transfers == ()
    third = world.submit(prepared([*known, 8, 9]), output=2)
    world.finish(third)
    assert reused(world, third) in ((SHARED, len(known)), (ReusePath.PRIVATE_ENDPOINT, len(known)))


def beyond_an_endpoint(*sessions: str | None) -> tuple[EngineWorld, int, RequestId]:
    """A conversation of `mine`, and requests that know it to its end; the last proposes that end by
    a mere look at it.
    """
    world = shared_world()
    base = [*head(0), *tail(0)]
    ask(world, 0, 0, evidence=None, session="mine")
    known = [*base, *answer_to(base, 2)[:1]]
    for ordinal, session in enumerate(sessions, 1):
        shared = {len(known): OBSERVED} if ordinal == len(sessions) else {}
        prompt = prepared([*known, ordinal, 7], shared=shared)
        request = world.submit(prompt, output=2, session=session)
        world.finish(request)
    return world, len(known), request


def test_what_was_matched_privately_is_wanted_as_well() -> None:  # spec: VAL-1, EVD-1
    world, end, last = beyond_an_endpoint("mine", "yours")
    assert reused(world, last) == (ROOT, 0)  # the conversation has gone on
    assert outcomes(world, last) == [(end, PUBLISHED)]


def test_what_a_private_checkpoint_serves_needs_no_shared_slot() -> None:  # spec: VAL-3
    world, end, last = beyond_an_endpoint("yours", "theirs")
    assert reused(world, last) == (ReusePath.PRIVATE_ENDPOINT, end)  # it is retained for all
    assert outcomes(world, last) == []


def test_a_request_that_may_leave_nothing_behind_shares_nothing() -> None:  # spec: MODE-2
    world = shared_world()
    prompt = prepared([*head(0), *tail(0)], shared={HEAD_TOKENS: EXPLICIT})
    world.finish(world.submit(prompt, output=2, mode=CacheMode.DISABLED))
    assert world.snapshot.catalog == ()
    ask(world, 0, 1, evidence=OBSERVED)
    assert shared_frontiers(world) == []


def test_without_a_device_slot_the_prefix_goes_to_the_host_and_lowers_nobody() -> None:
    # spec: EVD-1, INV-15
    world = shared_world(extra=1)
    ask(world, 0, 0)
    before = world.snapshot.ledger.images
    second = ask(world, 1, 0)
    (told,) = chances(world, second)
    assert told.outcome is PUBLISHED
    assert told.scenario is not None
    assert told.scenario.form is CaptureForm.SNAPSHOT
    assert before
    assert reused(world, ask(world, 1, 1)) == (SHARED, HEAD_TOKENS)


def test_structure_takes_nobodys_room_and_a_declared_boundary_may() -> None:  # spec: EVD-1, ACT-6
    world = shared_world(extra=1, host=0)
    ask(world, 0, 0)
    speculative = ask(world, 1, 0)
    assert outcomes(world, speculative) == [(HEAD_TOKENS, NO_ROOM)]
    for ordinal in range(9):
        (told,) = chances(world, ask(world, 2, ordinal, evidence=EXPLICIT))
        if told.outcome is PUBLISHED:
            break
    assert ordinal > 0, "one demand and one credit are worth less than an owner of weight 4"
    assert told.evicted != ()
    assert told.scenario is not None
    assert told.scenario.gain is not None
    assert told.scenario.gain.private_loss_ns > 0
    assert told.scenario.gain.net_ns > 0


def test_a_full_catalog_gives_up_what_was_used_last_the_longest_ago() -> None:
    # spec: EVD-2
    world = shared_world(slots=2)
    ask(world, 0, 0)
    ask(world, 1, 0)
    assert reused(world, ask(world, 0, 1)) == (SHARED, HEAD_TOKENS)  # 1 is older now
    third = ask(world, 2, 0)
    (told,) = chances(world, third)
    assert told.outcome is PUBLISHED
    assert told.scenario is not None
    assert told.scenario.slot is SlotSource.RECYCLED
    assert reused(world, ask(world, 0, 2)) == (SHARED, HEAD_TOKENS)
    assert reused(world, ask(world, 2, 1)) == (SHARED, HEAD_TOKENS)
    assert reused(world, ask(world, 1, 1, evidence=None)) == (ROOT, 0)


def test_an_old_engine_keeps_a_full_catalog_for_good() -> None:
    world = shared_world(slots=2, recycles=False)
    for ordinal in range(3):
        ask(world, ordinal, 0)
    assert reused(world, ask(world, 2, 1, evidence=None)) == (ROOT, 0)


def test_an_entry_with_credit_is_not_recycled_until_it_was_matched() -> None:
    # spec: EVD-2, VAL-5
    world = shared_world(slots=1)
    ask(world, 0, 0, evidence=EXPLICIT)
    assert outcomes(world, ask(world, 1, 0)) == []
    assert reused(world, ask(world, 0, 1)) == (SHARED, HEAD_TOKENS)  # its credit is consumed
    assert outcomes(world, ask(world, 2, 0)) == [(HEAD_TOKENS, PUBLISHED)]


def test_a_credit_ends_after_a_whole_window() -> None:  # spec: VAL-5
    world = shared_world(slots=1)
    ask(world, 0, 0, evidence=EXPLICIT)
    for ordinal in range(31):
        ask(world, 1, ordinal, evidence=None)
    assert outcomes(world, ask(world, 2, 0)) == []
    assert outcomes(world, ask(world, 3, 0)) == [(HEAD_TOKENS, PUBLISHED)]


def test_an_entry_that_the_request_extends_is_not_recycled_for_it() -> None:  # spec: EVD-3
    world = shared_world(slots=1)
    ask(world, 0, 0)
    deeper = ask(world, 0, 1, also={HEAD_TOKENS + 10: STRUCTURE})
    assert reused(world, deeper) == (SHARED, HEAD_TOKENS)
    assert outcomes(world, deeper) == []
    assert shared_frontiers(world) == [HEAD_TOKENS]


def test_nor_is_one_that_it_has_matched_and_not_started_from() -> None:  # spec: EVD-3
    world = shared_world(slots=1)
    ask(world, 0, 0, session="mine")
    known = [*head(0), *tail(0)]
    known += answer_to(known, 2)[:1]
    longer = [*known, *range(500, 530)]
    deeper = {HEAD_TOKENS: STRUCTURE, len(known) + 10: STRUCTURE}
    second = world.submit(prepared(longer, shared=deeper), output=2, session="mine")
    world.finish(second)
    assert reused(world, second) == (ReusePath.PRIVATE_ENDPOINT, len(known))
    assert outcomes(world, second) == []
    assert shared_frontiers(world) == [HEAD_TOKENS]
    # Somebody who has nothing to do with it may have the slot.
    assert outcomes(world, ask(world, 1, 0)) == [(HEAD_TOKENS, PUBLISHED)]


def test_an_exact_prefix_that_has_come_meanwhile_is_enough() -> None:  # spec: SHR-6
    world = shared_world(lanes=2)
    prompts = [
        prepared([*head(0), *tail(ordinal)], shared={HEAD_TOKENS: STRUCTURE}) for ordinal in (0, 1)
    ]
    both = [world.submit(prompt, output=2) for prompt in prompts]
    world.settle()
    told = sorted(outcomes(world, request)[0][1].name for request in both)
    assert told == ["DEDUPLICATED", "PUBLISHED"]
    assert shared_frontiers(world) == [HEAD_TOKENS]


def test_heads_in_turns_are_all_kept_where_all_have_a_slot() -> None:  # spec: EVD-4
    world = shared_world(slots=4)
    assert rounds(world, 4, 3, also_marker=True) == [
        [0] * 4,
        [HEAD_TOKENS] * 4,
        [HEAD_TOKENS] * 4,
    ]


def test_markers_that_take_vacant_slots_starve_the_structure() -> None:  # spec: EVD-4
    world = shared_world(slots=8, markers_take_surplus=True, recycles=False)
    assert rounds(world, 4, 4, also_marker=True) == [
        [0] * 4,
        [0] * 4,  # the second round fills the rest of the catalog
        [0] * 4,  # only now the structure may press
        [HEAD_TOKENS] * 4,
    ]


def test_recycling_makes_turns_over_more_heads_than_slots_hopeless() -> None:  # spec: EVD-2
    world = shared_world(slots=3)
    assert rounds(world, 4, 3) == [[0] * 4] * 3
