"""How does one decision look at many targets? (TGT, SRCH-10)

Owns the candidates and the victim domain of one decision at one revision, and the one exact
evaluator that construction, repair, expansion, maximal target and seal share. Remembers verdicts of
its own targets only; dies with the revision. Reads only, and knows no price.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from ninfer_lab.contract.candidate import AdmissionCandidate
from ninfer_lab.contract.capacity import Axis
from ninfer_lab.contract.ids import OwnerRef
from ninfer_lab.contract.planning import (
    STAYS,
    CheckpointRecoveries,
    DegradationStep,
    OutcomeFacts,
    TargetHandle,
    Verdict,
)
from ninfer_lab.contract.target import Assessment, OwnerOutcome, TargetSketch
from ninfer_lab.program.planning.owner_domain import OwnerDomain
from ninfer_lab.program.planning.recovery_recipes import recoveries
from ninfer_lab.program.planning.resource_projection import CandidateProjector, Projector
from ninfer_lab.program.planning.stage_order import StageOrder, StageUse
from ninfer_lab.program.planning.transfer_work import machine_work
from ninfer_lab.program.storage.post_state import PostState


class ProgramSession:
    """Implements `PlanningSession`.

    Args:
        victims: Owners that nobody leans on; ascending by id.
        assess: Program's own, for the values of a report or a seal.
    """

    def __init__(
        self,
        projector: Projector,
        resource_revision: int,
        candidates: Sequence[AdmissionCandidate],
        victims: Sequence[OwnerRef],
        assess: Callable[[TargetSketch], Assessment],
    ) -> None:
        self.resource_revision = resource_revision
        self.candidates = tuple(candidates)
        self.owners = tuple(victims)
        self._projector = projector
        self._ledger = projector.ledger
        self._assess = assess
        self._order = StageOrder(self._ledger)
        self._limits = tuple(self._ledger.capacity.of(axis) for axis in Axis)
        self._projected: dict[int, CandidateProjector] = {}
        self._post: tuple[TargetHandle, PostState] | None = None
        self._placed: tuple[TargetHandle, int] | None = None

    @cached_property
    def _domains(self) -> tuple[OwnerDomain, ...]:
        """Built with the first target that is no identity."""
        continuations = self._ledger.continuations
        return tuple(OwnerDomain(self._ledger, continuations.require(o)) for o in self.owners)

    # ── targets ─────────────────────────────────────────────────────────────────────────────────

    def identity(self, candidate: int) -> TargetHandle:
        return TargetHandle(candidate, (STAYS,) * len(self.owners))

    def maximal(self, candidate: int) -> TargetHandle:
        return TargetHandle(
            candidate,
            tuple(
                domain.evicted if self.is_eligible(candidate, i) else STAYS
                for i, domain in enumerate(self._domains)
            ),
        )

    def rung(self, candidate: int, gone: Sequence[int], *, rest_leaves: bool) -> TargetHandle:
        choices = []
        for owner, domain in enumerate(self._domains):
            if not self.is_eligible(candidate, owner):
                choices.append(STAYS)
            elif owner in gone:
                choices.append(domain.evicted)
            else:
                choices.append(domain.off_device() if rest_leaves else STAYS)
        return TargetHandle(candidate, tuple(choices))

    def is_eligible(self, candidate: int, owner: int) -> bool:
        source = self.candidates[candidate].source
        return source is None or source.owner.id != self.owners[owner].id

    def steps(self, target: TargetHandle) -> Sequence[DegradationStep]:
        return [
            step
            for owner, domain in enumerate(self._domains)
            if self.is_eligible(target.candidate, owner)
            for step in domain.steps(owner, target.choices[owner])
        ]

    def lesser(self, target: TargetHandle, owner: int) -> Sequence[TargetHandle]:
        numbers = self._domains[owner].above(target.choices[owner])
        return [target.with_choice(owner, number) for number in numbers]

    def facts(self, target: TargetHandle) -> Sequence[tuple[int, OutcomeFacts]]:
        return [
            (owner, self._domains[owner].facts(number))
            for owner, number in enumerate(target.choices)
            if number != STAYS
        ]

    def can_be_improved(self, candidate: int) -> bool:
        lineage = self._candidate(candidate).lineage
        if lineage.source is None or lineage.consumed is None:
            return False
        marks = self._candidate(candidate).identifying_marks
        return any(
            self.is_eligible(candidate, owner) and marks & self._projector.kept_by_owner[ref.id]
            for owner, ref in enumerate(self.owners)
        )

    def relief(
        self, target: TargetHandle, steps: Sequence[DegradationStep], axes: Sequence[Axis]
    ) -> Sequence[tuple[int, ...]]:
        masks = [self._order.mask(axis) for axis in axes]
        units = [self._order.unit(axis) for axis in axes]
        rests = self._rests(target)
        freed_by = [
            self._domains[step.owner].given_up(step.before, step.choice) & ~rests[step.owner]
            for step in steps
        ]
        return [
            tuple([(f & m).bit_count() * u for m, u in zip(masks, units, strict=True)])
            for f in freed_by
        ]

    # ── the evaluator ───────────────────────────────────────────────────────────────────────────

    def judge(self, target: TargetHandle) -> Verdict:
        post = self._post_state(target)
        uses = self._order.uses(post)
        candidate = self.candidates[target.candidate]
        source = self._candidate(target.candidate).lineage.source
        return Verdict(
            is_feasible=self._order.fits(uses, post),
            deficits=self._deficits(uses, post),
            work=machine_work(self._ledger, self._projector.options, candidate, source, post),
        )

    def sketch(self, target: TargetHandle) -> TargetSketch:
        return TargetSketch(
            candidate=self.candidates[target.candidate], outcomes=self._outcomes(target)
        )

    def assess(self, target: TargetHandle) -> Assessment:
        return self._assess(self.sketch(target))

    # ── recoveries ──────────────────────────────────────────────────────────────────────────────

    def placement_key(self, target: TargetHandle, owner: int) -> object:
        number = target.choices[owner]
        return number, self._replicas(target) & self._domains[owner].marks

    def recoveries(self, target: TargetHandle, owner: int) -> tuple[CheckpointRecoveries, ...]:
        domain = self._domains[owner]
        return recoveries(
            self._ledger.layout,
            self._projector.options,
            domain.owner,
            domain.surviving(target.choices[owner]),
            self._replicas(target),
        )

    def own_recoveries(self, owner: int, choice: int) -> tuple[CheckpointRecoveries, ...]:
        domain = self._domains[owner]
        return recoveries(
            self._ledger.layout,
            self._projector.options,
            domain.owner,
            domain.surviving(choice),
            domain.outcome(choice).keeps,
        )

    # ── leaves ──────────────────────────────────────────────────────────────────────────────────

    def _replicas(self, target: TargetHandle) -> int:
        """What is where in the end: restored pages are on the Device again."""
        if self._placed is not None and self._placed[0] is target:
            return self._placed[1]
        post = self._post_state(target)
        replicas: int = post.committed
        for pool, needs in zip(self._ledger.kv, post.needs, strict=True):
            replicas |= self._ledger.layout.device_pages[pool].put(needs.restored)
        self._placed = (target, replicas)
        return replicas

    def _rests(self, target: TargetHandle) -> list[int]:
        """For each owner, what all others keep."""
        keeps = [
            domain.outcome(number).keeps
            for domain, number in zip(self._domains, target.choices, strict=True)
        ]
        before, after = [self._unmoved], [0]
        for mine in keeps:
            before.append(before[-1] | mine)
        for mine in reversed(keeps):
            after.append(after[-1] | mine)
        after.reverse()
        return [before[i] | after[i + 1] for i in range(len(keeps))]

    @cached_property
    def _unmoved(self) -> int:
        """What active sequences and owners outside the domain keep."""
        eligible = {owner.id for owner in self.owners}
        unmoved: int = self._projector.active
        for owner, keeps in self._projector.kept_by_owner.items():
            if owner not in eligible:
                unmoved |= keeps
        return unmoved

    def _deficits(
        self, uses: tuple[StageUse, ...], post: PostState
    ) -> tuple[tuple[Axis, int], ...]:
        missing = [0] * len(self._limits)
        for _, allocated, reserved in uses:
            for i, limit in enumerate(self._limits):
                missing[i] = max(missing[i], allocated[i] + reserved[i] - limit)
        granule_bytes = self._ledger.capacity.host_kv.granule_bytes
        unplaced = sum(e.run_granules for e in post.extents if e.first is None) * granule_bytes
        missing[4] = max(missing[4], unplaced)
        return tuple((axis, units) for axis, units in zip(Axis, missing, strict=True) if units)

    def _post_state(self, target: TargetHandle) -> PostState:
        """Of the target asked for last: a target is judged, then valued."""
        if self._post is None or self._post[0] is not target:
            projected = self._candidate(target.candidate)
            self._post = (target, projected.project(self._outcomes(target)))
        return self._post[1]

    def _candidate(self, ordinal: int) -> CandidateProjector:
        found = self._projected.get(ordinal)
        if found is None:
            found = self._projector.candidate(self.candidates[ordinal])
            self._projected[ordinal] = found
        return found

    def _outcomes(self, target: TargetHandle) -> tuple[OwnerOutcome, ...]:
        return tuple(
            [
                self._domains[owner].outcome(number)
                for owner, number in enumerate(target.choices)
                if number != STAYS
            ]
        )


def assessed(projector: Projector, resource_revision: int, target: TargetSketch) -> Assessment:
    """One target by the same evaluator, with every stage; it names current owners alone."""
    projected = projector.candidate(target.candidate)
    post = projected.project(target.outcomes)
    order = StageOrder(projector.ledger)
    uses = order.uses(post)
    return Assessment(
        target=target,
        resource_revision=resource_revision,
        state=post.state,
        cow_pages=post.copied_tail_pages,
        stages=order.stages(uses),
        work=machine_work(
            projector.ledger, projector.options, target.candidate, projected.lineage.source, post
        ),
        violations=() if order.fits(uses, post) else order.violations(uses, post),
    )
