"""A cache design under watch: every call is followed by every law and by a look at the contents.

The watcher learns each request's tokens from the admission request and from accepted tokens, never
from the ledger, and hands them to the machine as the truth to compare with.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from ninfer_lab.contract.cache_controller import (
    Admission,
    AdmissionAborted,
    Admitted,
    CacheController,
    ControllerSnapshot,
    NeedsTransfer,
    PermanentlyInfeasible,
    TemporarilyBlocked,
)
from ninfer_lab.contract.candidate import AdmissionRequest
from ninfer_lab.contract.capacity import Occupancy
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import RequestId, SequenceHandle, SessionKey
from ninfer_lab.contract.options import CacheMode, ResolvedOptions
from ninfer_lab.contract.result import CaptureResult, SequenceEnd, Settlement
from ninfer_lab.contract.search_report import TargetVerdict
from ninfer_lab.contract.session_snapshot import (
    RestoredSession,
    SessionKeeper,
    SessionSnapshot,
)
from ninfer_lab.contract.shared_report import SharedCaptureTold, SharedOutcome
from ninfer_lab.contract.stage_watch import StagedDesign, StageWatch, unwatched
from ninfer_lab.contract.target import StageName
from ninfer_lab.contract.work import Cut
from ninfer_lab.lab.laws import Law, check_laws
from simulation.content_machine import ContentMachine

_FIRST = StageName.RELEASED
"""The stage that every transition tells first."""


class Watch(Enum):
    """How often everything held is looked at."""

    EVERY_CALL = "every call"
    EVERY_STEP = "every step"
    """Whoever drives the engine calls `look` after each of its steps: for very long stories."""


class WatchedController:
    """Implements `CacheController` by asking the one it watches.

    Args:
        design: The one under watch.
        machine: The one it binds rows on.
        options: What both were built with.
        watch: When laws and contents are looked at.
        without: Laws that the design does not hold to.

    Attributes:
        leases_count: Windows of growth that were reserved after the first (ACT-4).
        proved_count: Stages that transitions reached, each as its plan had proved it.
    """

    def __init__(
        self,
        design: CacheController,
        machine: ContentMachine,
        options: ResolvedOptions,
        watch: Watch = Watch.EVERY_CALL,
        without: frozenset[type[Law]] = frozenset(),
    ) -> None:
        self._without = without
        self._design = design
        self._options = options
        self._machine = machine
        self._watch = watch
        self.leases_count = 0
        self._seen = design.describe()
        self._begun: AdmissionRequest | None = None
        self._is_open = False
        self.checks_count = 0
        self.proved_count = 0
        self._passed: list[tuple[StageName, Occupancy]] = []
        self._told_stage: StageWatch = unwatched
        if isinstance(design, StagedDesign):
            design.watch_stages(self._staged)

    @property
    def revision(self) -> int:
        return self._design.revision

    def admit(self, request: AdmissionRequest) -> Admission:
        before = self._seen
        self._passed.clear()
        self._begun = request
        admission = self._design.admit(request)
        self._is_open = isinstance(admission, NeedsTransfer)
        self._compare_stages(admission)
        if isinstance(admission, Admitted):
            self._admitted(request, admission)
        self._look()
        unchanged = (TemporarilyBlocked, PermanentlyInfeasible)
        if isinstance(admission, unchanged) and self._seen != before:
            raise InvariantBroken("INV-17", f"{admission} has changed what is held")
        return admission

    def poll(self) -> Admitted | AdmissionAborted | SharedCaptureTold | None:
        ended = self._design.poll()
        self._is_open = self._is_open and ended is None
        self._compare_stages(ended)
        if isinstance(ended, Admitted):
            assert self._begun is not None
            self._admitted(self._begun, ended)
        self._look()
        return ended

    @property
    def seen(self) -> ControllerSnapshot:
        """What was held when it was looked at last."""
        return self._seen

    @property
    def opening(self) -> RequestId | None:
        """The request whose transition is under way."""
        return self._begun.request if self._is_open and self._begun is not None else None

    def cancel_admission(self) -> None:
        self._design.cancel_admission()

    def may_backfill(
        self,
        head: AdmissionRequest,
        borrower: AdmissionRequest,
        donors: Mapping[RequestId, SequenceHandle],
    ) -> bool:
        before = self._seen
        proven = self._design.may_backfill(head, borrower, donors)
        self._look()
        if self._seen != before:
            raise InvariantBroken("INV-17", "a proof has changed what is held")
        return proven

    def can_run(self, handle: SequenceHandle) -> bool:
        return self._design.can_run(handle)

    def grow_lease(self, handle: SequenceHandle) -> bool:
        before = self._design.revision
        has_pages = self._design.grow_lease(handle)
        self.leases_count += has_pages and self._design.revision != before
        self._look()
        return has_pages

    def _admitted(self, request: AdmissionRequest, admission: Admitted) -> None:
        self._machine.truth[admission.handle.lane] = list(request.prompt.tokens)
        _require_lawful(request, admission)

    def next_cut(self, handle: SequenceHandle) -> Cut:
        cut = self._design.next_cut(handle)
        self._look()
        return cut

    def on_forward(self, handle: SequenceHandle) -> CaptureResult:
        result = self._design.on_forward(handle)
        self._compare_stages(result.shared)
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

    def save_session(self, session: SessionKey) -> SessionSnapshot:
        before = self._design.describe()
        assert isinstance(self._design, SessionKeeper)
        saved = self._design.save_session(session)
        if self._design.describe() != before:
            raise InvariantBroken("PER-2", "saving a session has changed what is held")
        return saved

    def restore_session(self, saved: SessionSnapshot) -> RestoredSession:
        before = self._design.describe()
        assert isinstance(self._design, SessionKeeper)
        try:
            restored = self._design.restore_session(saved)
        except Exception as error:
            if self._design.describe() != before:
                raise InvariantBroken("PER-3", f"refused, and yet changed: {error}") from error
            raise
        self._look()
        return restored

    def occupancy(self) -> Occupancy:
        return self._design.occupancy()

    def describe(self) -> ControllerSnapshot:
        return self._design.describe()

    def watch_stages(self, watch: StageWatch) -> None:
        self._told_stage = watch

    def _staged(self, stage: StageName) -> None:
        """Every law holds in the middle of a transition, too, wherever a stage has been reached."""
        self._look()
        self._passed.append((stage, self._design.occupancy()))
        self._told_stage(stage)

    def _compare_stages(self, answer: object) -> None:
        """What a transition used at each stage is what its plan had proved, stage by stage in the
        plan's order (STG-1, STG-2).

        Beside copies in flight active requests map what was promised to them, so that what is used
        is compared, not what of it is allocated.
        """
        match answer:
            case Admitted(report=report, capture=capture):
                self._compare(report.winner, is_whole=True)
                self._compare_stages(None if capture is None else capture.shared)
            case AdmissionAborted(report=report):
                self._compare(report.winner, is_whole=False)
            case SharedCaptureTold(outcome=SharedOutcome.PUBLISHED):
                self._compare(answer, is_whole=True)
            case SharedCaptureTold(outcome=SharedOutcome.ABORTED):
                self._compare(answer, is_whole=False)
            case _:
                pass

    def _compare(
        self, planned: TargetVerdict | SharedCaptureTold | None, *, is_whole: bool
    ) -> None:
        """One transition's stages, the first of those that were told and not compared yet."""
        if planned is None or not planned.stages:
            return
        inner = planned.stages[1:-1]  # what was before, and what has come of it, tell themselves
        told = self._passed[: len(inner)]
        count = next((i for i, (name, _) in enumerate(told) if i and name is _FIRST), len(told))
        del self._passed[:count]
        if is_whole and count != len(inner):
            raise InvariantBroken("STG-2", f"{count} stages told of {len(inner)}")
        for (name, occupancy), proved in zip(told[:count], inner, strict=False):
            found = [use.used_count for use in occupancy.axes]
            wanted = [use.used_count for use in proved.occupancy.axes]
            if (name, found) != (proved.name, wanted):
                raise InvariantBroken("STG-1", f"“{name.value}” uses {found}, proved {proved}")
            self.proved_count += 1

    def _look(self) -> None:
        if self._watch is Watch.EVERY_CALL:
            self.look()

    def look(self) -> None:
        """Every law about now and about what has changed since the last look, and every content."""
        now = self._design.describe()
        self._learn_truth(now)
        check_laws(now, self._options, self._seen, without=self._without)
        told = self._design.occupancy()
        if told != now.ledger.occupancy:
            raise InvariantBroken("ACC-1 occupancy", f"told {told}, held {now.ledger.occupancy}")
        _require_few_anchors(now, self._options.anchors.retained_count)
        self._machine.check_contents(now.ledger)
        self._seen = now
        self.checks_count += 1

    def _learn_truth(self, now: ControllerSnapshot) -> None:
        """Who is active and not yet told of is looked at where it captures as it starts."""
        for sequence in now.ledger.sequences:
            if sequence.lane not in self._machine.truth and self._begun is not None:
                self._machine.truth[sequence.lane] = list(self._begun.prompt.tokens)


def _require_few_anchors(now: ControllerSnapshot, limit_count: int) -> None:
    """No history keeps more of its earlier points than it may (CAP-3, ANC-1)."""
    owned = [owner.checkpoints for owner in now.ledger.owners]
    for lineage in (*owned, *(sequence.checkpoints for sequence in now.ledger.sequences)):
        anchors = [c for c in lineage if c.summary.kind is CheckpointKind.LONG_ANCHOR]
        if len(anchors) > limit_count:
            raise InvariantBroken("CAP-3 anchors", f"{len(anchors)} kept, {limit_count} may be")


def _require_lawful(request: AdmissionRequest, admission: Admitted) -> None:
    if not 0 <= admission.reuse_tokens < len(request.prompt.tokens):
        raise InvariantBroken("IDN-1", f"{admission} leaves no prompt token to compute")
    if request.mode is CacheMode.DISABLED and not admission.path.is_root:
        raise InvariantBroken("MODE-2", f"{admission} reuses for a request that must not")
    if admission.handle.lane not in request.free_lanes:
        raise InvariantBroken("ROLE-1", f"{admission} took a lane that was not free")
