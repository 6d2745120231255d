"""What is where, what fits, and what happens? The only physical authority (ROLE-3).

Owns the ledger, the resource revision and the plans it has sealed. Reads the machine's row tables
only to report them; keeps no price, session or policy. Torch-free: the machine is a protocol.
Source: spec ROLE-3, REV, TXN-1, TXN-2, ACT.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

from ninfer_lab.contract.candidate import (
    AdmissionCandidate,
    AdmissionRequest,
    CheckpointSource,
    NotReusable,
    SourceDisposition,
)
from ninfer_lab.contract.capacity import Occupancy
from ninfer_lab.contract.errors import PlanRefused
from ninfer_lab.contract.ids import (
    CheckpointId,
    CheckpointRef,
    LaneId,
    PlanId,
    SequenceHandle,
    SequenceId,
)
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import ResolvedOptions, pages_of_tokens
from ninfer_lab.contract.placement import LedgerSnapshot
from ninfer_lab.contract.plan import ActivationIntent, ResourcePlan
from ninfer_lab.contract.result import (
    CaptureOutcome,
    CaptureResult,
    ResourceResult,
    SequenceEnd,
    Settlement,
)
from ninfer_lab.contract.target import Assessment, TargetSketch
from ninfer_lab.contract.work import Cut
from ninfer_lab.program.execution.forward_step import begin_cut, commit_cut
from ninfer_lab.program.planning.exact_identity import compare
from ninfer_lab.program.planning.resource_projection import project_admission
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.transactions.activation import activate
from ninfer_lab.program.transactions.capture import capture
from ninfer_lab.program.transactions.settlement import settle


class Program:
    """The ledger and everything that may change it."""

    def __init__(self, options: ResolvedOptions, machine: MachineApi) -> None:
        self._options = options
        self._machine = machine
        self._ledger = Ledger(options.capacity, options.max_concurrency)
        self._resource_revision = 0
        self._sealed: dict[PlanId, ResourcePlan] = {}
        self._told_occupancy: tuple[int, Occupancy] | None = None
        self._ids: Iterator[int] = count(1)

    @property
    def resource_revision(self) -> int:
        return self._resource_revision

    # ── candidates and targets: reading only ────────────────────────────────────────────────────

    def root_candidate(self, request: AdmissionRequest) -> AdmissionCandidate:
        return AdmissionCandidate(
            request=request, source=None, reuse_tokens=0, prefill_tokens=len(request.prompt.tokens)
        )

    def verify(
        self, request: AdmissionRequest, checkpoint: CheckpointRef, disposition: SourceDisposition
    ) -> AdmissionCandidate | NotReusable:
        owner = self._ledger.continuations.get(checkpoint.owner)
        found = None if owner is None else owner.checkpoint(checkpoint)
        if owner is None or found is None:
            return NotReusable.STALE
        difference = compare(request.prompt, owner, found.summary.frontier_tokens)
        if difference is not None:
            return difference
        return AdmissionCandidate(
            request=request,
            source=CheckpointSource(
                owner=owner.ref,
                checkpoint=checkpoint,
                kind=found.summary.kind,
                disposition=disposition,
            ),
            reuse_tokens=found.summary.frontier_tokens,
            prefill_tokens=len(request.prompt.tokens) - found.summary.frontier_tokens,
        )

    def assess(self, target: TargetSketch) -> Assessment:
        post = project_admission(self._ledger, target)
        return Assessment(
            target=target,
            resource_revision=self._resource_revision,
            state=post.state,
            cow_pages=post.copied_tail_pages,
            stages=post.stages,
        )

    def can_ever_run(self, request: AdmissionRequest) -> bool:
        tokens = len(request.prompt.tokens) + request.max_output_tokens
        return pages_of_tokens(tokens) <= self._options.capacity.device_kv_pages

    # ── plans: sealed, remembered, used once ────────────────────────────────────────────────────

    def seal(self, assessment: Assessment, intent: ActivationIntent) -> ResourcePlan:
        if assessment.resource_revision != self._resource_revision:
            raise PlanRefused(
                "assessment.resource_revision",
                found=assessment.resource_revision,
                legal=f"{self._resource_revision}: assess again at the current revision",
            )
        if not assessment.is_feasible:
            raise PlanRefused("assessment", found=assessment, legal="a feasible one")
        if self._ledger.lane_is_taken(intent.lane):
            raise PlanRefused(
                "intent.lane", found=intent.lane, legal="a lane without an active sequence"
            )
        plan = ResourcePlan(id=PlanId(next(self._ids)), assessment=assessment, intent=intent)
        self._sealed = {plan.id: plan}  # a newer plan replaces an older one that was never run
        return plan

    def start(self, plan: ResourcePlan) -> ResourceResult:
        self._take_back(plan)
        target = plan.assessment.target
        post = project_admission(self._ledger, target)
        assert _used_by_stage(post.stages) == _used_by_stage(plan.assessment.stages), (
            "the same revision gives the same post-state"
        )
        handle = SequenceHandle(id=SequenceId(next(self._ids)), lane=plan.intent.lane)
        consumed, evicted = activate(self._ledger, self._machine, plan, post, handle)
        self._resource_revision += 1
        return ResourceResult(
            handle=handle,
            candidate=target.candidate,
            state=post.state,
            cow_pages=post.copied_tail_pages,
            consumed=consumed,
            evicted=evicted,
            resource_revision=self._resource_revision,
        )

    def _take_back(self, plan: ResourcePlan) -> None:
        """The very plan that was sealed, at the revision it was sealed at, leaves the memory for
        good.
        """
        if self._sealed.get(plan.id) is not plan:
            raise PlanRefused(
                "plan", found=f"plan {plan.id}", legal="a plan Program sealed and has not yet run"
            )
        if plan.resource_revision != self._resource_revision:
            raise PlanRefused(
                "plan.resource_revision",
                found=plan.resource_revision,
                legal=f"{self._resource_revision}: seal again at the current revision",
            )
        del self._sealed[plan.id]

    # ── an active sequence: inside its own guarantee ────────────────────────────────────────────

    def next_cut(self, handle: SequenceHandle) -> Cut:
        """Gives out the next forward of a sequence, its pages mapped."""
        sequence = self._ledger.sequence(handle)
        reserved_pages = sequence.reserved_pages
        cut = begin_cut(self._ledger, self._machine, sequence, self._options.prefill_chunk_tokens)
        if sequence.reserved_pages != reserved_pages:
            self._told_occupancy = None
        return cut

    def commit(self, handle: SequenceHandle) -> CaptureResult:
        """The cut given out last has run; captures here if that was planned."""
        sequence = self._ledger.sequence(handle)
        if commit_cut(self._ledger, sequence):
            self._resource_revision += 1
        return self._capture_planned(sequence)

    def accept(self, handle: SequenceHandle, token_id: int) -> None:
        """A drawn token joins the exact history."""
        self._ledger.sequence(handle).output.append(token_id)

    def capture_planned(self, handle: SequenceHandle) -> CaptureResult:
        """Captures the checkpoint planned at the current frontier, if one is and there is room."""
        return self._capture_planned(self._ledger.sequence(handle))

    def _capture_planned(self, sequence: ActiveSequence) -> CaptureResult:
        planned = sequence.planned_capture()
        if planned is None or sequence.pinned_read:
            return CaptureResult(
                outcome=CaptureOutcome.NOT_WANTED, frontier_tokens=sequence.frontier_tokens
            )
        checkpoint = CheckpointId(next(self._ids))
        result = capture(self._ledger, self._machine, sequence, planned, checkpoint)
        if result.outcome is CaptureOutcome.CAPTURED:
            self._resource_revision += 1
        return result

    def finish(self, handle: SequenceHandle, end: SequenceEnd) -> Settlement:
        """Terminal settlement (ACT-5)."""
        sequence = self._ledger.sequence(handle)
        published = settle(
            self._ledger, self._machine, sequence, end, endpoint=CheckpointId(next(self._ids))
        )
        self._resource_revision += 1
        return Settlement(
            published=published,
            frontier_tokens=sequence.frontier_tokens,
            resource_revision=self._resource_revision,
        )

    # ── pictures ────────────────────────────────────────────────────────────────────────────────

    def occupancy(self) -> Occupancy:
        """Used_r now (ACC-1).

        Every forward asks. What is in use moves with the revision, but for growth that is mapped
        (REV-3), so it is counted again only after one of the two.
        """
        if self._told_occupancy is None or self._told_occupancy[0] != self._resource_revision:
            self._told_occupancy = (self._resource_revision, self._ledger.occupancy())
        return self._told_occupancy[1]

    def snapshot(self) -> LedgerSnapshot:
        """Everything held, with the row tables as the machine has them."""
        lanes = (LaneId(lane) for lane in range(self._options.max_concurrency))
        tables = ((lane, self._machine.row_table(lane)) for lane in lanes)
        return self._ledger.snapshot(
            self._resource_revision,
            tuple((lane, table) for lane, table in tables if table is not None),
        )


def _used_by_stage(stages: Iterable[Occupancy]) -> list[list[int]]:
    """Used_r of each stage. Not its split: growth that has been mapped since the plan was sealed is
    no change of global facts (REV-3).
    """
    return [[use.used_count for use in stage.axes] for stage in stages]
