"""Law: a belief orders targets and nothing else; what it costs is told by the truth alone."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from ninfer_lab.contract.machine_work import PrefillWork, TransferDirection
from ninfer_lab.cost.presets import GENERIC
from ninfer_lab.engine.decision_under_belief import decide_under
from ninfer_lab.lab import stories, worlds
from ninfer_lab.lab.calibration.belief_decisions import (
    BeliefStudy,
    study_beliefs,
)
from ninfer_lab.lab.calibration.belief_worlds import (
    BeliefComparison,
    at_truth,
    compare_beliefs,
    comparison_table,
)
from ninfer_lab.lab.calibration.beliefs import (
    SLOW_LINK_BYTES_PER_NS,
    Belief,
    published_case,
    wrong_by,
)
from ninfer_lab.lab.planner_problems import generated

CASE = published_case()
TRUTH = CASE.truth
RIGHT = Belief(name="right", model=TRUTH)
FAR_OFF = Belief(name="copies x100", model=wrong_by(TRUTH, link=100.0))


# ── beliefs ─────────────────────────────────────────────────────────────────────────────────────


def test_the_published_case_is_2_3_times_low() -> None:
    """A published prefill of 55,000 tokens: 26.0 s believed, 57 s measured, 58.1 s by the fit."""
    table = CASE.prefill_table
    assert table["published"].to_list() == [26.0, 57.0, 2.27]
    assert table["here"].to_list() == [25.91, 58.12, 2.24]


def test_the_truth_moves_six_bytes_a_nanosecond_between_the_tiers() -> None:
    for direction in (TransferDirection.D2H, TransferDirection.H2D):
        timing = TRUTH.transfer.of(direction)
        assert timing.bandwidth_ns(6 * 10**9) == pytest.approx(10**9, rel=1e-6)
        believed = CASE.beliefs[1].model.transfer.of(direction)
        assert believed.bandwidth_ns(40 * 10**9) == pytest.approx(10**9, rel=1e-6)
    assert SLOW_LINK_BYTES_PER_NS == 6


def test_each_published_belief_is_named_and_the_right_one_is_first() -> None:
    assert [belief.name for belief in CASE.beliefs] == [
        "right",
        GENERIC,
        "generic link alone",
        "generic prefill alone",
        "RTX 5090",
        "RTX 5090 prefill alone",
    ]
    assert CASE.beliefs[0].model == TRUTH
    assert CASE.beliefs[2].model.prefill == TRUTH.prefill
    assert CASE.beliefs[3].model.transfer == TRUTH.transfer


def test_a_belief_is_wrong_by_a_factor() -> None:
    work = PrefillWork.between(0, 4096, prefill_chunk_tokens=1024)
    slow = wrong_by(TRUTH, prefill=2.0)
    assert slow.prefill_ns(work) == pytest.approx(2 * TRUTH.prefill_ns(work), rel=1e-9)
    assert slow.transfer == TRUTH.transfer
    dear = wrong_by(TRUTH, link=10.0)
    ten_times = 10 * TRUTH.transfer.h2d.elapsed_ns(10**6, 3)
    assert dear.transfer.h2d.elapsed_ns(10**6, 3) == pytest.approx(ten_times, rel=1e-5)
    assert dear.prefill == TRUTH.prefill


# ── one decision ────────────────────────────────────────────────────────────────────────────────


def test_a_right_belief_is_told_what_it_believed() -> None:
    decided = decide_under(generated(3), TRUTH.work_ns, TRUTH.work_ns)
    assert decided is not None
    assert decided.believed == decided.true
    assert decided.true.total_ns > 0


def test_what_was_taken_is_priced_by_the_truth_and_not_by_the_belief() -> None:
    """Everything twice as dear: nothing else is taken, and it is half of what is believed."""
    twice = wrong_by(TRUTH, link=2.0, prefill=2.0)
    right = decide_under(generated(3), TRUTH.work_ns, TRUTH.work_ns)
    wrong = decide_under(generated(3), twice.work_ns, TRUTH.work_ns)
    assert right is not None
    assert wrong is not None
    assert wrong.target == right.target
    assert wrong.true == right.true
    assert wrong.believed.total_ns == pytest.approx(2 * right.believed.total_ns, rel=1e-6)


@cache
def study() -> BeliefStudy:
    beliefs = [RIGHT, CASE.beliefs[1], FAR_OFF]
    return study_beliefs(TRUTH, beliefs, problem_count=8, shows_progress=False)


def test_a_right_belief_flips_nothing_and_loses_nothing() -> None:
    flips = study().of("right")
    assert len(flips) == 16
    assert not any(flip.has_flipped for flip in flips)
    assert {flip.loss_ns for flip in flips} == {0}
    assert all(flip.believed_ns == flip.right_ns for flip in flips)


def test_a_belief_that_is_far_off_flips_decisions_and_pays_for_them() -> None:
    flips = study().of("copies x100")
    assert any(flip.has_flipped for flip in flips)
    assert all(flip.loss_ns == 0 for flip in flips if not flip.has_flipped)
    assert sum(flip.loss_ns for flip in flips) > 0


def test_tables_sum_up_what_flipped() -> None:
    by_problem, by_belief = study().by_problem, study().by_belief
    assert len(by_problem) == 2 * 8 * 3
    assert by_belief["decisions"].to_list() == [8] * 6
    assert by_belief["flipped"].sum() == by_problem["flipped"].sum()
    right = by_belief.filter(belief="right")
    assert right["lost_s"].to_list() == [0.0, 0.0]
    assert right["believed_over_true"].to_list() == [1.0, 1.0]
    generic = by_belief.filter(belief=GENERIC)
    assert (generic["believed_over_true"] < 0.5).all(), "priced as another card, all looks cheap"


# ── whole runs ──────────────────────────────────────────────────────────────────────────────────

BODY = """
options
  max_context_tokens: 1024
  device_state_slots: 1
  host_state_slots: 2
  kv_capacity_tokens: 1024
  max_private_continuations: 3

