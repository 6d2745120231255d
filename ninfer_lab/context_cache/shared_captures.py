"""How does a chance to write a shared prefix become an owner, or nothing? (CPT-2, SHR-6)

Owns the one capture under way, from the offer at a frontier to the adoption of its end: an exact
owner that is there is enough; else what the planner finds worth it is carried out by Program, a
recycled entry being released only then. The logical record exists before Program moves anything
(TXN-3). Does not weigh anything itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ninfer_lab.context_cache.demand_window import PrefixKey
from ninfer_lab.context_cache.kept_owners import KeptOwners
from ninfer_lab.context_cache.owner_edges import OwnerEdges
from ninfer_lab.context_cache.shared_capture_planner import CaptureDecision
from ninfer_lab.context_cache.shared_prefixes import SharedPrefixes
from ninfer_lab.contract.candidate import AdmissionRequest
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import CatalogSlotId, OwnerId, OwnerRef, SequenceHandle
from ninfer_lab.contract.program_api import ProgramApi
from ninfer_lab.contract.shared_capture import (
    CaptureIntent,
    CaptureSession,
    SharedAborted,
    SharedCaptureEnd,
    SharedPublished,
)
from ninfer_lab.contract.shared_report import SharedCaptureTold, SharedOutcome, SlotSource
from ninfer_lab.contract.transaction import TransactionHandle


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance:
    """A sequence at a frontier where a shared prefix was to be offered.

    Attributes:
        frontier_tokens: Of its prompt.
        blocked_count: Other requests that would wait for a capture's copies.
        must_be_immediate: Whether nothing may be copied between the tiers now: before the first
            model mutation the request is not yet told to be Active.
    """

    request: AdmissionRequest
    handle: SequenceHandle
    frontier_tokens: int
    blocked_count: int
    must_be_immediate: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    """The capture under way.

    Attributes:
        slot: Promised to it; `None` where its end makes it vacant.
    """

    transaction: TransactionHandle
    chance: Chance
    slot: CatalogSlotId | None
    told: SharedCaptureTold


class SharedCaptures:
    """Of one ResourceManager.

    Args:
        mint: The next owner id.
    """

    def __init__(
        self,
        program: ProgramApi,
        shared: SharedPrefixes,
        kept: KeptOwners,
        edges: OwnerEdges,
        mint: Callable[[], OwnerId],
    ) -> None:
        self._program = program
        self._shared = shared
        self._kept = kept
        self._edges = edges
        self._mint = mint
        self._opened: _Opened | None = None

    @property
    def is_open(self) -> bool:
        """Whether a capture is under way."""
        return self._opened is not None

    def offer(self, chance: Chance) -> SharedCaptureTold:
        """Takes the chance, or leaves it.

        Effects:
            A capture under way has claimed what it needs, and `poll` adopts its end.
        """
        request, frontier = chance.request, chance.frontier_tokens
        evidence = self._shared.evidence_at(request.request, frontier)
        told = SharedCaptureTold(
            frontier_tokens=frontier, evidence=evidence, outcome=SharedOutcome.NO_SLOT
        )
        exact = self._shared.exact_entry(chance.handle, frontier)
        if exact is not None:
            self._shared.catalog.consume_credit(exact.id)
            return replace(told, outcome=SharedOutcome.DEDUPLICATED)
        session, decision = self._plan(chance)
        if decision is None or session is None:
            return told
        told = replace(told, scenarios=decision.scenarios, chosen=decision.chosen)
        if decision.chosen is None:
            fits = any(scenario.gain is not None for scenario in decision.scenarios)
            outcome = SharedOutcome.NO_GAIN if fits else SharedOutcome.NO_ROOM
            return replace(told, outcome=outcome)
        scenario = decision.scenarios[decision.chosen]
        if scenario.slot is SlotSource.RECYCLED:
            assert scenario.entry is not None
            self._recycle(scenario.entry)
            told = replace(told, evicted=(scenario.entry,))
            session, decision = self._plan(chance)
            if decision is None or session is None or decision.target is None:
                raise InvariantBroken(
                    "EVD-2 recycling", f"nothing is gained with owner {scenario.entry} gone"
                )
        return self._open(chance, session, decision, told)

    def poll(self) -> SharedCaptureTold | None:
        """Adopts the end of the capture under way, once it has one. Cannot fail (INV-11)."""
        opened = self._opened
        assert opened is not None, "no capture is under way"
        result = self._program.advance_capture(opened.transaction)
        if result is None:
            return None
        self._opened = None
        return self._adopt(opened, result)

    def cancel(self) -> None:
        """The request whose state it is is taken back."""
        assert self._opened is not None, "no capture is under way"
        self._program.cancel(self._opened.transaction)

    # ── leaves ──────────────────────────────────────────────────────────────────────────────────

    def _plan(self, chance: Chance) -> tuple[CaptureSession | None, CaptureDecision | None]:
        tokens, frontier = chance.request.prompt.tokens, chance.frontier_tokens
        planned = self._shared.plan(
            chance.request.request,
            chance.handle,
            PrefixKey(frontier, tokens.prefix_digest(frontier)),
            kept=self._kept.worth_of_all(),
            is_protected=self._edges.protects,
            blocked_count=chance.blocked_count,
            must_be_immediate=chance.must_be_immediate,
        )
        return (None, None) if planned is None else planned

    def _recycle(self, owner: OwnerId) -> None:
        """The entry's slot is vacant, as it was planned (EVD-2)."""
        entry = self._shared.catalog.get(owner)
        assert entry is not None
        self._kept.remove(self._program.release(entry.ref))

    def _open(
        self,
        chance: Chance,
        session: CaptureSession,
        decision: CaptureDecision,
        told: SharedCaptureTold,
    ) -> SharedCaptureTold:
        assert decision.target is not None
        slot = self._shared.catalog.promise()
        intent = CaptureIntent(
            handle=chance.handle,
            destination=OwnerRef(id=self._mint(), generation=1),
            form=session.forms[decision.target.candidate],
        )
        assessment = session.assess(decision.target)
        told = replace(told, work=assessment.work, stages=assessment.stages)
        plan = self._program.seal_capture(assessment, intent)
        transaction = self._program.start_capture(plan)
        self._opened = _Opened(transaction=transaction, chance=chance, slot=slot, told=told)
        return self.poll() or replace(told, outcome=SharedOutcome.UNDER_WAY)

    def _adopt(self, opened: _Opened, result: SharedCaptureEnd) -> SharedCaptureTold:
        self._kept.adopt_victims(result)
        told = replace(
            opened.told,
            evicted=(*opened.told.evicted, *(end.ref.id for end in result.evicted)),
            deleted=tuple(sorted(ref.id for c in result.degraded for ref in c.deleted)),
        )
        match result:
            case SharedPublished():
                slot = opened.slot if opened.slot is not None else self._shared.catalog.promise()
                if slot is None:
                    raise InvariantBroken("SES-2 publication slot", "no slot for a shared prefix")
                entry = self._shared.catalog.adopt(
                    slot,
                    result.published,
                    publication_order=opened.chance.request.publication_order,
                    epoch=self._shared.epoch,
                    is_declared=told.evidence.is_declared,
                    inherited=self._shared.inherited_at(
                        opened.chance.request.request, told.frontier_tokens
                    ),
                )
                return replace(told, outcome=SharedOutcome.PUBLISHED, published=entry.checkpoint)
            case SharedAborted():
                if opened.slot is not None:
                    self._shared.catalog.take_promise_back(opened.slot)
                return replace(told, outcome=SharedOutcome.ABORTED, detail=result.detail)
