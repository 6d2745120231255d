"""What is where, what fits, and what happens? The only physical authority (ROLE-3).

Owns the ledger, the resource revision, the plans it has sealed and the one open transition. Reads
the machine's row tables only to report them; keeps no price, session or policy. Torch-free: the
machine is a protocol. Source: spec ROLE-3, REV, TXN-1, TXN-2, ACT.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import count

from ninfer_lab.contract.backfill import BackfillQuestion
from ninfer_lab.contract.candidate import (
    AdmissionCandidate,
    AdmissionRequest,
    NotReusable,
    SourceDisposition,
)
from ninfer_lab.contract.capacity import ExclusiveResources, Occupancy
from ninfer_lab.contract.errors import InvariantBroken, PlanRefused
from ninfer_lab.contract.explanation import Explanation
from ninfer_lab.contract.ids import (
    CheckpointId,
    CheckpointRef,
    LaneId,
    OwnerId,
    OwnerRef,
    PlanId,
    SequenceHandle,
    SequenceId,
    TransactionId,
)
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.machine_work import PrefillWork
from ninfer_lab.contract.options import ResolvedOptions
from ninfer_lab.contract.placement import LedgerSnapshot, RowTable
from ninfer_lab.contract.plan import ActivationIntent, CaptureOffer, ResourcePlan
from ninfer_lab.contract.planned_capture import CaptureTerms
from ninfer_lab.contract.result import (
    CaptureOutcome,
    CaptureResult,
    OwnerEnd,
    ResourceResult,
    SequenceEnd,
    Settlement,
)
from ninfer_lab.contract.shared_capture import CaptureIntent, CapturePlan, SharedCaptureEnd
from ninfer_lab.contract.stage_watch import StageWatch, unwatched
from ninfer_lab.contract.target import Assessment, OwnerOutcome, TargetSketch
from ninfer_lab.contract.transaction import TransactionHandle
from ninfer_lab.contract.work import Cut
from ninfer_lab.program.capture_desk import CaptureDesk
from ninfer_lab.program.execution.forward_step import begin_cut, commit_cut
from ninfer_lab.program.execution.growth_lease import lease, wanted_lease
from ninfer_lab.program.lineage_captures import LineageCaptures
from ninfer_lab.program.planning.backfill_proof import head_keeps_its_room
from ninfer_lab.program.planning.capture_projection import ProgramCaptureSession
from ninfer_lab.program.planning.exact_identity import verified
from ninfer_lab.program.planning.explanation import explained
from ninfer_lab.program.planning.final_schedule import final_schedule
from ninfer_lab.program.planning.ladder import ladder
from ninfer_lab.program.planning.ledger_readied import LedgerReadied
from ninfer_lab.program.planning.named_owners import require_current, require_places
from ninfer_lab.program.planning.planning_session import ProgramSession
from ninfer_lab.program.planning.resource_projection import fits_alone
from ninfer_lab.program.planning.transfer_work import prefill_between
from ninfer_lab.program.session_desk import SessionDesk
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.transactions.proven_plan import ProvenPlan
from ninfer_lab.program.transactions.running_capture import RunningCapture
from ninfer_lab.program.transactions.running_transaction import RunningTransaction
from ninfer_lab.program.transactions.settlement import settle


class Program:
    """The ledger and everything that may change it."""

    def __init__(self, options: ResolvedOptions, machine: MachineApi) -> None:
        self._options = options
        self._machine = machine
        self._ledger = Ledger(options.capacity, options.max_concurrency)
        self._resource_revision = 0
        self._sealed: dict[PlanId, ResourcePlan] = {}
        self._running: RunningTransaction | RunningCapture | None = None
        self._watch: StageWatch = unwatched
        self._ids: Iterator[int] = count(1)
        self._readied: LedgerReadied | None = None
        self._captures = CaptureDesk(self._ledger, self._ids)
        self._lineages = LineageCaptures(options, self._ledger, machine, self._ids)

    @property
    def resource_revision(self) -> int:
        return self._resource_revision

    def watch_stages(self, watch: StageWatch) -> None:
        self._watch = watch

    # ── candidates and targets: reading only ────────────────────────────────────────────────────

    def root_candidate(self, request: AdmissionRequest) -> AdmissionCandidate:
        return AdmissionCandidate(
            request=request, source=None, reuse_tokens=0, prefill_tokens=len(request.prompt.tokens)
        )

    def verify(
        self, request: AdmissionRequest, checkpoint: CheckpointRef, disposition: SourceDisposition
    ) -> AdmissionCandidate | NotReusable:
        owner = self._ledger.continuations.get(checkpoint.owner)
        return verified(request, owner, checkpoint, disposition)

    def assess(self, target: TargetSketch) -> Assessment:
        require_current(self._ledger, target)
        return self._ready().assess(target)

    def plan(
        self, candidates: Sequence[AdmissionCandidate], victims: Sequence[OwnerRef]
    ) -> ProgramSession:
        return ProgramSession(self._ready(), candidates, victims)

    def explain(self, assessment: Assessment) -> tuple[Explanation, ...]:
        """Every inequality that fails, with what makes it up; empty for a feasible target.

        Raises:
            PlanRefused: Assessed at another revision.
        """
        self._require_current("assessment", assessment)
        return explained(self._ready().projector, assessment)

    def ladder(self, owner: OwnerRef) -> tuple[OwnerOutcome, ...]:
        return ladder(self._ledger, self._ledger.continuations.require(owner))

    def exclusive(self, owner: OwnerId) -> ExclusiveResources:
        """What removing an inactive owner alone would settle (ACC-3)."""
        return self._ledger.exclusive(owner)

    def can_ever_run(self, request: AdmissionRequest) -> bool:
        return fits_alone(request, self._options)

    def prove_backfill(self, proof: BackfillQuestion) -> bool:
        self._require_current("backfill", proof.borrower)
        target = proof.borrower.target
        projected = self._ready().projector.candidate(target.candidate)
        post = projected.project(target.outcomes)
        return proof.borrower.is_feasible and head_keeps_its_room(
            self._ledger, self._options, proof, projected, post
        )

    def _ready(self) -> LedgerReadied:
        """The ledger made ready for projection; good for one revision.

        What an active sequence maps out of its guarantee moves no revision (REV-3) and does change
        which replicas there are and what is reserved, so it is made ready anew when pages have been
        mapped; and always beside an open transition, which holds places for replicas to come.
        """
        revision, known = self._resource_revision, self._readied
        if known is None or self._running is not None or not known.is_current(revision):
            known = self._readied = LedgerReadied(self._ledger, self._options, revision)
        return known

    # ── plans: sealed, remembered, used once ────────────────────────────────────────────────────

    def seal(self, assessment: Assessment, intent: ActivationIntent) -> ResourcePlan:
        self._require_current("assessment", assessment)
        if not assessment.is_feasible:
            raise PlanRefused("assessment", found=assessment, legal="a feasible one")
        require_places(self._ledger, assessment.target, intent)
        schedule = final_schedule(self._options, assessment.target.candidate, intent)
        id = PlanId(next(self._ids))
        plan = ResourcePlan(id=id, assessment=assessment, intent=intent, schedule=schedule)
        self._sealed = {plan.id: plan}  # a newer plan replaces an older one that was never run
        return plan

    def start(self, plan: ResourcePlan) -> TransactionHandle:
        proven = self._preflight(plan)
        del self._sealed[plan.id]
        handle = TransactionHandle(id=TransactionId(next(self._ids)))
        self._running = RunningTransaction(
            handle.id, proven, self._ledger, self._machine, self._watch
        )
        self._readied = None
        return handle

    def advance(self, transaction: TransactionHandle) -> ResourceResult | None:
        running = self._transaction(transaction)
        assert isinstance(running, RunningTransaction)
        result = running.advance()
        if result is not None:
            self._close(result.resource_revision)
        return result

    def advance_capture(self, transaction: TransactionHandle) -> SharedCaptureEnd | None:
        running = self._transaction(transaction)
        assert isinstance(running, RunningCapture)
        result = running.advance()
        if result is not None:
            self._close(result.resource_revision)
        return result

    def _close(self, resource_revision: int) -> None:
        """The transition has its result."""
        self._running, self._resource_revision = None, resource_revision

    def cancel(self, transaction: TransactionHandle) -> None:
        self._transaction(transaction).cancel()

    def _preflight(self, plan: ResourcePlan) -> ProvenPlan:
        """The very plan that was sealed, still at its revision, still fitting in every stage.

        Nothing has happened if this refuses (TXN-2).
        """
        if self._sealed.get(plan.id) is not plan:
            raise PlanRefused(
                "plan", found=f"plan {plan.id}", legal="a plan Program sealed and has not yet run"
            )
        self._require_current("plan", plan.assessment)
        if self._running is not None:
            raise PlanRefused("plan", found="a transition is open", legal="one at a time (TXN-1)")
        projected = self._ready().projected(plan.assessment)
        if not projected.fits:
            raise InvariantBroken(
                "REV-1 revision", f"{plan.assessment} does not hold at its own revision"
            )
        handle = SequenceHandle(id=SequenceId(next(self._ids)), lane=plan.intent.lane)
        return ProvenPlan(
            plan=plan,
            lineage=projected.lineage,
            post=projected.post,
            handle=handle,
            capture_at_start=self._lineages.at_start(plan),
        )

    def _require_current(self, what: str, assessment: Assessment) -> None:
        if assessment.resource_revision != self._resource_revision:
            raise PlanRefused(
                f"{what}.resource_revision",
                found=assessment.resource_revision,
                legal=f"{self._resource_revision}: assess again at the current revision",
            )

    def _transaction(self, handle: TransactionHandle) -> RunningTransaction | RunningCapture:
        if self._running is None or self._running.id != handle.id:
            raise PlanRefused("transaction", found=handle, legal="the one that is open")
        return self._running

    # ── a shared prefix, at a sequence's frontier ───────────────────────────────────────────────

    def prefill_work(
        self,
        request: AdmissionRequest,
        start_tokens: int,
        end_tokens: int,
        offers_tokens: Collection[int] = (),
    ) -> PrefillWork:
        return prefill_between(self._options, request, start_tokens, end_tokens, offers_tokens)

    def is_prefix_of(self, checkpoint: CheckpointRef, handle: SequenceHandle) -> bool:
        return self._captures.is_prefix_of(checkpoint, self._ledger.sequence(handle))

    def is_offered(self, handle: SequenceHandle) -> bool:
        return self._captures.is_offered(handle)

    def plan_capture(
        self, handle: SequenceHandle, owners: Sequence[OwnerRef], protected: Collection[OwnerId]
    ) -> ProgramCaptureSession:
        sequence = self._ledger.sequence(handle)
        return ProgramCaptureSession(self._ready(), sequence, owners, protected)

    def seal_capture(self, assessment: Assessment, intent: CaptureIntent) -> CapturePlan:
        self._require_current("assessment", assessment)
        return self._captures.seal(assessment, intent)

    def start_capture(self, plan: CapturePlan) -> TransactionHandle:
        self._require_current("plan", plan.assessment)
        self._require_no_transition("a capture")
        proven = self._captures.take(plan, self._ready())
        id, self._readied = TransactionId(next(self._ids)), None
        self._running = RunningCapture(
            id, proven, self._ledger, self._machine, self._options, self._watch
        )
        return TransactionHandle(id=id)

    # ── inactive owners ─────────────────────────────────────────────────────────────────────────

    def release(self, owner: OwnerRef) -> OwnerEnd:
        self._require_no_transition("an inactive release")
        continuation = self._ledger.continuations.remove(owner)
        self._ledger.release_unreferenced(continuation.holdings)
        self._resource_revision += 1
        return OwnerEnd(ref=owner, deleted=continuation.checkpoint_refs)

    def sessions(self) -> SessionDesk:
        """For a continuation on its way to a file or from one; beside no transition (PER-1)."""
        self._require_no_transition("a session saved or restored")
        return SessionDesk(self._options, self._ledger, self._machine, self._ids, self._moved)

    def _moved(self) -> int:
        self._resource_revision += 1
        return self._resource_revision

    # ── an active sequence: inside its own guarantee ────────────────────────────────────────────

    def can_run(self, handle: SequenceHandle) -> bool:
        """Whether its next forward may run now: beside an open transition none may that captures,
        ends a Fork pin or needs a lease, for each changes global facts (TXN-7, STATE-3).
        """
        if self._running is None:
            return True
        sequence = self._ledger.sequence(handle)
        if isinstance(self._running, RunningCapture) and self._running.reads(sequence):
            return False
        end_tokens = sequence.next_end_tokens(self._options.prefill_chunk_tokens)
        captures = end_tokens in sequence.offers_tokens or any(
            c.frontier_tokens == end_tokens for c in sequence.captures
        )
        growing = wanted_lease(self._options, sequence) is not None
        return not (sequence.pinned_read or captures or growing)

    def grow_lease(self, handle: SequenceHandle) -> bool:
        """Makes sure that the next forward finds its pages reserved (ACT-4).

        Returns:
            Whether it does. While a transition is open nothing more is leased.
        """
        sequence = self._ledger.sequence(handle)
        growth = wanted_lease(self._options, sequence)
        if growth is None:
            return True
        if self._running is not None or not lease(self._ledger, sequence, growth):
            return False
        self._resource_revision += 1
        return True

    def next_cut(self, handle: SequenceHandle) -> Cut:
        """Gives out the next forward of a sequence, its pages mapped."""
        sequence = self._ledger.sequence(handle)
        return begin_cut(self._ledger, self._machine, sequence, self._options)

    def commit(self, handle: SequenceHandle) -> CaptureOffer | None:
        """The cut given out last has run; what could be captured where it ends is offered."""
        sequence = self._ledger.sequence(handle)
        if commit_cut(self._ledger, sequence):
            self._require_no_transition("the end of a Fork pin")
            self._resource_revision += 1
        return sequence.capture_offer()

    def accept(self, handle: SequenceHandle, token_id: int) -> None:
        """A drawn token joins the exact history."""
        self._ledger.sequence(handle).output.append(token_id)

    def capture_at_start(self, handle: SequenceHandle) -> CaptureResult | CaptureOffer | None:
        """What the admission itself has captured where a sequence starts; else what could be."""
        sequence = self._ledger.sequence(handle)
        return sequence.captured_at_start or sequence.capture_offer()

    def capture(self, handle: SequenceHandle, terms: CaptureTerms | None) -> CaptureResult:
        """Takes up what was offered (`None`: nothing) where a sequence is, if there is room."""
        sequence = self._ledger.sequence(handle)
        if terms is None:
            return CaptureResult(CaptureOutcome.NOT_WANTED, sequence.frontier_tokens)
        self._require_no_transition("a capture")
        result = self._lineages.take(sequence, terms)
        if result.outcome is CaptureOutcome.CAPTURED or result.replaced is not None:
            self._resource_revision += 1
        return result

    def finish(self, handle: SequenceHandle, end: SequenceEnd) -> Settlement:
        """Terminal settlement (ACT-5)."""
        self._require_no_transition("a settlement")
        sequence = self._ledger.sequence(handle)
        endpoint = CheckpointId(next(self._ids))
        published = settle(self._ledger, self._machine, self._options, sequence, end, endpoint)
        return Settlement(
            published=published,
            frontier_tokens=sequence.frontier_tokens,
            resource_revision=self._moved(),
        )

    def _require_no_transition(self, what: str) -> None:
        if self._running is not None:
            raise InvariantBroken("INV-9 one transition", f"{what} beside an open transition")

    # ── pictures ────────────────────────────────────────────────────────────────────────────────

    def occupancy(self) -> Occupancy:
        """Used_r now (ACC-1)."""
        return self._ledger.occupancy()

    def snapshot(self) -> LedgerSnapshot:
        """Everything held, with the row tables as the machine has them."""
        tables = (
            (LaneId(lane), pool, self._machine.row_table(LaneId(lane), pool))
            for lane in range(self._options.max_concurrency)
            for pool in self._options.capacity.pools
        )
        return self._ledger.snapshot(
            self._resource_revision,
            tuple(RowTable(lane, pool, pages) for lane, pool, pages in tables if pages is not None),
            None if self._running is None else self._running.picture,
        )
