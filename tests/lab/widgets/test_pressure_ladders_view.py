"""Law: the ladders' view says of each of the best so far what the ladders say of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ninfer_lab.lab import ladders
from ninfer_lab.lab.decisions import look
from ninfer_lab.lab.widgets.pressure_ladders_view import PressureLaddersView


@pytest.fixture(scope="module")
def by_j() -> PressureLaddersView:
    return PressureLaddersView(look(ladders.everybody_gives_way()))


def test_it_stands_at_what_was_taken(by_j: PressureLaddersView) -> None:  # spec: W-2
    decision = look(ladders.everybody_gives_way())
    assert by_j.steps_count == len(decision.incumbents) == by_j.step + 1
    assert by_j.ladders[-1] == ladders.owner_ladders(decision)
    count, total_ns = by_j.steps_count, decision.best.cost.total_ns
    head, *lines = str(by_j).splitlines()
    assert head.startswith(
        f"everybody gives way, number {count} of {count} that were the best so far:"
        f" J {total_ns / 1e6:,.0f} ms, frees 688 Device pages (each owner alone, added up: "
    )
    assert lines == list(map(str, by_j.ladders[-1]))


def test_each_of_the_best_so_far_has_its_own_rungs(by_j: PressureLaddersView) -> None:
    # spec: W-2
    first = by_j.ladders[0]
    assert all(ladder.rungs[ladder.taken].words == "evicted" for ladder in first)
    totals = [found["total_ns"] for found in by_j.facts["found"]]
    assert totals == sorted(totals, reverse=True)
    for found, told in zip(by_j.facts["found"], by_j.ladders, strict=True):
        taken = [ladder.rungs[ladder.taken] for ladder in told]
        assert found["alone_pages"] == sum(rung.alone.pages for rung in taken)
        assert [each["taken"] for each in found["ladders"]] == [ladder.taken for ladder in told]


def test_a_decision_by_recency_shows_its_ladder_and_licence() -> None:  # spec: W-2, SRCH-4
    problem = replace(ladders.everybody_gives_way(), recency=(4, 1, 3, 0, 2))
    view = PressureLaddersView(look(problem))
    recency = view.facts["recency"]
    assert recency["licence"] == [0, 1, 4]
    assert [rung["gone_count"] for rung in recency["rungs"] if rung["is_least"]] == [4]
    assert str(view).endswith("licence: 0, 1, 4")
    gone = {la.owner for la in view.ladders[-1] if la.rungs[la.taken].words == "evicted"}
    assert gone <= set(recency["licence"])
