"""What was copied, for whom, and how long was it under way?

Owns the frames of copies and of transitions between Device and Host. One row per batch or
transition, the unit last in every column's name. Reads events only.
Source: spec RCD-1, COST-2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import polars as pl

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.events import (
    CaptureTried,
    Event,
    RequestAdmitted,
    SharedCaptureEnded,
    TransitionEnded,
)
from ninfer_lab.contract.machine_work import (
    MachineWork,
    TransferBatch,
    TransferDirection,
    TransferPhase,
)
from ninfer_lab.contract.options import PAGE_TOKENS, KvPageBytes, ResolvedOptions
from ninfer_lab.contract.shared_report import SharedCaptureTold

_TRANSFERS = {
    "request": pl.Int64,
    "at_ms": pl.Float64,
    "direction": pl.String,
    "why": pl.String,
    "pages": pl.Int64,
    "operations": pl.Int64,
    "payload_bytes": pl.Int64,
}

_WHY = {
    (TransferPhase.PRESSURE_TO_HOST, TransferDirection.D2H): "what victims keep is saved to Host",
    (TransferPhase.CANDIDATE, TransferDirection.H2D): "the source is restored",
    (TransferPhase.CANDIDATE, TransferDirection.D2D): "tail for a new writer at activation",
}

_WHY_SHARED = {
    **_WHY,
    (TransferPhase.CANDIDATE, TransferDirection.D2H): "a shared prefix is kept on the Host",
    (TransferPhase.CANDIDATE, TransferDirection.D2D): (
        "tail for the writer that goes on after a capture"
    ),
}


def transfers(
    events: Iterable[Event], options: ResolvedOptions, page_bytes: KvPageBytes | None
) -> pl.DataFrame:
    """One row per batch of copies: between the tiers, and the partial tails that a new writer gets
    for itself (KV-4). Of a transition that was aborted it says what was asked for.

    Args:
        events: Of one run.
        options: The engine's: which pools there are.
        page_bytes: Without it the bytes of a capture's tails are unknown.
    """
    rows: list[dict[str, object]] = []
    for event in events:
        match event:
            case RequestAdmitted() if event.report.winner is not None:
                work = event.report.winner.work
                rows += [_batch_row(event, batch) for batch in work.transfers]
            case TransitionEnded() if event.report is not None:
                crossing = (batch for batch in event.work.transfers if batch.crosses_tiers)
                rows += [_batch_row(event, batch) for batch in crossing]
            case CaptureTried():
                if event.result.checkpoint is not None:
                    tails = _partial_tails(event.result.frontier_tokens, options)
                    if tails:
                        rows.append(_tails_row(event, tails, page_bytes))
                if event.result.shared is not None and event.result.shared.is_final:
                    rows += _shared_rows(event, event.result.shared)
            case SharedCaptureEnded():
                rows += _shared_rows(event, event.told)
            case _:
                continue
    return pl.DataFrame(rows, schema=_TRANSFERS)


_TRANSITIONS = {
    "request": pl.Int64,
    "started_ms": pl.Float64,
    "ended_ms": pl.Float64,
    "ending": pl.String,
    "phase": pl.String,
    "d2h_bytes": pl.Int64,
    "h2d_bytes": pl.Int64,
    "operations": pl.Int64,
    "evicted_owners": pl.Int64,
    "deleted_checkpoints": pl.Int64,
    "detail": pl.String,
}


def transitions(events: Iterable[Event]) -> pl.DataFrame:
    """One row per transition with copies between the tiers, with what it was to copy and how it
    ended; evictions and deletions are those that an abort left behind.
    """
    rows = [
        {
            "request": event.request,
            "started_ms": event.started_ns / 1e6,
            "ended_ms": event.at_ns / 1e6,
            "ending": event.ending.value,
            "phase": event.phase.value,
            "d2h_bytes": _bytes(event.work, TransferDirection.D2H),
            "h2d_bytes": _bytes(event.work, TransferDirection.H2D),
            "operations": sum(b.operation_count for b in event.work.transfers if b.crosses_tiers),
            "evicted_owners": len(event.evicted),
            "deleted_checkpoints": len(event.deleted),
            "detail": event.detail,
        }
        for event in events
        if isinstance(event, TransitionEnded)
    ]
    return pl.DataFrame(rows, schema=_TRANSITIONS)


def _shared_rows(
    event: CaptureTried | SharedCaptureEnded, told: SharedCaptureTold
) -> list[dict[str, object]]:
    """The copies of a capture that was carried out, or asked for and given up."""
    batches = () if told.work is None else told.work.transfers
    return [_batch_row(event, batch, _WHY_SHARED) for batch in batches]


def _batch_row(
    event: RequestAdmitted | TransitionEnded | CaptureTried | SharedCaptureEnded,
    batch: TransferBatch,
    why: Mapping[tuple[TransferPhase, TransferDirection], str] = MappingProxyType(_WHY),
) -> dict[str, object]:
    return {
        "request": event.request,
        "at_ms": event.at_ns / 1e6,
        "direction": batch.direction.value,
        "why": why[batch.phase, batch.direction],
        # Within the Device only tails are copied, each by itself; between the tiers images go, too.
        "pages": None if batch.crosses_tiers else batch.operation_count,
        "operations": batch.operation_count,
        "payload_bytes": batch.payload_bytes,
    }


def _tails_row(
    event: CaptureTried, pools: tuple[KvPool, ...], page_bytes: KvPageBytes | None
) -> dict[str, object]:
    return {
        "request": event.request,
        "at_ms": event.at_ns / 1e6,
        "direction": TransferDirection.D2D.value,
        "why": "tail for the writer that goes on after a capture",
        "pages": len(pools),
        "operations": len(pools),
        "payload_bytes": (
            None
            if page_bytes is None
            else sum(
                page_bytes.main if pool is KvPool.MAIN else page_bytes.backend or 0
                for pool in pools
            )
        ),
    }


def _partial_tails(frontier_tokens: int, options: ResolvedOptions) -> tuple[KvPool, ...]:
    """The pools in which a frontier is not aligned."""
    return tuple(
        pool
        for pool in options.capacity.pools
        if options.coverage_tokens(pool, frontier_tokens) % PAGE_TOKENS
    )


def _bytes(work: MachineWork, direction: TransferDirection) -> int:
    return sum(b.payload_bytes for b in work.transfers if b.direction is direction)
