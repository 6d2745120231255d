"""From where does this request start, and what is kept afterwards? The only logical authority
(ROLE-2).

Owns catalog, session index and owner edges, mints owner ids, and adopts Program's absolute results.
Holds Program as a protocol; knows no placement, refcount or free page. Which target is taken is
`materialization_planner`'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count

from ninfer_lab.context_cache.candidate_shortlist import exact_candidates
from ninfer_lab.context_cache.catalog import Catalog, PrivateOwner
from ninfer_lab.context_cache.diverged_checkpoints import DivergedCheckpoints
from ninfer_lab.context_cache.hit_history import HitHistory
from ninfer_lab.context_cache.kept_owners import KeptOwners
from ninfer_lab.context_cache.materialization import (
    AbortedMaterialization,
    Claim,
    Materialization,
    Opened,
)
from ninfer_lab.context_cache.materialization_planner import AdmissionProblem, Decision, decide
from ninfer_lab.context_cache.owner_edges import OwnerEdges
from ninfer_lab.context_cache.private_capture import capture_terms, final_choice, with_base_plans
from ninfer_lab.context_cache.saved_sessions import SavedSessions
from ninfer_lab.context_cache.search_budget import BoundaryAllowance
from ninfer_lab.context_cache.session_index import SessionIndex
from ninfer_lab.context_cache.shared_captures import Chance, SharedCaptures
from ninfer_lab.context_cache.shared_prefixes import SharedPrefixes
from ninfer_lab.contract.backfill import BackfillQuestion
from ninfer_lab.contract.cache_controller import (
    CatalogEntry,
    NeedsTransfer,
    PermanentlyInfeasible,
    TemporarilyBlocked,
)
from ninfer_lab.contract.candidate import (
    FIRST_MOMENT,
    AdmissionCandidate,
    AdmissionMoment,
    AdmissionRequest,
)
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import (
    CatalogSlotId,
    OwnerId,
    OwnerRef,
    RequestId,
    SequenceHandle,
)
from ninfer_lab.contract.options import CacheMode, ContextCache, ResolvedOptions
from ninfer_lab.contract.plan import ActivationIntent, CaptureOffer
from ninfer_lab.contract.planned_capture import CaptureTerms
from ninfer_lab.contract.program_api import ProgramApi
from ninfer_lab.contract.result import Aborted, Committed, SequenceEnd, Settlement
from ninfer_lab.contract.shared_report import SharedCaptureTold
from ninfer_lab.contract.target import Assessment
from ninfer_lab.cost.machine_cost_model import MachineCostModel


class ResourceManager:
    """Logical policy over one Program.

    Args:
        options: The engine's.
        program: The physical authority.
        cost_model: What is believed of the machine: it orders targets that fit, no more (INV-13).

    Attributes:
        captures: Of shared prefixes; the end of one under way is asked there.
        saved: Sessions on their way to and from files.
    """

    def __init__(
        self, options: ResolvedOptions, program: ProgramApi, cost_model: MachineCostModel
    ) -> None:
        self.cost_model = cost_model
        self._program = program
        self._enabled = options.context_cache is ContextCache.ENABLED
        self._anchors = options.anchors
        self._recency_eviction = options.recency_eviction
        self._catalog = Catalog(options.max_private_continuations)
        self._sessions = SessionIndex()
        self._edges = OwnerEdges()
        self._hits = HitHistory()
        self._shared = SharedPrefixes(options, program, cost_model.work_ns)
        diverged = DivergedCheckpoints(program, is_chosen=options.release_diverged)
        self._kept = KeptOwners(
            self._catalog, self._shared, self._sessions, self._edges, self._hits, diverged
        )
        self._allowance = FIRST_MOMENT, BoundaryAllowance(0)
        self._proven: tuple[int, AdmissionRequest, Decision] | None = None
        self._borrowed: Decision | None = None
        self._claims: dict[RequestId, Claim] = {}
        self._opened: Opened | None = None
        self._owner_ids: Iterator[int] = count(1)
        self.captures = SharedCaptures(program, self._shared, self._kept, self._edges, self._mint)
        self.saved = SavedSessions(self._catalog, self._sessions, self._kept, self._mint)

    def materialize(
        self, request: AdmissionRequest
    ) -> (
        Materialization
        | AbortedMaterialization
        | NeedsTransfer
        | TemporarilyBlocked
        | PermanentlyInfeasible
    ):
        """Chooses a target for the request the Scheduler picked, and has Program carry it out.

        Effects:
            On success Program has activated the request and the catalog has adopted the result; a
            transition under way has claimed what it needs, and `poll` adopts its end. Otherwise
            nothing has changed.
        """
        if not self._program.can_ever_run(request):
            return PermanentlyInfeasible(
                reason="prompt and output together need more pages than the engine has"
            )
        choice = self._decide(request)
        if choice.chosen is None:
            return TemporarilyBlocked(
                revision=self._program.resource_revision,
                reason="active requests hold what the root would need",
                report=choice.report,
            )
        self._open(choice.chosen, choice)
        return self.poll() or NeedsTransfer(report=choice.report)

    def poll(self) -> Materialization | AbortedMaterialization | None:
        """Adopts the end of the transition under way, once it has one. Cannot fail (INV-11)."""
        opened = self._opened
        assert opened is not None, "no transition is under way"
        result = self._program.advance(opened.transaction)
        if result is None:
            return None
        self._opened = None
        self._kept.adopt_victims(result)
        match result:
            case Committed():
                self._adopt_activation(result, opened)
                demand = self._shared.demand_told(opened.request.request)
                return Materialization(result=result, report=opened.report, demand=demand)
            case Aborted():
                self._take_back(opened)
                return AbortedMaterialization(result=result, report=opened.report)

    def cancel(self) -> None:
        """The request whose transition is under way is taken back."""
        if self.captures.is_open:
            self.captures.cancel()
            return
        assert self._opened is not None, "no transition is under way"
        self._program.cancel(self._opened.transaction)

    # ── shared prefixes ─────────────────────────────────────────────────────────────────────────

    def offer(
        self, request: RequestId, handle: SequenceHandle, frontier_tokens: int, *, starting: bool
    ) -> SharedCaptureTold:
        """A sequence stands where a shared prefix was to be offered (CPT-2).

        Args:
            starting: Whether it has not run yet: nothing may take time then.
        """
        return self.captures.offer(
            Chance(
                request=self._claims[request].request,
                handle=handle,
                frontier_tokens=frontier_tokens,
                blocked_count=len(self._claims) - 1,
                must_be_immediate=starting,
            )
        )

    def may_backfill(
        self,
        head: AdmissionRequest,
        borrower: AdmissionRequest,
        donors: Mapping[RequestId, SequenceHandle],
    ) -> bool:
        """Whether the borrower's best target leaves the head its room (BKF-1).

        Effects:
            Remembers the target of a proof: if the borrower is admitted now, it is by this one.
        """
        if not self._program.can_ever_run(borrower):
            return False
        decision = self._decide(borrower)
        chosen = decision.chosen
        if chosen is None:
            return False
        is_proven = self._program.prove_backfill(
            BackfillQuestion(
                head=head,
                borrower=chosen,
                donors=tuple(donors.values()),
                protected=self._kept.protected(donors),
                captures=chosen.target.candidate.captures,
            )
        )
        if is_proven:
            self._proven = self._program.resource_revision, borrower, decision
        return is_proven

    def release_idle(self) -> bool:
        """Lets the owner go that was used last the longest ago and that nobody leans on (ACT-4).

        Returns:
            Whether there was one.
        """
        idle = self._kept.victims()
        if not idle:
            return False
        oldest = min(idle, key=lambda owner: (self._kept.recency(owner), owner.id))
        self._kept.remove(self._program.release(oldest.ref))
        return True

    def end_of(self, request: RequestId, wanted: SequenceEnd) -> SequenceEnd:
        """How a request may end: without a publication slot only by Discard (SES-2)."""
        return wanted if self._claims[request].destination is not None else SequenceEnd.DISCARD

    def adopt_settlement(self, request: RequestId, settlement: Settlement) -> None:
        """Takes over what an ended request has left behind. Cannot fail (INV-11)."""
        claim = self._claims.pop(request)
        self._edges.settle(request)
        self._shared.forget(request)
        if claim.slot is None:
            assert settlement.published is None
            return
        if settlement.published is None:
            self._catalog.take_promise_back(claim.slot, request)
            if claim.destination is not None:
                self._kept.forget(claim.destination.id)
            return
        kinds = {checkpoint.kind for checkpoint in settlement.published.checkpoints}
        owner = PrivateOwner(
            state=settlement.published,
            publication_order=claim.publication_order,
            is_whole=CheckpointKind.SESSION_ENDPOINT in kinds,
        )
        self._catalog.adopt(claim.slot, request, owner)
        if claim.session_key is not None:
            self._sessions.bind(claim.session_key, owner.id, claim.publication_order)

    def capture_terms(self, offer: CaptureOffer) -> CaptureTerms:
        """What gives way to a capture whose frontier has been reached."""
        return capture_terms(offer, self._anchors.retained_count)

    def entries(self) -> tuple[CatalogEntry, ...]:
        """Both catalogs, for recordings and pictures."""
        return self._kept.entries()

    # ── choosing ────────────────────────────────────────────────────────────────────────────────

    def _decide(self, request: AdmissionRequest) -> Decision:
        """Decides nothing for good: choosing reserves nothing (INV-17)."""
        proven, self._proven = self._proven, None
        if proven is not None and proven[:2] == (self._program.resource_revision, request):
            self._borrowed = proven[2]
            return proven[2]
        victims = self._kept.victims()
        return decide(
            self._program,
            self.cost_model.work_ns,
            AdmissionProblem(
                candidates=self._candidates(request),
                victims=[owner.ref for owner in victims],
                worth=self._kept.worth_of,
                public=lambda: self._shared.public_worth(self._kept.worth_of_protected()),
                needs_slot=self._reads(request),
                has_vacant_slot=self._catalog.vacant_slot() is not None,
                leaves_slot=self._kept.is_private,
                session_owner=self._sessions.owner_of(request.session_key),
                recency=self._kept.recency_order(victims) if self._recency_eviction else None,
            ),
            self._allowance_of(request.moment),
            tells_targets=request.tells_targets,
        )

    def _allowance_of(self, moment: AdmissionMoment) -> BoundaryAllowance:
        """Shared by everybody who is looked at in one moment (SRCH-7)."""
        if self._allowance[0].ordinal != moment.ordinal:
            self._allowance = moment, BoundaryAllowance(moment.others_runnable_count)
        return self._allowance[1]

    def _candidates(self, request: AdmissionRequest) -> tuple[AdmissionCandidate, ...]:
        """Root, then every shortlisted checkpoint that Program verifies, each with its base plan;
        the prompt is heard.
        """
        root = self._program.root_candidate(request)
        if not self._reads(request):
            return (root,)
        self._kept.hear(request)
        exact = exact_candidates(self._program, request, self._catalog, self._sessions, self._edges)
        verified = (root, *exact, *self._shared.candidates(request))
        return with_base_plans(verified, self._catalog.owners(), self._anchors)

    def _reads(self, request: AdmissionRequest) -> bool:
        return self._enabled and request.mode is CacheMode.READ_WRITE

    # ── opening a transition, and adopting its end ──────────────────────────────────────────────

    def _open(self, chosen: Assessment, decision: Decision) -> None:
        """The logical record exists before Program moves anything (TXN-3)."""
        candidate = chosen.target.candidate
        request = candidate.request
        destination, slot = self._destination(chosen)
        if slot is not None:
            self._catalog.promise(slot, request.request)
        if candidate.source is not None and not candidate.is_consuming:
            self._edges.add(request.request, candidate.source.owner.id)
        intent = ActivationIntent(
            lane=request.free_lanes[0],  # nothing is kept in lanes: any would do
            destination=destination,
            schedule=final_choice(
                candidate,
                self._catalog.owners(),
                self._anchors.retained_count,
                offers_tokens=self._offers(candidate, decision),
                leaves_owner=destination is not None,
            ),
        )
        self._opened = Opened(
            transaction=self._program.start(self._program.seal(chosen, intent)),
            request=request,
            destination=destination,
            slot=slot,
            report=decision.report,
        )

    def _destination(self, chosen: Assessment) -> tuple[OwnerRef | None, CatalogSlotId | None]:
        """The owner the request will become, and its vacant slot.

        A consumed owner goes on at a later generation in its own slot, and an evicted one leaves
        its slot behind: both are vacant only when the end is adopted. Without any, the request
        runs all the same and ends by Discard (SES-2).
        """
        candidate, vacant = chosen.target.candidate, self._catalog.vacant_slot()
        if not self._reads(candidate.request):
            return None, None
        if candidate.source is not None and candidate.is_consuming:
            consumed = candidate.source.owner
            return OwnerRef(id=consumed.id, generation=consumed.generation + 2), None
        leaves = any(self._kept.is_private(owner.id) for owner in chosen.target.evicted)
        if vacant is None and not leaves:
            return None, None
        return OwnerRef(id=self._mint(), generation=1), vacant

    def _mint(self) -> OwnerId:
        return OwnerId(next(self._owner_ids))

    def _offers(self, candidate: AdmissionCandidate, decision: Decision) -> tuple[int, ...]:
        """Where the prefill is split for shared prefixes; nowhere for a borrower."""
        if not self._reads(candidate.request):
            return ()
        kept = self._kept.worth_of_all
        offers = self._shared.want(candidate, decision.candidates, self._edges.protects, kept)
        # A borrower has none: a capture pins an image beyond what was proven (BKF-1, ACT-6).
        return () if decision is self._borrowed else offers

    def _adopt_activation(self, result: Committed, opened: Opened) -> None:
        request, slot = opened.request, opened.slot
        source = result.candidate.source
        if source is not None:
            self._hits.hit(source, request.publication_order)
        if self._reads(request):
            self._shared.became_active(result.candidate)
        if result.consumed is not None:
            self._catalog.remove(result.consumed, surviving=frozenset((result.consumed.ref.id,)))
        if opened.destination is not None and slot is None:
            slot = self._catalog.vacant_slot()
            if slot is None:
                raise InvariantBroken(
                    "SES-2 publication slot", "no slot for a promised destination"
                )
            self._catalog.promise(slot, request.request)
        self._claims[request.request] = Claim(
            request=request, destination=opened.destination, slot=slot
        )

    def _take_back(self, opened: Opened) -> None:
        """The claims of a request that did not become Active."""
        self._edges.settle(opened.request.request)
        self._shared.forget(opened.request.request)
        if opened.slot is not None:
            self._catalog.take_promise_back(opened.slot, opened.request.request)
