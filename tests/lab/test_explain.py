"""Law: every kind of event is worded once: a headline that names who and what, and a sentence that
begins with it.
"""

from __future__ import annotations

import typing
from collections.abc import Sequence

import pytest

from ninfer_lab.contract.candidate import ReusePath, SourceDisposition
from ninfer_lab.contract.capacity import Capacity, Occupancy
from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.events import (
    CaptureTried,
    Event,
    ForwardRan,
    LedgerChanged,
    OwnerPublished,
    RequestAdmitted,
    RequestBlocked,
    RequestFinished,
    RequestSubmitted,
    RowRan,
    SharedCaptureEnded,
    TransitionEnded,
    TransitionEnding,
    TransitionStarted,
)
from ninfer_lab.contract.ids import (
    CheckpointId,
    CheckpointRef,
    LaneId,
    OwnerId,
    RequestId,
    TransactionId,
)
from ninfer_lab.contract.machine_work import (
    MachineWork,
    TransferBatch,
    TransferDirection,
    TransferPhase,
)
from ninfer_lab.contract.options import CacheMode
from ninfer_lab.contract.output import FinishReason
from ninfer_lab.contract.page_runs import TransitionRuns
from ninfer_lab.contract.placement_change import PlacementChange
from ninfer_lab.contract.prompt import RewriteBoundary, RewriteKind
from ninfer_lab.contract.result import CaptureOutcome, CaptureResult
from ninfer_lab.contract.search_report import SearchReport, TargetVerdict
from ninfer_lab.contract.shared_prefix import Evidence
from ninfer_lab.contract.shared_report import (
    CaptureForm,
    CaptureGain,
    CaptureScenario,
    SharedCaptureTold,
    SharedOutcome,
    SlotSource,
)
from ninfer_lab.contract.target import StageName, StateTransition
from ninfer_lab.contract.transaction import TransactionPhase
from ninfer_lab.contract.work import ForwardPhase, StateAccess
from ninfer_lab.lab import explain

ONE, TWO = RequestId(1), RequestId(2)
OCCUPANCY = Occupancy.of(
    Capacity(device_state_slots=2, device_kv_pages=40),
    ((1, 0), (0, 0), (20, 3), (0, 0), (0, 0)),
)
NOTHING_SEEN = SearchReport(verdicts=(), chosen=None)
COPIES = MachineWork(
    transfers=(
        TransferBatch(
            phase=TransferPhase.PRESSURE_TO_HOST,
            direction=TransferDirection.D2H,
            payload_bytes=10_240,
            operation_count=2,
        ),
        TransferBatch(
            phase=TransferPhase.CANDIDATE,
            direction=TransferDirection.H2D,
            payload_bytes=4_096,
            operation_count=1,
        ),
    )
)


def checkpoint(id: int, kind: CheckpointKind, frontier_tokens: int) -> CheckpointSummary:
    ref = CheckpointRef(id=CheckpointId(id), owner=OwnerId(3))
    return CheckpointSummary(ref=ref, kind=kind, frontier_tokens=frontier_tokens, prefix_digest=b"")


ENDPOINT = checkpoint(7, CheckpointKind.SESSION_ENDPOINT, 1_200)
CLOSURE = checkpoint(6, CheckpointKind.TURN_CLOSURE, 1_000)
WINNER = TargetVerdict(
    path=ReusePath.PRIVATE_ENDPOINT,
    owner=OwnerId(3),
    disposition=SourceDisposition.CONSUME,
    reuse_tokens=1_200,
    prefill_tokens=20,
    evicted=(OwnerId(4), OwnerId(5)),
    degraded=(OwnerId(6),),
    deleted=(),
    state=StateTransition.MOVE,
    cow_pages=1,
    stages=(),
    work=MachineWork(),
    has_publication_slot=True,
    violations=(),
)
GAIN = CaptureGain(public_before_ns=10, public_after_ns=1_050, private_loss_ns=30, immediate_ns=10)
SHARED = SharedCaptureTold(
    frontier_tokens=2_048,
    evidence=Evidence.EXPLICIT_BOUNDARY,
    outcome=SharedOutcome.ABORTED,
    scenarios=(
        CaptureScenario(slot=SlotSource.VACANT, entry=None, targets_count=2, form=None, gain=None),
        CaptureScenario(
            slot=SlotSource.REPLACED,
            entry=OwnerId(9),
            targets_count=1,
            form=CaptureForm.FREEZE,
            gain=GAIN,
        ),
    ),
    evicted=(OwnerId(8),),
    detail="a copy failed",
)
TERMS = "replaced owner 9, freeze: net 1,000 ns = public 1,050 - 10 - private 30 - immediate 10"


def submitted(*boundaries: RewriteBoundary) -> Event:
    return RequestSubmitted(0, ONE, 1_234, 8, CacheMode.READ_WRITE, None, boundaries)


