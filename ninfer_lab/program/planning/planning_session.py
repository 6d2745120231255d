"""How does one decision look at many targets? (TGT, SRCH-10)

Owns the candidates and the victim domain of one decision at one revision, and the one exact
evaluator that construction, repair, expansion, maximal target and seal share. Remembers verdicts of
its own targets only; dies with the revision. Reads only, and knows no price.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from ninfer_lab.contract.candidate import AdmissionCandidate
from ninfer_lab.contract.capacity import Axis, KvPool
from ninfer_lab.contract.ids import OwnerRef
from ninfer_lab.contract.machine_work import MachineWork, PrefillWork
from ninfer_lab.contract.planning import (
    STAYS,
    CheckpointRecoveries,
    DegradationStep,
    OutcomeFacts,
    TargetHandle,
    Verdict,
)
from ninfer_lab.contract.target import Assessment, OwnerOutcome, TargetSketch
from ninfer_lab.program.planning.ledger_readied import LedgerReadied, Projected
from ninfer_lab.program.planning.owner_domain import OwnerDomain
from ninfer_lab.program.planning.recovery_recipes import RecoveryRecipes
from ninfer_lab.program.planning.resource_projection import CandidateProjector
from ninfer_lab.program.planning.transfer_work import prefill_work
from ninfer_lab.program.storage.post_state import PostState

_AXES = tuple(Axis)


class ProgramSession:
    """Implements `PlanningSession`.

    Args:
        readied: The ledger at the session's revision.
        victims: Owners that nobody leans on; ascending by id.
    """

    def __init__(
        self,
        readied: LedgerReadied,
        candidates: Sequence[AdmissionCandidate],
        victims: Sequence[OwnerRef],
    ) -> None:
        self.resource_revision = readied.resource_revision
        self.candidates = tuple(candidates)
        self.owners = tuple(victims)
        self._readied = readied
        self._projector = readied.projector
        self._ledger = readied.ledger
        self._order = readied.order
        self._projected: dict[int, CandidateProjector] = {}
        self._last: tuple[TargetHandle, Projected] | None = None
        self._identities: dict[int, Projected] = {}
        self._placed: tuple[TargetHandle, int] | None = None
        self._identity_replicas: dict[int, int] = {}
        # By the step's identity, which is its own for as long as the step is kept.
        self._reliefs_alone: dict[int, tuple[int, ...]] = {}
        self._steps_alone: list[DegradationStep] = []
        self._prefills: dict[int, PrefillWork] = {}

    @cached_property
    def _recipes(self) -> RecoveryRecipes:
        return RecoveryRecipes(self._ledger.layout, self._readied.options)

    @cached_property
    def _domains(self) -> tuple[OwnerDomain, ...]:
        """Built with the first target that is no identity."""
        continuations, missing = self._ledger.continuations, self._missing_pages()
        return tuple(
            OwnerDomain(self._ledger, continuations.require(o), missing) for o in self.owners
        )

    def _missing_pages(self) -> dict[KvPool, tuple[int, ...]]:
        """Device pages that the identities miss, by pool: amounts by which pages may leave
        (TGT-5). The same for all targets, so that two ways to one of them stay one.
        """
        identities = [self._project(self.identity(c)) for c in range(len(self.candidates))]
        missing = {}
        for pool in self._ledger.kv:
            axis = _AXES.index(Axis.of_device_pool(pool))
            found = {projected.balance[axis] for projected in identities}
            missing[pool] = tuple(sorted(count for count in found if count > 0))
        return missing

    @cached_property
    def _sharing(self) -> dict[int, int]:
        """Owners for whom another's outcome counts, with replicas of all that they refer to, in
        both tiers.
        """
        marked = enumerate(domain.marks for domain in self._domains)
        return {owner: marks for owner, marks in marked if marks & self._shared}

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

    def steps_of(self, target: TargetHandle, owner: int) -> Sequence[DegradationStep]:
        return self._domains[owner].steps(owner, target.choices[owner])

    def lesser(self, target: TargetHandle, owner: int) -> Sequence[int]:
        return self._domains[owner].above(target.choices[owner])

    def facts(self, target: TargetHandle) -> Sequence[tuple[int, OutcomeFacts]]:
        return [
            (owner, self._domains[owner].facts(number))
            for owner, number in enumerate(target.choices)
            if number != STAYS
        ]

    def can_be_improved(self, candidate: int) -> bool:
        projector = self._candidate(candidate)
        lineage = projector.lineage
        if lineage.source is None or lineage.consumed is None:
            return False
        marks: int = projector.identifying_marks
        identity = self._project(self.identity(candidate)).post
        if identity.snapshot_slots:
            marks |= self._ledger.layout.device_images.mask  # a slot spares the copy to the Host
        return any(
            self.is_eligible(candidate, owner) and marks & self._projector.kept_by_owner[ref.id]
            for owner, ref in enumerate(self.owners)
        )

    def relief(
        self, target: TargetHandle, steps: Sequence[DegradationStep]
    ) -> Sequence[tuple[int, ...]]:
        known = self._reliefs_alone
        try:
            return [known[id(step)] for step in steps]
        except KeyError:
            rests: list[int] | None = None
        reliefs = []
        for step in steps:
            relief = known.get(id(step))
            if relief is None and self._is_alone(step):
                relief = known[id(step)] = self._relief(step, 0)
                self._steps_alone.append(step)
            elif relief is None:
                rests = rests or self._rests(target)
                relief = self._relief(step, rests[step.owner])
            reliefs.append(relief)
        return reliefs

    def _is_alone(self, step: DegradationStep) -> bool:
        """Whether nobody else ever keeps any of what the step changes."""
        domain = self._domains[step.owner]
        changed = domain.given_up(step.before, step.choice)
        changed |= domain.given_up(step.choice, step.before)
        return not changed & self._shared

    def _relief(self, step: DegradationStep, rest: int) -> tuple[int, ...]:
        """By what all others keep."""
        owner, before, choice, _ = step
        domain = self._domains[owner]
        freed = self._order.count(domain.given_up(before, choice) & ~rest)
        taken = self._order.count(domain.given_up(choice, before) & ~rest)
        return tuple([f - t for f, t in zip(freed, taken, strict=True)])

    # ── the evaluator ───────────────────────────────────────────────────────────────────────────

    def judge(self, target: TargetHandle) -> Verdict:
        projected = self._project(target)
        return Verdict(
            is_feasible=projected.fits,
            balance=projected.balance,
            unplaced_bytes=projected.unplaced_granules
            * self._ledger.capacity.host_kv.granule_bytes,
            work=self._work(target, projected),
        )

    def _work(self, target: TargetHandle, projected: Projected) -> MachineWork:
        """Copies, then what is left to prefill."""
        return self._readied.work(projected, self._prefill(target.candidate))

    def sketch(self, target: TargetHandle) -> TargetSketch:
        return TargetSketch(
            candidate=self.candidates[target.candidate], outcomes=self._outcomes(target)
        )

    def assess(self, target: TargetHandle) -> Assessment:
        projected = self._project(target)
        work = self._work(target, projected)
        return self._readied.assessment(self.sketch(target), projected, work)

    # ── recoveries ──────────────────────────────────────────────────────────────────────────────

    def placement_key(self, target: TargetHandle, owner: int) -> object:
        number = target.choices[owner]
        marks = self._sharing.get(owner)
        return number if marks is None else (number, self._replicas(target) & marks)

    def affected(self, target: TargetHandle) -> Sequence[int]:
        affected = {owner for owner, number in enumerate(target.choices) if number != STAYS}
        if self._sharing:
            changed = self._replicas(target) ^ self._replicas_of_identity(target.candidate)
            affected.update([owner for owner, marks in self._sharing.items() if marks & changed])
        source = self.candidates[target.candidate].source
        if source is not None:
            affected = {o for o in affected if self.owners[o].id != source.owner.id}
        return sorted(affected)

    def recoveries(self, target: TargetHandle, owner: int) -> tuple[CheckpointRecoveries, ...]:
        domain = self._domains[owner]
        surviving = domain.surviving(target.choices[owner])
        return self._recipes.of(domain.owner, surviving, self._replicas(target))

    def own_recoveries(self, owner: int, choice: int) -> tuple[CheckpointRecoveries, ...]:
        domain = self._domains[owner]
        keeps = domain.outcome(choice).keeps
        return self._recipes.of(domain.owner, domain.surviving(choice), keeps)

    # ── leaves ──────────────────────────────────────────────────────────────────────────────────

    def _replicas(self, target: TargetHandle) -> int:
        if self._placed is None or self._placed[0] is not target:
            self._placed = (target, self._end(self._project(target).post))
        return self._placed[1]

    def _replicas_of_identity(self, candidate: int) -> int:
        known = self._identity_replicas.get(candidate)
        if known is None:
            post = self._project(self.identity(candidate)).post
            known = self._identity_replicas[candidate] = self._end(post)
        return known

    def _end(self, post: PostState) -> int:
        """What is where in the end: restored pages are on the Device again."""
        replicas: int = post.committed
        for pool, needs in zip(self._ledger.kv, post.needs, strict=True):
            if needs.restored:
                replicas |= self._ledger.layout.device_pages[pool].put(needs.restored)
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
    def _shared(self) -> int:
        """Replicas, there or yet to be made, of what more than one owner refers to, or an owner and
        somebody who is not asked to give way.
        """
        met, shared = self._unmoved, 0
        for domain in self._domains:
            marks = domain.marks | domain.outcome(STAYS).keeps
            shared |= met & marks
            met |= marks
        return shared

    @cached_property
    def _unmoved(self) -> int:
        """What active sequences and owners outside the domain keep."""
        eligible = {owner.id for owner in self.owners}
        unmoved: int = self._projector.active
        for owner, keeps in self._projector.kept_by_owner.items():
            if owner not in eligible:
                unmoved |= keeps
        return unmoved

    def _project(self, target: TargetHandle) -> Projected:
        """Remembered for identities, and for the target asked for last: a target is judged, then
        valued.
        """
        if target.is_identity:
            known = self._identities.get(target.candidate)
            if known is None:
                known = self._readied.project(self._candidate(target.candidate), ())
                self._identities[target.candidate] = known
            return known
        if self._last is None or self._last[0] is not target:
            outcomes = self._outcomes(target)
            projected = self._readied.project(self._candidate(target.candidate), outcomes)
            self._last = (target, projected)
        return self._last[1]

    def _prefill(self, ordinal: int) -> PrefillWork:
        found = self._prefills.get(ordinal)
        if found is None:
            options, candidate = self._projector.options, self.candidates[ordinal]
            found = self._prefills[ordinal] = prefill_work(options, candidate)
        return found

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
