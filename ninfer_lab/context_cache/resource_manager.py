"""From where does this request start, and what is kept afterwards? The only logical authority
(ROLE-2).

Owns catalog, session index and owner edges, mints owner ids, and adopts Program's absolute results.
Holds Program as a protocol; knows no placement, refcount or free page.

Choice, until the planner exists: the adoptable identity target that reuses most, else root with
everything unprotected released (SRCH-3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from ninfer_lab.context_cache.candidate_shortlist import disposition_of, shortlist
from ninfer_lab.context_cache.catalog import Catalog, PrivateOwner
from ninfer_lab.context_cache.owner_edges import OwnerEdges
from ninfer_lab.context_cache.private_capture import wanted_captures
from ninfer_lab.context_cache.session_index import SessionIndex
from ninfer_lab.contract.cache_controller import (
    CatalogEntry,
    PermanentlyInfeasible,
    TemporarilyBlocked,
)
from ninfer_lab.contract.candidate import (
    AdmissionCandidate,
    AdmissionRequest,
    SourceDisposition,
)
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import CatalogSlotId, LaneId, OwnerId, OwnerRef, RequestId, SessionKey
from ninfer_lab.contract.options import CacheMode, ContextCache, ResolvedOptions
from ninfer_lab.contract.plan import ActivationIntent
from ninfer_lab.contract.program_api import ProgramApi
from ninfer_lab.contract.result import ResourceResult, SequenceEnd, Settlement
from ninfer_lab.contract.search_report import SearchReport, TargetVerdict
from ninfer_lab.contract.target import Assessment, TargetSketch
from ninfer_lab.cost.machine_cost_model import MachineCostModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Materialization:
    """An admission that has happened, with what was offered beside it."""

    result: ResourceResult
    report: SearchReport


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """What an active request was promised: where it publishes, and for whom."""

    destination: OwnerRef | None
    slot: CatalogSlotId | None
    session_key: SessionKey | None
    publication_order: int


class ResourceManager:
    """Logical policy over one Program.

    Args:
        options: The engine's.
        program: The physical authority.
        cost_model: What is believed of the machine; held for the planner, which prices with it.
    """

    def __init__(
        self, options: ResolvedOptions, program: ProgramApi, cost_model: MachineCostModel
    ) -> None:
        self.cost_model = cost_model
        self._program = program
        self._enabled = options.context_cache is ContextCache.ENABLED
        self._catalog = Catalog(options.max_private_continuations)
        self._sessions = SessionIndex()
        self._edges = OwnerEdges()
        self._claims: dict[RequestId, _Claim] = {}
        self._owner_ids: Iterator[int] = count(1)

    def materialize(
        self, request: AdmissionRequest
    ) -> Materialization | TemporarilyBlocked | PermanentlyInfeasible:
        """Chooses a target for the request the Scheduler picked, and has Program carry it out.

        Effects:
            On success Program has activated the request and the catalog has adopted the result.
            Otherwise nothing has changed.
        """
        if not self._program.can_ever_run(request):
            return PermanentlyInfeasible(
                reason="prompt and output together need more pages than the engine has"
            )
        search = _Search(self._program)
        chosen = self._best_identity(request, search) or self._root_maximal(request, search)
        if chosen is None:
            return TemporarilyBlocked(
                revision=self._program.resource_revision,
                reason="active requests hold what the root would need",
                report=search.report(None),
            )
        return Materialization(result=self._activate(chosen), report=search.report(chosen))

    def end_of(self, request: RequestId, wanted: SequenceEnd) -> SequenceEnd:
        """How a request may end: without a publication slot only by Discard (SES-2)."""
        return wanted if self._claims[request].destination is not None else SequenceEnd.DISCARD

    def adopt_settlement(self, request: RequestId, settlement: Settlement) -> None:
        """Takes over what an ended request has left behind. Cannot fail (INV-11)."""
        claim = self._claims.pop(request)
        self._edges.settle(request)
        if claim.slot is None:
            assert settlement.published is None
            return
        if settlement.published is None:
            self._catalog.take_promise_back(claim.slot, request)
            if claim.destination is not None:
                self._sessions.forget(claim.destination.id)
            return
        owner = PrivateOwner(state=settlement.published, publication_order=claim.publication_order)
        self._catalog.adopt(claim.slot, request, owner)
        if claim.session_key is not None:
            self._sessions.bind(claim.session_key, owner.id, claim.publication_order)

    def entries(self) -> tuple[CatalogEntry, ...]:
        """The catalog, for recordings and pictures."""
        return tuple(
            CatalogEntry(
                owner=owner.id,
                session_key=self._sessions.key_of(owner.id),
                publication_order=owner.publication_order,
                checkpoints=owner.checkpoints,
            )
            for owner in self._catalog.owners()
        )

    # ── choosing ────────────────────────────────────────────────────────────────────────────────

    def _candidates(self, request: AdmissionRequest) -> tuple[AdmissionCandidate, ...]:
        """Root, then every shortlisted checkpoint that Program verifies."""
        root = self._program.root_candidate(request)
        if not self._reads(request):
            return (root,)
        verified = (
            self._program.verify(
                request,
                entry.checkpoint.ref,
                disposition_of(request, entry.owner, self._sessions, self._edges),
            )
            for entry in shortlist(request, self._catalog.owners())
        )
        return (root, *(v for v in verified if isinstance(v, AdmissionCandidate)))

    def _best_identity(self, request: AdmissionRequest, search: _Search) -> Assessment | None:
        """The adoptable identity target with most reuse; of equals the first in shortlist order."""
        best: Assessment | None = None
        for candidate in self._candidates(request):
            has_slot = self._has_slot(candidate)
            assessment = search.assess(TargetSketch(candidate=candidate), has_slot=has_slot)
            deeper = best is None or candidate.reuse_tokens > best.target.candidate.reuse_tokens
            if assessment.is_feasible and has_slot and deeper:
                best = assessment
        return best

    def _root_maximal(self, request: AdmissionRequest, search: _Search) -> Assessment | None:
        """Root with everything unprotected released, outside any budget (SRCH-3).

        Without a publication slot even then, it runs all the same and ends by Discard (SES-2).
        """
        evicted = tuple(o.ref for o in self._catalog.owners() if not self._edges.protects(o.id))
        root = self._program.root_candidate(request)
        assessment = search.assess(TargetSketch(candidate=root, evicted=evicted), has_slot=True)
        return assessment if assessment.is_feasible else None

    def _has_slot(self, candidate: AdmissionCandidate) -> bool:
        """Whether the request's result could be adopted (CAP-3)."""
        if not self._reads(candidate.request) or _consumes(candidate):
            return True
        return self._catalog.vacant_slot() is not None

    def _reads(self, request: AdmissionRequest) -> bool:
        return self._enabled and request.mode is CacheMode.READ_WRITE

    # ── activating ──────────────────────────────────────────────────────────────────────────────

    def _activate(self, chosen: Assessment) -> ResourceResult:
        candidate = chosen.target.candidate
        destination = self._destination(chosen)
        intent = ActivationIntent(
            lane=_lane(candidate.request),
            destination=destination,
            captures=() if destination is None else wanted_captures(candidate),
        )
        result = self._program.start(self._program.seal(chosen, intent))
        self._adopt_activation(result, destination)
        return result

    def _destination(self, chosen: Assessment) -> OwnerRef | None:
        """The owner the request will become: the consumed one's next generation, or a new one."""
        candidate = chosen.target.candidate
        if not self._reads(candidate.request):
            return None
        if candidate.source is not None and _consumes(candidate):
            consumed = candidate.source.owner
            return OwnerRef(id=consumed.id, generation=consumed.generation + 1)
        if self._catalog.vacant_slot() is None and not chosen.target.evicted:
            return None
        return OwnerRef(id=OwnerId(next(self._owner_ids)), generation=1)

    def _adopt_activation(self, result: ResourceResult, destination: OwnerRef | None) -> None:
        request = result.candidate.request
        for end in result.evicted:
            self._catalog.remove(end)
            self._sessions.forget(end.ref.id)
        if result.consumed is not None:
            self._catalog.remove(result.consumed, surviving=frozenset((result.consumed.ref.id,)))
        elif result.candidate.source is not None:
            self._edges.add(request.request, result.candidate.source.owner.id)
        slot = None if destination is None else self._catalog.vacant_slot()
        if destination is not None:
            if slot is None:
                raise InvariantBroken(
                    "SES-2 publication slot", "no slot for a promised destination"
                )
            self._catalog.promise(slot, request.request)
        self._claims[request.request] = _Claim(
            destination=destination,
            slot=slot,
            session_key=request.session_key,
            publication_order=request.publication_order,
        )


class _Search:
    """The targets of one choice, as they are assessed."""

    def __init__(self, program: ProgramApi) -> None:
        self._program = program
        self._assessed: list[tuple[Assessment, bool]] = []

    def assess(self, target: TargetSketch, *, has_slot: bool) -> Assessment:
        """Asks Program, and remembers the answer."""
        assessment = self._program.assess(target)
        self._assessed.append((assessment, has_slot))
        return assessment

    def report(self, chosen: Assessment | None) -> SearchReport:
        """Everything that was seen."""
        ordinals = (i for i, (assessment, _) in enumerate(self._assessed) if assessment is chosen)
        return SearchReport(
            verdicts=tuple(
                TargetVerdict.of(assessment, has_publication_slot=has_slot)
                for assessment, has_slot in self._assessed
            ),
            chosen=next(ordinals, None),
        )


def _consumes(candidate: AdmissionCandidate) -> bool:
    return (
        candidate.source is not None and candidate.source.disposition is SourceDisposition.CONSUME
    )


def _lane(request: AdmissionRequest) -> LaneId:
    """The lowest free lane: this design keeps nothing in lanes, so any would do."""
    return request.free_lanes[0]
