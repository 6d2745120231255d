"""Law: a report's every inequality can be worked out again, and a changed number is noticed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from context_cache.decisions import price, searched
from ninfer_lab.contract.capacity import Axis, Capacity
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.search_report import SearchReport, TargetVerdict
from ninfer_lab.engine.decision_room import open_problem
from ninfer_lab.lab.certificates import check_certificates
from ninfer_lab.lab.planner_problems import generated

SEEDS = (1, 6, 9, 14, 24)


def reported(seed: int) -> tuple[SearchReport, Capacity]:
    """What was judged for a seed's problem, every target told."""
    written = generated(seed)
    posed = open_problem(written, price)
    session, found = posed.session, searched(posed)
    verdicts = tuple(
        TargetVerdict.of(
            session.assess(judged.target), has_publication_slot=judged.has_slot, cost=judged.cost
        )
        for judged in found.judged[:60]
    )
    assert found.best is not None
    best = TargetVerdict.of(
        session.assess(found.best.target),
        has_publication_slot=found.best.has_slot,
        cost=found.best.cost,
    )
    report = SearchReport(verdicts=(*verdicts, best), chosen=len(verdicts))
    return report, written.room.resolved().capacity


def changed(report: SearchReport, ordinal: int, verdict: TargetVerdict) -> SearchReport:
    verdicts = list(report.verdicts)
    verdicts[ordinal] = verdict
    return replace(report, verdicts=tuple(verdicts))


def with_violations(report: SearchReport) -> Iterator[tuple[int, int]]:
    for ordinal, verdict in enumerate(report.verdicts):
        for i in range(len(verdict.violations)):
            yield ordinal, i


@pytest.mark.parametrize("seed", SEEDS)
def test_a_true_report_passes(seed: int) -> None:
    report, capacity = reported(seed)
    assert check_certificates(report, capacity) == len([*with_violations(report)])


def test_there_is_something_to_check() -> None:
    counts = [check_certificates(*reported(seed)) for seed in SEEDS]
    assert sum(counts) > 50
    runs = [
        violation.run_bytes
        for seed in SEEDS
        for verdict in reported(seed)[0].verdicts
        for violation in verdict.violations
    ]
    assert any(run is not None for run in runs)


@pytest.mark.parametrize("delta", [1, -1])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_changed_number_of_an_inequality_fails(seed: int, delta: int) -> None:
    report, capacity = reported(seed)
    for ordinal, i in with_violations(report):
        verdict = report.verdicts[ordinal]
        violation = verdict.violations[i]
        numbers = ["used_count", "capacity_count"]
        if violation.run_bytes is not None:
            numbers += ["run_bytes", "largest_hole_bytes"]
        for number in numbers:
            wrong = replace(violation, **{number: getattr(violation, number) + delta})
            violations = (*verdict.violations[:i], wrong, *verdict.violations[i + 1 :])
            with pytest.raises(InvariantBroken):
                check_certificates(
                    changed(report, ordinal, verdict._replace(violations=violations)), capacity
                )


@pytest.mark.parametrize("seed", SEEDS)
def test_a_forgotten_inequality_fails(seed: int) -> None:
    report, capacity = reported(seed)
    for ordinal, i in with_violations(report):
        verdict = report.verdicts[ordinal]
        if verdict.violations[i].run_bytes is None:
            rest = (*verdict.violations[:i], *verdict.violations[i + 1 :])
            with pytest.raises(InvariantBroken, match="fails"):
                check_certificates(
                    changed(report, ordinal, verdict._replace(violations=rest)), capacity
                )


def test_a_changed_stage_of_a_rejected_target_fails() -> None:
    report, capacity = reported(24)
    ordinal, i = next(with_violations(report))
    verdict = report.verdicts[ordinal]
    violation = verdict.violations[i]
    names = [stage.name for stage in verdict.stages]
    stage = verdict.stages[names.index(violation.stage)]
    use = stage.occupancy.on(violation.axis)
    field = {axis: axis.name.lower() for axis in Axis}[violation.axis]
    worse = stage.occupancy._replace(
        **{field: use._replace(allocated_count=use.allocated_count + 1)}
    )
    stages = list(verdict.stages)
    stages[names.index(violation.stage)] = stage._replace(occupancy=worse)
    with pytest.raises(InvariantBroken):
        check_certificates(
            changed(report, ordinal, verdict._replace(stages=tuple(stages))), capacity
        )


def test_a_cheaper_target_that_was_passed_over_fails() -> None:
    report, capacity = reported(24)
    winner = report.winner
    assert winner is not None
    assert winner.cost is not None
    dearer = winner._replace(cost=replace(winner.cost, now_ns=winner.cost.now_ns + 10**15))
    assert report.chosen is not None
    with pytest.raises(InvariantBroken, match="what was taken"):
        check_certificates(changed(report, report.chosen, dearer), capacity)


def test_another_engines_capacity_fails() -> None:
    report, capacity = reported(24)
    with pytest.raises(InvariantBroken, match="the engine"):
        check_certificates(report, replace(capacity, device_kv_pages=capacity.device_kv_pages + 1))


def test_what_is_no_longer_told_cannot_be_checked() -> None:
    report, capacity = reported(24)
    ordinal, _ = next(with_violations(report))
    brief = report.verdicts[ordinal]._replace(stages=())
    with pytest.raises(InvariantBroken, match="no longer told"):
        check_certificates(changed(report, ordinal, brief), capacity)
