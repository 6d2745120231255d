"""Who becomes Active now, and how far is the one transition under way?

Owns the moment between forwards at which requests are admitted: the head, or a later one that the
cache design proves harmless to it (BKF-1), and the one admission whose copies are in flight. Asks
scheduler and cache design; decides neither who is next nor from where anyone starts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ninfer_lab.contract.cache_controller import (
    AdmissionAborted,
    Admitted,
    CacheController,
    NeedsTransfer,
    PermanentlyInfeasible,
    TemporarilyBlocked,
)
from ninfer_lab.contract.candidate import AdmissionMoment, AdmissionRequest
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import LaneId, RequestId
from ninfer_lab.contract.output import FinishReason
from ninfer_lab.contract.shared_report import SharedCaptureTold
from ninfer_lab.engine.capture_boundary import CaptureBoundary
from ninfer_lab.engine.narration import Narrator
from ninfer_lab.engine.request import Request
from ninfer_lab.scheduler.scheduler import BlockedHead, Scheduler

ADMISSION_ATTEMPTS = 3
"""Transitions of one request that may fail by a copy before the request does: every lane ends in
bounded steps (INV-15), and one bad copy is no reason to refuse an answer.
"""

Refuse = Callable[[Request, FinishReason, str | None], None]
"""Ends a request that was never Active: (request, reason, error)."""


class AdmissionBoundary:
    """Everything between waiting and Active.

    Args:
        captures: Where a capture's copies are in flight, which is a transition, too.
        requests: The engine's, by id.
        refuse: Concludes a waiting request.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        controller: CacheController,
        captures: CaptureBoundary,
        narrator: Narrator,
        requests: Mapping[RequestId, Request],
        refuse: Refuse,
    ) -> None:
        self._scheduler = scheduler
        self._controller = controller
        self._narrator = narrator
        self._captures = captures
        self._clock = captures.clock
        self._requests = requests
        self._refuse = refuse
        self._moments_count = 0
        self._opening: Request | None = None
        self._opened_ns = 0

    @property
    def is_open(self) -> bool:
        """Whether a transition is under way; there is one at a time (INV-9)."""
        return self._opening is not None or self._captures.is_open

    def is_opening(self, request: RequestId) -> bool:
        """Whether it is this request's."""
        opening = self._opening is not None and self._opening.id == request
        return opening or self._captures.is_of(request)

    # ── the transition under way ────────────────────────────────────────────────────────────────

    def advance(self) -> None:
        """Takes the end of the transition under way, if it has one."""
        self._captures.advance()
        request = self._opening
        if request is None:
            return
        answer = self._controller.poll()
        if answer is None:
            return
        assert not isinstance(answer, SharedCaptureTold), "no capture is under way beside it"
        self._opening = None
        self._narrator.transition_ended(request, answer, self._opened_ns, self._clock.now_ns())
        match answer:
            case Admitted():
                self._activate(request, answer)
            case AdmissionAborted():
                self._give_up(request, answer)

    def cancel(self) -> None:
        """The request whose transition is under way is taken back: that ends at its next stable
        boundary.
        """
        self._controller.cancel_admission()

    # ── who is next ─────────────────────────────────────────────────────────────────────────────

    def admit(self) -> None:
        """Admits the head as often as there is one to admit, then whom it can spare room for."""
        assert not self.is_open
        self._moments_count += 1
        while (wanted := self._scheduler.next_admission(self._controller.revision)) is not None:
            if not self._try(self._requests[wanted[0]], wanted[1]):
                break
        while self._opening is None:
            borrower = self._scheduler.next_borrower(self._controller.revision)
            if borrower is None:
                return
            self._try_borrower(*borrower)

    def _try(self, request: Request, free_lanes: tuple[LaneId, ...]) -> bool:
        """Whether the next head is worth a look."""
        answer = self._controller.admit(self._asked(request, free_lanes))
        now_ns = self._clock.now_ns()
        match answer:
            case Admitted():
                self._activate(request, answer)
                return True
            case NeedsTransfer():
                self._opening, self._opened_ns = request, now_ns
                self._narrator.transition_started(request, answer, now_ns)
                return False
            case AdmissionAborted():
                self._narrator.transition_ended(request, answer, now_ns, now_ns)
                self._give_up(request, answer)
                return True
            case TemporarilyBlocked():
                if self._scheduler.active_count == 0:
                    raise InvariantBroken("INV-15 every lane ends", f"nothing runs: {answer}")
                self._scheduler.blocked(request.id, answer.revision)
                self._narrator.blocked(request, answer, now_ns)
                return False
            case PermanentlyInfeasible():
                self._withdraw(request, FinishReason.FAILED, answer.reason)
                return True

    def _try_borrower(
        self, head: BlockedHead, borrower: RequestId, free_lanes: tuple[LaneId, ...]
    ) -> None:
        """Lets a later request past the head, if the head is not delayed by it."""
        request = self._requests[borrower]
        donors = {
            donor: self._requests[donor].handle for donor in head.donors if donor in self._requests
        }
        waiting = self._asked(self._requests[head.request], free_lanes)
        revision = self._controller.revision
        asked = self._asked(request, free_lanes)
        if not self._controller.may_backfill(waiting, asked, donors):
            self._scheduler.refused_past_head(borrower, revision)
            return
        self._try(request, free_lanes)

    def _asked(self, request: Request, free_lanes: tuple[LaneId, ...]) -> AdmissionRequest:
        """With the moment it is asked in, for all that are looked at in it (SRCH-7)."""
        return request.admission_request(
            free_lanes,
            AdmissionMoment(self._moments_count, self._scheduler.active_count),
            tells_targets=self._narrator.tells_targets(request),
        )

    # ── leaves ──────────────────────────────────────────────────────────────────────────────────

    def _activate(self, request: Request, admission: Admitted) -> None:
        now_ns = self._clock.now_ns()
        request.activate(admission, now_ns)
        self._scheduler.admitted(request.id, admission.handle.lane)
        self._narrator.admitted(request, admission, now_ns)

    def _give_up(self, request: Request, aborted: AdmissionAborted) -> None:
        """A request taken back has ended; one that lost a copy is the head still, a few times."""
        if aborted.was_cancelled:
            self._withdraw(request, FinishReason.CANCELLED, None)
            return
        request.failed_admissions_count += 1
        if request.failed_admissions_count == ADMISSION_ATTEMPTS:
            self._withdraw(request, FinishReason.FAILED, aborted.detail)

    def _withdraw(self, request: Request, reason: FinishReason, error: str | None) -> None:
        self._scheduler.withdraw(request.id)
        self._refuse(request, reason, error)
