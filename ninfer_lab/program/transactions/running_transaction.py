"""How does a sealed plan become true, phase by phase? (TXN-4, TXN-5, TXN-6)

Owns the one open transition: what it has claimed and holds, how far it is, and its absolute result.
Reads from top to bottom in `_journey`: victims are released, what is demoted is copied and
published, then the candidate's destinations are held and filled, then the sequence stands. It may
pause while copies are in flight; cancellation and failure end it at a stable boundary, and what has
been published by then stays. Does not know why this target was chosen.
"""

from __future__ import annotations

from collections.abc import Generator

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import CheckpointRef, HostSlotId, OwnerId, OwnerRef, TransactionId
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.placement import OpenTransition
from ninfer_lab.contract.replicas import ReplicaSet
from ninfer_lab.contract.result import (
    AbortCause,
    Aborted,
    Committed,
    OwnerChange,
    OwnerEnd,
    ResourceResult,
)
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.contract.transaction import TransactionPhase
from ninfer_lab.contract.transfer import Transfer
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.checkpoint_record import holdings_of
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.transactions import copies
from ninfer_lab.program.transactions.activation import activate
from ninfer_lab.program.transactions.capture import capture_on_host, spare_device_slots
from ninfer_lab.program.transactions.held_places import HeldPlaces
from ninfer_lab.program.transactions.proven_plan import ProvenPlan


class _Stopped(Exception):
    """The transition takes its other end, here and now."""

    def __init__(self, cause: AbortCause, detail: str) -> None:
        super().__init__(cause, detail)
        self.cause = cause
        self.detail = detail


