"""One request's whole journey: submit, admit, forward after forward, settle.

Owns the step loop and the requests on their way. Joins scheduler, cache design, frontend and
machine by their values; decides neither which request runs (scheduler), nor from where it starts
and what is kept (the cache design), nor how anything is computed (machine). Never reads a snapshot
or an event back.
"""

from __future__ import annotations

from collections.abc import Generator
from itertools import count
from types import TracebackType

from ninfer_lab.contract.cache_controller import CacheController, ControllerSnapshot
from ninfer_lab.contract.clock import Clock
from ninfer_lab.contract.errors import InvariantBroken, NinferLabError
from ninfer_lab.contract.events import Event
from ninfer_lab.contract.ids import LaneId, RequestId
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import RequestOptions, ResolvedOptions
from ninfer_lab.contract.output import AcceptedText, FinishReason
from ninfer_lab.contract.prompt import PromptInput
from ninfer_lab.contract.recording_options import DECISIONS_ONLY, RecordingOptions
from ninfer_lab.contract.result import SequenceEnd
from ninfer_lab.contract.work import ForwardStep
from ninfer_lab.engine.admission_boundary import AdmissionBoundary
from ninfer_lab.engine.capture_boundary import CaptureBoundary
from ninfer_lab.engine.engine_sessions import EngineSessions
from ninfer_lab.engine.interrupts import deferred_interrupts
from ninfer_lab.engine.machine_waits import computed, wait_for_work_in_flight
from ninfer_lab.engine.narration import Narrator
from ninfer_lab.engine.preparation import Preparation
from ninfer_lab.engine.request import PendingEnd, Request, RequestOutcome
from ninfer_lab.engine.retained_outcomes import RetainedOutcomes
from ninfer_lab.engine.step_report import StepReport
from ninfer_lab.frontend.prepared_prompt import Frontend
from ninfer_lab.scheduler.scheduler import ForwardChoice, Scheduler


