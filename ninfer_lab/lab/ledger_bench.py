"""What does Program do with this request, if nobody but me decides?

Owns a bench: one real Program on a machine without tensors, and short words to admit, run, end,
demote and evict by hand. There is no policy, no queue and no engine; owners are named by the
numbers that pictures and explanations give them. Decides nothing and counts nothing itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from itertools import count

from ninfer_lab.contract.cache_controller import CatalogEntry, ControllerSnapshot
from ninfer_lab.contract.candidate import AdmissionCandidate, AdmissionRequest, SourceDisposition
from ninfer_lab.contract.capacity import ExclusiveResources, KvPool
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.device_timing import (
    DecodeTiming,
    DeviceTiming,
    PrefillTiming,
    SimulatedDevice,
    TransferTiming,
    TransferTimings,
)
from ninfer_lab.contract.explanation import Explanation
from ninfer_lab.contract.ids import LaneId, OwnerId, OwnerRef, RequestId, SequenceHandle
from ninfer_lab.contract.options import CacheMode, EngineOptions
from ninfer_lab.contract.placement import LedgerSnapshot, OwnerPlacement
from ninfer_lab.contract.plan import ActivationIntent, FinalScheduleIntent, ResourcePlan
from ninfer_lab.contract.planned_capture import CaptureTerms, PlannedCapture
from ninfer_lab.contract.prompt import RAW_TOKENS, PreparedPrompt, PromptIdentity, PromptModality
from ninfer_lab.contract.result import Committed, ResourceResult, SequenceEnd
from ninfer_lab.contract.sampling import Sampling
from ninfer_lab.contract.target import Assessment, OwnerOutcome, StageName, TargetSketch
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.contract.transaction import TransactionHandle
from ninfer_lab.contract.work import Draw, ForwardPhase, ForwardRow, ForwardStep
from ninfer_lab.engine.assembly import assemble_program
from ninfer_lab.lab.laws import check_laws
from ninfer_lab.lab.wanted import Fate, Wanted, demoting, evicting

PAGE_BYTES, BACKEND_PAGE_BYTES, STATE_IMAGE_BYTES = 1_024, 256, 4_096
"""Of a bench's device: round numbers, so that bytes can be added in the head."""

_COPY = TransferTiming(batch_ns=0, operation_ns=1_000, ns_per_byte_q32=0)
_UNIT_TIMING = DeviceTiming(
    transfer=TransferTimings(d2h=_COPY, h2d=_COPY, d2d=_COPY),
    prefill=PrefillTiming(chunk_ns=1_000, token_ns_q32=0, attention_pair_ns_q32=0),
    decode=DecodeTiming(step_ns=1_000, row_ns=0, kv_bytes_per_token=0, kv_ns_per_byte_q32=0),
)

_STRIDE_TOKENS = 100_000
"""Prompts that share nothing start so far apart."""


MOMENTS_KEPT = 4_096
"""Of one bench; a notebook looks at a few dozen."""


