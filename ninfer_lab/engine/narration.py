"""How is each moment of a request said as an event?

Owns the translation from running records to immutable events, so that the step loop reads as a
journey, and with it all that is done only so that it can be told: the recorder, the memory of
earlier prompts, the look at the occupancy. Changes nothing that a decision reads.
"""

from __future__ import annotations

from collections.abc import Sequence

from ninfer_lab.contract.cache_controller import (
    AdmissionAborted,
    Admitted,
    CacheController,
    NeedsTransfer,
    TemporarilyBlocked,
)
from ninfer_lab.contract.capacity import Occupancy
from ninfer_lab.contract.clock import Clock
from ninfer_lab.contract.events import (
    CaptureTried,
    ForwardRan,
    OwnerPublished,
    RequestAdmitted,
    RequestBlocked,
    RequestFinished,
    RequestSubmitted,
    RowRan,
    SharedCaptureEnded,
    TransitionEnded,
    TransitionEnding,
    TransitionStarted,
)
from ninfer_lab.contract.output import AcceptedText
from ninfer_lab.contract.recording_options import RecordingOptions
from ninfer_lab.contract.result import CaptureResult, OwnerState
from ninfer_lab.contract.shared_report import SharedCaptureTold
from ninfer_lab.contract.stage_watch import StagedDesign
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.contract.transaction import TransactionPhase
from ninfer_lab.contract.work import ForwardResult, ForwardStep
from ninfer_lab.engine.prefix_memory import PrefixMemory
from ninfer_lab.engine.recorder import Recorder
from ninfer_lab.engine.request import Request


