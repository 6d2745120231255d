"""How is one good target built, and how is it made better? (SRCH-5)

Owns the ways to an adoptable target that do not list alternatives: step by step from one that does
not fit, upward from the incumbent, and the exchange of one owner's sacrifice for others'. Every
target on the way is judged exactly, so what a step has brought is known and not assumed; forecasts
only say which step is tried next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from ninfer_lab.context_cache.judged_targets import Judged, JudgedTargets
from ninfer_lab.contract.planning import STAYS, DegradationStep, TargetHandle

STEPS_PER_OWNER = 8
"""Longest way of one construction, per eligible owner: pages leave by halves, so an owner may be
asked several times. The way down has an end anyhow.
"""

FURTHER_STEPS = 32
"""Owners' steps beyond the incumbent that an exchange tries, cheapest first."""

LESSER_OUTCOMES = 8
"""Of one owner, least degraded first, from which others may make up for it in an exchange."""

ENDED_BEFOREHAND = 4
"""Owners, cheapest first, of whom each is ended once before anybody else is asked."""

BEGUN_OTHERWISE_TARGETS = 128
"""Judged by such beginnings until none is begun any more: among a few owners one wrong end weighs
much, among many little.
"""

EXCHANGED_AGAIN_SHARE = 100
"""Part of J that must have been gained by them for another round of exchanges."""

LISTED_STEPS = 32
"""Steps that a construction looks at together."""

Promise = tuple[int, float, float, int, int]
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
            gain_ns = self._obtainable_ns(current)
            step = self._most_promising(
                current, gain_ns, prefers_value=prefers_value, kept_owner=kept_owner
            )
            if step is None:
                return None
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
        more gives way, so that others may get back what they have given, or a copy is spared.
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

    def begin_otherwise(self, identities: Sequence[Judged]) -> None:
        """Builds anew with one owner's end decided beforehand, owner by owner: a first step that
        costs next to nothing, as a spare replica does, may leave nothing but a dear one later; and
        whoever has more room to take such steps fares worse than whoever has less. What comes of it
        is exchanged only where it is better by some part of the whole.
        """
        before, budget = self._targets.best, self._targets.budget
        assert budget is not None
        limit_count = budget.judged_count + BEGUN_OTHERWISE_TARGETS
        for identity in identities:
            for start in self._ended_beforehand(identity):
                if budget.judged_count >= limit_count:
                    break
                judged = self._targets.judge_within(start, self._obtainable_ns(identity))
                if judged is None:
                    return
                built = self.construct(judged, prefers_value=True)
                if built is not None:
                    self.refine(built)
        best = self._targets.best
        assert before is not None
        assert best is not None
        before_ns = before.cost.total_ns
        if before_ns - best.cost.total_ns > before_ns // EXCHANGED_AGAIN_SHARE:
            self.exchange()

    # ── leaves ──────────────────────────────────────────────────────────────────────────────────

    def _raised(self, start: Judged) -> Judged | None:
        """The first target in which somebody gets something back and which is better for it."""
        for owner in self._sacrificed(start):
            for choice in self._session.lesser(start.target, owner):
                target = start.target.with_choice(owner, choice)
                judged = self._targets.judge_within(target, self._obtainable_ns(start))
                if judged is None:
                    return None
                if judged.is_adoptable and judged.beats(start):
                    return judged
        return None

    def _exchanges(self, best: Judged) -> Iterator[tuple[TargetHandle, int | None]]:
        """Targets to go on from, each with the owner that keeps what it has there.

        What they are is settled at the first: the graph grows as they are gone on from.
        """
        session, target = self._session, best.target
        affordable_ns = best.cost.future_loss_ns + self._targets.avoidable_ns(best)
        lesser = [
            (owner, choice)
            for owner in self._sacrificed(best)
            for choice in session.lesser(target, owner)[:LESSER_OUTCOMES]
        ]
        further = [*islice(self._targets.steps_by_loss(target), FURTHER_STEPS)]
        for owner, choice in lesser:
            yield target.with_choice(owner, choice), owner
        for candidate in range(len(session.candidates)):
            if candidate != target.candidate:
                choices = tuple(
                    choice if session.is_eligible(candidate, owner) else STAYS
                    for owner, choice in enumerate(target.choices)
                )
                yield TargetHandle(candidate, choices), None
        for each in further:
            if each.loss_ns <= affordable_ns:
                yield target.after(each.step), None

    def _ended_beforehand(self, identity: Judged) -> list[TargetHandle]:
        """Targets that end one owner, the least loss first, of those that could be better; owners
        that the incumbent has ended tell nothing new.
        """
        best, target = self._targets.best, identity.target
        assert best is not None
        maximal = self._session.maximal(target.candidate)
        ends = sorted(
            (self._valuation.own_loss_ns(owner, end), owner, end)
            for owner, end in enumerate(maximal.choices)
            if end != STAYS and best.target.choices[owner] != end
        )
        affordable_ns = best.cost.total_ns - identity.cost.now_ns
        licensed = self._targets.licence
        return [
            target.with_choice(owner, end)
            for loss_ns, owner, end in ends
            if loss_ns < affordable_ns and (licensed is None or owner in licensed)
        ][:ENDED_BEFOREHAND]

    def _sacrificed(self, best: Judged) -> list[int]:
        """Owners that do not stay, by what they lose, most first."""
        owners = [owner for owner, _ in self._session.facts(best.target)]
        return sorted(owners, key=lambda o: (-self._own_loss_ns(best.target, o), o))

    def _obtainable_ns(self, start: Judged) -> int:
        """What could be gained at the most from here: everything that has been given up comes
        back, and no copy is made that need not be.
        """
        return self._targets.gain_ns(start.cost.now_ns - self._targets.avoidable_ns(start))

    def _own_loss_ns(self, target: TargetHandle, owner: int) -> int:
        return self._valuation.own_loss_ns(owner, target.choices[owner])

    def _most_promising(
        self, current: Judged, gain_ns: int, *, prefers_value: bool, kept_owner: int | None
    ) -> DegradationStep | None:
        """The step with the least loss per share of what is missing, or with the largest share.

        Steps come by their loss, so that the first of these is known long before all are seen.

        Returns:
            `None` where no step is left, or none that may be paid for.
        """
        targets, shares = self._targets, _Shares(current)
        assert targets.budget is not None
        best: tuple[Promise, DegradationStep] | None = None
        waiting = (s for s in targets.steps_by_loss(current.target) if s.owner != kept_owner)
        while listed := list(islice(waiting, LISTED_STEPS)):
            if best and prefers_value and shares.cannot_beat(best[0], listed[0].loss_ns):
                break
            if not targets.budget.may_forecast(len(listed), gain_ns):
                return None
            reliefs = self._session.relief(current.target, [each.step for each in listed])
            for each, relief in zip(listed, reliefs, strict=True):
                if best and prefers_value and shares.cannot_beat(best[0], each.loss_ns):
                    break
                share = shares.of(relief)
                if not current.has_slot and targets.problem.has_slot(
                    current.target.after(each.step)
                ):
                    share += 1.0
                if share <= 0.0:
                    promise: Promise = (2, each.loss_ns, 0.0, each.owner, each.choice)
                elif prefers_value:
                    promise = (1, each.loss_ns / share, -share, each.owner, each.choice)
                else:
                    promise = (1, -share, each.loss_ns, each.owner, each.choice)
                if best is None or promise < best[0]:
                    best = promise, each.step
        return None if best is None else best[1]


