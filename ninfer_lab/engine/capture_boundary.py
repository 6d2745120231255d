"""Whose state is being published as a shared prefix, and has it arrived?

Owns the one capture whose copies are in flight, and nothing else of the request: it rests
meanwhile and goes on whatever the end. Asks the cache design; decides nothing.
"""

from __future__ import annotations

from ninfer_lab.contract.cache_controller import CacheController
from ninfer_lab.contract.clock import Clock
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.result import CaptureResult
from ninfer_lab.contract.shared_report import SharedCaptureTold, SharedOutcome
from ninfer_lab.engine.narration import Narrator
from ninfer_lab.engine.request import Request


class CaptureBoundary:
    """Beside the admission boundary: there is one transition at a time, of either kind (INV-9).

    Attributes:
        clock: The engine's.
    """

    def __init__(self, controller: CacheController, narrator: Narrator, clock: Clock) -> None:
        self._controller = controller
        self._narrator = narrator
        self.clock = clock
        self._request: Request | None = None
        self._opened_ns = 0

    @property
    def is_open(self) -> bool:
        """Whether a capture is under way."""
        return self._request is not None

    def is_of(self, request: RequestId) -> bool:
        """Whether it is this request's."""
        return self._request is not None and self._request.id == request

    def tried(self, request: Request, capture: CaptureResult, at_ns: int) -> None:
        """A frontier was reached where something was wanted."""
        if not capture.is_telling:
            return
        self._narrator.captured(request, capture, at_ns)
        shared = capture.shared
        if shared is not None and shared.outcome is SharedOutcome.UNDER_WAY:
            self._request, self._opened_ns = request, at_ns

    def advance(self) -> None:
        """Takes the end of the capture under way, if it has one."""
        request = self._request
        if request is None:
            return
        told = self._controller.poll()
        if told is None:
            return
        assert isinstance(told, SharedCaptureTold), "no admission is under way beside a capture"
        self._request = None
        self._narrator.shared_capture_ended(request, told, self._opened_ns, self.clock.now_ns())
