"""Which of the places where an engine could go wrong has a story visited, and how often?

Counted from events, from what the watcher has heard, and from the phases that transactions passed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from ninfer_lab.contract.candidate import ReusePath, SourceDisposition
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.events import (
    CaptureTried,
    Event,
    ForwardRan,
    RequestAdmitted,
    RequestBlocked,
    RequestFinished,
    RequestSubmitted,
    SharedCaptureEnded,
    TransitionEnded,
    TransitionEnding,
    TransitionStarted,
)
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.machine_work import MachineWork, TransferDirection
from ninfer_lab.contract.output import FinishReason
from ninfer_lab.contract.shared_report import SharedCaptureTold, SharedOutcome
from ninfer_lab.contract.transaction import TransactionPhase
from ninfer_lab.program.transactions.running_transaction import RunningTransaction
from simulation.story import Story

Places = Counter[object]


@contextmanager
def phases_counted() -> Iterator[Places]:
    """Counts every phase that a transaction enters while the block is open."""
    seen: Places = Counter()

    def enter(transaction: RunningTransaction, phase: TransactionPhase) -> None:
        seen[phase] += 1
        transaction.__dict__["phase"] = phase

    def current(transaction: RunningTransaction) -> TransactionPhase:
        phase = transaction.__dict__["phase"]
        assert isinstance(phase, TransactionPhase)
        return phase

    type.__setattr__(RunningTransaction, "phase", property(current, enter))
    try:
        yield seen
    finally:
        type.__delattr__(RunningTransaction, "phase")


def visited(story: Story) -> Places:
    """How often each place was visited."""
    options = story.world.engine.options
    seen: Places = Counter()
    seen[f"{options.max_concurrency} lanes"] += 1
    seen["backend pool"] += len(options.capacity.pools) - 1
    seen["lease of another window"] += story.world.controller.leases_count
    seen["stage as proved"] += story.world.controller.proved_count
    longest = {told.request: told.output for told in story.told}
    waiting: set[RequestId] = set()
    starts: dict[RequestId, int] = {}
    is_open = False
    for event in story.world.engine.events:
        match event:
            case RequestSubmitted():
                waiting.add(event.request)
            case RequestAdmitted():
                seen["backfill"] += event.request != min(waiting)
                waiting.discard(event.request)
                starts[event.request] = event.reuse_tokens
                seen += _of_admission(event)
            case RequestFinished():
                waiting.discard(event.request)
                seen[event.finish_reason] += 1
                seen["lease end"] += (
                    event.finish_reason is FinishReason.LENGTH
                    and event.completion_tokens < longest[event.request]
                )
            case TransitionStarted():
                is_open = True
            case TransitionEnded():
                is_open = False
                seen += _of_ending(event)
            case ForwardRan():
                seen["forward beside a transition"] += is_open
                seen += _of_others(event)
            case CaptureTried():
                at_start = event.result.frontier_tokens == starts[event.request]
                seen["anchor at the start"] += at_start and _is_anchor(event)
                seen += _of_others(event)
            case _:
                seen += _of_others(event)
    return seen


def _of_admission(event: RequestAdmitted) -> Places:
    winner = event.report.winner
    assert winner is not None
    seen: Places = Counter([event.state, event.path, winner.disposition])
    seen["copied tail"] += event.cow_pages
    seen["maximal fallback"] += event.report.maximal_fallback
    seen["owner degraded"] += bool(winner.degraded)
    seen["owner evicted"] += bool(event.evicted)
    if event.path is ReusePath.PRIVATE_LONG_ANCHOR:
        stays = winner.disposition is SourceDisposition.RETAIN
        seen["anchor beside its conversation" if stays else "anchor in its place"] += 1
    return seen


def _of_ending(event: TransitionEnded) -> Places:
    seen: Places = Counter()
    directions = _crossing(event.work)
    match event.ending:
        case TransitionEnding.COMMITTED:
            seen["demotion"] += TransferDirection.D2H in directions
            seen["restoration"] += TransferDirection.H2D in directions
        case TransitionEnding.CANCELLED:
            seen[event.ending] += 1
        case TransitionEnding.COPY_FAILED:
            seen[f"{event.detail[:3]} failed"] += 1
            seen["demoted, then given up"] += event.phase is TransactionPhase.COPY_PUBLICATION and (
                TransferDirection.D2H in directions
            )
    return seen


def _is_anchor(event: CaptureTried) -> bool:
    taken = event.result.checkpoint
    return taken is not None and taken.kind is CheckpointKind.LONG_ANCHOR


def _crossing(work: MachineWork) -> set[TransferDirection]:
    return {batch.direction for batch in work.transfers}


def _of_others(event: Event) -> Places:
    seen: Places = Counter()
    match event:
        case RequestBlocked():
            seen["blocked head"] += 1
        case CaptureTried():
            seen[event.result.outcome] += 1
            seen["replaced capture"] += event.result.replaced is not None
            seen["replaced anchor"] += event.result.replaced is not None and _is_anchor(event)
            if event.result.shared is not None:
                seen += _of_shared(event.result.shared)
        case SharedCaptureEnded():
            seen += _of_shared(event.told)
        case ForwardRan():
            seen["batch"] += len(event.rows) > 1
            seen.update(row.state_access for row in event.rows)
        case _:
            pass
    return seen


def _of_shared(told: SharedCaptureTold) -> Places:
    seen: Places = Counter([told.outcome])
    if told.outcome is SharedOutcome.PUBLISHED and told.scenario is not None:
        seen[told.scenario.form] += 1
        seen[told.scenario.slot] += 1
        seen["shared under pressure"] += len(told.evicted) > (told.scenario.entry is not None)
    return seen