class Narrator:
    """Tells a recorder what happens.

    Args:
        options: How much is written down.
        controller: The cache design; only looked at.
        clock: Says when a stage of a transition was reached, which the cache design alone knows.
    """

    def __init__(
        self, options: RecordingOptions, controller: CacheController, clock: Clock
    ) -> None:
        self._controller = controller
        self._occupancy: Occupancy | None = None
        self._memory = PrefixMemory(options.remembered_tokens)
        self._options = options
        self.recorder = Recorder(options, lambda: controller.describe().ledger)
        if isinstance(controller, StagedDesign):
            controller.watch_stages(lambda _: self.recorder.look(clock.now_ns()))

    def tells_targets(self, request: Request) -> bool:
        """Whether every target that is looked at for it will be kept."""
        return self._options.keeps_targets_of(request.id)

    def submitted(self, request: Request) -> None:
        """A prompt joined the queue."""
        self.recorder.emit(
            RequestSubmitted(
                at_ns=request.submitted_ns,
                request=request.id,
                prompt_tokens=request.prompt_tokens,
                max_output_tokens=request.max_output_tokens,
                mode=request.options.mode,
                session_key=request.options.session_key,
                rewrite_boundaries=request.prompt.rewrite_boundaries,
            )
        )

    def blocked(self, request: Request, answer: TemporarilyBlocked, at_ns: int) -> None:
        """The head stays where it is."""
        self.recorder.emit(
            RequestBlocked(
                at_ns=at_ns,
                request=request.id,
                revision=answer.revision,
                reason=answer.reason,
                report=answer.report,
            )
        )

    def transition_started(self, request: Request, answer: NeedsTransfer, at_ns: int) -> None:
        """Copies between Device and Host are under way for a request."""
        winner = answer.report.winner
        assert winner is not None, "what is under way was chosen"
        self.recorder.emit(
            TransitionStarted(
                at_ns=at_ns,
                request=request.id,
                path=winner.path,
                reuse_tokens=winner.reuse_tokens,
                work=winner.work,
            )
        )

    def transition_ended(
        self, request: Request, answer: Admitted | AdmissionAborted, started_ns: int, at_ns: int
    ) -> None:
        """The transition is closed; after a commit `admitted` tells the rest."""
        winner = answer.report.winner
        assert winner is not None, "what was under way was chosen"
        aborted = answer if isinstance(answer, AdmissionAborted) else None
        self.recorder.emit(
            TransitionEnded(
                at_ns=at_ns,
                request=request.id,
                started_ns=started_ns,
                ending=_ending(aborted),
                phase=TransactionPhase.COMMITTED if aborted is None else aborted.phase,
                detail="" if aborted is None else aborted.detail,
                evicted=() if aborted is None else aborted.evicted,
                deleted=() if aborted is None else aborted.deleted,
                work=winner.work,
                report=None if aborted is None else aborted.report,
            )
        )

    def admitted(self, request: Request, admission: Admitted, at_ns: int) -> None:
        """A request became active, and may have been captured where it starts."""
        tokens, reuse_tokens = request.prompt.tokens, admission.reuse_tokens
        self.recorder.emit(
            RequestAdmitted(
                at_ns=at_ns,
                request=request.id,
                lane=admission.handle.lane,
                path=admission.path,
                state=admission.state,
                reuse_tokens=reuse_tokens,
                cow_pages=admission.cow_pages,
                evicted=admission.evicted,
                report=admission.report,
                seen=self._memory.look(tokens, reused_tokens=reuse_tokens),
                schedule=admission.schedule,
                demand=admission.demand,
            )
        )
        if admission.capture is not None:
            self.captured(request, admission.capture, at_ns)

    def forward_ran(
        self, step: ForwardStep, requests: Sequence[Request], result: ForwardResult, at_ns: int
    ) -> None:
        """The machine ran one forward.

        Most of what is told is told here, so the values are made by position, in half the time.
        """
        rows = [
            RowRan(
                request.id,
                row.lane,
                (cut := row.cut).start_tokens,
                cut.end_tokens,
                cut.state_access,
                token,
            )
            for request, row, token in zip(requests, step.rows, result.drawn_tokens, strict=True)
        ]
        self.recorder.emit(
            ForwardRan(
                at_ns,
                step.phase,
                tuple(rows),
                result.elapsed_ns,
                result.gathered_bytes,
                self._look(),
            )
        )

    def captured(self, request: Request, result: CaptureResult, at_ns: int) -> None:
        """A frontier was reached where a checkpoint was wanted."""
        self.recorder.emit(CaptureTried(at_ns=at_ns, request=request.id, result=result))
        if result.shared is not None:
            self._remember(request, result.shared)

    def shared_capture_ended(
        self, request: Request, told: SharedCaptureTold, started_ns: int, at_ns: int
    ) -> None:
        """A capture whose copies were in flight is closed."""
        self.recorder.emit(SharedCaptureEnded(at_ns, request.id, started_ns, told))
        self._remember(request, told)

    def _remember(self, request: Request, told: SharedCaptureTold) -> None:
        """A shared prefix that stands may be met by any later prompt."""
        if told.published is not None:
            self._memory.remember(request.prompt.tokens[: told.frontier_tokens], (told.published,))

    def settled(self, request: Request, published: OwnerState | None, at_ns: int) -> None:
        """An active request has ended; what it computed is remembered, and may have an owner."""
        if consumed := request.consumed():
            self._memory.remember(consumed, () if published is None else published.checkpoints)
        if published is not None:
            self.recorder.emit(
                OwnerPublished(
                    at_ns=at_ns,
                    request=request.id,
                    owner=published.ref.id,
                    checkpoints=published.checkpoints,
                )
            )

    def restored(self, history: TokenSpan, state: OwnerState, at_ns: int) -> None:
        """A saved session has become an owner."""
        self._memory.remember(history, state.checkpoints)
        self.recorder.emit(
            OwnerPublished(
                at_ns=at_ns, request=None, owner=state.ref.id, checkpoints=state.checkpoints
            )
        )

    def finished(
        self, request: Request, answer: AcceptedText, error: str | None, at_ns: int
    ) -> RequestFinished:
        """The request log's record of a whole request (RCD-3), told and handed back."""
        prompt_tokens, admission = request.prompt_tokens, request.admission
        reused_tokens = 0 if admission is None else admission.reuse_tokens
        computed_tokens = min(request.frontier_tokens, prompt_tokens) - reused_tokens
        log = RequestFinished(
            at_ns=at_ns,
            request=request.id,
            finish_reason=answer.finished,
            prompt_tokens=prompt_tokens,
            completion_tokens=len(request.output_tokens),
            prefix_cache_hit_tokens=reused_tokens,
            computed_prefill_tokens=max(0, computed_tokens),
            prefix_reuse_path=None if admission is None else admission.path,
            queue_wait_ns=_since_submit(request, request.admitted_ns),
            ttft_ns=_since_submit(request, request.first_token_ns),
            total_ns=at_ns - request.submitted_ns,
            reconstruction_boundary_tokens=answer.reconstruction_boundary_tokens,
            occupancy=self._look(),
            error=error,
        )
        self.recorder.emit(log)
        return log

    def _look(self) -> Occupancy:
        """The occupancy now; while it stands still, one value for all events."""
        occupancy = self._controller.occupancy()
        if self._occupancy is None or occupancy != self._occupancy:
            self._occupancy = occupancy
        return self._occupancy


def _ending(aborted: AdmissionAborted | None) -> TransitionEnding:
    if aborted is None:
        return TransitionEnding.COMMITTED
    return TransitionEnding.CANCELLED if aborted.was_cancelled else TransitionEnding.COPY_FAILED


def _since_submit(request: Request, moment_ns: int | None) -> int | None:
    return None if moment_ns is None else moment_ns - request.submitted_ns
