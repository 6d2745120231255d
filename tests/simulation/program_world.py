"""One Program over the machine that knows contents, driven by hand: no policy, no engine.

Every move is followed by every law that speaks of Program alone, and by a look at the contents of
both tiers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

from ninfer_lab.context_cache.private_capture import capture_terms
from ninfer_lab.contract.candidate import AdmissionCandidate, AdmissionRequest, SourceDisposition
from ninfer_lab.contract.capacity import Axis
from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.ids import CheckpointRef, LaneId, OwnerId, OwnerRef, RequestId
from ninfer_lab.contract.options import (
    CacheMode,
    EngineOptions,
    KvPageBytes,
    ResolvedOptions,
    SpeculativeBackend,
)
from ninfer_lab.contract.placement import LedgerSnapshot, OwnerPlacement, SequencePlacement
from ninfer_lab.contract.plan import (
    ActivationIntent,
    CaptureOffer,
    FinalScheduleIntent,
    ResourcePlan,
)
from ninfer_lab.contract.planned_capture import PlannedCapture
from ninfer_lab.contract.prompt import PreparedPrompt
from ninfer_lab.contract.result import (
    CaptureResult,
    Committed,
    ResourceResult,
    SequenceEnd,
    Settlement,
)
from ninfer_lab.contract.sampling import Sampling
from ninfer_lab.contract.target import Assessment, OwnerOutcome, StageName, TargetSketch
from ninfer_lab.contract.transaction import TransactionHandle, TransactionPhase
from ninfer_lab.contract.work import Draw, ForwardPhase, ForwardRow, ForwardStep
from ninfer_lab.lab.laws import check_laws
from ninfer_lab.program.program import Program
from simulation.content_machine import ContentMachine
from simulation.engine_world import (
    BACKEND_PAGE_BYTES,
    MAIN_PAGE_BYTES,
    STATE_IMAGE_BYTES,
    prepared,
)
from simulation.faithful_catalog import FaithfulCatalog

CONSUME, RETAIN = SourceDisposition.CONSUME, SourceDisposition.RETAIN

Used = tuple[int, int, int, int, int]
"""Units of every axis, in the order of `Axis`."""


def planned(kind: CheckpointKind, frontier_tokens: int) -> PlannedCapture:
    return PlannedCapture(kind=kind, frontier_tokens=frontier_tokens)


def closure_at(frontier_tokens: int) -> PlannedCapture:
    return planned(CheckpointKind.TURN_CLOSURE, frontier_tokens)


def small_options(
    *,
    lanes: int = 1,
    extra_slots: int = 1,
    pages: int = 4,
    chunk_tokens: int = 512,
    host_slots: int = 0,
    host_granules: int = 0,
    backend: SpeculativeBackend | None = None,
) -> ResolvedOptions:
    """Options of a small engine.

    Args:
        lanes: Active guarantee C.
        extra_slots: Checkpoint slots H.
        pages: Device pages of every pool.
        chunk_tokens: Longest prefill cut.
        host_slots: Host images.
        host_granules: Of the arena. A Main page takes one, and four beside a backend, whose page
            takes one.
    """
    granule_bytes = MAIN_PAGE_BYTES if backend is None else BACKEND_PAGE_BYTES
    return EngineOptions(
        max_concurrency=lanes,
        max_context_tokens=64 * pages,
        kv_capacity_tokens=64 * pages,
        prefill_chunk_tokens=chunk_tokens,
        device_state_slots=extra_slots,
        host_state_slots=host_slots,
        host_kv_capacity_bytes=host_granules * granule_bytes,
        backend=None if backend is None else replace(backend, kv_capacity_tokens=64 * pages),
    ).resolve(
        KvPageBytes(main=MAIN_PAGE_BYTES, backend=None if backend is None else BACKEND_PAGE_BYTES),
        state_image_bytes=STATE_IMAGE_BYTES,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """From where a request of a `ProgramWorld` starts, and what becomes of others.

    Attributes:
        checkpoint: `None` is the root.
        evicted: Owners that go, beside what `outcomes` says of others.
        owner: The owner it will become; `None` if it may leave nothing behind.
        offers: Frontiers at which a shared prefix may be asked of it.
    """

    checkpoint: CheckpointRef | None = None
    disposition: SourceDisposition = RETAIN
    outcomes: tuple[OwnerOutcome, ...] = ()
    evicted: tuple[OwnerRef, ...] = ()
    captures: tuple[PlannedCapture, ...] = ()
    owner: OwnerRef | None = None
    lane: int = 0
    offers: tuple[int, ...] = ()


class ProgramWorld:
    """A Program and short words for what one does with it.

    Args:
        options: Made of the sizes that `small_options` takes where none are given.
        limit_anchors: Long anchors that a lineage keeps.
    """

    def __init__(
        self,
        *,
        lanes: int = 1,
        extra_slots: int = 1,
        pages: int = 4,
        chunk_tokens: int = 512,
        host_slots: int = 0,
        host_granules: int = 0,
        options: ResolvedOptions | None = None,
        limit_anchors: int = 8,
    ) -> None:
        self.options = options or small_options(
            lanes=lanes,
            extra_slots=extra_slots,
            pages=pages,
            chunk_tokens=chunk_tokens,
            host_slots=host_slots,
            host_granules=host_granules,
        )
        self.machine = ContentMachine(self.options.capacity, backend=self.options.backend)
        self.program = Program(self.options, self.machine)
        self._limit_anchors = limit_anchors
        self._request_ids = count(1)
        self._owner_ids = count(1)
        self._refs: dict[OwnerId, OwnerRef] = {}
        self._catalog = FaithfulCatalog()
        self._seen = self._catalog.picture(self.program.snapshot())

    # ── plans ───────────────────────────────────────────────────────────────────────────────────

    def request(
        self, prompt: PreparedPrompt | Sequence[int], *, output: int = 1
    ) -> AdmissionRequest:
        """An admission request with the next id."""
        ordinal = next(self._request_ids)
        return AdmissionRequest(
            request=RequestId(ordinal),
            prompt=prompt if isinstance(prompt, PreparedPrompt) else prepared(prompt),
            max_output_tokens=output,
            mode=CacheMode.READ_WRITE,
            session_key=None,
            publication_order=ordinal,
            free_lanes=(LaneId(0),),
        )

    def candidate(self, request: AdmissionRequest, start: Start) -> AdmissionCandidate:
        """Root, or the verified source; captures are planned from there on."""
        found: object = self.program.root_candidate(request)
        if start.checkpoint is not None:
            found = self.program.verify(request, start.checkpoint, start.disposition)
        assert isinstance(found, AdmissionCandidate), found
        ahead = tuple(c for c in start.captures if c.frontier_tokens >= found.reuse_tokens)
        return replace(found, captures=ahead)

    def assess(self, request: AdmissionRequest, start: Start) -> Assessment:
        evictions = (self.program.ladder(self.current(ref))[-1] for ref in start.evicted)
        outcomes = sorted((*start.outcomes, *evictions), key=lambda outcome: outcome.owner.id)
        return self.program.assess(
            TargetSketch(candidate=self.candidate(request, start), outcomes=tuple(outcomes))
        )

    def seal(self, request: AdmissionRequest, start: Start) -> ResourcePlan:
        assessment = self.assess(request, start)
        captures = assessment.target.candidate.captures
        chosen = FinalScheduleIntent(captures=captures, offers_tokens=start.offers)
        intent = ActivationIntent(lane=LaneId(start.lane), destination=start.owner, schedule=chosen)
        return self.program.seal(assessment, intent)

    def new_owner(self) -> OwnerRef:
        return OwnerRef(id=OwnerId(next(self._owner_ids)), generation=1)

    def next_generation(self, owner: OwnerRef) -> OwnerRef:
        """What an owner becomes whose lineage is consumed and goes on."""
        return replace(owner, generation=self.current(owner).generation + 2)

    def demoted(self, owner: OwnerRef) -> OwnerOutcome:
        """Every checkpoint stays, with as little on the Device as it can."""
        rungs = [rung for rung in self.program.ladder(self.current(owner)) if not rung.deleted]
        return rungs[-1]

    # ── admissions ──────────────────────────────────────────────────────────────────────────────

    def open(self, request: AdmissionRequest, start: Start) -> TransactionHandle:
        """Assesses, seals and starts; nothing has happened yet."""
        handle = self.program.start(self.seal(request, start))
        self.look()
        return handle

    def advance(self, transaction: TransactionHandle) -> ResourceResult | None:
        """As far as it goes now; a result is adopted as a manager would."""
        result = self.program.advance(transaction)
        if result is not None:
            self._adopt(result)
        self.look()
        return result

    def arrive(self) -> None:
        """Time passes until the transfer in flight has ended."""
        arrival_ns = self.machine.next_completion_ns()
        assert arrival_ns is not None, "no transfer is in flight"
        self.machine.clock.wait_until(arrival_ns)

    def run(self, transaction: TransactionHandle) -> ResourceResult:
        """To its end, over all its transfers."""
        while (result := self.advance(transaction)) is None:
            self.arrive()
        return result

    def admit(self, request: AdmissionRequest, start: Start | None = None) -> Committed:
        """Opens and runs an admission; without a start from the root into a new owner."""
        result = self.run(self.open(request, start or Start(owner=self.new_owner())))
        assert isinstance(result, Committed), result
        return result

    def _adopt(self, result: ResourceResult) -> None:
        for end in result.evicted:
            del self._refs[end.ref.id]
        for change in result.degraded:
            self._refs[change.before.id] = change.state.ref
        if isinstance(result, Committed):
            if result.consumed is not None:
                del self._refs[result.consumed.ref.id]
            prompt = result.candidate.request.prompt
            self.machine.truth[result.handle.lane] = list(prompt.tokens)

    # ── running ─────────────────────────────────────────────────────────────────────────────────

    def forward(self, result: Committed) -> CaptureResult:
        """The next cut of one sequence, run and committed; a drawn token is accepted."""
        request, handle, draw = result.candidate.request, result.handle, None
        cut = self.program.next_cut(handle)
        self.look()
        truth = self.machine.truth[handle.lane]
        if cut.end_tokens == len(truth):
            draw = Draw(
                request=request.request, sampling=Sampling(), position_tokens=cut.end_tokens
            )
        row = ForwardRow(
            lane=handle.lane,
            token_ids=tuple(truth[cut.start_tokens : cut.end_tokens]),
            cut=cut,
            draw=draw,
        )
        prefill = cut.start_tokens < len(request.prompt.tokens)
        phase = ForwardPhase.PREFILL if prefill else ForwardPhase.DECODE
        self.machine.submit(ForwardStep(phase=phase, rows=(row,)))
        (token,) = self.machine.take_result().drawn_tokens
        capture = self._capture(result, self.program.commit(handle))
        self.machine.committed(handle.lane)
        self.look()
        if token is not None:
            truth.append(token)
            self.program.accept(handle, token)
        return capture

    def capture_at_start(self, result: Committed) -> CaptureResult:
        """What is planned at the very frontier a sequence starts from."""
        offer = self.program.capture_at_start(result.handle)
        assert not isinstance(offer, CaptureResult)
        capture = self._capture(result, offer)
        self.look()
        return capture

    def _capture(self, result: Committed, offer: CaptureOffer | None) -> CaptureResult:
        terms = None if offer is None else capture_terms(offer, self._limit_anchors)
        return self.program.capture(result.handle, terms)

    def prefill(self, result: Committed) -> list[CaptureResult]:
        """Forwards until the prompt has been consumed."""
        captures = []
        while self.sequence(result).frontier_tokens < len(result.candidate.request.prompt.tokens):
            captures.append(self.forward(result))
        return captures

    def finish(self, result: Committed, end: SequenceEnd = SequenceEnd.PUBLISH) -> Settlement:
        settlement = self.program.finish(result.handle, end)
        if settlement.published is not None:
            self._refs[settlement.published.ref.id] = settlement.published.ref
        del self.machine.truth[result.handle.lane]
        self.look()
        return settlement

    def published(
        self,
        prompt: PreparedPrompt | Sequence[int],
        *,
        start: Start | None = None,
        captures: tuple[PlannedCapture, ...] = (),
    ) -> OwnerRef:
        """A new owner: a request prefilled and finished at its prompt's end, by default from the
        root and in the first lane.
        """
        owner = self.new_owner()
        begun = replace(start or Start(), owner=owner, captures=captures)
        result = self.admit(self.request(prompt), begun)
        self.prefill(result)
        self.finish(result)
        return owner

    def degrade(self, *outcomes: OwnerOutcome, lane: int = 0) -> None:
        """A request comes under whose pressure owners become this, and leaves nothing itself."""
        result = self.admit(self.request(range(900, 902)), Start(outcomes=outcomes, lane=lane))
        self.finish(result, SequenceEnd.DISCARD)

    def demote(self, *owners: OwnerRef) -> None:
        """As `degrade`, to the Host."""
        self.degrade(*(self.demoted(owner) for owner in owners))

    def release(self, owner: OwnerRef) -> None:
        """An inactive owner goes, with no request behind it."""
        self.program.release(self._refs.pop(owner.id))
        self.look()

    # ── looking ─────────────────────────────────────────────────────────────────────────────────

    @property
    def ledger(self) -> LedgerSnapshot:
        return self.program.snapshot()

    @property
    def used(self) -> Used:
        """Used_r of every axis now."""
        one, two, three, four, five = (use.used_count for use in self.ledger.occupancy.axes)
        return one, two, three, four, five

    @property
    def phase(self) -> TransactionPhase:
        """Of the open transition."""
        transition = self.ledger.transition
        assert transition is not None
        return transition.phase

    def current(self, owner: OwnerRef) -> OwnerRef:
        """An owner at the generation it has now."""
        return self._refs[owner.id]

    def sequence(self, result: Committed) -> SequencePlacement:
        return next(s for s in self.ledger.sequences if s.sequence == result.handle.id)

    def owner(self, ref: OwnerRef) -> OwnerPlacement:
        return next(o for o in self.ledger.owners if o.owner == ref.id)

    def checkpoints(self, ref: OwnerRef) -> tuple[CheckpointSummary, ...]:
        """Shallowest first."""
        return tuple(c.summary for c in self.owner(ref).checkpoints)

    def deepest(self, ref: OwnerRef) -> CheckpointRef:
        return self.checkpoints(ref)[-1].ref

    def look(self) -> None:
        """Every law, and every content."""
        now = self._catalog.picture(self.program.snapshot())
        check_laws(now, self.options, self._seen)
        self.machine.check_contents(now.ledger)
        self._seen = now


def stage_uses(assessment: Assessment) -> dict[StageName, Used]:
    """Used_r of every stage."""
    uses = {}
    for stage in assessment.stages:
        one, two, three, four, five = (stage.occupancy.on(axis).used_count for axis in Axis)
        uses[stage.name] = (one, two, three, four, five)
    return uses
