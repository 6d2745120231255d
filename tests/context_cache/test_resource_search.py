"""Law: what is taken is feasible, publishable and judged; a budget changes only how good it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from context_cache.decisions import (
    decided,
    evicted,
    free,
    noise,
    owner,
    price,
    problem,
    saturated,
    searched,
    walk,
)
from ninfer_lab.context_cache.judged_targets import judge
from ninfer_lab.context_cache.resource_search import Found
from ninfer_lab.context_cache.valuation import PriceWork
from ninfer_lab.contract.candidate import SourceDisposition
from ninfer_lab.contract.search_report import SearchStop
from ninfer_lab.engine.decision_problem import DecisionProblem, RetentionClass, Where
from ninfer_lab.engine.decision_room import open_problem
from ninfer_lab.lab.planner_problems import WIDE, crowd, generated

RETAIN, CONSUME = SourceDisposition.RETAIN, SourceDisposition.CONSUME
LIVE = RetentionClass.LIVE_SESSION
BELIEFS = [noise, free, saturated]


def pressed(count: int = 3, **how: object) -> DecisionProblem:
    """Owners of ten pages, and a request for eleven where two are free."""
    written = problem(*[owner(640)] * count, new_tokens=640, pages=10 * count + 2)
    return replace(written, **how)  # type: ignore[arg-type]


# ── feasibility and price ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("belief", BELIEFS)
@pytest.mark.parametrize("seed", range(8))
def test_no_belief_moves_feasibility(seed: int, belief: PriceWork) -> None:  # spec: COST-1, INV-13
    believed, other = (open_problem(generated(seed), each) for each in (belief, price))
    for way in range(4):
        targets = walk(believed.session, way)
        assert targets == walk(other.session, way)
        for target in targets:
            one, two = judge(believed, target), judge(other, target)
            assert (one.verdict, one.has_slot) == (two.verdict, two.has_slot)


@pytest.mark.parametrize("belief", BELIEFS)
@pytest.mark.parametrize("seed", range(12))
def test_no_belief_blocks_what_can_run(seed: int, belief: PriceWork) -> None:  # spec: COST-1
    written = generated(seed)
    believed, other = searched(open_problem(written, belief)), decided(written)
    assert (believed.best is None) == (other.best is None)
    for found in (believed, other):
        assert found.best is not None
        assert found.best.is_adoptable
        assert found.best.key == min(j.key for j in found.judged if j.is_adoptable)


@pytest.mark.parametrize("seed", range(12))
def test_the_same_problem_is_decided_the_same(seed: int) -> None:  # spec: SRCH-7
    one, two = decided(generated(seed)), decided(generated(seed))
    assert one == two


# ── identities ──────────────────────────────────────────────────────────────────────────────────


def test_every_identity_is_read_first() -> None:  # spec: SRCH-2
    written = problem(
        owner(320, 640), owner(640), continued=((0, 0, RETAIN), (0, 1, RETAIN)), pages=60
    )
    found = decided(written)
    assert [judged.target.candidate for judged in found.judged] == [0, 1, 2]
    assert all(judged.target.is_identity for judged in found.judged)
    assert found.stop is SearchStop.NO_PRESSURE
    assert found.best is not None
    assert found.best.target.candidate == 2


def test_a_candidate_that_does_not_fit_is_worth_pressure() -> None:  # spec: SRCH-2, SRCH-5
    # Root fits as it is. What reuses 6,400 tokens needs a page more than there is, and an owner
    # whom nobody misses could give it.
    written = problem(
        owner(6400),
        owner(64, retention=RetentionClass.DISPOSABLE),
        continued=((0, 0, RETAIN),),
        new_tokens=64,
        slots=3,
        pages=400,
    )
    tight = replace(written, room=replace(written.room, device_slots=2))
    assert decided(written).stop is SearchStop.NO_PRESSURE
    found = decided(tight)
    assert found.best is not None
    assert (found.best.target.candidate, evicted_of(tight, found)) == (1, [1])


def evicted_of(written: DecisionProblem, found: Found) -> list[int]:
    """Owners that end in the target taken: those all of whose checkpoints do."""
    assert found.best is not None
    return [
        ordinal
        for ordinal, (given, _) in enumerate(found.best.key.given)
        if -given == len(written.owners[ordinal].checkpoints)
    ]


# ── the fallback ────────────────────────────────────────────────────────────────────────────────


def test_root_with_everybody_gone_needs_no_budget() -> None:  # spec: SRCH-3, SRCH-7, INV-12
    found = decided(replace(pressed(), new_tokens=31 * 64), allowance_ns=0)
    assert found.fell_back
    assert found.best is not None
    assert evicted_of(pressed(), found) == [0, 1, 2]
    assert found.spent_ns == 0


@pytest.mark.parametrize("seed", range(20))
def test_no_budget_is_needed_for_what_can_run(seed: int) -> None:  # spec: SRCH-7
    written = generated(seed)
    posed = replace(open_problem(written, price), target_budget=0)
    found = searched(posed, allowance_ns=0)
    assert found.best is not None
    assert found.best.is_adoptable
    identities = [j for j in found.judged if j.target.is_identity]
    assert len(identities) == len(posed.session.candidates)
    fits = any(judged.is_adoptable for judged in identities)
    assert found.fell_back == (not fits)
    assert len(found.judged) == len(identities) + (not fits)


def test_what_not_even_root_holds_is_blocked() -> None:  # spec: SRCH-3
    found = decided(replace(pressed(), new_tokens=40 * 64))
    assert (found.best, found.fell_back, found.stop) == (None, True, SearchStop.NO_PRESSURE)


def test_a_missing_slot_alone_is_pressure() -> None:  # spec: SRCH-5, CAP-3
    # Room for everything, and no place in the catalog: somebody must go, the least missed.
    owners = (owner(640, retention=LIVE), owner(640), owner(640, retention=LIVE))
    found = decided(problem(*owners, pages=60, vacant=0))
    assert found.best is not None
    assert evicted_of(problem(*owners, pages=60), found) == [1]
    assert all(judged.verdict.is_feasible for judged in found.judged)


# ── quality ─────────────────────────────────────────────────────────────────────────────────────


def test_whoever_can_be_moved_is_not_evicted() -> None:  # spec: SRCH-5
    written = pressed()
    tiers = replace(written, room=replace(written.room, host_slots=2, host_pages=10))
    assert evicted_of(written, decided(written)) == [0]
    assert evicted_of(tiers, decided(tiers)) == []


def test_an_extent_that_finds_no_hole_leads_elsewhere() -> None:  # spec: SRCH-5, CAP-2
    # The Host would take nine pages of the ten that are needed, so half of two owners go there.
    written = pressed(2)
    tiers = replace(written, room=replace(written.room, host_pages=9, device_slots=3))
    found = decided(tiers)
    assert found.best is not None
    assert found.best.is_adoptable
    assert found.best.verdict.unplaced_bytes == 0


def test_two_that_free_nothing_alone_give_way_together() -> None:  # spec: TGT-6
    owners = (
        owner(640, retention=RetentionClass.DISPOSABLE),
        owner(704, branches_from=(0, 0), retention=RetentionClass.DISPOSABLE),
        owner(640, retention=LIVE),
    )
    written = problem(*owners, new_tokens=640, pages=22)
    assert evicted_of(written, decided(written)) == [0, 1]


def test_only_what_is_verified_is_taken() -> None:  # spec: SRCH-6
    for seed in range(12):
        written = generated(seed)
        found = decided(written)
        assert found.best is not None
        again = open_problem(written, price)
        for judged in found.judged:
            if judged.target.is_identity:
                assert judge(again, judged.target).verdict == judged.verdict
        adoptable = [judged for judged in found.judged if judged.is_adoptable]
        assert found.best in adoptable


def test_a_larger_budget_is_never_worse() -> None:  # spec: SRCH-7
    for seed in range(8):
        totals = []
        for budget in (0, 4, 16, 64, 256):
            posed = replace(open_problem(generated(seed), price), target_budget=budget)
            found = searched(posed)
            assert found.best is not None
            assert sum(not j.target.is_identity for j in found.judged) <= budget + found.fell_back
            totals.append(found.best.cost.total_ns)
        assert totals == sorted(totals, reverse=True)


# ── stops ───────────────────────────────────────────────────────────────────────────────────────


def test_every_stop_reason_has_its_problem() -> None:  # spec: SRCH-9
    stops = {
        SearchStop.NO_PRESSURE: decided(crowd(4, is_pressed=False)),
        SearchStop.QUEUE_EXHAUSTED: decided(problem(owner(640), new_tokens=640, pages=12, slots=2)),
        SearchStop.TARGET_BUDGET: searched(
            replace(open_problem(generated(24), price), target_budget=5)
        ),
        SearchStop.WORK_BUDGET: searched(
            replace(open_problem(generated(24), price), work_limit=40)
        ),
        SearchStop.TIME_BUDGET: decided(generated(24), allowance_ns=200_000),
        SearchStop.INSUFFICIENT_EXPECTED_GAIN: decided(generated(24)),
        SearchStop.EXPANSION_CAPACITY: decided(generated(7, WIDE)),
    }
    assert {stop: found.stop for stop, found in stops.items()} == {
        stop: stop for stop in SearchStop
    }
    for found in stops.values():
        assert found.best is not None
        assert found.best.is_adoptable


# ── the recency ladder ──────────────────────────────────────────────────────────────────────────


def test_the_oldest_go_and_no_more_than_it_takes() -> None:  # spec: SRCH-4
    # By loss owner 3 would go; by recency it is 2, then 0.
    owners = [owner(640), owner(640), owner(640), owner(640, retention=RetentionClass.DISPOSABLE)]
    written = problem(*owners, new_tokens=640, pages=42, recency=(2, 0, 1, 3))
    assert evicted_of(written, decided(replace(written, recency=None))) == [3]
    assert evicted_of(written, decided(written)) == [2]
    more = replace(written, new_tokens=20 * 64)
    assert evicted_of(more, decided(more)) == [0, 2]


def test_outside_the_licence_nobody_is_evicted() -> None:  # spec: SRCH-4
    owners = [owner(320, 640), owner(640), owner(320, 640, retention=RetentionClass.DISPOSABLE)]
    written = problem(*owners, new_tokens=640, pages=32, recency=(1, 0, 2))
    posed = open_problem(written, price)
    found = searched(posed)
    for judged in found.judged:
        if len(evicted(posed.session, judged.target)) == 1:
            assert evicted(posed.session, judged.target) == [1]


def test_with_a_host_the_gentlest_rung_evicts_nobody() -> None:  # spec: SRCH-4
    written = problem(
        *[owner(640)] * 3, new_tokens=640, pages=32, host_slots=3, host_pages=40, recency=(0, 1, 2)
    )
    posed = open_problem(written, price)
    found = searched(posed)
    assert found.best is not None
    assert [o for o, choice in enumerate(found.best.target.choices) if choice]
    assert evicted(posed.session, found.best.target) == []


def test_a_fitting_identity_licenses_nobody() -> None:  # spec: SRCH-4
    written = problem(
        owner(6400),
        owner(64, retention=RetentionClass.DISPOSABLE),
        continued=((0, 0, RETAIN),),
        new_tokens=64,
        slots=2,
        pages=400,
        recency=(1, 0),
    )
    # The image of owner 1 would make room for the Fork; it may not be evicted for it.
    posed = open_problem(written, price)
    root = judge(posed, posed.session.identity(0))
    assert not root.is_adoptable
    roomy = open_problem(replace(written, room=replace(written.room, device_slots=3)), price)
    found = searched(roomy)
    assert not any(evicted(roomy.session, judged.target) for judged in found.judged)


def test_a_missing_slot_alone_finds_its_least_rung() -> None:  # spec: SRCH-4, CAP-3
    written = problem(*[owner(640)] * 3, pages=60, vacant=0, recency=(1, 2, 0))
    assert evicted_of(written, decided(written)) == [1]


def test_the_ladder_spares_whom_it_need_not_take() -> None:  # spec: SRCH-4
    # The oldest has two pages, which do not help; the next has ten, which do.
    written = problem(
        owner(128), owner(640), owner(640), new_tokens=640, pages=24, recency=(0, 1, 2)
    )
    assert evicted_of(written, decided(written)) == [1]


def test_the_ladder_needs_no_budget() -> None:  # spec: SRCH-4, SRCH-7
    written = replace(pressed(), recency=(1, 2, 0))
    found = decided(written, allowance_ns=0)
    assert evicted_of(written, found) == [1]
    assert found.spent_ns == 0


def test_on_the_host_already_is_no_reason_to_evict() -> None:
    owners = (owner(640, pages=Where.HOST), owner(640))
    written = problem(*owners, new_tokens=640, pages=12, host_pages=10)
    assert evicted_of(written, decided(written)) == [1]
