"""How much looking is this decision worth? (SRCH-7)

Owns the optional allowance of one admission boundary, counted in work units with fixed prices, so
that the same problem stops at the same place on every machine. Windows are short at first and are
renewed as long as there is something to gain that is worth the delay. Mandatory work is never
charged here. Constants: the original engine's.
"""

from __future__ import annotations

from ninfer_lab.contract.search_report import SearchStop

FORECAST_COST_NS = 1_000
"""Looking at one option without judging it."""
JUDGEMENT_COST_NS = 20_000
"""Judging one target exactly."""
EXPANSION_COST_NS = 20_000
"""Listing a target's successors."""

ALLOWANCE_ALONE_NS = 50_000_000
"""Of one boundary, if nothing else could run meanwhile."""
ALLOWANCE_SHARED_NS = 10_000_000
"""The same, if something could."""
FIRST_WINDOW_NS = 5_000_000
GAIN_PER_COST = 20
"""A search may cost a twentieth of what it may gain."""

TARGET_BUDGET = 4_096
"""Targets judged beyond identities and the maximal one."""


class BoundaryAllowance:
    """Shared by every decision of one admission boundary: the head's and its borrowers'.

    Args:
        others_runnable_count: Requests that could run meanwhile and are delayed by the search.
    """

    def __init__(self, others_runnable_count: int) -> None:
        self.affected_count = 1 + others_runnable_count
        self.remaining_ns = ALLOWANCE_SHARED_NS if others_runnable_count else ALLOWANCE_ALONE_NS


class SearchBudget:
    """What one decision may still spend.

    Args:
        initial_cost_ns: J of what would be done without any search.
        work_limit: Steps of any kind; bounds what fixed prices do not.
        target_budget: Targets judged.
    """

    def __init__(
        self,
        allowance: BoundaryAllowance,
        initial_cost_ns: int,
        *,
        work_limit: int,
        target_budget: int = TARGET_BUDGET,
    ) -> None:
        self._allowance = allowance
        self._window_ns = min(
            FIRST_WINDOW_NS,
            initial_cost_ns // GAIN_PER_COST // allowance.affected_count,
            allowance.remaining_ns,
        )
        self._granted_ns = self._window_ns
        self._work_left = work_limit
        self._targets_left = target_budget
        self._improved_since_renewal = True
        self.stop: SearchStop | None = None
        self.spent_ns = 0
        self.judged_count = 0
        self.renewals_count = 0

    @property
    def is_open(self) -> bool:
        """Whether anything may be spent at all."""
        return self._window_ns > 0

    def may_forecast(self, count: int, expected_gain_ns: int) -> bool:
        return self._spend(count * FORECAST_COST_NS, count, expected_gain_ns)

    def may_expand(self, expected_gain_ns: int) -> bool:
        return self._spend(EXPANSION_COST_NS, 1, expected_gain_ns)

    def may_judge(self, expected_gain_ns: int) -> bool:
        """One more target, exactly."""
        if self.stop is None and self._targets_left == 0:
            self.stop = SearchStop.TARGET_BUDGET
        if not self._spend(JUDGEMENT_COST_NS, 1, expected_gain_ns):
            return False
        self._targets_left -= 1
        self.judged_count += 1
        return True

    def improved(self) -> None:
        """The incumbent has become better: the next window may be granted."""
        self._improved_since_renewal = True

    def _spend(self, cost_ns: int, work: int, expected_gain_ns: int) -> bool:
        """Takes the cost out of the window, renewing it where that pays; `False` once stopped."""
        if self.stop is not None:
            return False
        if self._work_left < work:
            self.stop = SearchStop.WORK_BUDGET
            return False
        if self._window_ns < cost_ns and not self._renew(cost_ns, expected_gain_ns):
            return False
        self._work_left -= work
        self._window_ns -= cost_ns
        self._allowance.remaining_ns -= cost_ns
        self.spent_ns += cost_ns
        return True

    def _renew(self, cost_ns: int, expected_gain_ns: int) -> bool:
        """Doubles the window, if there is time left and the gain is worth it."""
        if cost_ns > self._allowance.remaining_ns:
            self.stop = SearchStop.TIME_BUDGET
            return False
        economic_ns = expected_gain_ns // GAIN_PER_COST // self._allowance.affected_count
        wanted_ns = max(self._granted_ns, cost_ns)
        if not self._improved_since_renewal and self.spent_ns + wanted_ns > economic_ns:
            self.stop = SearchStop.INSUFFICIENT_EXPECTED_GAIN
            return False
        if wanted_ns > economic_ns:
            self.stop = SearchStop.INSUFFICIENT_EXPECTED_GAIN
            return False
        self._window_ns += min(wanted_ns, self._allowance.remaining_ns - self._window_ns)
        self._granted_ns += wanted_ns
        self._improved_since_renewal = False
        self.renewals_count += 1
        return self._window_ns >= cost_ns