class LedgerBench:
    """A Program to be acted on. Every law of the ledger is checked after every act, and at every
    stage of a transition.

    Args:
        options: Capacities.
        failing_transfers: Ordinals, from 0, of transfers between the tiers that fail.

    Attributes:
        moments: What was done, and the ledger after it, act by act and stage by stage; the oldest
            go first.
    """

    def __init__(
        self, options: EngineOptions, *, failing_transfers: frozenset[int] = frozenset()
    ) -> None:
        device = SimulatedDevice(
            timing=_UNIT_TIMING,
            kv_page_bytes=PAGE_BYTES,
            state_image_bytes=STATE_IMAGE_BYTES,
            backend_page_bytes=None if options.backend is None else BACKEND_PAGE_BYTES,
        )
        bare = assemble_program(options, device, self, failing_transfers=failing_transfers)
        self.program, self._machine, self._clock = bare.program, bare.machine, bare.clock
        self.options = bare.options
        self._ids = count(1)
        self._owner_ids = count(1)
        self._refs: dict[OwnerId, OwnerRef] = {}
        self._prompts: dict[OwnerId, TokenSpan] = {}
        self._running: dict[LaneId, Committed] = {}
        self._open: TransactionHandle | None = None
        self._catalog: tuple[CatalogEntry, ...] = ()
        self._seen = self._picture()
        self.moments = deque([("nothing has happened", self._seen.ledger)], maxlen=MOMENTS_KEPT)
        self.program.watch_stages(self._staged)

    def token(self, request: RequestId, position_tokens: int) -> int:
        """What every request says: its position. Nobody reads it."""
        return position_tokens

    # ── what is there ───────────────────────────────────────────────────────────────────────────

    @property
    def ledger(self) -> LedgerSnapshot:
        """Everything that Program holds now."""
        return self.program.snapshot()

    def describe(self) -> ControllerSnapshot:
        """The same, as pictures and tables read it."""
        return self._picture()

    @property
    def owners(self) -> tuple[OwnerId, ...]:
        """Inactive ones, ascending."""
        return tuple(owner.owner for owner in self.ledger.owners)

    def placement(self, owner: OwnerId) -> OwnerPlacement | None:
        """One inactive owner; `None` if it is gone or active."""
        return next((o for o in self.ledger.owners if o.owner == owner), None)

    def exclusive(self, owner: OwnerId) -> ExclusiveResources:
        """What removing this owner alone would settle."""
        return self.program.exclusive(owner)

    def whereabouts(self, owner: OwnerId) -> str:
        """`Device`, `Host`, `both` or `gone`, over all of an owner's replicas."""
        placed, ledger = self.placement(owner), self.ledger
        if placed is None:
            return "gone"
        images = {c.image for c in placed.checkpoints}
        replicas: list[tuple[object, object]] = [
            (i.device_slot, i.host_slot) for i in ledger.images if i.image in images
        ]
        for pool in KvPool:
            pages = {page for c in placed.checkpoints for page in c.pages_of(pool)}
            replicas += [
                (p.device_page, p.host_granule) for p in ledger.pages_of(pool) if p.page in pages
            ]
        on_device = any(device is not None for device, _ in replicas)
        on_host = any(host is not None for _, host in replicas)
        return "both" if on_device and on_host else "Device" if on_device else "Host"

    # ── targets: reading only ───────────────────────────────────────────────────────────────────

    def assess(self, wanted: Wanted) -> Assessment:
        """Program's verdict on the request and the fates, all together."""
        fates = sorted(wanted.fates, key=lambda fate: fate[0])
        outcomes = tuple(
            self._outcome(owner, fate) for owner, fate in fates if fate is not Fate.STAYS
        )
        return self.program.assess(
            TargetSketch(candidate=self._candidate(wanted), outcomes=outcomes)
        )

    def explain(self, wanted: Wanted) -> tuple[Explanation, ...]:
        """Why it does not fit; empty if it does."""
        return self.program.explain(self.assess(wanted))

    # ── admissions ──────────────────────────────────────────────────────────────────────────────

    def seal(self, wanted: Wanted) -> ResourcePlan:
        """A plan that Program remembers.

        Raises:
            PlanRefused: It does not fit.
        """
        assessment = self.assess(wanted)
        source = assessment.target.candidate.source
        destination = None
        if wanted.leaves_owner:
            destination = OwnerRef(id=OwnerId(next(self._owner_ids)), generation=1)
        if source is not None and source.disposition is SourceDisposition.CONSUME:
            destination = replace(source.owner, generation=source.owner.generation + 2)
        intent = ActivationIntent(
            lane=LaneId(wanted.lane),
            destination=destination,
            schedule=FinalScheduleIntent(captures=wanted.captures),
        )
        return self.program.seal(assessment, intent)

    def start(self, plan: ResourcePlan) -> None:
        """Opens the plan's transition; nothing has happened yet.

        Raises:
            PlanRefused: Stale, forged or used before, or another one is open.
        """
        self._open = self.program.start(plan)
        self._look("a transition begins")

    def advance(self) -> ResourceResult | None:
        """Carries the open transition on: to its end, or to where copies are in flight."""
        assert self._open is not None, "no transition is open"
        result = self.program.advance(self._open)
        if result is not None:
            self._open = None
            self._adopt(result)
        self._look(_said_of(result))
        return result

    def arrive(self) -> None:
        """Time passes until the copies in flight have arrived."""
        arrival_ns = self._machine.next_completion_ns()
        assert arrival_ns is not None, "no copy is in flight"
        self._clock.wait_until(arrival_ns)

    def cancel(self) -> None:
        """Asks the open transition for its other end."""
        assert self._open is not None, "no transition is open"
        self.program.cancel(self._open)

    def finish_transition(self) -> ResourceResult:
        """From here to the stable end, over all copies."""
        while (result := self.advance()) is None:
            self.arrive()
        return result

    def run(self, wanted: Wanted) -> ResourceResult:
        """Assesses, seals, starts, and goes to the end."""
        self.start(self.seal(wanted))
        return self.finish_transition()

    def admit(self, wanted: Wanted) -> SequenceHandle:
        """As `run`, where it is known to commit."""
        result = self.run(wanted)
        assert isinstance(result, Committed), result
        return result.handle

    # ── running and ending ──────────────────────────────────────────────────────────────────────

    def forward(self, handle: SequenceHandle) -> None:
        """One forward of an active sequence."""
        request = self._running[handle.lane].candidate.request
        tokens = request.prompt.tokens
        cut = self.program.next_cut(handle)
        draw = None
        if cut.end_tokens >= len(tokens):
            draw = Draw(
                request=request.request, sampling=Sampling(), position_tokens=cut.end_tokens
            )
        phase = ForwardPhase.PREFILL if cut.start_tokens < len(tokens) else ForwardPhase.DECODE
        row = ForwardRow(
            lane=handle.lane,
            token_ids=(0,) * (cut.end_tokens - cut.start_tokens),
            cut=cut,
            draw=draw,
        )
        self._machine.submit(ForwardStep(phase=phase, rows=(row,)))
        (token,) = self._machine.take_result().drawn_tokens
        offer = self.program.commit(handle)
        if offer is not None:
            self.program.capture(handle, CaptureTerms(gives_way=offer.older_rewrite))
        if token is not None:
            self.program.accept(handle, token)
        self._look(f"a forward in lane {handle.lane}, to token {cut.end_tokens:,}")

    def finish(self, handle: SequenceHandle, end: SequenceEnd = SequenceEnd.PUBLISH) -> None:
        """Settles an active sequence."""
        committed = self._running.pop(handle.lane)
        published = self.program.finish(handle, end).published
        if published is not None:
            self._refs[published.ref.id] = published.ref
            self._prompts[published.ref.id] = committed.candidate.request.prompt.tokens
        left = "nothing" if published is None else f"owner {published.ref.id}"
        self._look(f"the request in lane {handle.lane} ends and leaves {left}")

    def publish(
        self, tokens: int, *, after: OwnerId | None = None, captures: Iterable[int] = ()
    ) -> OwnerId:
        """A request of so many tokens comes, is computed and leaves its owner behind.

        Args:
            tokens: Of its prompt.
            after: It shares the prompt of this owner's deepest checkpoint, which stays.
            captures: Frontiers of turn closures on the way.
        """
        wanted = Wanted(
            prompt_tokens=tokens,
            source=after,
            captures=tuple(
                PlannedCapture(kind=CheckpointKind.TURN_CLOSURE, frontier_tokens=at)
                for at in captures
            ),
        )
        self.serve(wanted)
        return max(self._refs)

    def serve(self, wanted: Wanted) -> None:
        """A request comes, its prompt is computed, and it ends there; what it leaves is published.

        Raises:
            PlanRefused: It does not fit.
        """
        handle = self.admit(wanted)
        while self._frontier_tokens(handle) < wanted.prompt_tokens:
            self.forward(handle)
        self.finish(handle)

    def demote(self, *owners: OwnerId) -> None:
        """A request under whose pressure these go to the Host, and which leaves nothing itself."""
        self._press(demoting(*owners))

    def evict(self, *owners: OwnerId) -> None:
        """The same, and these go."""
        self._press(evicting(*owners))

    def _press(self, fates: tuple[tuple[OwnerId, Fate], ...]) -> None:
        handle = self.admit(Wanted(prompt_tokens=2, fates=fates, leaves_owner=False))
        self.finish(handle, SequenceEnd.DISCARD)

    # ── inside ──────────────────────────────────────────────────────────────────────────────────

    def _candidate(self, wanted: Wanted) -> AdmissionCandidate:
        ordinal = next(self._ids)
        tokens = self._tokens(wanted, ordinal)
        identity = PromptIdentity(modality=PromptModality.TEXT, template=RAW_TOKENS)
        request = AdmissionRequest(
            request=RequestId(ordinal),
            prompt=PreparedPrompt(tokens=tokens, identity=identity),
            max_output_tokens=wanted.output_tokens,
            mode=CacheMode.READ_WRITE,
            session_key=None,
            publication_order=ordinal,
            free_lanes=(LaneId(wanted.lane),),
        )
        if wanted.source is None:
            return replace(self.program.root_candidate(request), captures=wanted.captures)
        placed = self.placement(wanted.source)
        assert placed is not None, f"owner {wanted.source} is not there to go on from"
        summaries = [c.summary for c in placed.checkpoints]
        at_tokens = wanted.source_tokens or summaries[-1].frontier_tokens
        (ref,) = [s.ref for s in summaries if s.frontier_tokens == at_tokens]
        disposition = SourceDisposition.CONSUME if wanted.consume else SourceDisposition.RETAIN
        candidate = self.program.verify(request, ref, disposition)
        assert isinstance(candidate, AdmissionCandidate), candidate
        return replace(candidate, captures=wanted.captures)

    def _tokens(self, wanted: Wanted, ordinal: int) -> TokenSpan:
        """Tokens that nobody else has, after the source's."""
        shared: tuple[int, ...] = ()
        if wanted.source is not None:
            shared = tuple(self._prompts[wanted.source])[: wanted.prompt_tokens]
        first = ordinal * _STRIDE_TOKENS
        own = range(first, first + wanted.prompt_tokens - len(shared))
        return TokenSpan((*shared, *own))

    def _outcome(self, owner: OwnerId, fate: Fate) -> OwnerOutcome:
        rungs = self.program.ladder(self._refs[owner])
        if fate is Fate.GOES:
            return rungs[-1]
        return [rung for rung in rungs if not rung.deleted][-1]

    def _frontier_tokens(self, handle: SequenceHandle) -> int:
        return next(s for s in self.ledger.sequences if s.sequence == handle.id).frontier_tokens

    def _adopt(self, result: ResourceResult) -> None:
        for end in result.evicted:
            del self._refs[end.ref.id]
        for change in result.degraded:
            self._refs[change.before.id] = change.state.ref
        if isinstance(result, Committed):
            if result.consumed is not None:
                del self._refs[result.consumed.ref.id]
            self._running[result.handle.lane] = result

    def _staged(self, stage: StageName) -> None:
        self._look(f"stage “{stage.value}”")

    def _look(self, done: str) -> None:
        now = self._picture()
        check_laws(now, self.options, self._seen)
        self._seen = now
        self.moments.append((done, now.ledger))

    def _picture(self) -> ControllerSnapshot:
        """With the catalog of a manager that adopts ends, and ends only."""
        ledger = self.program.snapshot()
        if ledger.transition is None:
            self._catalog = tuple(
                CatalogEntry(
                    owner=owner.owner,
                    session_key=None,
                    publication_order=0,
                    checkpoints=tuple(c.summary for c in owner.checkpoints),
                )
                for owner in ledger.owners
            )
        return ControllerSnapshot(ledger=ledger, catalog=self._catalog)


def _said_of(result: ResourceResult | None) -> str:
    """How far a transition has come, in words."""
    if result is None:
        return "its copies are in flight"
    if isinstance(result, Committed):
        return f"a request becomes active in lane {result.handle.lane}, by {result.state.value}"
    return f"it ends without its request: {result.cause.value}"
