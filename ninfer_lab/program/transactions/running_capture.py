"""How does a sealed capture become a shared owner, phase by phase? (CPT-2, TXN-4)

Owns the second half of the transition of a capture and its absolute result: after pressure, which
it shares with an admission, the owner is published in one moment. The sequence whose state it is
rests meanwhile; whatever the end, it goes on. Does not know what the capture is worth.
"""

from __future__ import annotations

from collections.abc import Generator

from ninfer_lab.contract.ids import TransactionId
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.machine_work import TransferDirection
from ninfer_lab.contract.options import ResolvedOptions
from ninfer_lab.contract.result import AbortCause
from ninfer_lab.contract.shared_capture import (
    SharedAborted,
    SharedCaptureEnd,
    SharedPublished,
)
from ninfer_lab.contract.stage_watch import StageWatch
from ninfer_lab.contract.transaction import TransactionPhase
from ninfer_lab.contract.transfer import StateTransfer, Transfer
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.transactions.proven_plan import ProvenCapture
from ninfer_lab.program.transactions.running_transition import RunningTransition, Stopped
from ninfer_lab.program.transactions.shared_publication import TailsNotCopied, publish_shared


class RunningCapture(RunningTransition[SharedCaptureEnd]):
    """One capture on its way."""

    def __init__(
        self,
        id: TransactionId,
        proven: ProvenCapture,
        ledger: Ledger,
        machine: MachineApi,
        options: ResolvedOptions,
        watch: StageWatch,
    ) -> None:
        self._proven = proven
        self._options = options
        outcomes = proven.plan.assessment.target.outcomes
        super().__init__(id, outcomes, proven.post, ledger, machine, watch)

    def reads(self, sequence: ActiveSequence) -> bool:
        """Whether it is this sequence's state that is to be published."""
        return self._proven.sequence is sequence

    def _journey(self) -> Generator[None, None, SharedCaptureEnd]:
        try:
            yield from self._pressure()
            self._hold_destinations(self._post.snapshot_slots)
            yield from self._snapshot()
            return self._publish()
        except Stopped as stopped:
            return self._abort(stopped)

    def _snapshot(self) -> Generator[None]:
        """The active image is copied to the Host, where that is how it is to be had."""
        sequence, states = self._proven.sequence, self._ledger.states
        device_slot = states.device_slot(sequence.write_image)
        assert device_slot is not None, "an active image lies on the Device"
        copied = tuple(
            StateTransfer(device_slot=device_slot, host_slot=slot)
            for slot in self._held.snapshot_slots
        )
        yield from self._copied(Transfer(direction=TransferDirection.D2H, states=copied, pages=()))
        self._stable_boundary()

    def _publish(self) -> SharedPublished:
        proven = self._proven
        try:
            state = publish_shared(self._ledger, self._machine, self._options, proven, self._held)
        except TailsNotCopied:
            raise Stopped(AbortCause.COPY_FAILED, "d2d: the tails were not copied") from None
        self.phase = TransactionPhase.COMMITTED
        return SharedPublished(
            handle=proven.sequence.handle,
            published=state,
            evicted=tuple(self._evicted),
            degraded=tuple(self._degraded),
            form=proven.plan.intent.form,
            resource_revision=proven.plan.resource_revision + 1,
        )

    def _abort(self, stopped: Stopped) -> SharedAborted:
        """What is held is given back; what was published stays."""
        self._held.give_back()
        changed = bool(self._evicted or self._degraded)
        return SharedAborted(
            handle=self._proven.sequence.handle,
            phase=self.phase,
            cause=stopped.cause,
            detail=stopped.detail,
            evicted=tuple(self._evicted),
            degraded=tuple(self._degraded),
            resource_revision=self._proven.plan.resource_revision + changed,
        )
