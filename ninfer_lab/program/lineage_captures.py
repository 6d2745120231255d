"""What may a sequence leave in its own lineage, and how is it taken?

Owns the way from an offer and its terms to a capture, at a frontier or at the very start. What a
capture does to the ledger is `transactions.capture`'s; what gives way is logical policy's.
"""

from __future__ import annotations

from collections.abc import Iterator

from ninfer_lab.contract.ids import CheckpointId
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import ResolvedOptions
from ninfer_lab.contract.plan import ResourcePlan
from ninfer_lab.contract.planned_capture import CaptureTerms, PlannedCapture
from ninfer_lab.contract.result import CaptureResult
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.transactions.capture import CaptureOrder, capture


class LineageCaptures:
    """Of one Program; revisions are moved there.

    Args:
        ids: Program's own counter.
    """

    def __init__(
        self, options: ResolvedOptions, ledger: Ledger, machine: MachineApi, ids: Iterator[int]
    ) -> None:
        self._options = options
        self._ledger = ledger
        self._machine = machine
        self._ids = ids

    def take(self, sequence: ActiveSequence, terms: CaptureTerms) -> CaptureResult:
        """Takes up what is offered where the sequence stands, if there is room."""
        offer = sequence.capture_offer()
        assert offer is not None, "only what is offered can be captured"
        order = self._order(offer.planned, terms)
        return capture(self._ledger, self._machine, sequence, order)

    def at_start(self, plan: ResourcePlan) -> CaptureOrder | None:
        """The anchor that a plan wants where a consumed endpoint is left (ANC-3)."""
        chosen, start_tokens = plan.intent.schedule, plan.assessment.target.candidate.reuse_tokens
        if chosen.terms_at_start is None:
            return None
        planned = next(c for c in chosen.captures if c.frontier_tokens == start_tokens)
        return self._order(planned, chosen.terms_at_start)

    def _order(self, planned: PlannedCapture, terms: CaptureTerms) -> CaptureOrder:
        return CaptureOrder.of(self._options, planned, terms, CheckpointId(next(self._ids)))
