"""Law: an allowance is counted in work units, shared by a boundary, and renewed only for a gain."""

from __future__ import annotations

from ninfer_lab.context_cache.search_budget import (
    ALLOWANCE_ALONE_NS,
    ALLOWANCE_SHARED_NS,
    EXPANSION_COST_NS,
    FIRST_WINDOW_NS,
    FORECAST_COST_NS,
    GAIN_PER_COST,
    JUDGEMENT_COST_NS,
    BoundaryAllowance,
    SearchBudget,
)
from ninfer_lab.contract.search_report import SearchStop

SECOND_NS = 10**9
PLENTY = 10**6


def budget(
    *, others: int = 0, initial_ns: int = 10 * SECOND_NS, remaining_ns: int | None = None
) -> SearchBudget:
    allowance = BoundaryAllowance(others)
    if remaining_ns is not None:
        allowance.remaining_ns = remaining_ns
    return SearchBudget(allowance, initial_ns, work_limit=PLENTY)


def judgements(budget: SearchBudget, gain_ns: int) -> int:
    """How many until it stops."""
    while budget.may_judge(gain_ns):
        assert budget.judged_count < PLENTY
    return budget.judged_count


def test_the_fixed_prices() -> None:  # spec: SRCH-7
    assert (FORECAST_COST_NS, JUDGEMENT_COST_NS, EXPANSION_COST_NS) == (1_000, 20_000, 20_000)
    spent = budget()
    assert spent.may_forecast(7, 0)
    assert spent.may_judge(0)
    assert spent.may_expand(0)
    assert spent.spent_ns == 7_000 + 20_000 + 20_000


def test_a_boundary_has_less_where_others_wait() -> None:  # spec: SRCH-7
    assert BoundaryAllowance(0).remaining_ns == ALLOWANCE_ALONE_NS == 50_000_000
    assert BoundaryAllowance(3).remaining_ns == ALLOWANCE_SHARED_NS == 10_000_000


def test_the_first_window_is_short() -> None:  # spec: SRCH-7
    # Without any gain to expect, nothing but the first window is there.
    assert judgements(budget(), 0) == FIRST_WINDOW_NS // JUDGEMENT_COST_NS == 250
    # A twentieth of what is at stake, shared by those who wait for it.
    stake_ns = 8_000_000
    assert judgements(budget(initial_ns=stake_ns), 0) == stake_ns // 20 // JUDGEMENT_COST_NS
    assert judgements(budget(initial_ns=stake_ns, others=1), 0) == stake_ns // 40 // 20_000
    assert not budget(initial_ns=19).is_open


def test_a_gain_renews_it_until_it_is_spent() -> None:  # spec: SRCH-7
    gain_ns = 400_000_000
    limited = budget(remaining_ns=SECOND_NS)
    count = judgements(limited, gain_ns)
    assert limited.stop is SearchStop.INSUFFICIENT_EXPECTED_GAIN
    assert limited.spent_ns == count * JUDGEMENT_COST_NS <= gain_ns // GAIN_PER_COST
    assert limited.renewals_count >= 1
    more = budget(remaining_ns=SECOND_NS)
    assert judgements(more, 2 * gain_ns) > count


def test_what_helped_once_pays_once() -> None:  # spec: SRCH-7
    # The window doubles once without progress; the next renewal counts all that was spent.
    gain_ns = 2 * FIRST_WINDOW_NS * GAIN_PER_COST
    idle, improving = budget(remaining_ns=SECOND_NS), budget(remaining_ns=SECOND_NS)
    idle_count = judgements(idle, gain_ns)
    while improving.may_judge(gain_ns):
        improving.improved()
        assert improving.judged_count < PLENTY
    assert idle_count <= improving.judged_count
    assert idle.stop is improving.stop is SearchStop.INSUFFICIENT_EXPECTED_GAIN


def test_the_head_and_its_borrowers_share_one() -> None:  # spec: SRCH-7
    allowance = BoundaryAllowance(0)
    head = SearchBudget(allowance, SECOND_NS, work_limit=PLENTY)
    judgements(head, 100 * SECOND_NS)
    assert head.stop is SearchStop.TIME_BUDGET
    assert allowance.remaining_ns < JUDGEMENT_COST_NS
    borrower = SearchBudget(allowance, SECOND_NS, work_limit=PLENTY)
    assert not borrower.may_judge(100 * SECOND_NS)
    assert borrower.stop is SearchStop.TIME_BUDGET


def test_targets_and_work_have_bounds_of_their_own() -> None:  # spec: SRCH-7
    few = SearchBudget(BoundaryAllowance(0), SECOND_NS, work_limit=PLENTY, target_budget=3)
    assert judgements(few, SECOND_NS) == 3
    assert few.stop is SearchStop.TARGET_BUDGET
    short = SearchBudget(BoundaryAllowance(0), SECOND_NS, work_limit=3)
    assert not short.may_forecast(4, SECOND_NS)
    assert short.stop is SearchStop.WORK_BUDGET


def test_once_stopped_it_stays_so() -> None:
    stopped = SearchBudget(BoundaryAllowance(0), SECOND_NS, work_limit=0)
    assert not stopped.may_expand(SECOND_NS)
    assert not stopped.may_judge(SECOND_NS)
    assert (stopped.stop, stopped.spent_ns) == (SearchStop.WORK_BUDGET, 0)
