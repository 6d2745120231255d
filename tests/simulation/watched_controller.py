"""A cache design under watch: every call is followed by every law and by a look at the contents.

The watcher learns each request's tokens from the admission request and from accepted tokens, never
from the ledger, and hands them to the machine as the truth to compare with.
"""

from __future__ import annotations

from ninfer_lab.contract.cache_controller import (
    Admission,
    Admitted,
    CacheController,
    ControllerSnapshot,
)
from ninfer_lab.contract.candidate import AdmissionRequest, ReusePath
from ninfer_lab.contract.capacity import Occupancy
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import SequenceHandle
from ninfer_lab.contract.options import CacheMode
from ninfer_lab.contract.result import CaptureResult, SequenceEnd, Settlement
from ninfer_lab.contract.work import Cut
from ninfer_lab.lab.laws import check_laws
from simulation.content_machine import ContentMachine


class WatchedController:
    """Implements `CacheController` by asking the one it watches.

    Args:
        design: The one under watch.
        machine: The one it binds rows on.
    """

    def __init__(self, design: CacheController, machine: ContentMachine) -> None:
        self._design = design
        self._machine = machine
        self._seen = design.describe()
        self.checks_count = 0

    @property
    def revision(self) -> int:
        return self._design.revision

    def admit(self, request: AdmissionRequest) -> Admission:
        before = self._seen
        admission = self._design.admit(request)
        if isinstance(admission, Admitted):
            self._machine.truth[admission.handle.lane] = list(request.prompt.tokens)
            _require_lawful(request, admission)
        self._look()
        if not isinstance(admission, Admitted) and self._seen != before:
            raise InvariantBroken("INV-17", f"{admission} has changed what is held")
        return admission

    def next_cut(self, handle: SequenceHandle) -> Cut:
        cut = self._design.next_cut(handle)
        self._look()
        return cut

    def on_forward(self, handle: SequenceHandle) -> CaptureResult:
        result = self._design.on_forward(handle)
        self._machine.committed(handle.lane)
        self._look()
        return result

    def on_accept(self, handle: SequenceHandle, token_id: int) -> None:
        self._machine.truth[handle.lane].append(token_id)
        self._design.on_accept(handle, token_id)
        self._look()

    def finish(self, handle: SequenceHandle, end: SequenceEnd) -> Settlement:
        settlement = self._design.finish(handle, end)
        del self._machine.truth[handle.lane]
        self._look()
        return settlement

    def occupancy(self) -> Occupancy:
        return self._design.occupancy()

    def describe(self) -> ControllerSnapshot:
        return self._design.describe()

    def _look(self) -> None:
        now = self._design.describe()
        check_laws(now, self._seen)
        told = self._design.occupancy()
        if told != now.ledger.occupancy:
            raise InvariantBroken("ACC-1 occupancy", f"told {told}, held {now.ledger.occupancy}")
        self._machine.check_contents(now.ledger)
        self._seen = now
        self.checks_count += 1


def _require_lawful(request: AdmissionRequest, admission: Admitted) -> None:
    if not 0 <= admission.reuse_tokens < len(request.prompt.tokens):
        raise InvariantBroken("IDN-1", f"{admission} leaves no prompt token to compute")
    if request.mode is CacheMode.DISABLED and admission.path is not ReusePath.ROOT:
        raise InvariantBroken("MODE-2", f"{admission} reuses for a request that must not")
    if admission.handle.lane not in request.free_lanes:
        raise InvariantBroken("ROLE-1", f"{admission} took a lane that was not free")
