"""Law: every promise of speed has a row, and a pattern chooses rows or is refused."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.lab.bench.checkpoints import BenchCheckpoint
from ninfer_lab.lab.bench.measured import Bound, Goal
from ninfer_lab.lab.bench.rows import DecodeRow, PrefillRow, all_rows, select_rows

ROWS = all_rows(("00_start_here", "20_reuse"))


def test_no_two_rows_share_a_name() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)


def test_nothing_that_is_compared_may_be_slower_than_transformers() -> None:
    compared = [row for row in ROWS if isinstance(row, PrefillRow | DecodeRow)]
    assert {(row.checkpoint, row.dtype) for row in compared} == {
        (checkpoint, dtype) for checkpoint in BenchCheckpoint for dtype in ModelDtype
    }
    for row in compared:
        assert row.goal.bound is Bound.AT_LEAST, row.name
        assert row.goal.figure >= 1.0, row.name


def test_the_promised_figures_stand_in_the_rows() -> None:
    goals = {row.name: row.goal for row in ROWS}
    for checkpoint in ("tiny", "bench-12m"):
        place = f"{checkpoint}/float32"
        assert goals[f"{place}/prefill-4096"] == Goal(bound=Bound.AT_LEAST, figure=1.2)
        assert goals[f"{place}/decode-1x1024"] == Goal(bound=Bound.AT_LEAST, figure=1.3)
        assert goals[f"{place}/decode-8x512"] == Goal(bound=Bound.AT_LEAST, figure=1.3)
        faster = goals[f"{checkpoint}/bfloat16/decode-1x1024"]
        assert faster == Goal(bound=Bound.AT_LEAST, figure=1.5)
        share = goals[f"bookkeeping/{checkpoint}/decode-1x512"]
        assert share == Goal(bound=Bound.AT_MOST, figure=0.10)
        resume = goals[f"resume/{checkpoint}/256-of-4096"]
        assert resume == Goal(bound=Bound.AT_MOST, figure=0.11)
    assert goals["simulated/requests"] == Goal(bound=Bound.AT_LEAST, figure=2_000)
    assert goals["simulated/recorder"] == Goal(bound=Bound.AT_MOST, figure=0.10)
    assert goals["simulated/mooncake-conversation"] is None
    assert goals["planner/pressure"] == Goal(bound=Bound.AT_MOST, figure=1.0)
    assert goals["planner/no-pressure"] == Goal(bound=Bound.AT_MOST, figure=0.001)
    for family in ("small", "wide"):
        regret = goals[f"planner/regret-{family}"]
        assert regret == Goal(bound=Bound.AT_MOST, figure=0.05)
    for form, targets in (("whole", 20_000), ("neighbour", 100_000)):
        rate = goals[f"program/projection-{form}"]
        assert rate == Goal(bound=Bound.AT_LEAST, figure=targets)
    assert goals["import/ninfer_lab"] == Goal(bound=Bound.AT_MOST, figure=0.3)


def test_patterns_choose_in_the_order_of_the_table() -> None:
    chosen = select_rows(ROWS, ("notebook/*", "tiny/*/prefill-1024"))
    assert [row.name for row in chosen] == [
        "tiny/float32/prefill-1024",
        "tiny/bfloat16/prefill-1024",
        "notebook/00_start_here",
        "notebook/20_reuse",
    ]
    assert select_rows(ROWS, ()) == ROWS


def test_a_pattern_without_a_row_is_refused_with_the_names() -> None:
    with pytest.raises(OptionsError, match=r"bench rows: found huge/\*; legal: .*tiny/float32"):
        select_rows(ROWS, ("tiny/*", "huge/*"))