repeat 2 rounds over a-1..a-3
  tokens {item}
    prompt: q-{item}-{round}[200]
    answer: s-{item}-{round}[3]
"""


@cache
def compared() -> tuple[BeliefComparison, ...]:
    world = worlds.named("27b-short-turns")
    story = stories.parse(f"story t?\nsetting 27b\n{BODY}")
    world = at_truth(replace(world, story=story), TRUTH)
    return compare_beliefs(world, [RIGHT, FAR_OFF], shows_progress=False)


def test_the_same_belief_gives_the_same_run() -> None:
    same = compared()[0]
    assert same.first_flip is None
    assert same.lost_ns == 0
    assert same.right.events == same.other.events
    assert len(same.pairs) == 6


def test_both_runs_stand_on_the_same_truth() -> None:
    for each in compared():
        assert each.other.world.truth == each.right.world.truth
        assert each.right.world.belief == TRUTH
        assert each.right.world.truth.prefill == TRUTH.prefill
        assert each.right.world.truth.transfer == TRUTH.transfer


def test_up_to_the_first_flip_both_runs_are_one() -> None:
    parted = compared()[1]
    flip = parted.first_flip
    assert flip is not None
    assert not flip.is_after_a_flip
    for pair in parted.pairs:
        assert pair.is_after_a_flip == (pair.request > flip.request)
        if pair.request < flip.request:
            assert pair.right == pair.other
    right, other = flip.right.decision, flip.other.decision
    assert right.moved_bytes > 0, "a planner that is right sends somebody to the Host"
    assert other.moved_bytes == 0, "one for whom copies are a hundred times dearer does not"


def test_what_it_costs_is_time_to_the_first_token_in_truth() -> None:
    parted = compared()[1]
    waits = [
        sum(told.outcome.log.ttft_ns or 0 for told in run.told)
        for run in (parted.right, parted.other)
    ]
    assert parted.lost_ns == waits[1] - waits[0]
    assert parted.lost_ns > 0


def test_the_comparison_as_tables_and_words() -> None:
    same, parted = compared()
    table = comparison_table([same, parted])
    assert table["belief"].to_list() == ["right", "copies x100"]
    assert table["differ"].to_list()[0] == 0
    assert table["first_at_request"].to_list()[0] is None
    assert table["ttft_lost_s"].to_list() == [0.0, round(parted.lost_ns / 1e9, 3)]
    rows = parted.table
    assert rows["differs"].sum() == table["differ"].to_list()[1]
    assert rows["after_a_flip"].sum() == sum(pair.is_after_a_flip for pair in parted.pairs)
    assert str(same).startswith("right: the runs never part; 0 of 6 decisions differ")
    flip = parted.first_flip
    assert flip is not None
    assert f"copies x100: the runs part at request {flip.request};" in str(parted)
