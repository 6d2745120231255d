"""What does a recording say as tables, beside those of `lab.tables`?

Owns the frames that need a whole run: candidates, plans, transfers, placements, checkpoints, misses
and demand. One row per thing, the unit last in every column's name. Reads events only.
Source: spec RCD-1.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from ninfer_lab.contract.events import (
    CaptureTried,
    Event,
    LedgerChanged,
    RequestAdmitted,
    RequestBlocked,
)
from ninfer_lab.contract.options import PAGE_TOKENS
from ninfer_lab.contract.placement import LedgerSnapshot
from ninfer_lab.lab.recording.fates import fates_of
from ninfer_lab.lab.recording.misses import Miss
from ninfer_lab.lab.recording.rebuilt import walk

_CANDIDATES = {
    "request": pl.Int64,
    "path": pl.String,
    "owner": pl.Int64,
    "disposition": pl.String,
    "reuse_tokens": pl.Int64,
    "prefill_tokens": pl.Int64,
    "targets": pl.Int64,
    "chosen": pl.Boolean,
}


def candidates(events: Iterable[Event]) -> pl.DataFrame:
    """One row per source that a request could have started from, with how many recorded targets had
    it.
    """
    rows: list[dict[str, object]] = []
    for event in events:
        if not isinstance(event, RequestAdmitted | RequestBlocked):
            continue
        of_event: dict[tuple[object, ...], dict[str, object]] = {}
        for ordinal, verdict in enumerate(event.report.verdicts):
            key = (verdict.path, verdict.owner, verdict.reuse_tokens, verdict.disposition)
            row = of_event.setdefault(
                key,
                {
                    "request": event.request,
                    "path": verdict.path.value,
                    "owner": verdict.owner,
                    "disposition": (
                        None if verdict.disposition is None else verdict.disposition.value
                    ),
                    "reuse_tokens": verdict.reuse_tokens,
                    "prefill_tokens": verdict.prefill_tokens,
                    "targets": 0,
                    "chosen": False,
                },
            )
            targets_count = row["targets"]
            assert isinstance(targets_count, int)
            row["targets"] = targets_count + 1
            row["chosen"] = row["chosen"] or ordinal == event.report.chosen
        rows.extend(of_event.values())
    return pl.DataFrame(rows, schema=_CANDIDATES)


_PLANS = {
    "request": pl.Int64,
    "at_ms": pl.Float64,
    "admitted": pl.Boolean,
    "lane": pl.Int64,
    "path": pl.String,
    "state": pl.String,
    "reuse_tokens": pl.Int64,
    "cow_pages": pl.Int64,
    "evicted_owners": pl.Int64,
    "seen_targets": pl.Int64,
    "feasible_targets": pl.Int64,
    "adoptable_targets": pl.Int64,
    "best_identity_tokens": pl.Int64,
    "best_offered_tokens": pl.Int64,
    "stop_reason": pl.String,
}


def plans(events: Iterable[Event]) -> pl.DataFrame:
    """One row per search: what was carried out, or that the request stayed blocked."""
    rows: list[dict[str, object]] = []
    for event in events:
        if not isinstance(event, RequestAdmitted | RequestBlocked):
            continue
        report = event.report
        counts, best = report.counts, report.best_identity
        row: dict[str, object] = {
            "request": event.request,
            "at_ms": event.at_ns / 1e6,
            "admitted": isinstance(event, RequestAdmitted),
            "seen_targets": counts.seen,
            "feasible_targets": counts.feasible,
            "adoptable_targets": counts.adoptable,
            "best_identity_tokens": None if best is None else report.verdicts[best].reuse_tokens,
            "best_offered_tokens": report.best_offered_tokens,
            "stop_reason": report.stop_reason.value,
        }
        if isinstance(event, RequestAdmitted):
            row |= {
                "lane": event.lane,
                "path": event.path.value,
                "state": event.state.value,
                "reuse_tokens": event.reuse_tokens,
                "cow_pages": event.cow_pages,
                "evicted_owners": len(event.evicted),
            }
        rows.append(row)
    return pl.DataFrame(rows, schema=_PLANS)


_TRANSFERS = {
    "request": pl.Int64,
    "at_ms": pl.Float64,
    "direction": pl.String,
    "why": pl.String,
    "pages": pl.Int64,
    "payload_bytes": pl.Int64,
}


def transfers(events: Iterable[Event], kv_page_bytes: int | None) -> pl.DataFrame:
    """One row per batch of copies: the partial tails that a new writer gets for itself (KV-4).

    Args:
        events: Of one run.
        kv_page_bytes: Of one page; without it the bytes are unknown.
    """
    rows = []
    for event in events:
        match event:
            case RequestAdmitted(cow_pages=pages) if pages:
                why = "tail for a new writer at activation"
            case CaptureTried(result=result) if (
                result.checkpoint is not None and result.frontier_tokens % PAGE_TOKENS
            ):
                pages, why = 1, "tail for the writer that goes on after a capture"
            case _:
                continue
        rows.append(
            {
                "request": event.request,
                "at_ms": event.at_ns / 1e6,
                "direction": "d2d",
                "why": why,
                "pages": pages,
                "payload_bytes": None if kv_page_bytes is None else pages * kv_page_bytes,
            }
        )
    return pl.DataFrame(rows, schema=_TRANSFERS)


_PLACEMENTS = {
    "event": pl.Int64,
    "at_ms": pl.Float64,
    "resource_revision": pl.Int64,
    "holder": pl.String,
    "id": pl.Int64,
    "lane": pl.Int64,
    "frontier_tokens": pl.Int64,
    "checkpoints": pl.Int64,
    "state_slots": pl.String,
    "kv_pages": pl.Int64,
    "reserved_pages": pl.Int64,
}


def placements(events: Iterable[Event]) -> pl.DataFrame:
    """One row per holder after every change of the ledger; empty where none was recorded."""
    told = tuple(events)
    rows: list[dict[str, object]] = []
    for ordinal, ledger in walk(told):
        event = told[ordinal]
        assert isinstance(event, LedgerChanged)
        moment = {
            "event": ordinal,
            "at_ms": event.at_ns / 1e6,
            "resource_revision": ledger.resource_revision,
        }
        rows.extend({**moment, **holder} for holder in _holders(ledger))
    return pl.DataFrame(rows, schema=_PLACEMENTS)


def _holders(ledger: LedgerSnapshot) -> list[dict[str, object]]:
    holders: list[dict[str, object]] = [
        {
            "holder": "owner",
            "id": owner.owner,
            "lane": None,
            "frontier_tokens": owner.history_tokens,
            "checkpoints": len(owner.checkpoints),
            "state_slots": " ".join(str(placed.state_slot) for placed in owner.checkpoints),
            "kv_pages": len({page for placed in owner.checkpoints for page in placed.pages}),
            "reserved_pages": 0,
        }
        for owner in ledger.owners
    ]
    for sequence in ledger.sequences:
        slots = [sequence.state_read_slot, sequence.state_write_slot]
        slots += [placed.state_slot for placed in sequence.checkpoints]
        pages = {page for placed in sequence.checkpoints for page in placed.pages}
        unique_slots = dict.fromkeys(slot for slot in slots if slot is not None)
        holders.append(
            {
                "holder": "sequence",
                "id": sequence.sequence,
                "lane": sequence.lane,
                "frontier_tokens": sequence.frontier_tokens,
                "checkpoints": len(sequence.checkpoints),
                "state_slots": " ".join(map(str, unique_slots)),
                "kv_pages": len(pages | set(sequence.pages)),
                "reserved_pages": sequence.reserved_pages,
            }
        )
    return holders


_CHECKPOINTS = {
    "checkpoint": pl.Int64,
    "kind": pl.String,
    "frontier_tokens": pl.Int64,
    "request": pl.Int64,
    "owner": pl.Int64,
    "born_ms": pl.Float64,
    "fate": pl.String,
    "gone_ms": pl.Float64,
}


def checkpoints(events: Iterable[Event]) -> pl.DataFrame:
    """One row per checkpoint that ever stood, with what had become of it at the end."""
    rows = [
        {
            "checkpoint": life.summary.ref.id,
            "kind": life.summary.kind.value,
            "frontier_tokens": life.summary.frontier_tokens,
            "request": life.request,
            "owner": life.owner,
            "born_ms": life.born_ns / 1e6,
            "fate": life.fate.value,
            "gone_ms": None if life.gone_ns is None else life.gone_ns / 1e6,
        }
        for life in fates_of(events).lives()
    ]
    return pl.DataFrame(rows, schema=_CHECKPOINTS)


_MISSES = {
    "request": pl.Int64,
    "cause": pl.String,
    "start_tokens": pl.Int64,
    "end_tokens": pl.Int64,
    "tokens": pl.Int64,
    "shared_tokens": pl.Int64,
}


def miss_rows(misses: Iterable[Miss]) -> pl.DataFrame:
    """One row per run of computed prompt tokens with one cause."""
    rows = [
        {
            "request": miss.request,
            "cause": miss.cause.value,
            "start_tokens": miss.start_tokens,
            "end_tokens": miss.end_tokens,
            "tokens": miss.end_tokens - miss.start_tokens,
            "shared_tokens": miss.shared_tokens,
        }
        for miss in misses
    ]
    return pl.DataFrame(rows, schema=_MISSES)


def demand() -> pl.DataFrame:
    """No design keeps a demand window yet, so there is no row."""
    return pl.DataFrame(schema={"request": pl.Int64, "frontier_tokens": pl.Int64})
