"""What did the planner do in one decision, laid open?

Owns a decision that has been searched, with what a reader asks of it: who became the incumbent
after whom, the report of every target that was looked at, and the tables of owners, of prices and
of the reasons to stop. The search is the engine's; nothing here decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import polars as pl

from ninfer_lab.contract.capacity import Capacity
from ninfer_lab.contract.options import PAGE_TOKENS, pages_of_tokens
from ninfer_lab.contract.planning import TargetHandle
from ninfer_lab.contract.search_report import (
    SearchReport,
    SearchStop,
    TargetVerdict,
)
from ninfer_lab.cost.machine_cost_model import MachineCostModel
from ninfer_lab.cost.preset_file import shipped_presets
from ninfer_lab.cost.presets import GENERIC, resolve_cost_model
from ninfer_lab.engine.decision_problem import DecisionProblem
from ninfer_lab.engine.decision_reading import (
    ARENA_TARGETS,
    Found,
    Judged,
    PriceWork,
    Problem,
    Truth,
    every_target,
    search_facts,
)
from ninfer_lab.engine.decision_room import UNLIMITED_NS, open_problem, solve, truth_of
from ninfer_lab.lab.owner_rungs import candidate_words, target_words
from ninfer_lab.lab.planner_problems import WIDE, generated, own_pages


def belief() -> MachineCostModel:
    """What the planner believes where nothing was measured: the generic preset."""
    return resolve_cost_model(hardware_class=GENERIC, signature="", shipped=shipped_presets())


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One decision, searched.

    Attributes:
        posed: The problem as the planner saw it; its session still answers.
    """

    problem: DecisionProblem
    posed: Problem
    found: Found

    @property
    def best(self) -> Judged:
        """What was taken.

        Raises:
            ValueError: Nothing was: not even root with everybody gone fits.
        """
        if self.found.best is None:
            raise ValueError(f"{self.problem.name}: found no target that fits")
        return self.found.best

    @property
    def incumbents(self) -> tuple[Judged, ...]:
        """Whatever was the best so far, in the order of finding; the last one was taken."""
        best: Judged | None = None
        found = []
        for judged in self.found.judged:
            if judged.is_adoptable and (best is None or judged.beats(best)):
                best = judged
                found.append(judged)
        return tuple(found)

    @property
    def capacity(self) -> Capacity:
        return self.problem.room.resolved().capacity

    def words(self, target: TargetHandle) -> str:
        """A target in one line."""
        return target_words(self.posed.session, target)

    def report(self) -> SearchReport:
        """Every target that was judged, with all its stages."""
        session = self.posed.session
        judged = self.found.judged
        return SearchReport(
            verdicts=tuple(
                TargetVerdict.of(
                    session.assess(each.target),
                    has_publication_slot=each.has_slot,
                    cost=each.cost,
                )
                for each in judged
            ),
            chosen=None if self.found.best is None else judged.index(self.found.best),
            search=search_facts(session, self.found),
        )

    def truth(self) -> Truth:
        """The best of all targets, every one of them looked at.

        Raises:
            OptionsError: The graph has too many for that.
        """
        return every_target(self.posed)


def look(
    problem: DecisionProblem,
    price: PriceWork | None = None,
    *,
    target_budget: int = ARENA_TARGETS,
    allowance_ns: int = UNLIMITED_NS,
    work_limit: int | None = None,
) -> Decision:
    """Searches a problem.

    Args:
        price: What work is believed to take; the generic preset's by default.
        target_budget: Targets that may be judged within the budget.
        allowance_ns: Work units of the boundary, in ns.
        work_limit: Steps of any kind; by default what arena and owners bring.
    """
    posed = open_problem(
        problem, belief().work_ns if price is None else price, target_budget=target_budget
    )
    if work_limit is not None:
        posed = replace(posed, work_limit=work_limit)
    return Decision(problem=problem, posed=posed, found=solve(posed, allowance_ns=allowance_ns))


# ── tables ──────────────────────────────────────────────────────────────────────────────────────


def owners(problem: DecisionProblem) -> pl.DataFrame:
    """One row per owner: who it is, what it keeps and where."""
    return pl.DataFrame(
        [
            {
                "owner": ordinal,
                "retention": owner.retention.value,
                "checkpoints at": " ".join(f"{c.frontier_tokens:,}" for c in owner.checkpoints),
                "states": " ".join(c.image.value for c in owner.checkpoints),
                "own pages": own_pages(problem, ordinal),
                "pages lie": owner.pages.value,
                "branches from": (
                    "" if owner.branches_from is None else f"owner {owner.branches_from[0]}"
                ),
            }
            for ordinal, owner in enumerate(problem.owners)
        ]
    )


