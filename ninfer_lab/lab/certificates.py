"""Is everything that a search report says against a target true?

Owns a checker that reads a report and the capacity, and nothing else: it works out again which
inequality fails at which stage, and compares. What it cannot know is how a stage came about; that
every stage is counted right is the ledger's law. Stands on the contract alone, so that it shares no
code with what it checks.
"""

from __future__ import annotations

from collections.abc import Iterator

from ninfer_lab.contract.capacity import Axis, Capacity, Occupancy
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.search_report import SearchReport, TargetVerdict
from ninfer_lab.contract.target import StageName, Violation


def check_certificates(report: SearchReport, capacity: Capacity) -> int:
    """Works every told target's verdict out again.

    Returns:
        Inequalities that were found to fail, and said to.

    Raises:
        InvariantBroken: A number that does not follow from the others, with both.
    """
    failing_count = 0
    for ordinal, verdict in enumerate(report.verdicts):
        for fault in _faults(verdict, capacity):
            raise InvariantBroken("certificate", f"target {ordinal} ({verdict}): {fault}")
        failing_count += len(verdict.violations)
    for fault in _faults_between(report):
        raise InvariantBroken("certificate", fault)
    return failing_count


def _faults(verdict: TargetVerdict, capacity: Capacity) -> Iterator[str]:
    """Of one target."""
    if not verdict.stages:
        if verdict.violations:
            yield "its stages are no longer told, so nothing can be worked out again"
        return
    names = [stage.name for stage in verdict.stages]
    if names != sorted(set(names), key=list(StageName).index):
        yield f"stages out of their order: {', '.join(name.value for name in names)}"
    for stage in verdict.stages:
        yield from _wrong_limits(stage.name, stage.occupancy, capacity)
    counted = tuple(v for v in verdict.violations if v.run_bytes is None)
    expected = tuple(_failing(verdict))
    if counted != expected:
        yield f"said to fail: {_listed(counted)}; fails: {_listed(expected)}"
    for violation in verdict.violations:
        if violation.run_bytes is not None:
            yield from _wrong_extent(violation, verdict, capacity)


def _wrong_limits(name: StageName, occupancy: Occupancy, capacity: Capacity) -> Iterator[str]:
    for axis in Axis:
        use = occupancy.on(axis)
        if use.capacity_count != capacity.of(axis):
            yield f"“{name.value}” has {use}, the engine {capacity.of(axis)}"
        if min(use.allocated_count, use.reserved_count) < 0:
            yield f"“{name.value}” has {use}"


def _failing(verdict: TargetVerdict) -> Iterator[Violation]:
    """Every used <= capacity that does not hold, stage by stage."""
    for stage in verdict.stages:
        for use in stage.occupancy.axes:
            if use.allocated_count + use.reserved_count > use.capacity_count:
                yield Violation(
                    stage=stage.name,
                    axis=use.axis,
                    used_count=use.allocated_count + use.reserved_count,
                    capacity_count=use.capacity_count,
                )


def _wrong_extent(
    violation: Violation, verdict: TargetVerdict, capacity: Capacity
) -> Iterator[str]:
    """A run that finds no hole: whole granules, of what is reserved, longer than the longest."""
    run, hole = violation.run_bytes or 0, violation.largest_hole_bytes or 0
    if (violation.stage, violation.axis) != (StageName.DEMOTION_RESERVED, Axis.HOST_KV):
        yield f"an extent is placed while Host places are reserved, not: {violation}"
        return
    stages = [s for s in verdict.stages if s.name is violation.stage]
    if not stages:
        yield f"no demotion, and yet: {violation}"
        return
    use = stages[0].occupancy.host_kv
    granule = capacity.host_kv.granule_bytes
    if (violation.used_count, violation.capacity_count) != (use.used_count, use.capacity_count):
        yield f"{violation} at {use}"
    if run % granule or hole % granule:
        yield f"{violation}: no whole granules of {granule} bytes"
    if not hole < run <= use.reserved_count:
        yield f"{violation}: {use.reserved_count} bytes are reserved in all"
    if hole > use.capacity_count - use.allocated_count:
        yield f"{violation}: {use.capacity_count - use.allocated_count} bytes are free"


def _faults_between(report: SearchReport) -> Iterator[str]:
    """What the targets of one report have in common."""
    told = [verdict for verdict in report.verdicts if verdict.stages]
    if len({verdict.stages[0] for verdict in told}) > 1:
        yield "targets of one moment begin in different states"
    winner = report.winner
    if winner is None or winner.cost is None:
        return
    if not winner.is_feasible:
        yield f"what was taken does not fit: {winner}"
    if not winner.is_adoptable:
        return
    for verdict in report.verdicts:
        cost = verdict.cost
        if verdict.is_adoptable and cost is not None and cost.total_ns < winner.cost.total_ns:
            yield f"{verdict} costs {cost.total_ns} ns, what was taken {winner.cost.total_ns} ns"


def _listed(violations: tuple[Violation, ...]) -> str:
    return "; ".join(map(str, violations)) or "nothing"
