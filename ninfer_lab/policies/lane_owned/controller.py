"""The lane-owned engine: every lane keeps what its last request left, and nobody else may.

Owns what runs on each lane, from the entry to what is left at the end, and with it the second point
at which things are destroyed (DES-2): one condition at execution clears the checkpoint, and beside
it the fingerprint is always replaced. The first, the full reset at entry, is the bundle store's.
Source: the second seed; where it is silent, the original engine.

A bundle's pages are written by nobody but its own lane's row, past the frontier of the checkpoint:
going back to it needs no copy, only its state.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

from ninfer_lab.contract.cache_controller import (
    Admission,
    ControllerSnapshot,
    PermanentlyInfeasible,
)
from ninfer_lab.contract.candidate import AdmissionRequest, ReusePath
from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.ids import (
    CheckpointId,
    CheckpointRef,
    LaneId,
    OwnerId,
    OwnerRef,
    SequenceHandle,
    SequenceId,
)
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import ContextCache, ResolvedOptions, pages_of_tokens
from ninfer_lab.contract.prompt import RewriteBoundary
from ninfer_lab.contract.result import (
    CaptureOutcome,
    CaptureResult,
    OwnerState,
    SequenceEnd,
    Settlement,
)
from ninfer_lab.contract.search_report import TargetVerdict
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.policies.lane_owned.bundle import Fingerprint, LaneBundle, SavedState
from ninfer_lab.policies.lane_owned.bundle_store import BundleStore
from ninfer_lab.policies.lane_owned.lane_picture import picture
from ninfer_lab.policies.lane_owned.lane_selection import LanesNow, Selection, select_lane
from ninfer_lab.policies.lane_owned.reuse_plan import (
    CheckpointAction,
    ReusePlan,
    checkpoint_action,
    declared_boundary,
    kind_of,
)
from ninfer_lab.policies.lane_owned.switches import AS_IT_WAS, LaneSwitches
from ninfer_lab.policies.lane_owned.trace import (
    AdmissionRan,
    Destroyer,
    LaneTrace,
    LineRan,
    Lost,
)
from ninfer_lab.policies.row_ledger import EndedRow, Row, RowStart
from ninfer_lab.policies.synchronous_design import SynchronousDesign


@dataclass(slots=True, kw_only=True)
class _Running:
    """A lane with a request on it.

    Attributes:
        owner: As what its bundle is left; the claimed bundle's own, if one was.
        rewrite: The checkpoint it carries along.
        capture: Where it wants a new one.
        preserved: The fingerprint that stays, where nothing is written (RT-2).
    """

    owner: OwnerRef
    action: CheckpointAction
    rewrite: SavedState | None
    capture: RewriteBoundary | None
    preserved: Fingerprint | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """How a request goes in: what it claims, and by which plan."""

    request: AdmissionRequest
    lane: LaneId
    plan: ReusePlan
    claimed: LaneBundle | None
    action: CheckpointAction

    @property
    def capture(self) -> RewriteBoundary | None:
        """Where it wants a checkpoint."""
        captures = self.action is CheckpointAction.CAPTURE_NEW
        return declared_boundary(self.request) if captures else None


class LaneOwnedController(SynchronousDesign):
    """Implements `CacheController`.

    Args:
        options: Capacities.
        machine: On which rows are bound.
        switches: The ways out that are taken.
        trace: Where it tells what it does.

    Attributes:
        store: The bundles that no request runs on.
    """

    def __init__(
        self,
        options: ResolvedOptions,
        machine: MachineApi,
        switches: LaneSwitches = AS_IT_WAS,
        trace: LaneTrace | None = None,
    ) -> None:
        super().__init__(options, machine)
        self.trace = LaneTrace() if trace is None else trace
        lanes = tuple(LaneId(lane) for lane in range(options.max_concurrency))
        self.store = BundleStore(self.ledger, lanes, switches, self.trace)
        self._switches = switches
        self._running: dict[SequenceId, _Running] = {}
        self._owner_ids = count(1)
        self._checkpoint_ids = count(1)

    # ── admission ───────────────────────────────────────────────────────────────────────────────

    def admit(self, request: AdmissionRequest) -> Admission:
        """Two passes over the lanes, then the entry (DES-1) and the checkpoint action (DES-2)."""
        store, entitled_pages = self.store, self.ledger.entitled_pages(request)
        if entitled_pages > self.options.capacity.device_kv_pages:
            return PermanentlyInfeasible(reason=f"{entitled_pages} pages are more than there are")
        now = LanesNow(
            lanes=store.lanes,
            retained=store.retained,
            entitled_pages=entitled_pages,
            spare_pages=store.spare_pages,
        )
        selection, lines = select_lane(request, now, self._switches)
        if selection is None:
            self.trace.tell(AdmissionRan(request=request.request, lines=lines))
            return self.blocked(request)
        lane, plan = selection.lane, selection.plan
        looked_at = [*self._others(request, now, selection, lines)]
        evicted = tuple(store.evict(request, each) for each in selection.evicted)
        on_lane = None if store.outlives(lane, plan) else store.retained.get(lane)
        looked_at.append(self._looked_at(request, plan, on_lane))
        found = store.match(request, plan)
        if found is None:
            claimed = store.claim(request, lane, plan)
        else:
            entry_of_registry, plan = found
            looked_at.append(self._looked_at(request, plan, entry_of_registry))
            claimed = store.attach(request, lane, entry_of_registry.owner.id)
        action = checkpoint_action(request, plan, claimed, self._switches)
        entry = _Entry(request=request, lane=lane, plan=plan, claimed=claimed, action=action)
        self._tell_admission(entry, lines)
        row, given_way = self._enter(entry)
        return self.admitted(row, plan.path, looked_at, evicted=(*evicted, *given_way))

    def _looked_at(
        self, request: AdmissionRequest, plan: ReusePlan, bundle: LaneBundle | None
    ) -> TargetVerdict:
        owner = None if bundle is None else bundle.owner.id
        return self.verdict(request, plan.path, plan.reuse_tokens, owner)

    def _others(
        self,
        request: AdmissionRequest,
        now: LanesNow,
        selection: Selection,
        lines: tuple[LineRan, ...],
    ) -> Iterator[TargetVerdict]:
        """What the other lanes offered, and those that pass 2 emptied, as they were found."""
        told: set[LaneId] = set()
        for each in lines:
            if each.lane is None or each.path is None or each.lane in told:
                continue
            told.add(each.lane)
            if (each.lane, each.reuse_tokens) == (selection.lane, selection.plan.reuse_tokens):
                continue
            bundle, room_pages = now.retained.get(each.lane), now.spare_pages + each.bundle_pages
            yield self.verdict(
                request,
                each.path,
                each.reuse_tokens,
                None if bundle is None else bundle.owner.id,
                missing_pages=max(0, now.entitled_pages - room_pages),
            )

    def _tell_admission(self, entry: _Entry, lines: tuple[LineRan, ...]) -> None:
        self.trace.tell(
            AdmissionRan(
                request=entry.request.request,
                lines=lines,
                lane=entry.lane,
                path=entry.plan.path,
                reuse_tokens=entry.plan.reuse_tokens,
                action=entry.action,
            )
        )

    # ── entry and execution ─────────────────────────────────────────────────────────────────────

    def _enter(self, entry: _Entry) -> tuple[Row, tuple[OwnerId, ...]]:
        """Gives back what the request does not go on from, makes room, and binds the row.

        Returns:
            The row, and who had to leave the registry for it.
        """
        request, claimed, capture = entry.request, entry.claimed, entry.capture
        captures_tokens = () if capture is None else (capture.frontier_tokens,)
        if claimed is None:
            owner = OwnerRef(id=OwnerId(next(self._owner_ids)), generation=0)
            start, rewrite = RowStart(captures_tokens=captures_tokens), None
        else:
            owner = claimed.owner
            self._tell_execution(entry, claimed)
            rewrite = None if entry.action.clears else self._kept_rewrite(entry, claimed)
            start = self._start_on(entry.plan, claimed, rewrite, captures_tokens)
        held = {start.slot, None if rewrite is None else rewrite.slot} - {None}
        held_slots = {**self._held_slots(), entry.lane: len(held)}
        wanted_pages = self.ledger.entitled_pages(request) - len(start.pages)
        given_way = self.store.make_room(request, wanted_pages, held_slots)
        owed_slots = self.store.owed_slots(held_slots, besides=entry.lane)
        if start.is_lent and self.ledger.slots.free_count <= owed_slots:
            # With fewer slots than two for each lane there may be none to write to beside the
            # checkpoint: then its own is written, and it is no more.
            start, rewrite = replace(start, is_lent=False), None
        row = self.ledger.start(request, entry.lane, start)
        preserves = entry.action is CheckpointAction.PRESERVE_EXISTING
        self._running[row.handle.id] = _Running(
            owner=owner,
            action=entry.action,
            rewrite=rewrite,
            capture=capture,
            preserved=claimed.fingerprint if claimed is not None and preserves else None,
        )
        return row, given_way

    def _start_on(
        self,
        plan: ReusePlan,
        claimed: LaneBundle,
        rewrite: SavedState | None,
        captures_tokens: tuple[int, ...],
    ) -> RowStart:
        """From a state of the claimed bundle; the other is given back unless it stays."""
        appends = plan.path is ReusePath.APPEND_AT_FRONTIER
        source = claimed.frontier if appends else claimed.rewrite
        assert source is not None, "the plan was made on it"
        kept_slots = {source.slot} | (set() if rewrite is None else {rewrite.slot})
        self.ledger.slots.give_back(slot for slot in claimed.slots if slot not in kept_slots)
        covered_pages = pages_of_tokens(source.frontier_tokens)
        self.ledger.pages.give_back(claimed.pages[covered_pages:])
        return RowStart(
            pages=claimed.pages[:covered_pages],
            frontier_tokens=source.frontier_tokens,
            slot=source.slot,
            is_lent=rewrite is not None and rewrite.slot == source.slot,
            captures_tokens=captures_tokens,
        )

    def _kept_rewrite(self, entry: _Entry, claimed: LaneBundle) -> SavedState | None:
        """The checkpoint as it is, or under the kind that is declared now."""
        rewrite, declared = claimed.rewrite, declared_boundary(entry.request)
        if rewrite is None or declared is None or entry.action is not CheckpointAction.RELABEL:
            return rewrite
        tokens, frontier_tokens = claimed.fingerprint.ledger, rewrite.frontier_tokens
        summary = self._summary(kind_of(declared), claimed.owner, tokens, frontier_tokens)
        return SavedState(summary=summary, slot=rewrite.slot)

    def _tell_execution(self, entry: _Entry, claimed: LaneBundle) -> None:
        """What the execution of a request takes from the bundle it runs on (DES-2)."""
        author = _AUTHORS.get(entry.action)
        if author is not None and claimed.rewrite is not None:
            self.store.tell_lost(entry.request, author, Lost.CHECKPOINT, claimed)
        extends = entry.request.prompt.tokens.starts_with(claimed.fingerprint.ledger)
        if entry.action is not CheckpointAction.PRESERVE_EXISTING and not extends:
            self.store.tell_lost(entry.request, Destroyer.OVERWRITTEN, Lost.FINGERPRINT, claimed)

    def _held_slots(self) -> dict[LaneId, int]:
        """State slots of each running lane."""
        return {
            row.handle.lane: 1 if self._running[row.handle.id].rewrite is None else 2
            for row in self.ledger.rows
        }

    # ── forwards ────────────────────────────────────────────────────────────────────────────────

    def on_forward(self, handle: SequenceHandle) -> CaptureResult:
        """The cut has run; captures at the declared boundary, if that is ahead of the base."""
        row, running = self.ledger.commit(handle), self._running[handle.id]
        frontier_tokens, capture = row.frontier_tokens, running.capture
        if capture is None or capture.frontier_tokens != frontier_tokens:
            return CaptureResult(CaptureOutcome.NOT_WANTED, frontier_tokens)
        running.capture = None
        owed_slots = self.store.owed_slots(self._held_slots(), besides=handle.lane)
        if self.ledger.slots.free_count <= owed_slots:
            return CaptureResult(CaptureOutcome.NO_STATE_SLOT, frontier_tokens)
        tokens = row.consumed(frontier_tokens)
        summary = self._summary(kind_of(capture), running.owner, tokens, frontier_tokens)
        running.rewrite = SavedState(summary=summary, slot=self.ledger.freeze(row))
        self.moved()
        return CaptureResult(CaptureOutcome.CAPTURED, frontier_tokens, summary)

    # ── the end of a request ────────────────────────────────────────────────────────────────────

    def finish(self, handle: SequenceHandle, end: SequenceEnd) -> Settlement:
        """The lane retains what the request leaves, or nothing."""
        ended, running = self.ledger.end(handle), self._running.pop(handle.id)
        enabled = self.options.context_cache is ContextCache.ENABLED
        kept = self._kept(running, ended, end if enabled else SequenceEnd.DISCARD)
        held = [] if ended.slot is None else [ended.slot]
        held += [] if running.rewrite is None else [running.rewrite.slot]
        kept_slots = () if kept is None else kept.slots
        self.ledger.slots.give_back(slot for slot in held if slot not in kept_slots)
        self.ledger.pages.give_back(ended.pages[0 if kept is None else len(kept.pages) :])
        published = None
        if kept is not None:
            self.store.retain(handle.lane, kept)
            published = OwnerState(
                ref=kept.owner, checkpoints=tuple(state.summary for state in kept.states)
            )
        return self.settled(ended, published)

    def _kept(self, running: _Running, ended: EndedRow, end: SequenceEnd) -> LaneBundle | None:
        """What the lane retains; `None` if no state is left from which anything could go on."""
        frontier, rewrite = None, running.rewrite
        preserves = running.action is CheckpointAction.PRESERVE_EXISTING
        if end is SequenceEnd.DISCARD:
            rewrite = None
        elif end is SequenceEnd.PUBLISH and ended.slot is not None and not preserves:
            # After a side request that writes nothing the pages beyond the checkpoint are its own:
            # the old frontier is gone, and this one is not what the fingerprint says.
            frontier_tokens, kind = ended.frontier_tokens, CheckpointKind.SESSION_ENDPOINT
            summary = self._summary(kind, running.owner, ended.consumed, frontier_tokens)
            frontier = SavedState(summary=summary, slot=ended.slot)
        deepest_tokens = max(
            (state.frontier_tokens for state in (rewrite, frontier) if state is not None), default=0
        )
        if deepest_tokens == 0:
            return None
        recognised = Fingerprint.of(ended.request.prompt, ended.consumed)
        return LaneBundle(
            owner=OwnerRef(id=running.owner.id, generation=running.owner.generation + 1),
            fingerprint=running.preserved or recognised,
            pages=ended.pages[: pages_of_tokens(deepest_tokens)],
            frontier=frontier,
            rewrite=rewrite,
            publication_order=ended.request.publication_order,
        )

    def _summary(
        self, kind: CheckpointKind, owner: OwnerRef, tokens: TokenSpan, frontier_tokens: int
    ) -> CheckpointSummary:
        return CheckpointSummary(
            ref=CheckpointRef(id=CheckpointId(next(self._checkpoint_ids)), owner=owner.id),
            kind=kind,
            frontier_tokens=frontier_tokens,
            prefix_digest=tokens.prefix_digest(frontier_tokens),
        )

    # ── pictures ────────────────────────────────────────────────────────────────────────────────

    def describe(self) -> ControllerSnapshot:
        """Every bundle as an owner, wherever it is."""
        rewrites = {
            sequence: running.rewrite
            for sequence, running in self._running.items()
            if running.rewrite is not None
        }
        return picture(self.ledger, self.revision, self.store.bundles, rewrites)


_AUTHORS = {
    CheckpointAction.DROP: Destroyer.DROP,
    CheckpointAction.CAPTURE_NEW: Destroyer.CAPTURE_NEW,
}