def room(problem: DecisionProblem) -> pl.DataFrame:
    """One row per axis: what there is, what the owners have of it, what the request asks for from
    root.
    """
    posed = open_problem(problem, belief().work_ns)
    now = posed.session.assess(posed.session.identity(0)).stages[0].occupancy
    prompt = posed.session.candidates[0].prefill_tokens
    wanted_pages = pages_of_tokens(prompt + problem.output_tokens)
    pages, host_pages = now.device_kv, now.host_kv.used_count // problem.room.page_bytes
    axes = (
        ("Device state slots", now.device_state.capacity_count, now.device_state.used_count, 1),
        (f"Device pages of {PAGE_TOKENS}", pages.capacity_count, pages.used_count, wanted_pages),
        ("Host state slots", now.host_state.capacity_count, now.host_state.used_count, 0),
        (f"Host pages of {PAGE_TOKENS}", problem.room.host_pages, host_pages, 0),
    )
    return pl.DataFrame(
        [
            {"axis": axis, "there are": there, "in use": used, "free": there - used, "root": wanted}
            for axis, there, used, wanted in axes
        ]
    )


def costs(decision: Decision, judged: Iterable[Judged]) -> pl.DataFrame:
    """One row per target: J, term by term, and what would become of everybody."""
    price = decision.posed.valuation.work_ns
    rows = []
    for each in judged:
        work = each.verdict.work
        prefill_ns = price(type(work)(prefill=work.prefill))
        rows.append(
            {
                "target": decision.words(each.target),
                "copies_ms": (each.cost.now_ns - prefill_ns) / 1e6,
                "prefill_ms": prefill_ns / 1e6,
                "public_loss_ms": each.cost.public_loss_ns / 1e6,
                "private_loss_ms": each.cost.private_loss_ns / 1e6,
                "J_ms": each.cost.total_ns / 1e6,
                "verdict": "adoptable" if each.is_adoptable else "not adoptable",
            }
        )
    return pl.DataFrame(rows).with_columns(pl.col(pl.Float64).round(1))


def candidates(decision: Decision) -> tuple[str, ...]:
    """Where the request could start from."""
    session = decision.posed.session
    return tuple(candidate_words(session, c) for c in range(len(session.candidates)))


# ── one problem for each reason to stop ─────────────────────────────────────────────────────────

CURSORY_TARGETS, CURSORY_STEPS, CURSORY_NS = 5, 40, 200_000
"""Limits under which a decision stops by one of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopExample:
    """A generated problem whose search ends for one reason (SRCH-9).

    Attributes:
        limit: What was held short, or that nothing was.
    """

    limit: str
    decision: Decision
    truth: Truth

    @property
    def stop(self) -> SearchStop:
        return self.decision.found.stop


def stop_examples() -> tuple[StopExample, ...]:
    """One for each, in the order of the reasons."""
    small, wide = generated(592), generated(5, WIDE)
    posed = {
        SearchStop.NO_PRESSURE: ("none", look(generated(61))),
        SearchStop.QUEUE_EXHAUSTED: ("none", look(generated(15))),
        SearchStop.TARGET_BUDGET: (
            f"{CURSORY_TARGETS} targets",
            look(small, target_budget=CURSORY_TARGETS),
        ),
        SearchStop.EXPANSION_CAPACITY: (f"arena of {ARENA_TARGETS:,} targets", look(wide)),
        SearchStop.TIME_BUDGET: (
            f"{CURSORY_NS / 1e6:g} ms of work",
            look(small, allowance_ns=CURSORY_NS),
        ),
        SearchStop.WORK_BUDGET: (
            f"{CURSORY_STEPS} steps of any kind",
            look(small, work_limit=CURSORY_STEPS),
        ),
        SearchStop.INSUFFICIENT_EXPECTED_GAIN: ("none", look(small)),
    }
    price = belief().work_ns
    return tuple(
        StopExample(
            limit=limit,
            decision=decision,
            truth=truth_of(decision.problem, price, decision.found),
        )
        for limit, decision in (posed[stop] for stop in SearchStop)
    )


def stops(examples: Iterable[StopExample]) -> pl.DataFrame:
    """One row per reason, beside the truth."""
    rows = []
    for each in examples:
        best = each.truth.best
        assert best is not None, "a generated problem can always be solved"
        taken_ns = each.decision.best.cost.total_ns
        rows.append(
            {
                "stop": each.stop.value,
                "problem": each.decision.problem.name,
                "limit": each.limit,
                "targets": each.truth.targets_count,
                "judged": len(each.decision.found.judged),
                "J_ms": taken_ns / 1e6,
                "best_J_ms": best.cost.total_ns / 1e6,
                "above_best": f"{taken_ns / best.cost.total_ns - 1:.1%}",
            }
        )
    return pl.DataFrame(rows).with_columns(pl.col(pl.Float64).round(0))
