"""How is one good target built, and how is it made better? (SRCH-5)

Owns the ways to an adoptable target that do not list alternatives: step by step from one that does
not fit, upward from the incumbent, and the exchange of one owner's sacrifice for others'. Every
target on the way is judged exactly, so what a step has brought is known and not assumed; forecasts
only say which step is tried next.
"""

from __future__ import annotations

from collections.abc import Sequence

from ninfer_lab.context_cache.judged_targets import Judged, JudgedTargets
from ninfer_lab.contract.planning import STAYS, DegradationStep, TargetHandle

STEPS_PER_OWNER = 4
"""Longest way of one construction, per eligible owner; the way down has an end anyhow."""

FURTHER_STEPS = 32
"""Owners' steps beyond the incumbent that an exchange tries, cheapest first."""

LESSER_OUTCOMES = 8
"""Of one owner, least degraded first, from which others may make up for it in an exchange."""

Promise = tuple[int, float, float]
"""Smaller is tried sooner."""


class Construction:
    """The moves over the judged targets of one decision."""

    def __init__(self, targets: JudgedTargets) -> None:
        self._targets = targets
        self._session = targets.session
        self._valuation = targets.problem.valuation

    def construct(
        self, start: Judged, *, prefers_value: bool, kept_owner: int | None = None
    ) -> Judged | None:
        """Steps until a target can be adopted.

        Args:
            prefers_value: Least loss for what a step brings, instead of the step that brings most.
            kept_owner: Gives way no further than it does.

        Returns:
            `None` where no step is left, or none that may be paid for.
        """
        targets, current = self._targets, start
        assert targets.budget is not None
        for _ in range(STEPS_PER_OWNER * len(self._session.owners)):
            if current.is_adoptable:
                return current
            steps = [
                step
                for step in targets.licensed(self._session.steps(current.target))
                if step.owner != kept_owner
            ]
            gain_ns = self._obtainable_ns(current)
            if not steps or not targets.budget.may_forecast(len(steps), gain_ns):
                return None
            step = self._most_promising(current, steps, prefers_value=prefers_value)
            judged = targets.judge_within(current.target.after(step), gain_ns)
            if judged is None:
                return None
            current = judged
        return None

    def refine(self, start: Judged) -> Judged:
        """Upward from an adoptable target: whoever has given way more than it takes gets it back,
        the dearest sacrifice first.
        """
        while (raised := self._raised(start)) is not None:
            start = raised
        return start

    def exchange(self) -> None:
        """From the incumbent, as long as it becomes better: one owner gets something back and
        others make up for it; or the same sacrifices are made for another candidate; or one owner
        more gives way, so that others may get back what they have given.
        """
        assert self._targets.budget is not None
        while (best := self._targets.best) is not None:
            for start, kept_owner in self._exchanges(best):
                judged = self._targets.judge_within(start, self._obtainable_ns(best))
                if judged is None:
                    return
                built = self.construct(judged, prefers_value=True, kept_owner=kept_owner)
                if built is not None:
                    self.refine(built)
                if self._targets.best is not best:
                    break
            else:
                return

    # ── leaves ──────────────────────────────────────────────────────────────────────────────────

    def _raised(self, start: Judged) -> Judged | None:
        """The first target in which somebody gets something back and which is better for it."""
        for owner in self._sacrificed(start):
            for target in self._session.lesser(start.target, owner):
                judged = self._targets.judge_within(target, self._obtainable_ns(start))
                if judged is None:
                    return None
                if judged.is_adoptable and judged.key < start.key:
                    return judged
        return None

    def _exchanges(self, best: Judged) -> list[tuple[TargetHandle, int | None]]:
        """Targets to go on from, each with the owner that keeps what it has there."""
        sacrificed = self._sacrificed(best)
        found: list[tuple[TargetHandle, int | None]] = [
            (target, owner)
            for owner in sacrificed
            for target in self._session.lesser(best.target, owner)[:LESSER_OUTCOMES]
        ]
        for candidate in range(len(self._session.candidates)):
            if candidate != best.target.candidate:
                choices = tuple(
                    choice if self._session.is_eligible(candidate, owner) else STAYS
                    for owner, choice in enumerate(best.target.choices)
                )
                found.append((TargetHandle(candidate, choices), None))
        steps = [
            (self._valuation.step_loss_ns(step), ordinal, step)
            for ordinal, step in enumerate(self._targets.licensed(self._session.steps(best.target)))
        ]
        affordable_ns = best.cost.private_loss_ns
        further = sorted(each for each in steps if each[0] <= affordable_ns)
        found += [(best.target.after(step), None) for _, _, step in further[:FURTHER_STEPS]]
        return found

    def _sacrificed(self, best: Judged) -> list[int]:
        """Owners that do not stay, by what they lose, most first."""
        owners = [owner for owner, _ in self._session.facts(best.target)]
        return sorted(owners, key=lambda o: (-self._own_loss_ns(best.target, o), o))

    def _obtainable_ns(self, start: Judged) -> int:
        """What could be gained at the most from here: everything that has been given up comes
        back.
        """
        return self._targets.gain_ns(start.cost.now_ns)

    def _own_loss_ns(self, target: TargetHandle, owner: int) -> int:
        return self._valuation.own_loss_ns(owner, target.choices[owner])

    def _most_promising(
        self, current: Judged, steps: Sequence[DegradationStep], *, prefers_value: bool
    ) -> DegradationStep:
        """The step with the least loss per share of what is missing, or with the largest share,
        every axis counting alike.

        A missing publication slot is one more thing missing, that only an eviction can bring.
        """
        *others, host_bytes = current.verdict.balance
        balance = (*others, max(host_bytes, current.verdict.unplaced_bytes))
        has_slot = self._targets.problem.has_slot
        step_loss_ns = self._valuation.step_loss_ns
        missing = [(axis, over) for axis, over in enumerate(balance) if over > 0]
        best: tuple[Promise, int] | None = None
        reliefs = self._session.relief(current.target, steps)
        for ordinal, (step, relief) in enumerate(zip(steps, reliefs, strict=True)):
            share = 0.0
            for axis, over in missing:
                freed = relief[axis]
                share += 1.0 if freed > over else freed / over
            if min(relief) < 0:
                share -= _newly_missing(balance, relief)
            if not current.has_slot and has_slot(current.target.after(step)):
                share += 1.0
            loss_ns = step_loss_ns(step)
            if share <= 0.0:
                promise: Promise = (2, loss_ns, 0.0)
            elif prefers_value:
                promise = (1, loss_ns / share, -share)
            else:
                promise = (1, -share, loss_ns)
            if best is None or promise < best[0]:
                best = promise, ordinal
        assert best is not None
        return steps[best[1]]


def _newly_missing(balance: Sequence[int], relief: Sequence[int]) -> float:
    """Which part of what a step takes would find no room where nothing is missing yet.

    Args:
        balance: Used less capacity, axis by axis: what is missing where positive.
        relief: Units that the step frees, less those it takes.
    """
    return sum(
        (over - freed) / -freed
        for over, freed in zip(balance, relief, strict=True)
        if freed < 0 and over <= 0 and over > freed
    )
