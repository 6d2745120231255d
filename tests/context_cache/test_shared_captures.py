"""Law: a chance becomes an owner only by Program's own end; a promised slot stands for it until
then, and whatever the end, promise and catalog agree.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ninfer_lab.context_cache.shared_capture_planner import CaptureDecision
from ninfer_lab.context_cache.shared_captures import Chance, SharedCaptures
from ninfer_lab.context_cache.shared_catalog import SharedCatalog
from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import CheckpointId, CheckpointRef, OwnerId, OwnerRef
from ninfer_lab.contract.result import AbortCause, OwnerEnd, OwnerState
from ninfer_lab.contract.shared_capture import SharedAborted, SharedPublished
from ninfer_lab.contract.shared_prefix import Evidence
from ninfer_lab.contract.shared_report import (
    CaptureForm,
    CaptureGain,
    CaptureScenario,
    SharedOutcome,
    SlotSource,
)
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.contract.transaction import TransactionPhase

FRONTIER = 100
HANDLE: Any = "the handle"
TARGET: Any = SimpleNamespace(candidate=0)


def state(owner: int, frontier_tokens: int = FRONTIER) -> OwnerState:
    """A shared owner as Program publishes it."""
    ref = CheckpointRef(id=CheckpointId(owner), owner=OwnerId(owner))
    kind = CheckpointKind.SHARED_STABLE_PREFIX
    digest = TokenSpan(range(200)).prefix_digest(frontier_tokens)
    summary = CheckpointSummary(
        ref=ref, kind=kind, frontier_tokens=frontier_tokens, prefix_digest=digest
    )
    return OwnerState(ref=OwnerRef(id=OwnerId(owner), generation=1), checkpoints=(summary,))


def decided(slot: SlotSource, *, net_ns: int | None = 5, entry: int | None = None) -> Any:
    """A decision of one scenario: taken where it gains, `None` where nothing fits."""
    gain = None
    if net_ns is not None:
        gain = CaptureGain(
            public_before_ns=10, public_after_ns=10 + net_ns, private_loss_ns=0, immediate_ns=0
        )
    scenario = CaptureScenario(
        slot=slot,
        entry=None if entry is None else OwnerId(entry),
        targets_count=1,
        form=None if gain is None else CaptureForm.FREEZE,
        gain=gain,
    )
    taken = gain is not None and gain.net_ns > 0
    session = SimpleNamespace(
        forms=(CaptureForm.FREEZE,), assess=lambda target: SimpleNamespace(work=None, stages=())
    )
    return session, CaptureDecision(TARGET if taken else None, 0 if taken else None, (scenario,))


class Desk:
    """Captures between a Program and a policy that answer what a test says.

    Attributes:
        plans: What is decided, one after the other.
        ends: What Program says, call by call.
        calls: What was asked of both, in order.
    """

    def __init__(self, *, slots: int = 1, exact: OwnerState | None = None) -> None:
        self.catalog = SharedCatalog(slots)
        self.plans: list[Any] = []
        self.ends: list[Any] = []
        self.calls: list[str] = []
        self.exact = exact
        program: Any = SimpleNamespace(
            release=self._release,
            seal_capture=lambda assessment, intent: self._called("seal", intent.destination.id),
            start_capture=lambda plan: self._called("start", "transaction"),
            advance_capture=lambda transaction: self.ends.pop(0),
            cancel=lambda transaction: self._called("cancel", None),
        )
        shared: Any = SimpleNamespace(
            catalog=self.catalog,
            epoch=3,
            evidence_at=lambda request, frontier: Evidence.ENGINE_STRUCTURAL,
            inherited_at=lambda request, frontier: frozenset(),
            exact_entry=lambda handle, frontier: self._exact(),
            plan=lambda *asked, **told: self.plans.pop(0),
        )
        kept: Any = SimpleNamespace(
            worth_of_all=dict, remove=self._remove, adopt_victims=lambda result: None
        )
        edges: Any = SimpleNamespace(protects=lambda owner: False)
        self.captures = SharedCaptures(program, shared, kept, edges, lambda: OwnerId(50))

    def offer(self) -> Any:
        request: Any = SimpleNamespace(
            request=7, publication_order=9, prompt=SimpleNamespace(tokens=TokenSpan(range(200)))
        )
        return self.captures.offer(
            Chance(
                request=request,
                handle=HANDLE,
                frontier_tokens=FRONTIER,
                blocked_count=0,
                must_be_immediate=False,
            )
        )

    def catalogued(self, owner: int, *, is_declared: bool = False) -> None:
        slot = self.catalog.promise()
        assert slot is not None
        self.catalog.adopt(
            slot, state(owner), publication_order=1, epoch=1, is_declared=is_declared
        )

    @property
    def owners(self) -> list[int]:
        return [entry.id for entry in self.catalog.entries()]

    def _called(self, name: str, answer: Any) -> Any:
        self.calls.append(name)
        return answer

    def _release(self, ref: OwnerRef) -> OwnerEnd:
        deleted = frozenset({CheckpointRef(id=CheckpointId(ref.id), owner=ref.id)})
        end: OwnerEnd = self._called("release", OwnerEnd(ref=ref, deleted=deleted))
        return end

    def _remove(self, end: OwnerEnd) -> None:
        self.catalog.remove(end)

    def _exact(self) -> Any:
        return None if self.exact is None else self.catalog.get(self.exact.ref.id)


def published(*evicted: int) -> SharedPublished:
    ends = [
        OwnerEnd(ref=state(each).ref, deleted=frozenset({state(each).checkpoints[0].ref}))
        for each in evicted
    ]
    return SharedPublished(
        handle=HANDLE,
        published=state(50),
        evicted=tuple(ends),
        degraded=(),
        form=CaptureForm.FREEZE,
        resource_revision=2,
    )


ABORTED = SharedAborted(
    handle=HANDLE,
    phase=TransactionPhase.COPIES_IN_FLIGHT,
    cause=AbortCause.COPY_FAILED,
    detail="a copy failed",
    evicted=(),
    degraded=(),
    resource_revision=1,
)


def test_an_exact_owner_is_enough_and_its_credit_is_met() -> None:  # spec: SHR-6, VAL-5
    desk = Desk(exact=state(4))
    desk.catalogued(4, is_declared=True)
    assert desk.offer().outcome is SharedOutcome.DEDUPLICATED
    (entry,) = desk.catalog.entries()
    assert not entry.has_credit
    assert desk.calls == []


@pytest.mark.parametrize(
    ("plan", "outcome"),
    [
        (None, SharedOutcome.NO_SLOT),
        (decided(SlotSource.VACANT, net_ns=0), SharedOutcome.NO_GAIN),
        (decided(SlotSource.VACANT, net_ns=None), SharedOutcome.NO_ROOM),
    ],
)
def test_what_is_left_has_its_reason_and_moves_nothing(  # spec: CPT-3, INV-15
    plan: Any, outcome: SharedOutcome
) -> None:
    desk = Desk()
    desk.plans = [plan]
    assert desk.offer().outcome is outcome
    assert (desk.calls, desk.catalog.vacant_count) == ([], 1)
    assert not desk.captures.is_open


def test_a_capture_that_ends_at_once_is_adopted_at_once() -> None:  # spec: CPT-2, SES-2
    desk = Desk()
    desk.plans, desk.ends = [decided(SlotSource.VACANT)], [published()]
    told = desk.offer()
    assert (told.outcome, told.published) == (SharedOutcome.PUBLISHED, state(50).checkpoints[0])
    assert (desk.calls, desk.owners) == (["seal", "start"], [50])
    (entry,) = desk.catalog.entries()
    assert (entry.publication_order, entry.used_epoch, entry.has_credit) == (9, 3, False)


def test_a_promise_stands_until_the_end() -> None:  # spec: SES-2, TXN-3
    desk = Desk()
    desk.plans, desk.ends = [decided(SlotSource.VACANT)], [None, None, published()]
    assert desk.offer().outcome is SharedOutcome.UNDER_WAY
    assert (desk.captures.is_open, desk.catalog.vacant_count, desk.owners) == (True, 0, [])
    assert desk.captures.poll() is None
    desk.captures.cancel()
    told = desk.captures.poll()
    assert told is not None
    assert told.outcome is SharedOutcome.PUBLISHED, "it was too late to take back"
    assert (desk.captures.is_open, desk.owners) == (False, [50])


def test_what_is_given_up_gives_its_promise_back() -> None:  # spec: SES-2, TXN-6
    desk = Desk()
    desk.plans, desk.ends = [decided(SlotSource.VACANT)], [None, ABORTED]
    desk.offer()
    told = desk.captures.poll()
    assert told is not None
    assert (told.outcome, told.detail) == (SharedOutcome.ABORTED, "a copy failed")
    assert (desk.catalog.vacant_count, desk.owners, desk.captures.is_open) == (1, [], False)


def test_a_recycled_entry_goes_once_it_is_chosen_and_all_is_planned_again() -> None:
    # spec: EVD-2
    desk = Desk()
    desk.catalogued(4)
    desk.plans = [decided(SlotSource.RECYCLED, entry=4), decided(SlotSource.VACANT)]
    desk.ends = [published()]
    told = desk.offer()
    assert desk.calls == ["release", "seal", "start"]
    assert (told.evicted, desk.owners, desk.plans) == ((4,), [50], [])
    left = Desk()
    left.catalogued(4)
    left.plans = [decided(SlotSource.RECYCLED, entry=4, net_ns=0)]
    assert left.offer().outcome is SharedOutcome.NO_GAIN
    assert (left.calls, left.owners) == ([], [4])


def test_an_entry_that_went_for_nothing_is_a_broken_law() -> None:  # spec: EVD-2
    desk = Desk()
    desk.catalogued(4)
    recycled = decided(SlotSource.RECYCLED, entry=4)
    desk.plans = [recycled, decided(SlotSource.VACANT, net_ns=0)]
    with pytest.raises(InvariantBroken, match="nothing is gained"):
        desk.offer()


def test_a_replaced_entry_leaves_its_slot_with_the_end() -> None:  # spec: CPT-2, SES-2
    desk = Desk()
    desk.catalogued(4)
    desk.plans, desk.ends = [decided(SlotSource.REPLACED, entry=4)], [None, published(4)]
    assert desk.offer().outcome is SharedOutcome.UNDER_WAY
    assert desk.owners == [4], "until Program has evicted it"
    desk.catalog.remove(published(4).evicted[0])
    told = desk.captures.poll()
    assert told is not None
    assert (told.evicted, desk.owners) == ((4,), [50])


def test_an_owner_without_a_slot_is_a_broken_law() -> None:  # spec: SES-2
    desk = Desk()
    desk.catalogued(4)
    desk.plans, desk.ends = [decided(SlotSource.REPLACED, entry=4)], [published()]
    with pytest.raises(InvariantBroken, match="no slot for a shared prefix"):
        desk.offer()
