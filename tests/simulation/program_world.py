"""One Program over the machine that knows contents, driven by hand: no policy, no engine.

Every move is followed by every law that speaks of Program alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from ninfer_lab.contract.cache_controller import CatalogEntry, ControllerSnapshot
from ninfer_lab.contract.candidate import AdmissionCandidate, AdmissionRequest, SourceDisposition
from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.ids import CheckpointRef, LaneId, OwnerId, OwnerRef, RequestId, StateSlotId
from ninfer_lab.contract.options import CacheMode, ContextCache, EngineOptions, Sampling
from ninfer_lab.contract.placement import LedgerSnapshot, OwnerPlacement, SequencePlacement
from ninfer_lab.contract.plan import ActivationIntent, PlannedCapture, ResourcePlan
from ninfer_lab.contract.prompt import PreparedPrompt
from ninfer_lab.contract.result import CaptureResult, ResourceResult, SequenceEnd, Settlement
from ninfer_lab.contract.target import Assessment, TargetSketch
from ninfer_lab.contract.work import Draw, ForwardPhase, ForwardRow, ForwardStep
from ninfer_lab.lab.laws import check_laws
from ninfer_lab.program.program import Program
from simulation.content_machine import ContentMachine
from simulation.engine_world import prepared


def planned(kind: CheckpointKind, frontier_tokens: int) -> PlannedCapture:
    return PlannedCapture(kind=kind, frontier_tokens=frontier_tokens)


def closure_at(frontier_tokens: int) -> PlannedCapture:
    return planned(CheckpointKind.TURN_CLOSURE, frontier_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """From where a request of a `ProgramWorld` starts, and what becomes of others.

    Attributes:
        checkpoint: `None` is the root.
        owner: The owner the request will become; `None` if it may leave nothing behind.
    """

    checkpoint: CheckpointRef | None = None
    disposition: SourceDisposition = SourceDisposition.RETAIN
    evicted: tuple[OwnerRef, ...] = ()
    captures: tuple[PlannedCapture, ...] = ()
    owner: OwnerRef | None = None
    lane: int = 0


class ProgramWorld:
    """A Program and short words for what one does with it.

    Args:
        lanes: Active guarantee C.
        extra_slots: Checkpoint slots H.
        pages: Device pages.
        chunk_tokens: Longest prefill cut.
    """

    def __init__(
        self, *, lanes: int = 1, extra_slots: int = 1, pages: int = 4, chunk_tokens: int = 512
    ) -> None:
        options = EngineOptions(
            max_concurrency=lanes,
            max_context_tokens=64 * pages,
            kv_capacity_tokens=64 * pages,
            prefill_chunk_tokens=chunk_tokens,
            device_state_slots=extra_slots,
            context_cache=ContextCache.ENABLED,
        ).resolve()
        self.machine = ContentMachine(options.capacity)
        self.program = Program(options, self.machine)
        self._request_ids = count(1)
        self._owner_ids = count(1)
        self._running: dict[int, ResourceResult] = {}
        self._seen = self._picture()

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
        """Root, or the verified source."""
        if start.checkpoint is None:
            return self.program.root_candidate(request)
        candidate = self.program.verify(request, start.checkpoint, start.disposition)
        assert isinstance(candidate, AdmissionCandidate), candidate
        return candidate

    def assess(self, request: AdmissionRequest, start: Start) -> Assessment:
        return self.program.assess(
            TargetSketch(candidate=self.candidate(request, start), evicted=start.evicted)
        )

    def seal(self, request: AdmissionRequest, start: Start) -> ResourcePlan:
        intent = ActivationIntent(
            lane=LaneId(start.lane), destination=start.owner, captures=start.captures
        )
        return self.program.seal(self.assess(request, start), intent)

    def new_owner(self) -> OwnerRef:
        return OwnerRef(id=OwnerId(next(self._owner_ids)), generation=1)

    # ── running ─────────────────────────────────────────────────────────────────────────────────

    def admit(self, request: AdmissionRequest, start: Start | None = None) -> ResourceResult:
        """Assesses, seals and starts; without a start from the root into a new owner."""
        start = start or Start(owner=self.new_owner())
        result = self.program.start(self.seal(request, start))
        self.machine.truth[result.handle.lane] = list(request.prompt.tokens)
        self._running[start.lane] = result
        self.look()
        return result

    def forward(self, result: ResourceResult) -> CaptureResult:
        """The next cut of one sequence, run and committed; a drawn token is accepted."""
        request, handle = result.candidate.request, result.handle
        cut = self.program.next_cut(handle)
        self.look()
        truth = self.machine.truth[handle.lane]
        draw = None
        if cut.end_tokens == len(truth):
            draw = Draw(
                request=request.request, sampling=Sampling(), position_tokens=cut.end_tokens
            )
        draw = Draw(request=request.request, sampling=Sampling(), position_tokens=cut.end_tokens)
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
        capture = self.program.commit(handle)
        self.machine.committed(handle.lane)
        self.look()
        if token is not None:
            truth.append(token)
            self.program.accept(handle, token)
        return capture

    def prefill(self, result: ResourceResult) -> list[CaptureResult]:
        """Forwards until the prompt has been consumed."""
        captures = []
        while self.sequence(result).frontier_tokens < len(result.candidate.request.prompt.tokens):
            captures.append(self.forward(result))
        return captures

    def finish(self, result: ResourceResult, end: SequenceEnd = SequenceEnd.PUBLISH) -> Settlement:
        settlement = self.program.finish(result.handle, end)
        del self.machine.truth[result.handle.lane]
        self.look()
        return settlement

    def published(
        self,
        prompt: PreparedPrompt | Sequence[int],
        *,
        output: int = 1,
        captures: tuple[PlannedCapture, ...] = (),
    ) -> OwnerRef:
        """A new owner: a request from the root, prefilled and finished at its prompt's end."""
        owner = self.new_owner()
        result = self.admit(
            self.request(prompt, output=output), Start(owner=owner, captures=captures)
        )
        self.prefill(result)
        self.finish(result)
        return owner

    # ── looking ─────────────────────────────────────────────────────────────────────────────────

    @property
    def ledger(self) -> LedgerSnapshot:
        return self.program.snapshot()

    @property
    def pins(self) -> dict[StateSlotId, int]:
        """Pinned slots and their pins."""
        return dict(self.ledger.state_pins)

    def sequence(self, result: ResourceResult) -> SequencePlacement:
        return next(s for s in self.ledger.sequences if s.sequence == result.handle.id)

    def owner(self, ref: OwnerRef) -> OwnerPlacement:
        return next(o for o in self.ledger.owners if o.owner == ref.id)

    def checkpoints(self, ref: OwnerRef) -> tuple[CheckpointSummary, ...]:
        """Shallowest first."""
        return tuple(c.summary for c in self.owner(ref).checkpoints)

    def look(self) -> None:
        """Every law, and every content."""
        now = self._picture()
        check_laws(now, self._seen)
        self.machine.check_contents(now.ledger)
        self._seen = now

    def _picture(self) -> ControllerSnapshot:
        """A picture with the catalog that a faithful manager would have."""
        ledger = self.program.snapshot()
        catalog = tuple(
            CatalogEntry(
                owner=owner.owner,
                session_key=None,
                publication_order=0,
                checkpoints=tuple(c.summary for c in owner.checkpoints),
            )
            for owner in ledger.owners
        )
        return ControllerSnapshot(ledger=ledger, catalog=catalog)
