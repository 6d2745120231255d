"""Law: the published study comes out again, through engine, planner and ledger, from a seed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ninfer_lab.contract.shared_report import SharedOutcome
from ninfer_lab.lab import eight_prefixes_figures, worlds
from ninfer_lab.lab.eight_prefixes_study import (
    HISTORY,
    PUBLISHED_PERCENT,
    ROOMY,
    Draw,
    Rules,
    Turns,
    hits_of_draw,
    run_turns,
    sharing_nothing,
)
from ninfer_lab.lab.eight_prefixes_tables import chance_table, reuse_table
from ninfer_lab.lab.world import Machine

SMALL = Turns(preambles_tokens=(1_430,) * 3, rounds_count=3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rules", "slots"),
    [(Rules.BEFORE, 8), (Rules.BEFORE, 16), (Rules.AFTER, 8), (Rules.AFTER, 16)],
)
def test_the_published_figures(rules: Rules, slots: int) -> None:  # spec: EVD-4
    run = run_turns(slots, rules, options=HISTORY)
    assert abs(run.reuse_percent - PUBLISHED_PERCENT[rules, slots]) < 0.2


@pytest.mark.parametrize(
    ("rules", "slots", "hits"),
    [
        (Rules.BEFORE, 3, [0, 0, 3]),
        (Rules.BEFORE, 6, [0, 0, 0]),
        (Rules.AFTER, 3, [0, 3, 3]),
        (Rules.AFTER, 6, [0, 3, 3]),
        (Rules.TODAY, 2, [0, 0, 0]),
        (Rules.TODAY, 3, [0, 3, 3]),
    ],
)
def test_a_larger_catalog_fills_with_waste_first(  # spec: EVD-4
    rules: Rules, slots: int, hits: list[int]
) -> None:
    run = run_turns(slots, rules, turns=SMALL, options=ROOMY)
    assert [run.hits_in_round(each) for each in (1, 2, 3)] == hits


def test_a_seed_decides_everything() -> None:
    one, other = (
        run_turns(3, Rules.TODAY, turns=Turns.drawn(5, prefixes_count=3), options=ROOMY),
        run_turns(3, Rules.TODAY, turns=Turns.drawn(5, prefixes_count=3), options=ROOMY),
    )
    assert one == other
    assert Turns.drawn(5) != Turns.drawn(6)
    assert all(1_415 <= each <= 1_445 for each in Turns.drawn(6).preambles_tokens)


def test_every_chance_is_told_with_its_terms() -> None:
    run = run_turns(3, Rules.AFTER, turns=SMALL, options=ROOMY)
    table = chance_table(run)
    assert table["frontier_tokens"].to_list() == [1_430] * 3
    assert table["taken"].to_list() == [True] * 3
    for row in table.iter_rows(named=True):
        lost = row["public_before_ms"] + row["private_loss_ms"] + row["immediate_ms"]
        assert abs(row["net_ms"] - (row["public_after_ms"] - lost)) < 1e-6
    published = [t for turn in run.requests for t in turn.chances]
    assert {told.outcome for told in published} == {SharedOutcome.PUBLISHED}
    assert reuse_table([run])["hits in round 3"].to_list() == [3]
    assert str(run).startswith("3 slots, after: 98.3 %")


def test_hits_are_told_by_the_share_of_reuse() -> None:
    turns = Turns.drawn(1)
    for hits in range(25):
        draw = Draw(turns=turns, reuse_percent=100 * hits / 24 * 1_436 / 1_461)
        assert hits_of_draw(draw) == hits


def test_the_pictures_can_be_drawn() -> None:
    runs = [run_turns(3, rules, turns=SMALL, options=ROOMY) for rules in Rules]
    drawn = [Draw(turns=Turns.drawn(0), reuse_percent=8.2)]
    for picture in (
        eight_prefixes_figures.reuse(runs, title="t"),
        eight_prefixes_figures.turn_by_turn(runs),
        eight_prefixes_figures.draws(drawn),
    ):
        assert picture._repr_png_().startswith(b"\x89PNG")


def test_the_real_model_answers_as_one_that_shares_nothing() -> None:  # spec: IDN-6
    name = "tiny-shared-instructions"
    shared = worlds.run(name, Machine.TORCH)
    alone = worlds.run(sharing_nothing(name), Machine.TORCH)
    assert [t.outcome.output_tokens for t in shared.told] == [
        t.outcome.output_tokens for t in alone.told
    ]
    reused = [
        sum(t.outcome.log.prefix_cache_hit_tokens for t in run.told) for run in (shared, alone)
    ]
    assert reused[0] > reused[1]
    assert replace(alone.world.story.options, max_shared_prefixes=None) == (
        shared.world.story.options
    )
