"""How does a sealed plan become an active sequence, phase by phase? (TXN-4, TXN-5, TXN-6)

Owns the second half of the transition of an admission and its absolute result. Reads from top to
bottom in `_journey`: after pressure the candidate's destinations are held and filled, then the
sequence stands. Does not know why this target was chosen.
"""

from __future__ import annotations

from collections.abc import Generator

from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import HostSlotId, OwnerId, TransactionId
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.replicas import ReplicaSet
from ninfer_lab.contract.result import (
    AbortCause,
    Aborted,
    Committed,
    OwnerEnd,
    ResourceResult,
)
from ninfer_lab.contract.stage_watch import StageWatch
from ninfer_lab.contract.transaction import TransactionPhase
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.transactions import copies
from ninfer_lab.program.transactions.activation import activate
from ninfer_lab.program.transactions.capture import capture_on_host
from ninfer_lab.program.transactions.proven_plan import ProvenPlan
from ninfer_lab.program.transactions.running_transition import RunningTransition, Stopped


class RunningTransaction(RunningTransition[ResourceResult]):
    """One admission on its way."""

    def __init__(
        self,
        id: TransactionId,
        proven: ProvenPlan,
        ledger: Ledger,
        machine: MachineApi,
        watch: StageWatch,
    ) -> None:
        self._proven = proven
        self._target = proven.plan.assessment.target
        self._lineage = proven.lineage
        self._saved_at: HostSlotId | None = None
        super().__init__(id, self._target.outcomes, proven.post, ledger, machine, watch)

    @property
    def claimed(self) -> frozenset[OwnerId]:
        """The victims, and the source's owner."""
        owner = self._lineage.owner
        return super().claimed | (frozenset() if owner is None else {owner.ref.id})

    # ── the journey ─────────────────────────────────────────────────────────────────────────────

    def _journey(self) -> Generator[None, None, ResourceResult]:
        try:
            yield from self._pressure()
            self._drop_tail_end()
            saves_image = self._proven.capture_at_start is not None
            self._hold_destinations(self._post.snapshot_slots if saves_image else 0)
            yield from self._copied(
                copies.restoration(self._ledger, self._lineage.source, self._post, self._held)
            )
            self._stable_boundary()
            yield from self._save_image_at_start()
            return self._commit()
        except Stopped as stopped:
            return self._abort(stopped)

    def _save_image_at_start(self) -> Generator[None]:
        """A copy on the Host of the image that the sequence goes on in, where an anchor is wanted
        there and the projection has found no Device slot for it and a Host slot (ANC-3). It is
        optional: a copy that does not arrive is none.
        """
        ledger, source = self._ledger, self._lineage.source
        if not self._held.snapshot_slots:
            return
        assert source is not None, "an endpoint is consumed"
        (self._saved_at,) = self._held.snapshot_slots
        try:
            yield from self._copied(copies.saved_image(ledger, source, self._held, self._saved_at))
        except Stopped:
            self._held.give_back_snapshot()
            self._saved_at = None
        self._stable_boundary()

    def _drop_tail_end(self) -> None:
        """A consumed owner loses the checkpoints above the source; the source stays valid."""
        if self._lineage.consumed is not None and self._lineage.tail_end:
            self._degrade(self._lineage.consumed.ref, self._lineage.tail_end)
            self._ledger.drop(ReplicaSet(self._post.demoted & ~self._post.destined))

    def _commit(self) -> Committed:
        """The sequence stands, and everything that was held for it is filled."""
        self._copy_tails()
        consumed = None
        if self._lineage.consumed is not None:
            before = self._lineage.consumed.ref
            current = self._ledger.continuations.get(before.id)
            assert current is not None, "a claimed owner stays until the transition takes it"
            self._ledger.continuations.remove(current.ref)
            consumed = OwnerEnd(ref=before, deleted=self._lineage.ended)
        sequence = activate(self._ledger, self._machine, self._proven, self._held)
        self._held.device_is_filled()
        self._ledger.drop(ReplicaSet(self._post.destined & ~self._post.committed))
        self._capture_saved(sequence)
        self.phase = TransactionPhase.COMMITTED
        return Committed(
            handle=self._proven.handle,
            candidate=self._target.candidate,
            state=self._post.state,
            cow_pages=self._post.copied_tail_pages,
            consumed=consumed,
            evicted=tuple(self._evicted),
            degraded=tuple(
                c for c in self._degraded if consumed is None or c.before != consumed.ref
            ),
            resource_revision=self._proven.plan.resource_revision + 1,
            schedule=self._proven.plan.schedule,
        )

    def _capture_saved(self, sequence: ActiveSequence) -> None:
        """The image saved to the Host becomes an anchor of the lineage, if its tails can part."""
        order, ledger = self._proven.capture_at_start, self._ledger
        if order is None or self._saved_at is None:
            return
        saved = ledger.states.create_on_host(self._saved_at)
        self._held.snapshot_is_filled()
        sequence.captured_at_start = capture_on_host(ledger, self._machine, sequence, order, saved)

    def _copy_tails(self) -> None:
        """Partial tails that somebody else keeps, copied for the new writer."""
        tails = copies.tail_copies(self._ledger, self._lineage.source, self._post, self._held)
        if not tails:
            return
        try:
            self._machine.copy_pages(tails)
        except (InvariantBroken, AssertionError):
            raise
        except Exception as error:
            detail = f"d2d: {type(error).__name__}: {error}"
            raise Stopped(AbortCause.COPY_FAILED, detail) from error

    def _abort(self, stopped: Stopped) -> Aborted:
        """What is held is given back; what was published stays."""
        self._held.give_back()
        changed = bool(self._evicted or self._degraded)
        return Aborted(
            candidate=self._target.candidate,
            phase=self.phase,
            cause=stopped.cause,
            detail=stopped.detail,
            evicted=tuple(self._evicted),
            degraded=tuple(self._degraded),
            resource_revision=self._proven.plan.resource_revision + changed,
        )
