"""Which capture of a shared prefix has been sealed, and is it still the one that was proved? (CPT)

Owns the sealed capture that Program remembers, used once, and the look whether a sequence can give
a shared prefix where it stands. Changes nothing in the ledger: what a capture does is
`transactions.running_capture`'s.
"""

from __future__ import annotations

from collections.abc import Iterator

from ninfer_lab.contract.errors import InvariantBroken, PlanRefused
from ninfer_lab.contract.ids import CheckpointId, CheckpointRef, PlanId, SequenceHandle
from ninfer_lab.contract.shared_capture import CaptureIntent, CapturePlan
from ninfer_lab.contract.target import Assessment
from ninfer_lab.program.planning.capture_projection import CaptureProjector
from ninfer_lab.program.planning.exact_identity import is_same_prefix
from ninfer_lab.program.planning.ledger_readied import LedgerReadied
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.storage.shared_source import can_be_written
from ninfer_lab.program.transactions.proven_plan import ProvenCapture


class CaptureDesk:
    """Of one Program; revisions are checked there.

    Args:
        ids: Program's own counter.
    """

    def __init__(self, ledger: Ledger, ids: Iterator[int]) -> None:
        self._ledger = ledger
        self._ids = ids
        self._sealed: CapturePlan | None = None

    def is_offered(self, handle: SequenceHandle) -> bool:
        """Whether a shared prefix was to be asked of the sequence where it is now, and can be."""
        sequence = self._ledger.sequence(handle)
        here = sequence.frontier_tokens in sequence.offers_tokens
        return here and can_be_written(self._ledger, sequence)

    def is_prefix_of(self, checkpoint: CheckpointRef, sequence: ActiveSequence) -> bool:
        """Whether a checkpoint is exactly the sequence's state at the same frontier."""
        owner = self._ledger.continuations.get(checkpoint.owner)
        return owner is not None and is_same_prefix(owner, checkpoint, sequence)

    def seal(self, assessment: Assessment, intent: CaptureIntent) -> CapturePlan:
        """Remembers a feasible capture; a newer one takes its place."""
        if not assessment.is_feasible:
            raise PlanRefused("assessment", found=assessment, legal="a feasible one")
        if self._ledger.continuations.get(intent.destination.id) is not None:
            raise PlanRefused(
                "intent.destination", found=intent.destination, legal="an owner that is not there"
            )
        plan = CapturePlan(id=PlanId(next(self._ids)), assessment=assessment, intent=intent)
        self._sealed = plan
        return plan

    def take(self, plan: CapturePlan, readied: LedgerReadied) -> ProvenCapture:
        """Uses the sealed capture up."""
        if self._sealed is not plan:
            raise PlanRefused("plan", found=f"plan {plan.id}", legal="the capture sealed last")
        self._sealed = None
        sequence = self._ledger.sequence(plan.intent.handle)
        capture = CaptureProjector(readied.projector, sequence, plan.intent.form)
        projected = readied.project(capture, plan.assessment.target.outcomes)
        if not projected.fits:
            raise InvariantBroken(
                "REV-1 revision", f"{plan.assessment} does not hold at its own revision"
            )
        return ProvenCapture(
            plan=plan,
            post=projected.post,
            sequence=sequence,
            checkpoint=CheckpointId(next(self._ids)),
        )
