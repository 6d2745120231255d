"""Public reports about the owners of private histories, each told to the whole engine: what belongs
to somebody is found again, and what belongs to nobody is in nobody's way.
"""

from __future__ import annotations

import polars as pl

from ninfer_lab.contract.candidate import ReusePath
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.events import OwnerPublished
from ninfer_lab.lab import worlds
from ninfer_lab.policies.lane_owned.design import lane_owned
from stories.public_reports import (
    ANCHOR,
    CLOSURE,
    ENDPOINT,
    ROOT,
    admissions,
    offered_tokens,
    report,
    starts,
    winners,
)


def test_report_5_what_its_session_has_left_makes_room() -> None:  # spec: VAL-4
    """Wrong is what the default does and the report complains of: the longer history that can never
    match again is charged with its rebuild, and the one that comes back goes.
    """
    kept = worlds.run(report("05-left-behind", release_diverged=True))
    assert starts(kept) == [(ROOT, 0), (ROOT, 0), (ROOT, 0), (ENDPOINT, 8_015)]
    third = winners(kept)[2]
    assert third.evicted == (2,)
    assert third.cost is not None
    assert third.cost.future_loss_ns == 0
    lost = worlds.run(report("05-left-behind"))
    assert starts(lost) == [(ROOT, 0)] * 4
    assert [each.evicted for each in winners(lost)] == [(), (), (1,), (2,)]


def test_report_8_a_one_shot_has_an_owner_of_its_own() -> None:  # spec: OWN-2
    """Wrong is one owner per lane: every one-shot then takes the conversation's place."""
    world = report("08-one-shot-between-turns")
    run = worlds.run(world)
    turns = [(ROOT, 0), (ENDPOINT, 4_099), (ENDPOINT, 8_199)]
    assert starts(run) == [each for turn in turns for each in (turn, (ROOT, 0))]
    # With the catalog full, a one-shot pushes out the one before it.
    assert [each.evicted for each in winners(run)] == [(), (), (), (2,), (), (3,)]
    assert starts(worlds.run(world, design=lane_owned())) == [(ReusePath.FULL_RESET, 0)] * 6


def test_report_14_a_checkpoint_whose_image_is_gone_is_not_offered() -> None:  # spec: CAND-2
    """Wrong is an offer of 54,127 tokens, or a request that fails on it: the pages below the anchor
    are still there, and so is the session's binding.
    """
    run = worlds.run(report("14-state-given-up"))
    published = [each for each in run.events if isinstance(each, OwnerPublished)]
    anchor, endpoint = published[1].checkpoints
    assert (anchor.kind, anchor.frontier_tokens) == (CheckpointKind.LONG_ANCHOR, 50_063)
    assert endpoint.frontier_tokens == 54_127
    first_one_shot = winners(run)[2]
    assert (first_one_shot.evicted, first_one_shot.deleted) == ((), (endpoint.ref.id,))
    assert starts(run)[-1] == (ANCHOR, 50_063)
    assert offered_tokens(run) == [0, 50_063, 0, 0, 50_063]


def test_report_23_thoughts_that_are_taken_out_cost_one_turn() -> None:  # spec: OWN-4
    """Wrong is to know endpoints alone: they lie behind the thoughts, and each turn is computed
    from the root.
    """
    run = worlds.run(report("23-thoughts-taken-out"))
    assert starts(run) == [(ROOT, 0), (CLOSURE, 36), (CLOSURE, 61)]
    assert [each.outcome.log.computed_prefill_tokens for each in run.told] == [39, 28, 22]


def test_report_30_reuse_reaches_to_the_message_that_is_missing() -> None:  # spec: ANC-1
    """Wrong is a frontier that stays at the first turn, 31, or an end at the root; and a hit beyond
    the place where the prompts part.
    """
    run = worlds.run(report("30-hidden-message"))
    assert starts(run) == [(ROOT, 0), (ANCHOR, 31), (ANCHOR, 56)]
    assert offered_tokens(run) == [0, 31, 56]  # the client's doing: nothing deeper was there
    for each in admissions(run)[1:]:
        assert each.seen is not None
        assert each.seen.diverges
        # The opener of the next message is the same whoever speaks, and is no place to start from.
        assert 0 < each.seen.tokens - each.reuse_tokens <= 2


def test_report_35_no_offer_says_history_and_an_offer_says_room() -> None:  # spec: RCD-3
    """Wrong is a log in which both look alike, a root without more."""
    run = worlds.run(report("35-whose-fault"))
    assert starts(run) == [(ROOT, 0)] * 5
    assert offered_tokens(run) == [0, 0, 0, 0, 3_007]
    # One more image, and the history that was offered is taken; the others' is not there still.
    with_room = worlds.run(report("35-whose-fault", device_state_slots=1))
    assert starts(with_room) == [(ROOT, 0)] * 4 + [(ENDPOINT, 3_007)]
    misses = run.recording.misses
    causes = {
        request: misses.filter(pl.col("request") == request)["cause"].to_list()
        for request in (2, 5)
    }
    assert causes == {
        2: ["cold"],
        5: ["blocked by a reservation", "new after all that was known"],
    }
