"""Which shared prefixes are there, who wants them, and what becomes of a chance to write one?

Owns the shared half of logical policy: catalog, demand window, the choice of splits at admission,
and the one capture under way. Matches narrow, Program verifies (SHR-6). Knows no session, no
placement and no private owner but by what it is worth, which it is told.
Source: spec SHR-6, EVD-2, EVD-3, CPT, VAL-1, VAL-5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ninfer_lab.context_cache.demand_window import (
    Demand,
    DemandWindow,
    PrefixKey,
    reuse_domain,
)
from ninfer_lab.context_cache.evidence import CreationRight, creation_right, is_repeated
from ninfer_lab.context_cache.hit_history import NEVER, Hits
from ninfer_lab.context_cache.prefix_demand import PrefixDemand
from ninfer_lab.context_cache.public_worth import PublicWorth, SharedWorth, savings_by_key
from ninfer_lab.context_cache.shared_capture_planner import (
    CaptureDecision,
    CaptureProblem,
    SlotWay,
    plan_shared_capture,
)
from ninfer_lab.context_cache.shared_catalog import SharedCatalog, SharedEntry
from ninfer_lab.context_cache.split_selection import (
    Opportunity,
    PublicState,
    select_splits,
)
from ninfer_lab.context_cache.valuation import (
    OwnerWorth,
    PriceWork,
    Valuation,
    standing_now,
)
from ninfer_lab.contract.candidate import AdmissionCandidate, AdmissionRequest, SourceDisposition
from ninfer_lab.contract.demand_report import DemandTold
from ninfer_lab.contract.ids import OwnerId, OwnerRef, RequestId, SequenceHandle
from ninfer_lab.contract.machine_work import MachineWork
from ninfer_lab.contract.options import ResolvedOptions
from ninfer_lab.contract.program_api import ProgramApi
from ninfer_lab.contract.shared_capture import CaptureSession
from ninfer_lab.contract.shared_prefix import Evidence
from ninfer_lab.contract.shared_report import SlotSource

IsProtected = Callable[[OwnerId], bool]
"""Whether an active request leans on an owner, or a transaction holds it."""


class SharedPrefixes:
    """Of one ResourceManager.

    Args:
        price: What work is believed to take.
    """

    def __init__(self, options: ResolvedOptions, program: ProgramApi, price: PriceWork) -> None:
        self._program = program
        self._price = price
        self._automatic_markers_take_surplus = options.automatic_markers_take_surplus
        self._recycles = options.recycles_shared_prefixes
        self._rolls = options.rolling_retention
        self.catalog = SharedCatalog(options.max_shared_prefixes)
        self._has_slots = options.max_shared_prefixes > 0
        self._window = DemandWindow()
        self._epoch = 0
        self._wanted: dict[RequestId, PrefixDemand] = {}

    @property
    def epoch(self) -> int:
        """Requests that have become Active."""
        return self._epoch

    # ── admission ───────────────────────────────────────────────────────────────────────────────

    def candidates(self, request: AdmissionRequest) -> tuple[AdmissionCandidate, ...]:
        """Shared prefixes that the request could start from, verified; they are always retained."""
        entries = [
            entry
            for entry in self.catalog.entries()
            if entry.checkpoint.frontier_tokens < len(request.prompt.tokens)
        ]
        if not entries:
            return ()
        frontiers = sorted({entry.checkpoint.frontier_tokens for entry in entries})
        digests = dict(zip(frontiers, request.prompt.tokens.prefix_digests(frontiers), strict=True))
        retain, found = SourceDisposition.RETAIN, []
        for entry in entries:
            checkpoint = entry.checkpoint
            if checkpoint.prefix_digest == digests[checkpoint.frontier_tokens]:
                verified = self._program.verify(request, checkpoint.ref, retain)
                if isinstance(verified, AdmissionCandidate):
                    found.append(verified)
        return tuple(found)

    def worth_of(self, entry: SharedEntry, hits: Hits = NEVER) -> OwnerWorth:
        """What giving way would take from the public, and when it was hit last."""
        shared = SharedWorth(entry.key, entry.is_credited(self._epoch), entry.inherited)
        return OwnerWorth(retention=None, shared=shared, hits={entry.checkpoint.ref: hits})

    def public_worth(self, outside: Mapping[OwnerRef, OwnerWorth]) -> PublicWorth:
        """What prefixes are wanted for, with what those outside a decision bring.

        Args:
            outside: Catalogued owners that the decision cannot touch.
        """
        wanted = PublicWorth(self._window.demands)
        standing = standing_now(self._program, self._price, outside, wanted.keys)
        return PublicWorth(self._window.demands, standing) if standing else wanted

    def want(
        self,
        candidate: AdmissionCandidate,
        verified: Sequence[AdmissionCandidate],
        is_protected: IsProtected,
        kept: Callable[[], Mapping[OwnerRef, OwnerWorth]],
    ) -> tuple[int, ...]:
        """Fixes what a request wants, and where its prefill is split for it (CPT-1).

        Args:
            candidate: The one that was chosen.
            verified: All that Program has verified for the request, root among them.
            kept: Every catalogued owner, asked only where something may be created.

        Returns:
            Frontiers to offer, ascending.
        """
        request = candidate.request
        wanted = self._wanted[request.request] = self._demand_of(request, verified)
        if not self._has_slots:
            return ()
        creatable = self._creatable(candidate, wanted)
        if not creatable:
            return ()
        resident = {each.reuse_tokens for each in verified}
        source = candidate.source
        if source is not None and source.owner.id not in wanted.matched:
            resident.discard(candidate.reuse_tokens)  # its own private base may be promoted
        opportunities = [
            Opportunity(
                key,
                self._rebuild_ns(request, key.frontier_tokens),
                right,
                is_declared,
                wanted.inherited_at(key.frontier_tokens),
            )
            for key, right, is_declared in creatable
            if key.frontier_tokens not in resident
        ]
        choice = select_splits(
            opportunities,
            self._public_state(candidate, wanted, kept()),
            self._surplus_slots_count(wanted, is_protected),
            lambda frontiers: self._split_cost_ns(candidate, frontiers),
        )
        self._wanted[request.request] = replace(wanted, offers_tokens=choice.offers_tokens)
        return choice.offers_tokens

    def demand_told(self, request: RequestId) -> DemandTold | None:
        """What it wants, as recordings tell it; `None` of one that does without the cache."""
        wanted = self._wanted.get(request)
        return None if wanted is None else wanted.told()

    def became_active(self, candidate: AdmissionCandidate) -> None:
        """Its demand joins the window; what it has matched loses its credit, what it has started
        from is used (VAL-1, VAL-5).
        """
        wanted = self._wanted[candidate.request.request]
        self._epoch += 1
        self._window.observe(wanted.demand)
        for owner in wanted.matched:
            if self.catalog.get(owner) is not None:
                self.catalog.consume_credit(owner)
        source = candidate.source
        if source is not None and self.catalog.get(source.owner.id) is not None:
            self.catalog.hit(source.owner.id, self._epoch)

    def forget(self, request: RequestId) -> None:
        """It has ended, or did not become Active."""
        self._wanted.pop(request, None)

    # ── a chance to write one ───────────────────────────────────────────────────────────────────

    def exact_entry(self, handle: SequenceHandle, frontier_tokens: int) -> SharedEntry | None:
        """The shared prefix that is exactly the sequence's state, if one is there (SHR-6)."""
        for entry in self.catalog.entries():
            checkpoint = entry.checkpoint
            if checkpoint.frontier_tokens == frontier_tokens and self._program.is_prefix_of(
                checkpoint.ref, handle
            ):
                return entry
        return None

    def inherited_at(self, request: RequestId, frontier_tokens: int) -> frozenset[PrefixKey]:
        """What a request's prefix inherits, of that which the window still knows."""
        inherited = self._wanted[request].inherited_at(frontier_tokens)
        return inherited & PublicWorth(self._window.demands).keys

    def evidence_at(self, request: RequestId, frontier_tokens: int) -> Evidence:
        """The reasons for a request's candidate."""
        return self._wanted[request].evidence[frontier_tokens]

    def plan(
        self,
        request: RequestId,
        handle: SequenceHandle,
        key: PrefixKey,
        *,
        kept: Mapping[OwnerRef, OwnerWorth],
        is_protected: IsProtected,
        blocked_count: int,
        must_be_immediate: bool,
    ) -> tuple[CaptureSession, CaptureDecision] | None:
        """Weighs a shared prefix at the sequence's frontier.

        Args:
            kept: Every catalogued owner.
            blocked_count: Other requests that would wait for its copies.
            must_be_immediate: Whether nothing may be copied between the tiers.

        Returns:
            `None` where its evidence may take no slot at all.
        """
        wanted = self._wanted[request]
        right = wanted.rights[key.frontier_tokens]
        evidence = wanted.evidence[key.frontier_tokens]
        ways = self._ways(wanted, right, evidence, is_protected)
        if not ways:
            return None
        worth = {ref.id: each for ref, each in kept.items()}
        owners = sorted(kept, key=lambda ref: ref.id)
        session = self._program.plan_capture(
            handle, owners, [ref.id for ref in owners if is_protected(ref.id)]
        )
        public = PublicWorth(self._window.demands)
        return session, plan_shared_capture(
            CaptureProblem(
                session=session,
                valuation=Valuation(session, self._price, worth.__getitem__, lambda: public),
                worth=SharedWorth(
                    key, evidence.is_declared, wanted.inherited_at(key.frontier_tokens)
                ),
                ways=ways,
                may_press=right is CreationRight.PRESSURE,
                blocked_count=blocked_count,
                must_be_immediate=must_be_immediate,
            )
        )

    # ── leaves ──────────────────────────────────────────────────────────────────────────────────

    def _demand_of(
        self, request: AdmissionRequest, verified: Sequence[AdmissionCandidate]
    ) -> PrefixDemand:
        proposed = request.prompt.shared_candidates
        sources = [each.source.owner.id for each in verified if each.source is not None]
        matched = [entry for owner in sources if (entry := self.catalog.get(owner)) is not None]
        matched_tokens = {each.reuse_tokens for each in verified if each.source is not None}
        frontiers = sorted(matched_tokens.union(each.frontier_tokens for each in proposed))
        digests = request.prompt.tokens.prefix_digests(frontiers)
        keys = dict(zip(frontiers, map(PrefixKey, frontiers, digests), strict=True))
        demand = Demand(
            domain=reuse_domain(request.session_key, request.request),
            keys=frozenset(keys.values()),
        )
        demands = self._window.with_provisional(demand)
        rights = {
            each.frontier_tokens: creation_right(
                each.evidence,
                repeated=is_repeated(keys[each.frontier_tokens], demands),
                automatic_markers_take_surplus=self._automatic_markers_take_surplus,
            )
            for each in proposed
        }
        return PrefixDemand(
            demand=demand,
            matched=tuple(entry.id for entry in matched),
            matched_keys=frozenset(entry.key for entry in matched),
            rights=rights,
            evidence={each.frontier_tokens: each.evidence for each in proposed},
            extended=frozenset().union(*({e.key, *e.inherited} for e in matched if self._rolls)),
        )

    def _creatable(
        self, candidate: AdmissionCandidate, wanted: PrefixDemand
    ) -> list[tuple[PrefixKey, CreationRight, bool]]:
        """(key, right, declared) of candidates that may come into being, at or beyond the source:
        what lies before it is demand alone (SHR-6).
        """
        keys = {key.frontier_tokens: key for key in wanted.demand.keys}
        return [
            (keys[frontier], right, wanted.evidence[frontier].is_declared)
            for frontier, right in wanted.rights.items()
            if right is not CreationRight.NONE and frontier >= max(1, candidate.reuse_tokens)
        ]

    def _public_state(
        self,
        candidate: AdmissionCandidate,
        wanted: PrefixDemand,
        kept: Mapping[OwnerRef, OwnerWorth],
    ) -> PublicState:
        """What is kept beside the request: a consumed source has become its own."""
        consumed = candidate.source.owner if candidate.source and candidate.is_consuming else None
        beside = {ref: worth for ref, worth in kept.items() if ref != consumed}
        demands = self._window.with_provisional(wanted.demand)
        wanted_keys = PublicWorth(demands).keys
        standing = standing_now(self._program, self._price, beside, wanted_keys)
        credited = tuple(each.saving_ns for each in standing if each.worth.is_credited)
        return PublicState(demands, savings_by_key(standing), credited)

    def _rebuild_ns(self, request: AdmissionRequest, frontier_tokens: int) -> int:
        prefill = self._program.prefill_work(request, 0, frontier_tokens)
        return self._price(MachineWork.of(prefill=prefill))

    def _split_cost_ns(self, candidate: AdmissionCandidate, frontiers: tuple[int, ...]) -> int:
        request, start = candidate.request, candidate.reuse_tokens
        end = len(request.prompt.tokens)
        base = tuple(capture.frontier_tokens for capture in candidate.captures)
        whole = self._program.prefill_work(request, start, end, base)
        split = self._program.prefill_work(request, start, end, (*base, *frontiers))
        priced = [self._price(MachineWork.of(prefill=each)) for each in (split, whole)]
        return max(0, priced[0] - priced[1])

    def _surplus_slots_count(self, wanted: PrefixDemand, is_protected: IsProtected) -> int:
        """Vacant slots, and those that automatic entries would give up (EVD-2)."""
        return self.catalog.vacant_count + len(self.recyclable(wanted, is_protected))

    def recyclable(
        self, wanted: PrefixDemand, is_protected: IsProtected
    ) -> tuple[SharedEntry, ...]:
        """Entries whose slot an automatic candidate may have, the first to go in front."""
        if not self._recycles:
            return ()
        extended = {
            entry.key for owner in wanted.matched if (entry := self.catalog.get(owner)) is not None
        }
        return self.catalog.recyclable(self._epoch, is_protected, extended)

    def _ways(
        self,
        wanted: PrefixDemand,
        right: CreationRight,
        evidence: Evidence,
        is_protected: IsProtected,
    ) -> tuple[SlotWay, ...]:
        """To a slot: a vacant one, else one that is recycled, and under pressure any entry's."""
        if right is CreationRight.NONE:
            return ()
        if self.catalog.vacant_count:
            return (SlotWay(SlotSource.VACANT),)
        ways = []
        if not evidence.is_declared:
            recyclable = self.recyclable(wanted, is_protected)[:1]
            ways += [SlotWay(SlotSource.RECYCLED, entry.id) for entry in recyclable]
        if right is CreationRight.PRESSURE:
            ways += [
                SlotWay(SlotSource.REPLACED, entry.id)
                for entry in self.catalog.entries()
                if not is_protected(entry.id)
            ]
        return tuple(ways)