def ended(ending: TransitionEnding, **told: typing.Any) -> Event:
    event = TransitionEnded(
        at_ns=3_500_000,
        request=ONE,
        started_ns=1_000_000,
        ending=ending,
        phase=TransactionPhase.COMMITTED,
        detail="",
        evicted=(),
        deleted=(),
        work=COPIES,
        report=None,
    )
    return event._replace(**told)


def ran(phase: ForwardPhase, *rows: RowRan) -> Event:
    return ForwardRan(0, phase, rows, 1, 0, OCCUPANCY)


def finished(reason: FinishReason, error: str | None = None) -> Event:
    return RequestFinished(
        at_ns=0,
        request=ONE,
        finish_reason=reason,
        prompt_tokens=2_000,
        completion_tokens=5,
        prefix_cache_hit_tokens=1_200,
        computed_prefill_tokens=800,
        prefix_reuse_path=ReusePath.PRIVATE_ENDPOINT,
        queue_wait_ns=0,
        ttft_ns=0,
        total_ns=0,
        reconstruction_boundary_tokens=None,
        occupancy=OCCUPANCY,
        error=error,
    )


def captured(outcome: CaptureOutcome, **told: typing.Any) -> Event:
    return CaptureTried(0, ONE, CaptureResult(outcome, 1_200)._replace(**told))


def admitted(path: ReusePath, winner: TargetVerdict | None = None) -> Event:
    gone = () if winner is None else winner.evicted
    report = NOTHING_SEEN if winner is None else SearchReport(verdicts=(winner,), chosen=0)
    state = StateTransition.ROOT if path.is_root else StateTransition.MOVE
    reuse_tokens, cow_pages = (0, 0) if path.is_root else (1_200, 1)
    return RequestAdmitted(0, ONE, LaneId(0), path, state, reuse_tokens, cow_pages, gone, report)


def changed(*, is_keyframe: bool, stage: StageName | None = None) -> Event:
    open_one = TransitionRuns(
        transaction=TransactionId(4),
        phase=TransactionPhase.COPIES_IN_FLIGHT,
        stage=stage or StageName.NOW,
        claimed=(),
        device_slots=(),
        host_slots=(),
        device_pages=(),
        device_backend_pages=(),
        growth_pages=0,
        backend_growth_pages=0,
        host_granules=(),
    )
    change = PlacementChange(
        resource_revision=12,
        occupancy=OCCUPANCY,
        transition=None if stage is None else open_one,
        checkpoints=(),
        owners=(),
        gone_owners=(),
        sequences=(),
        gone_sequences=(),
        images=(),
        gone_images=(),
        pages=(),
        row_tables=(),
    )
    return LedgerChanged(at_ns=0, is_keyframe=is_keyframe, change=change)


def row(request: RequestId, start: int, end: int, access: StateAccess, drawn: int | None) -> RowRan:
    return RowRan(request, LaneId(0), start, end, access, drawn)


