"""Law: a ladder passes through what was decided, and the recency ladder ends in its licence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from context_cache.decisions import owner, price, problem
from ninfer_lab.contract.capacity import Axis
from ninfer_lab.engine.decision_problem import RetentionClass
from ninfer_lab.lab import decisions
from ninfer_lab.lab.ladders import (
    Fate,
    Freed,
    everybody_gives_way,
    owner_ladders,
    price_of_recency,
    recency_ladder,
)
from ninfer_lab.lab.owner_rungs import RungKind
from ninfer_lab.lab.planner_problems import generated

LOST = RetentionClass.DISPOSABLE


@pytest.mark.parametrize("seed", [6, 24, 234, 437])
def test_a_ladder_leads_through_what_was_decided(seed: int) -> None:  # spec: TGT-5
    decision = decisions.look(generated(seed))
    session = decision.posed.session
    taken = decision.best.target
    for ordinal, ladder in enumerate(owner_ladders(decision)):
        assert ladder.rungs[0].kind is RungKind.KEEP
        assert ladder.rungs[-1].kind is RungKind.EVICT
        losses = [rung.loss_ns for rung in ladder.rungs]
        assert losses == sorted(losses)
        choice = taken.choices[ordinal]
        assert (ladder.taken > 0) == (choice > 0)
        assert ladder.rungs[ladder.taken].loss_ns == decision.posed.valuation.own_loss_ns(
            ordinal, choice
        )
        assert ladder.is_source == (not session.is_eligible(taken.candidate, ordinal))
        assert f"[{ladder.rungs[ladder.taken].words}]" in str(ladder)


def test_what_is_freed_alone_and_jointly() -> None:  # spec: TGT-6, REC-2
    # All eleven pages are one branch's or the other's; the first ten are both's.
    written = problem(
        owner(640, retention=LOST),
        owner(704, branches_from=(0, 0), retention=LOST),
        new_tokens=640,
        pages=13,
    )
    decision = decisions.look(written, price)
    first, second = owner_ladders(decision)
    assert [ladder.rungs[-1].alone for ladder in (first, second)] == [
        Freed(slots=1, pages=0),
        Freed(slots=1, pages=1),
    ]
    assert first.rungs[first.taken].jointly == Freed(slots=1, pages=10)
    assert second.rungs[second.taken].jointly == Freed(slots=1, pages=11)


def test_the_worked_decision_has_a_rung_of_every_kind() -> None:
    decision = decisions.look(everybody_gives_way())
    ladders = owner_ladders(decision)
    kinds = {rung.kind for ladder in ladders for rung in ladder.rungs[1 : ladder.taken + 1]}
    assert kinds == set(RungKind) - {RungKind.KEEP, RungKind.END_CHECKPOINT}
    session = decision.posed.session
    ends = [
        session.assess(t).stages[-1].occupancy
        for t in (
            session.identity(0),
            decision.best.target,
        )
    ]
    freed = ends[0].on(Axis.DEVICE_KV).used_count - ends[1].on(Axis.DEVICE_KV).used_count
    alone = sum(ladder.rungs[ladder.taken].alone.pages for ladder in ladders)
    jointly = sum(ladder.rungs[ladder.taken].jointly.pages for ladder in ladders)
    assert (alone, freed, jointly) == (625, 688, 751)


def test_the_recency_ladder_ends_where_the_search_began() -> None:  # spec: SRCH-4
    written = problem(
        owner(128), owner(640), owner(640), new_tokens=640, pages=24, recency=(0, 1, 2)
    )
    ladder = recency_ladder(decisions.look(written, price))
    assert [rung.gone_count for rung in ladder.rungs] == [0, 1, 2, 3]
    assert [rung.is_adoptable for rung in ladder.rungs] == [False, False, True, True]
    assert ladder.least is ladder.rungs[2]
    assert ladder.rungs[1].verdict == "device KV pages: 31 > 24"
    gone, stays = Fate.GONE, Fate.LEAVES
    assert ladder.rungs[0].fates == (stays,) * 3
    assert ladder.least.fates[:2] == (gone, gone)
    # The oldest has two pages, which do not help: it is spared.
    assert ladder.licence == {1}
    assert "→ 2 gone: fits" in str(ladder)


def test_a_decision_without_a_ladder_has_none() -> None:
    with pytest.raises(ValueError, match="no order of recency"):
        recency_ladder(decisions.look(everybody_gives_way()))


def test_whoever_is_not_licensed_is_not_evicted() -> None:  # spec: SRCH-4
    written = replace(everybody_gives_way(), recency=(4, 1, 3, 0, 2))
    decision = decisions.look(written)
    ladder = recency_ladder(decision)
    facts = decision.posed.session.facts(decision.best.target)
    gone = {ordinal for ordinal, each in facts if each.is_eviction}
    assert ladder.licence == {0, 1, 4}
    assert gone <= ladder.licence
    assert decision.best.cost.total_ns > decisions.look(everybody_gives_way()).best.cost.total_ns


def test_a_clock_never_blocks_and_is_often_dearer() -> None:  # spec: SRCH-3, SRCH-4
    found = price_of_recency(15, price)
    assert (len(found.dearer), found.blocked_count) == (15, 0)
    assert found.quantile(0.0) >= 0.0
    assert found.dearer[-1] > 0.0
    assert "15 problems" in str(found)