class RunningTransaction:
    """One admission on its way; nothing has happened before the first `advance`."""

    def __init__(
        self, id: TransactionId, proven: ProvenPlan, ledger: Ledger, machine: MachineApi
    ) -> None:
        self.id = id
        self.phase = TransactionPhase.HOST_RELEASES
        self._proven = proven
        self._target = proven.plan.assessment.target
        self._post = proven.post
        self._lineage = proven.lineage
        self._ledger = ledger
        self._machine = machine
        self._held = HeldPlaces(ledger)
        self._evicted: list[OwnerEnd] = []
        self._degraded: list[OwnerChange] = []
        self._cancelled = False
        self._saved_at: HostSlotId | None = None
        self._result: ResourceResult | None = None
        self._steps = self._journey()

    # ── from outside ────────────────────────────────────────────────────────────────────────────

    def advance(self) -> ResourceResult | None:
        """Goes on as far as it can now; a result once it has ended."""
        try:
            next(self._steps)
        except StopIteration as end:
            self._result = end.value
        return self._result

    def cancel(self) -> None:
        """Ends it at the next stable boundary."""
        self._cancelled = True

    @property
    def claimed(self) -> frozenset[OwnerId]:
        """Inactive owners that nobody else may touch: the source's, and the victims."""
        owners = {outcome.owner.id for outcome in self._target.outcomes}
        if self._lineage.owner is not None:
            owners.add(self._lineage.owner.ref.id)
        return frozenset(owners)

    @property
    def picture(self) -> OpenTransition:
        """What a picture shows."""
        held, growth_pages = self._held, self._ledger.held_growth_pages
        return OpenTransition(
            transaction=self.id,
            phase=self.phase,
            claimed=tuple(sorted(self.claimed)),
            device_slots=held.device_slots,
            host_slots=held.host_slots,
            device_pages=held.device_pages.get(KvPool.MAIN, ()),
            device_backend_pages=held.device_pages.get(KvPool.BACKEND, ()),
            growth_pages=growth_pages[KvPool.MAIN],
            backend_growth_pages=growth_pages.get(KvPool.BACKEND, 0),
            host_bytes=held.host_bytes,
        )

    # ── the journey ─────────────────────────────────────────────────────────────────────────────

    def _journey(self) -> Generator[None, None, ResourceResult]:
        try:
            self._stable_boundary()
            self._release_victims()
            self._stable_boundary()
            self.phase = TransactionPhase.COPY_PREPARATION
            if self._post.pending:
                self._held.hold_host(self._post)
                self._stable_boundary()
                self.phase = TransactionPhase.COPIES_IN_FLIGHT
                yield from self._copied(copies.demotion(self._ledger, self._post, self._held))
                self._publish_demotions()
            self.phase = TransactionPhase.COPY_PUBLICATION
            self._stable_boundary()
            self._drop_tail_end()
            self._held.hold_device(self._post)
            yield from self._copied(
                copies.restoration(self._ledger, self._lineage.source, self._post, self._held)
            )
            self._stable_boundary()
            yield from self._save_image_at_start()
            return self._commit()
        except _Stopped as stopped:
            return self._abort(stopped)

    def _stable_boundary(self) -> None:
        """Where cancellation is taken."""
        if self._cancelled:
            raise _Stopped(AbortCause.CANCELLED, "taken back before its publication")

    def _copied(self, transfer: Transfer) -> Generator[None]:
        """Waits until all copies of a transfer have arrived."""
        if transfer.is_empty:
            return
        try:
            self._machine.start_transfer(transfer)
            while not self._machine.transfer_is_done():
                yield
        except (InvariantBroken, AssertionError):
            raise
        except Exception as error:  # the machine's own: its destinations hold nothing now
            detail = f"{transfer.direction.value}: {type(error).__name__}: {error}"
            raise _Stopped(AbortCause.COPY_FAILED, detail) from error

    def _save_image_at_start(self) -> Generator[None]:
        """A copy on the Host of the image that the sequence goes on in, where an anchor is wanted
        there, no Device slot is to spare for it and a Host slot is (ANC-3). It is optional: a copy
        that does not arrive is none.
        """
        ledger, source = self._ledger, self._lineage.source
        if self._proven.capture_at_start is None or source is None or not self._lacks_slot():
            return
        if not ledger.states.host_places.free_count:
            return
        self._saved_at = self._held.hold_saved_image()
        try:
            yield from self._copied(copies.saved_image(ledger, source, self._held, self._saved_at))
        except _Stopped:
            self._held.give_back_saved_image()
            self._saved_at = None
        self._stable_boundary()

    def _lacks_slot(self) -> bool:
        """Whether the sequence will start in place, with no Device slot beside it to spare."""
        ledger, post = self._ledger, self._post
        if post.state not in (StateTransition.MOVE, StateTransition.RESTORE):
            return False
        lineage = holdings_of(self._lineage.kept).images | ledger.lineage_images
        held_slots = (lineage & ledger.states.on_device).bit_count() + 1
        return spare_device_slots(ledger, held_slots, ledger.free_lanes - 1) < 1

    # ── what each phase does ────────────────────────────────────────────────────────────────────

    def _release_victims(self) -> None:
        """Evictions, deletions and redundant replicas: all that needs no copy."""
        for outcome in self._target.outcomes:
            if outcome.is_eviction:
                self._ledger.continuations.remove(outcome.owner)
                self._evicted.append(OwnerEnd(ref=outcome.owner, deleted=outcome.deleted))
            else:
                self._degrade(outcome.owner, outcome.deleted)
        self._ledger.drop(ReplicaSet(self._post.now & ~self._post.released))

    def _publish_demotions(self) -> None:
        """The Host replicas stand; what they replace goes."""
        copies.publish_demotion(self._ledger, self._post, self._held)
        self._held.host_is_filled()
        self._ledger.drop(ReplicaSet(self._post.released & ~self._post.demoted))

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
        )

    def _capture_saved(self, sequence: ActiveSequence) -> None:
        """The image saved to the Host becomes an anchor of the lineage, if its tails can part."""
        order, ledger = self._proven.capture_at_start, self._ledger
        if order is None or self._saved_at is None:
            return
        saved = ledger.states.create_on_host(self._saved_at)
        self._held.host_is_filled()
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
            raise _Stopped(AbortCause.COPY_FAILED, detail) from error

    def _abort(self, stopped: _Stopped) -> Aborted:
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

    def _degrade(self, owner: OwnerRef, deleted: frozenset[CheckpointRef]) -> None:
        before = self._ledger.continuations.require(owner)
        after = before.less(deleted)
        self._ledger.continuations.replace(owner, after)
        self._degraded.append(OwnerChange(before=owner, state=after.state, deleted=deleted))
