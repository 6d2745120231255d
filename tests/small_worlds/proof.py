"""Does Program say of every target of a world what the brute force says, and do what it says?

Owns the comparison: stage by stage in just enough room, refused with one unit less on any axis, and
run to its end over the machine that knows contents.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property

from ninfer_lab.contract.candidate import AdmissionRequest
from ninfer_lab.contract.capacity import Axis, Capacity, KvPool
from ninfer_lab.contract.errors import PlanRefused
from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.plan import ResourcePlan
from ninfer_lab.contract.result import Committed
from ninfer_lab.contract.target import Assessment, StageName
from ninfer_lab.contract.transaction import TransactionPhase
from small_worlds.brute_force import BruteForce
from small_worlds.ending import require_end, uses_of
from small_worlds.filled_world import FilledWorld, World
from small_worlds.outcomes import Outcome, outcomes, plain_form
from small_worlds.plain_sets import Played, Uses
from small_worlds.targets import FREE_LANE, Asked, Target, request_for

ROOM_UNITS = 12
"""Ample: nothing that is compared needs so much more than the world itself."""


@dataclass(slots=True)
class Tally:
    """How much has been compared.

    Attributes:
        verdicts_count: Targets at one capacity.
        seen: How often each kind of thing was met.
    """

    worlds_count: int = 0
    targets_count: int = 0
    verdicts_count: int = 0
    runs_count: int = 0
    seen: Counter[str] = field(default_factory=Counter)


class WorldProof:
    """One world, and everything that is compared in it."""

    def __init__(self, world: World, tally: Tally) -> None:
        self._world = world
        self.tally = tally
        self._filled: dict[Capacity, FilledWorld] = {}
        self._forces: dict[int, BruteForce] = {}
        self._requests: dict[tuple[int, int] | None, AdmissionRequest] = {}
        self._ample = _ample(world)
        self.picture = self._at(self._ample).picture
        tally.worlds_count += 1

    @cached_property
    def outcomes(self) -> dict[OwnerId, list[Outcome]]:
        """What is tried of every owner; each rung of its ladder is among them."""
        filled = self._at(self._ample)
        tried = {}
        for owner in self.picture.owners:
            continuation = filled.ledger.continuations.get(owner.owner)
            assert continuation is not None
            rungs = filled.program.ladder(continuation.ref)
            rungs_in_words = [plain_form(filled.ledger, rung) for rung in rungs]
            tried[owner.owner] = list(
                dict.fromkeys([*outcomes(self.picture, owner), *rungs_in_words])
            )
        return tried

    def check(self, target: Target, *, runs: bool) -> None:
        """A plan is sealed exactly when the brute force says that it fits; every stage uses what
        it says; and a sealed plan reaches the end it says.

        Raises:
            AssertionError: With the world and the target.
        """
        self.tally.targets_count += 1
        try:
            self._check(target, runs=runs)
        except Exception as difference:
            difference.add_note(f"in {self._world}\nof {target}")
            raise

    def _check(self, target: Target, *, runs: bool) -> None:
        plays: dict[int, Played] = {}
        enough = self._enough(self._played(target, self._ample, plays))
        played = self._played(target, enough, plays)
        self._require_fit(self._at(enough), target, played)
        for axis in Axis:
            less = self._one_less(enough, axis, played)
            if less is not None:
                refused = self._played(target, less, plays)
                self._require_refusal(self._at(less), target, refused, axis)
        self.tally.seen.update((f"state {played.state.value}", *(["cow"] * played.cow_pages)))
        if runs:
            self.tally.runs_count += 1
            self._run(FilledWorld(self._world, enough, has_contents=True), target, played)

    # ── verdicts ────────────────────────────────────────────────────────────────────────────────

    def _require_fit(self, filled: FilledWorld, target: Target, played: Played) -> None:
        """In just enough room."""
        asked = self._asked(filled, target)
        assert played.fits(filled.options.capacity)
        assessment = filled.program.assess(asked.sketch)
        self.tally.verdicts_count += 1
        assert uses_by_stage(assessment) == played.stages
        assert assessment.violations == ()
        assert (assessment.state, assessment.cow_pages) == (played.state, played.cow_pages)
        filled.program.seal(assessment, asked.intent)

    def _require_refusal(
        self, filled: FilledWorld, target: Target, played: Played, axis: Axis
    ) -> None:
        """With one unit less of one axis."""
        asked, capacity = self._asked(filled, target), filled.options.capacity
        assert not played.fits(capacity)
        assessment = filled.program.assess(asked.sketch)
        self.tally.verdicts_count += 1
        self.tally.seen[f"one less: {axis.value}"] += 1
        if played.needs(axis) <= capacity.of(axis):
            self.tally.seen["bytes would do, no hole does"] += 1
        assert uses_by_stage(assessment) == played.stages
        assert {violation.axis for violation in assessment.violations} == {axis}
        assert not _seals(filled, assessment, asked)

    def _played(self, target: Target, capacity: Capacity, plays: dict[int, Played]) -> Played:
        """The brute force's word; of a capacity only the arena takes part in what is played."""
        granules_count = capacity.host_kv.granules_count
        if granules_count not in plays:
            filled = self._at(capacity)
            force = self._forces.get(granules_count)
            if force is None:
                force = BruteForce(filled.picture, filled.options)
                self._forces[granules_count] = force
            plays[granules_count] = force.play(self._asked(filled, target).move)
        return plays[granules_count]

    def _asked(self, filled: FilledWorld, target: Target) -> Asked:
        request = self._requests.get(target.source)
        if request is None:
            request = self._requests[target.source] = request_for(filled, target.source)
        return Asked(filled, target, request)

    # ── a run ───────────────────────────────────────────────────────────────────────────────────

    def _run(self, filled: FilledWorld, target: Target, played: Played) -> None:
        asked, program = self._asked(filled, target), filled.program
        filled.check()
        plan: ResourcePlan = program.seal(program.assess(asked.sketch), asked.intent)
        transaction, move = program.start(plan), asked.move
        candidate = plan.assessment.target.candidate
        while (result := program.advance(transaction)) is None:
            self._require_stage(filled, played)
            filled.check()
            arrival_ns = filled.machine.next_completion_ns()
            assert arrival_ns is not None, "it waits for a transfer"
            filled.machine.clock.wait_until(arrival_ns)
        assert isinstance(result, Committed)
        filled.machine.truth[FREE_LANE] = list(candidate.request.prompt.tokens)
        require_end(filled, target, move, played, result)
        filled.check()

    def _require_stage(self, filled: FilledWorld, played: Played) -> None:
        """While copies are in flight, what was projected for that stage is in use."""
        now = filled.program.snapshot()
        assert now.transition is not None
        stage = StageName.DESTINATIONS_RESERVED
        if now.transition.phase is TransactionPhase.COPIES_IN_FLIGHT:
            stage = StageName.DEMOTION_RESERVED
        self.tally.seen[f"waited at: {stage.value}"] += 1
        assert uses_of(now) == played.stages[stage]

    # ── room ────────────────────────────────────────────────────────────────────────────────────

    def _at(self, capacity: Capacity) -> FilledWorld:
        found = self._filled.get(capacity)
        if found is None:
            found = self._filled[capacity] = FilledWorld(self._world, capacity)
            if capacity is self._ample:
                found.check()
        return found

    def _enough(self, played: Played) -> Capacity:
        """Just what a target needs: units of every axis, and an arena up to its last granule."""
        granules_count = max(played.arena_end, self._world.last_granule)
        return replace(
            self._ample,
            device_state_slots=played.needs(Axis.DEVICE_STATE),
            host_state_slots=played.needs(Axis.HOST_STATE),
            device_kv_pages=played.needs(Axis.DEVICE_KV),
            device_backend_kv_pages=played.needs(Axis.DEVICE_BACKEND_KV),
            host_kv=replace(self._ample.host_kv, granules_count=granules_count),
        )

    def _one_less(self, enough: Capacity, axis: Axis, played: Played) -> Capacity | None:
        """The same with one unit less; `None` where the world itself would not fit into it."""
        now = sum(played.stages[StageName.NOW][list(Axis).index(axis)])
        if axis is Axis.HOST_KV:
            granules_count = enough.host_kv.granules_count - 1
            if granules_count < self._world.last_granule:
                return None
            return replace(enough, host_kv=replace(enough.host_kv, granules_count=granules_count))
        if enough.of(axis) <= max(now, 1):
            return None
        match axis:
            case Axis.DEVICE_STATE:
                return replace(enough, device_state_slots=enough.device_state_slots - 1)
            case Axis.HOST_STATE:
                return replace(enough, host_state_slots=enough.host_state_slots - 1)
            case Axis.DEVICE_KV:
                return replace(enough, device_kv_pages=enough.device_kv_pages - 1)
            case Axis.DEVICE_BACKEND_KV:
                pages = enough.device_backend_kv_pages - 1
                return replace(enough, device_backend_kv_pages=pages)


def uses_by_stage(assessment: Assessment) -> dict[StageName, Uses]:
    """What Program projects."""
    return {
        stage.name: tuple((use.allocated_count, use.reserved_count) for use in stage.occupancy.axes)
        for stage in assessment.stages
    }


def _seals(filled: FilledWorld, assessment: Assessment, asked: Asked) -> bool:
    try:
        filled.program.seal(assessment, asked.intent)
    except PlanRefused:
        return False
    return True


def _ample(world: World) -> Capacity:
    geometry = world.topology.options.capacity.host_kv
    page_granules = geometry.main_page_granules + geometry.backend_page_granules
    has_backend = KvPool.BACKEND in world.topology.pages
    contents_count = len(world.topology.contents)
    return Capacity(
        device_state_slots=contents_count + ROOM_UNITS,
        device_kv_pages=contents_count + ROOM_UNITS,
        host_state_slots=contents_count,
        device_backend_kv_pages=contents_count + ROOM_UNITS if has_backend else 0,
        host_kv=replace(
            geometry,
            granules_count=world.last_granule + contents_count * page_granules,
        ),
    )