class _Shares:
    """How much of what a target misses a step brings, every axis counting alike.

    A missing publication slot is one more thing missing, that only an eviction can bring.

    Attributes:
        most: What no step brings more than.
    """

    def __init__(self, judged: Judged) -> None:
        *others, host_bytes = judged.verdict.balance
        # Where every extent has its place, what is left of the arena is what is left of it.
        unplaced_bytes = judged.verdict.unplaced_bytes
        self._balance = (*others, max(host_bytes, unplaced_bytes) if unplaced_bytes else host_bytes)
        self._missing = [(axis, over) for axis, over in enumerate(self._balance) if over > 0]
        self.most = len(self._missing) + (not judged.has_slot)

    def cannot_beat(self, best: Promise, loss_ns: int) -> bool:
        """Whether no step that loses as much or more is as good a bargain."""
        return best[0] == 1 and loss_ns > best[1] * self.most

    def of(self, relief: Sequence[int]) -> float:
        """Of a step, by the units that it frees less those it takes."""
        share = 0.0
        for axis, over in self._missing:
            freed = relief[axis]
            share += 1.0 if freed > over else freed / over
        if share > 0.0 and min(relief) < 0:
            share -= _newly_missing(self._balance, relief)
        return share


def _newly_missing(balance: Sequence[int], relief: Sequence[int]) -> float:
    """Which part of what a step takes would find no room where nothing is missing yet.

    Args:
        balance: Used less capacity, axis by axis: what is missing where positive.
        relief: Units that the step frees, less those it takes.
    """
    share = 0.0
    for over, freed in zip(balance, relief, strict=True):
        if freed < 0 and freed < over <= 0:
            share += (over - freed) / -freed
    return share
