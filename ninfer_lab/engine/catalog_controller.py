"""How do ResourceManager and Program together make one cache design?

Owns nothing: the first of the designs behind `contract.cache_controller`, it passes each call to
the authority that answers it and hands Program's results to ResourceManager.
"""

from __future__ import annotations

from collections.abc import Mapping

from ninfer_lab.context_cache.materialization import AbortedMaterialization, Materialization
from ninfer_lab.context_cache.resource_manager import ResourceManager
from ninfer_lab.contract.cache_controller import (
    Admission,
    AdmissionAborted,
    Admitted,
    ControllerSnapshot,
)
from ninfer_lab.contract.candidate import AdmissionRequest
from ninfer_lab.contract.capacity import Occupancy
from ninfer_lab.contract.ids import RequestId, SequenceHandle, SequenceId, SessionKey
from ninfer_lab.contract.plan import CaptureOffer
from ninfer_lab.contract.result import (
    AbortCause,
    CaptureResult,
    SequenceEnd,
    Settlement,
)
from ninfer_lab.contract.session_snapshot import RestoredSession, SessionSnapshot
from ninfer_lab.contract.shared_report import SharedCaptureTold
from ninfer_lab.contract.stage_watch import StageWatch
from ninfer_lab.contract.work import Cut
from ninfer_lab.program.program import Program


class CatalogController:
    """The catalog engine: complete states, private continuations."""

    def __init__(self, manager: ResourceManager, program: Program) -> None:
        self._manager = manager
        self._program = program
        self._requests: dict[SequenceId, RequestId] = {}

    @property
    def revision(self) -> int:
        return self._program.resource_revision

    def admit(self, request: AdmissionRequest) -> Admission:
        answer = self._manager.materialize(request)
        match answer:
            case Materialization():
                return self._admitted(answer)
            case AbortedMaterialization():
                return _aborted(answer)
            case _:
                return answer

    def poll(self) -> Admitted | AdmissionAborted | SharedCaptureTold | None:
        if self._manager.captures.is_open:
            return self._manager.captures.poll()
        ended = self._manager.poll()
        match ended:
            case Materialization():
                return self._admitted(ended)
            case AbortedMaterialization():
                return _aborted(ended)
            case None:
                return None

    def cancel_admission(self) -> None:
        self._manager.cancel()

    def may_backfill(
        self,
        head: AdmissionRequest,
        borrower: AdmissionRequest,
        donors: Mapping[RequestId, SequenceHandle],
    ) -> bool:
        return self._manager.may_backfill(head, borrower, donors)

    def _admitted(self, done: Materialization) -> Admitted:
        result = done.result
        self._requests[result.handle.id] = result.candidate.request.request
        started = self._program.capture_at_start(result.handle)
        if not isinstance(started, CaptureResult):
            started = self._capture(result.handle, started)
        capture = self._offered(result.handle, started, starting=True)
        return Admitted(
            handle=result.handle,
            path=result.candidate.path,
            state=result.state,
            reuse_tokens=result.candidate.reuse_tokens,
            cow_pages=result.cow_pages,
            evicted=tuple(end.ref.id for end in result.evicted),
            report=done.report,
            capture=capture if capture.is_telling else None,
            schedule=result.schedule,
            demand=done.demand,
        )

    def _offered(
        self, handle: SequenceHandle, private: CaptureResult, *, starting: bool = False
    ) -> CaptureResult:
        """The private-only baseline has been run; now a shared prefix, if one was to be offered."""
        if not self._program.is_offered(handle):
            return private
        request = self._requests[handle.id]
        shared = self._manager.offer(request, handle, private.frontier_tokens, starting=starting)
        return private._replace(shared=shared)

    def can_run(self, handle: SequenceHandle) -> bool:
        return self._program.can_run(handle)

    def grow_lease(self, handle: SequenceHandle) -> bool:
        while not self._program.grow_lease(handle):
            if not self._manager.release_idle():
                return False
        return True

    def next_cut(self, handle: SequenceHandle) -> Cut:
        return self._program.next_cut(handle)

    def on_forward(self, handle: SequenceHandle) -> CaptureResult:
        return self._offered(handle, self._capture(handle, self._program.commit(handle)))

    def _capture(self, handle: SequenceHandle, offer: CaptureOffer | None) -> CaptureResult:
        """Program offers, policy names the terms, Program captures if there is room."""
        terms = None if offer is None else self._manager.capture_terms(offer)
        return self._program.capture(handle, terms)

    def on_accept(self, handle: SequenceHandle, token_id: int) -> None:
        self._program.accept(handle, token_id)

    def finish(self, handle: SequenceHandle, end: SequenceEnd) -> Settlement:
        request = self._requests.pop(handle.id)
        settlement = self._program.finish(handle, self._manager.end_of(request, end))
        self._manager.adopt_settlement(request, settlement)
        return settlement

    def save_session(self, session: SessionKey) -> SessionSnapshot:
        return self._program.sessions().save(self._manager.saved.owner_of(session))

    def restore_session(self, saved: SessionSnapshot) -> RestoredSession:
        desk, destination = self._program.sessions(), self._manager.saved.destination()
        restored = desk.restore(saved, destination)
        self._manager.saved.adopt(restored.state)
        return restored

    def watch_stages(self, watch: StageWatch) -> None:
        self._program.watch_stages(watch)

    def occupancy(self) -> Occupancy:
        return self._program.occupancy()

    def describe(self) -> ControllerSnapshot:
        return ControllerSnapshot(ledger=self._program.snapshot(), catalog=self._manager.entries())


def _aborted(ended: AbortedMaterialization) -> AdmissionAborted:
    result = ended.result
    return AdmissionAborted(
        was_cancelled=result.cause is AbortCause.CANCELLED,
        detail=result.detail,
        phase=result.phase,
        evicted=tuple(end.ref.id for end in result.evicted),
        deleted=tuple(sorted(ref.id for change in result.degraded for ref in change.deleted)),
        report=ended.report,
    )
