"""How does a transition go on, phase by phase, whatever it is for? (TXN-4, TXN-6)

Owns the half that every transition shares: what it has claimed and holds, how far it is, and
pressure: victims are released, what is demoted is copied and published. It may pause while copies
are in flight; cancellation and failure end it at a stable boundary, and what has been published by
then stays. Does not know what the room is made for, nor why this target was chosen.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from typing import Generic, TypeVar

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import CheckpointRef, OwnerId, OwnerRef, TransactionId
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.placement import OpenTransition
from ninfer_lab.contract.replicas import ReplicaSet
from ninfer_lab.contract.result import AbortCause, OwnerChange, OwnerEnd
from ninfer_lab.contract.stage_watch import StageWatch
from ninfer_lab.contract.target import OwnerOutcome, StageName
from ninfer_lab.contract.transaction import TransactionPhase
from ninfer_lab.contract.transfer import Transfer
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.storage.post_state import PostState
from ninfer_lab.program.transactions import copies
from ninfer_lab.program.transactions.held_places import HeldPlaces

Result = TypeVar("Result")


class Stopped(Exception):
    """The transition takes its other end, here and now."""

    def __init__(self, cause: AbortCause, detail: str) -> None:
        super().__init__(cause, detail)
        self.cause = cause
        self.detail = detail


class RunningTransition(ABC, Generic[Result]):
    """One transition on its way; nothing has happened before the first `advance`.

    Args:
        outcomes: Of the victims.
        post: The end state and the way there.
        watch: Called wherever another stage of the plan has been reached.
    """

    def __init__(
        self,
        id: TransactionId,
        outcomes: Sequence[OwnerOutcome],
        post: PostState,
        ledger: Ledger,
        machine: MachineApi,
        watch: StageWatch,
    ) -> None:
        self.id = id
        self.phase = TransactionPhase.HOST_RELEASES
        self.stage = StageName.NOW
        self._outcomes = outcomes
        self._post = post
        self._ledger = ledger
        self._machine = machine
        self._watch = watch
        self._held = HeldPlaces(ledger)
        self._evicted: list[OwnerEnd] = []
        self._degraded: list[OwnerChange] = []
        self._cancelled = False
        self._result: Result | None = None
        self._steps = self._journey()

    # ── from outside ────────────────────────────────────────────────────────────────────────────

    def advance(self) -> Result | None:
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
        """Inactive owners that nobody else may touch."""
        return frozenset(outcome.owner.id for outcome in self._outcomes)

    @property
    def picture(self) -> OpenTransition:
        """What a picture shows."""
        held, growth_pages = self._held, self._ledger.held_growth_pages
        return OpenTransition(
            transaction=self.id,
            phase=self.phase,
            stage=self.stage,
            claimed=tuple(sorted(self.claimed)),
            device_slots=held.device_slots,
            host_slots=(*held.host_slots, *held.snapshot_slots),
            device_pages=held.device_pages.get(KvPool.MAIN, ()),
            device_backend_pages=held.device_pages.get(KvPool.BACKEND, ()),
            growth_pages=growth_pages[KvPool.MAIN],
            backend_growth_pages=growth_pages.get(KvPool.BACKEND, 0),
            host_granules=held.host_granules,
        )

    # ── the journey ─────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def _journey(self) -> Generator[None, None, Result]: ...

    def _pressure(self) -> Generator[None]:
        """Everything up to where room has been made; then phase COPY_PUBLICATION."""
        self._stable_boundary()
        self._release_victims()
        self._reached(StageName.RELEASED)
        self._stable_boundary()
        self.phase = TransactionPhase.COPY_PREPARATION
        if self._post.pending:
            self._held.hold_host(self._post)
            self._reached(StageName.DEMOTION_RESERVED)
            self._stable_boundary()
            self.phase = TransactionPhase.COPIES_IN_FLIGHT
            yield from self._copied(copies.demotion(self._ledger, self._post, self._held))
            self._publish_demotions()
            self._reached(StageName.DEMOTED)
        self.phase = TransactionPhase.COPY_PUBLICATION
        self._stable_boundary()

    def _hold_destinations(self, snapshot_slots: int) -> None:
        """All that is yet to be written is held from here on, whatever fills it."""
        self._held.hold_device(self._post)
        self._held.hold_snapshot(snapshot_slots)
        self._reached(StageName.DESTINATIONS_RESERVED)

    def _reached(self, stage: StageName) -> None:
        """What the ledger shows now is this stage, whole (STG-1)."""
        self.stage = stage
        self._watch(stage)

    def _stable_boundary(self) -> None:
        """Where cancellation is taken."""
        if self._cancelled:
            raise Stopped(AbortCause.CANCELLED, "taken back before its publication")

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
            raise Stopped(AbortCause.COPY_FAILED, detail) from error

    # ── what each phase does ────────────────────────────────────────────────────────────────────

    def _release_victims(self) -> None:
        """Evictions, deletions and redundant replicas: all that needs no copy."""
        for outcome in self._outcomes:
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

    def _degrade(self, owner: OwnerRef, deleted: frozenset[CheckpointRef]) -> None:
        before = self._ledger.continuations.require(owner)
        after = before.less(deleted)
        self._ledger.continuations.replace(owner, after)
        self._degraded.append(OwnerChange(before=owner, state=after.state, deleted=deleted))