TOLD: Sequence[tuple[Event, str, str]] = (
    (submitted(), "request 1 joins the queue: 1,234 prompt tokens", ", at most 8 to generate"),
    (
        submitted(RewriteBoundary(kind=RewriteKind.TURN_CLOSURE, frontier_tokens=1_000)),
        "request 1 joins the queue: 1,234 prompt tokens",
        ", at most 8 to generate; the next request may rewrite what follows turn_closure at 1,000",
    ),
    (
        RequestBlocked(0, ONE, 7, "no target fits", NOTHING_SEEN),
        "request 1 stays at the head of the queue: no target fits",
        " (looked at again after revision 7)",
    ),
    (
        TransitionStarted(
            at_ns=0,
            request=ONE,
            path=ReusePath.PRIVATE_ENDPOINT,
            reuse_tokens=1_200,
            work=COPIES,
        ),
        "request 1 waits for copies, to start from private_endpoint, 1,200 tokens in",
        ": 10,240 bytes d2h in 2 copies, then 4,096 bytes h2d in 1 copy",
    ),
    (
        ended(TransitionEnding.COMMITTED),
        "the copies for request 1 have ended",
        " after 2.500 ms",
    ),
    (
        ended(
            TransitionEnding.COPY_FAILED,
            phase=TransactionPhase.COPIES_IN_FLIGHT,
            detail="d2h: no",
            evicted=(OwnerId(4),),
            deleted=(CheckpointId(5), CheckpointId(6)),
        ),
        "the transition for request 1 ends without it: a copy failed",
        " (d2h: no) after 2.500 ms, in phase “copies in flight”; owner 4 will not come back;"
        " checkpoints 5, 6 will not come back",
    ),
    (admitted(ReusePath.ROOT), "request 1 becomes active in lane 0 from the root", ""),
    (
        admitted(ReusePath.PRIVATE_ENDPOINT, WINNER),
        "request 1 becomes active in lane 0 from private_endpoint, 1,200 tokens in, by move,"
        " releasing owners 4, 5",
        ", degrading owner 6, copying 1 partial page",
    ),
    (
        ran(ForwardPhase.PREFILL, row(ONE, 1_200, 1_201, StateAccess.FORK, 5)),
        "prefill forward of 1 token for request 1",
        f": consumes [1,200, 1,201) forked into a slot of its own, draws token 5. Now {OCCUPANCY}",
    ),
    (
        ran(
            ForwardPhase.DECODE,
            row(ONE, 7, 8, StateAccess.IN_PLACE, 5),
            row(TWO, 0, 2, StateAccess.ROOT, None),
        ),
        "decode forward of 3 tokens for requests 1, 2",
        ": request 1 consumes [7, 8) in place, draws token 5;"
        f" request 2 consumes [0, 2) from the zero state. Now {OCCUPANCY}",
    ),
    (
        captured(CaptureOutcome.CAPTURED, checkpoint=ENDPOINT, replaced=CLOSURE.ref),
        "request 1 captures session_endpoint@1200 in place of checkpoint 6",
        "",
    ),
    (
        captured(CaptureOutcome.NO_STATE_SLOT),
        "request 1 wanted a checkpoint at 1,200 and skipped it: no Device state slot to spare",
        "",
    ),
    (
        captured(CaptureOutcome.NOT_WANTED),
        "request 1 wanted a checkpoint at 1,200 and skipped it:"
        " nothing is captured at this frontier",
        "",
    ),
    (
        captured(CaptureOutcome.NOT_WANTED, shared=SHARED),
        "request 1 wanted a shared prefix at 2,048: given up",
        f", releasing owner 8 (a copy failed) ({TERMS})",
    ),
    (
        captured(CaptureOutcome.CAPTURED, checkpoint=ENDPOINT, shared=SHARED),
        "request 1 captures session_endpoint@1200; wanted a shared prefix at 2,048: given up",
        f", releasing owner 8 (a copy failed) ({TERMS})",
    ),
    (
        SharedCaptureEnded(2_000_000, ONE, 500_000, SHARED),
        "request 1 wanted a shared prefix at 2,048: given up",
        f" after 1.500 ms, releasing owner 8 (a copy failed) ({TERMS})",
    ),
    (
        OwnerPublished(0, ONE, OwnerId(3), (CLOSURE, ENDPOINT)),
        "request 1 leaves owner 3 behind with 2 checkpoints",
        ": turn_closure@1000, session_endpoint@1200",
    ),
    (
        OwnerPublished(0, None, OwnerId(3), (ENDPOINT,)),
        "a saved session is restored as owner 3 with 1 checkpoint",
        ": session_endpoint@1200",
    ),
    (
        finished(FinishReason.LENGTH),
        "request 1 ends (length): 1,200 of 2,000 prompt tokens reused",
        ", 800 computed, 5 generated",
    ),
    (
        finished(FinishReason.FAILED, error="forward 3 was seeded to fail"),
        "request 1 ends (failed): 1,200 of 2,000 prompt tokens reused",
        ", 800 computed, 5 generated (forward 3 was seeded to fail)",
    ),
    (changed(is_keyframe=False), "the ledger changes", ", at revision 12"),
    (changed(is_keyframe=True), "the ledger changes (told from nothing)", ", at revision 12"),
    (
        changed(is_keyframe=False, stage=StageName.DEMOTED),
        "transaction 4 has reached “victims demoted”",
        ", at revision 12",
    ),
)


@pytest.mark.parametrize(("event", "headline", "rest"), TOLD)
def test_a_sentence_is_its_headline_and_the_rest(event: Event, headline: str, rest: str) -> None:
    # spec: W-4
    assert explain.headline(event) == headline
    assert explain.sentence(event) == headline + rest


def test_every_kind_of_event_is_called_something_and_is_told_above() -> None:  # spec: W-4, RCD-1
    kinds = set(typing.get_args(Event))
    assert {type(event) for event, _, _ in TOLD} == kinds
    assert set(explain.KINDS) == kinds
    assert len(set(explain.KINDS.values())) == len(kinds), "two kinds share no name"


def test_a_journey_is_its_sentences_numbered_and_escaped() -> None:  # spec: W-6
    told = explain.journey([finished(FinishReason.FAILED, error="a < b"), submitted()])
    first, second = str(told).splitlines()
    assert first.startswith("  1. request 1 ends (failed)")
    assert second.startswith("  2. request 1 joins the queue")
    assert "(a &lt; b)" in told._repr_html_()
    assert str(explain.journey(())) == ""