class Engine:
    """A context manager; `close()` ends every request and accounts for everything. `sessions`
    takes what a session is kept by out of one engine and into another.

    Args:
        options: Resolved: the same ones the cache design was built with.
        frontend: Of the served checkpoint.
        controller: The cache design.
        machine: The one the cache design binds rows on.
        clock: Shared with the machine.
        vocabulary_tokens: Of the served model.
        recording: How much is written down; decisions do not depend on it.
    """

    def __init__(
        self,
        *,
        options: ResolvedOptions,
        frontend: Frontend,
        controller: CacheController,
        machine: MachineApi,
        clock: Clock,
        vocabulary_tokens: int,
        recording: RecordingOptions = DECISIONS_ONLY,
    ) -> None:
        if not __debug__:
            raise InvariantBroken("assertions", "python -O switches the engine's laws off")
        self._options = options
        self._controller = controller
        self._machine = machine
        self._clock = clock
        self._preparation = Preparation(frontend, options, vocabulary_tokens)
        self._scheduler = Scheduler(
            lanes_count=options.max_concurrency,
            limit_waiting=options.max_pending_requests,
            backfill=options.backfill,
        )
        self._narrator = Narrator(recording, controller, clock)
        self._recorder = self._narrator.recorder
        self._ids = count(1)
        self._requests: dict[RequestId, Request] = {}
        self._captures = CaptureBoundary(controller, self._narrator, clock)
        self._boundary = AdmissionBoundary(
            self._scheduler,
            controller,
            self._captures,
            self._narrator,
            self._requests,
            self._refuse,
        )
        self.sessions = EngineSessions(
            controller, self._boundary, self._narrator, clock, self._require_usable
        )
        self._outcomes = RetainedOutcomes()
        self._broken: BaseException | None = None
        self._closed = False

    # ── the journey ─────────────────────────────────────────────────────────────────────────────

    def submit(self, prompt: PromptInput, options: RequestOptions | None = None) -> RequestId:
        """Prepares a prompt and puts the request into the queue.

        Raises:
            PromptError: Refused before anything was allocated for it.
        """
        self._require_usable()
        id, now_ns = RequestId(next(self._ids)), self._clock.now_ns()
        request = self._preparation.request(id, prompt, options or RequestOptions(), now_ns)
        try:
            with deferred_interrupts():
                self._scheduler.submit(request.id)
                self._requests[request.id] = request
                self._narrator.submitted(request)
        except KeyboardInterrupt:  # nobody has learnt the id, so nobody could take it back
            self.cancel(request.id)
            raise
        return request.id

    def step(self) -> StepReport:
        """One worker cycle: admit what can be admitted, run one forward, settle what has ended.

        An interrupt (■) that comes meanwhile is raised when the cycle is over. A broken law, or an
        error where none is expected, ends the engine as a whole.
        """
        self._require_usable()
        before = self._recorder.emitted_count
        with deferred_interrupts():
            try:
                self._boundary.advance()
                if not self._boundary.is_open:
                    self._settle_pending()
                    self._boundary.admit()
                ran = self._run_next_forward()
                if has_waited := not ran and self._boundary.is_open:
                    wait_for_work_in_flight(self._machine, self._clock)
            except Exception as error:
                self._broken = error
                raise
        events = self._recorder.since(before)
        lost_count = self._recorder.emitted_count - before - len(events)
        return StepReport(events, lost_events_count=lost_count, has_waited=has_waited)

    def _run_next_forward(self) -> bool:
        """One forward of whoever may run, if somebody may."""
        choice = self._scheduler.next_forward(resting=self._resting_lanes())
        if choice is not None:
            self._run_forward(choice)
        return choice is not None

    def _resting_lanes(self) -> frozenset[LaneId]:
        """Lanes that may not run beside the transition under way (TXN-7), or have ended."""
        if not self._boundary.is_open:
            return frozenset()
        return frozenset(
            request.handle.lane
            for request in self._requests.values()
            if request.admission is not None
            and (
                request.terminal_pending is not None or not self._controller.can_run(request.handle)
            )
        )

    def _run_forward(self, choice: ForwardChoice) -> None:
        requests = self._with_pages([self._requests[active.request] for active in choice.lanes])
        if not requests:
            return
        rows = [
            request.forward_row(self._controller.next_cut(request.handle)) for request in requests
        ]
        step = ForwardStep(phase=choice.phase, rows=tuple(rows))
        try:
            result = computed(self._machine, self._clock, step)
        except (InvariantBroken, AssertionError):
            raise
        except Exception as error:  # the machine's own: these rows are lost, the engine is not
            for request in requests:
                self._settle(request, FinishReason.FAILED, error=f"{type(error).__name__}: {error}")
            return
        now_ns = self._clock.now_ns()
        captures = [self._controller.on_forward(request.handle) for request in requests]
        self._narrator.forward_ran(step, requests, result, now_ns)
        for request, row, token, capture in zip(
            requests, step.rows, result.drawn_tokens, captures, strict=True
        ):
            request.frontier_tokens = row.cut.end_tokens
            self._captures.tried(request, capture, now_ns)
            if token is not None:
                self._accept(request, token, now_ns)

    def _with_pages(self, requests: list[Request]) -> list[Request]:
        """Those whose next forward has its pages; the answers of the others end here (ACT-4)."""
        if self._options.lease_window_tokens is None:
            return requests
        short = [r for r in requests if not self._controller.grow_lease(r.handle)]
        for request in short:
            self._settle(request, FinishReason.LENGTH)
        return [request for request in requests if request not in short]

    def _accept(self, request: Request, token: int, now_ns: int) -> None:
        if request.first_token_ns is None:
            request.first_token_ns = now_ns
            self._scheduler.start_decode(request.handle.lane)
        request.output_tokens.append(token)
        self._controller.on_accept(request.handle, token)
        delta = request.output.push(token)
        request.deltas.append(delta)
        if delta.finished is not None:
            self._settle(request, delta.finished)

    def _settle(self, request: Request, reason: FinishReason, *, error: str | None = None) -> None:
        """Ends an active request: the cache design keeps or releases, and the lane is free.

        Beside a transition nothing settles: the request keeps its guarantee until that is closed.
        """
        answer = request.closed_answer(reason)
        if self._boundary.is_open:
            request.terminal_pending = PendingEnd(reason=reason, error=error)
            return
        end = SequenceEnd.KEEP_CHECKPOINTS if error is not None else request.end_for(answer)
        settlement = self._controller.finish(request.handle, end)
        self._scheduler.settled(request.handle.lane)
        self._narrator.settled(request, settlement.published, self._clock.now_ns())
        self._conclude(request, answer, error=error)

    def _settle_pending(self) -> None:
        """What had to wait for the transition, oldest request first."""
        for request in tuple(self._requests.values()):
            if (pending := request.terminal_pending) is not None:
                self._settle(request, pending.reason, error=pending.error)

    def _refuse(self, request: Request, reason: FinishReason, error: str | None) -> None:
        """Ends a request that was never Active."""
        self._conclude(request, request.closed_answer(reason), error=error)

    def _conclude(
        self, request: Request, answer: AcceptedText, *, error: str | None = None
    ) -> None:
        """Writes the log and keeps the outcome; the running record is gone."""
        request.outcome = RequestOutcome(
            request=request.id,
            output_tokens=tuple(request.output_tokens),
            answer=answer,
            log=self._narrator.finished(request, answer, error, self._clock.now_ns()),
        )
        self._outcomes.keep(request.outcome)
        del self._requests[request.id]

    # ── what a caller does with a request ───────────────────────────────────────────────────────

    def stream(self, request: RequestId) -> Generator[str]:
        """Runs the engine and yields the answer's text as it becomes final.

        Closing the iterator early, or an interrupt, cancels the request.
        """
        running = self._requests.get(request)
        if running is None:
            yield self.outcome(request).answer.text
            return
        try:
            while True:
                while running.deltas:
                    if text := running.deltas.popleft().text:
                        yield text
                if running.outcome is not None:
                    return
                self.step()
        finally:
            if running.outcome is None and not self._closed and self._broken is None:
                self.cancel(request)

    def run(self, request: RequestId) -> RequestOutcome:
        """Runs the engine until one request has ended. An interrupt cancels that request."""
        for _ in self.stream(request):
            pass
        return self.outcome(request)

    def run_until_idle(self) -> None:
        """Runs the engine until nothing waits and nothing runs."""
        while not self.is_idle:
            self.step()

    def cancel(self, request: RequestId) -> None:
        """Takes a request back; one that has ended is left as it is.

        What its state has consumed stays reusable, as after a regular end. One that runs beside
        somebody's transition ends when that is closed (`has_ended`).
        """
        self._require_usable()
        running = self._requests.get(request)
        if running is None:
            return
        with deferred_interrupts():
            try:
                self._take_back(running)
            except Exception as error:
                self._broken = error
                raise

    def _take_back(self, request: Request) -> None:
        """Wherever the request is on its way. One whose copies are under way may yet become Active
        while it is taken back, and then ends as any active one does.
        """
        if self._boundary.is_opening(request.id):
            self._boundary.cancel()
            while self._boundary.is_open:
                wait_for_work_in_flight(self._machine, self._clock)
                self._boundary.advance()
            self._settle_pending()
        if request.outcome is not None or request.terminal_pending is not None:
            return
        if request.admission is not None:
            self._settle(request, FinishReason.CANCELLED)
        else:
            self._scheduler.withdraw(request.id)
            self._refuse(request, FinishReason.CANCELLED, None)

    def has_ended(self, request: RequestId) -> bool:
        """Whether `outcome` knows it."""
        return request in self._outcomes

    def outcome(self, request: RequestId) -> RequestOutcome:
        """What remains of an ended request.

        Raises:
            PromptError: It still runs, is unknown, or ended too long ago.
        """
        return self._outcomes.of(request)

    # ── the whole engine ────────────────────────────────────────────────────────────────────────

    @property
    def is_idle(self) -> bool:
        """Nothing waits and nothing runs."""
        return self._scheduler.is_idle

    @property
    def options(self) -> ResolvedOptions:
        """What it was built with."""
        return self._options

    @property
    def lost_events_count(self) -> int:
        """Events that were too old to be retained; `events` holds the ones after them."""
        return self._recorder.emitted_count - len(self._recorder)

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything recorded, oldest first."""
        return tuple(self._recorder)

    def describe(self) -> ControllerSnapshot:
        """What the cache design holds now, for pictures and laws."""
        return self._controller.describe()

    def close(self) -> ControllerSnapshot:
        """Cancels what waits or runs; afterwards nothing is active and nothing reserved.

        Returns:
            What the cache design still holds: inactive owners only.

        Raises:
            InvariantBroken: Something active was left behind.
        """
        if not self._closed and self._broken is None:
            for request in tuple(self._requests):
                self.cancel(request)
        self._closed = True
        snapshot = self._controller.describe()
        reserved = sum(use.reserved_count for use in snapshot.ledger.occupancy.axes)
        if self._broken is None and (snapshot.ledger.sequences or reserved):
            raise InvariantBroken("INV-15 every lane ends", f"left behind: {snapshot.ledger}")
        return snapshot

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else "broken" if self._broken else "open"
        return (
            f"<Engine {state}: {self._scheduler.active_count} active,"
            f" {self._scheduler.waiting_count} waiting; {self._controller.occupancy()}>"
        )

    # ── leaves ──────────────────────────────────────────────────────────────────────────────────

    def _require_usable(self) -> None:
        if self._broken is not None:
            raise NinferLabError(
                "engine", found=f"stopped by {self._broken}", legal="build a new engine"
            )
        if self._closed:
            raise NinferLabError("engine", found="closed", legal="build a new engine")
