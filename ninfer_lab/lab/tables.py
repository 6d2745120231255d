"""What do the events say, as tables?

Owns the translation from events and snapshots to polars frames, one row per thing and the unit last
in every column's name. Reads events only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import polars as pl

from ninfer_lab.contract.cache_controller import ControllerSnapshot
from ninfer_lab.contract.events import (
    CaptureTried,
    Event,
    ForwardRan,
    RequestAdmitted,
    RequestFinished,
    RequestSubmitted,
)
from ninfer_lab.contract.explanation import Explanation
from ninfer_lab.lab.searches import searches

if TYPE_CHECKING:
    from ninfer_lab.lab.faults.trial import FaultTable

_REQUESTS_SCHEMA = {
    "request": pl.Int64,
    "session": pl.String,
    "prompt_tokens": pl.Int64,
    "prefix_cache_hit_tokens": pl.Int64,
    "computed_prefill_tokens": pl.Int64,
    "prefix_reuse_path": pl.String,
    "state": pl.String,
    "best_offered_tokens": pl.Int64,
    "evicted_owners": pl.Int64,
    "completion_tokens": pl.Int64,
    "finish_reason": pl.String,
    "queue_wait_ms": pl.Float64,
    "ttft_ms": pl.Float64,
    "total_ms": pl.Float64,
}


def show_whole() -> None:
    """Lets every frame of this kernel show all its columns and whole sentences."""
    pl.Config.set_tbl_cols(-1)
    pl.Config.set_tbl_rows(40)
    pl.Config.set_fmt_str_lengths(120)
    pl.Config.set_tbl_hide_dataframe_shape(True)
    pl.Config.set_tbl_hide_column_data_types(True)


def requests(events: Iterable[Event]) -> pl.DataFrame:
    """One row per ended request, in the request log's words (RCD-3)."""
    sessions: dict[int, str | None] = {}
    admissions: dict[int, RequestAdmitted] = {}
    rows: list[dict[str, object]] = []
    for event in events:
        match event:
            case RequestSubmitted():
                sessions[event.request] = event.session_key
            case RequestAdmitted():
                admissions[event.request] = event
            case RequestFinished():
                admission = admissions.get(event.request)
                rows.append(_request_row(event, admission, sessions.get(event.request)))
            case _:
                pass
    return pl.DataFrame(rows, schema=_REQUESTS_SCHEMA)


def _request_row(
    end: RequestFinished, admission: RequestAdmitted | None, session: str | None
) -> dict[str, object]:
    path = end.prefix_reuse_path
    return {
        "request": end.request,
        "session": session,
        "prompt_tokens": end.prompt_tokens,
        "prefix_cache_hit_tokens": end.prefix_cache_hit_tokens,
        "computed_prefill_tokens": end.computed_prefill_tokens,
        "prefix_reuse_path": None if path is None else path.value,
        "state": None if admission is None else admission.state.value,
        "best_offered_tokens": None if admission is None else admission.report.best_offered_tokens,
        "evicted_owners": None if admission is None else len(admission.evicted),
        "completion_tokens": end.completion_tokens,
        "finish_reason": end.finish_reason.value,
        "queue_wait_ms": _ms(end.queue_wait_ns),
        "ttft_ms": _ms(end.ttft_ns),
        "total_ms": _ms(end.total_ns),
    }


_TARGETS_SCHEMA = {
    "request": pl.Int64,
    "chosen": pl.Boolean,
    "path": pl.String,
    "disposition": pl.String,
    "owner": pl.Int64,
    "reuse_tokens": pl.Int64,
    "prefill_tokens": pl.Int64,
    "evicted_owners": pl.Int64,
    "degraded_owners": pl.Int64,
    "moved_bytes": pl.Int64,
    "deleted_checkpoints": pl.Int64,
    "state": pl.String,
    "now_ms": pl.Float64,
    "loss_ms": pl.Float64,
    "verdict": pl.String,
}


def targets(events: Iterable[Event]) -> pl.DataFrame:
    """One row per target that was looked at, with the verdict on it."""
    rows = [
        {
            "request": event.request,
            "chosen": ordinal == report.chosen,
            "path": verdict.path.value,
            "disposition": None if verdict.disposition is None else verdict.disposition.value,
            "owner": verdict.owner,
            "reuse_tokens": verdict.reuse_tokens,
            "prefill_tokens": verdict.prefill_tokens,
            "evicted_owners": len(verdict.evicted),
            "degraded_owners": len(verdict.degraded),
            "moved_bytes": sum(
                batch.payload_bytes for batch in verdict.work.transfers if batch.crosses_tiers
            ),
            "deleted_checkpoints": len(verdict.deleted),
            "state": verdict.state.value,
            "now_ms": None if verdict.cost is None else verdict.cost.now_ns / 1e6,
            "loss_ms": None if verdict.cost is None else verdict.cost.future_loss_ns / 1e6,
            "verdict": verdict.judgement,
        }
        for event, report in searches(events)
        for ordinal, verdict in enumerate(report.verdicts)
    ]
    return pl.DataFrame(rows, schema=_TARGETS_SCHEMA)


_CHOICE_SCHEMA = {
    "taken": pl.Boolean,
    "path": pl.String,
    "owner": pl.Int64,
    "reuse_tokens": pl.Int64,
    "prefill_tokens": pl.Int64,
    "state": pl.String,
    "gives_way": pl.String,
    "now_ms": pl.Float64,
    "loss_ms": pl.Float64,
    "verdict": pl.String,
}


def choice(events: Iterable[Event], request: int) -> pl.DataFrame:
    """One request's targets, as narrow as a page: from where, what is computed, who gives way,
    what it costs now and later, and the verdict. `targets` has every column.
    """
    told = targets(events).filter(request=request)
    rows = [
        {
            **{name: row[name] for name in _CHOICE_SCHEMA if name in row},
            "taken": row["chosen"],
            "gives_way": _gives_way(row["evicted_owners"], row["degraded_owners"]),
            "now_ms": None if row["now_ms"] is None else round(row["now_ms"], 1),
            "loss_ms": None if row["loss_ms"] is None else round(row["loss_ms"], 1),
        }
        for row in told.rows(named=True)
    ]
    return pl.DataFrame(rows, schema=_CHOICE_SCHEMA)


def _gives_way(evicted_count: int, degraded_count: int) -> str:
    counts = ((evicted_count, "evicted"), (degraded_count, "degraded"))
    return ", ".join(f"{count} {word}" for count, word in counts if count) or "nobody"


_STAGES_SCHEMA = {
    "request": pl.Int64,
    "stage": pl.String,
    "axis": pl.String,
    "allocated": pl.Int64,
    "reserved": pl.Int64,
    "capacity": pl.Int64,
    "fits": pl.Boolean,
}


def stages(events: Iterable[Event]) -> pl.DataFrame:
    """One row per stage and axis of every plan that was carried out: peaks against capacity
    (STG-1). Axes that the engine does not have say nothing.
    """
    rows = [
        {
            "request": event.request,
            "stage": stage.name.value,
            "axis": use.axis.value,
            "allocated": use.allocated_count,
            "reserved": use.reserved_count,
            "capacity": use.capacity_count,
            "fits": use.free_count >= 0,
        }
        for event in events
        if isinstance(event, RequestAdmitted) and event.report.winner is not None
        for stage in event.report.winner.stages
        for use in stage.occupancy.axes
        if use.capacity_count or use.used_count
    ]
    return pl.DataFrame(rows, schema=_STAGES_SCHEMA)


_FORWARDS_SCHEMA = {
    "forward": pl.Int64,
    "at_ms": pl.Float64,
    "phase": pl.String,
    "rows": pl.Int64,
    "tokens": pl.Int64,
    "requests": pl.String,
    "machine_ms": pl.Float64,
    "gathered_bytes": pl.Int64,
    "state_allocated_slots": pl.Int64,
    "state_capacity_slots": pl.Int64,
    "kv_allocated_pages": pl.Int64,
    "kv_reserved_pages": pl.Int64,
    "kv_capacity_pages": pl.Int64,
    "backend_kv_used_pages": pl.Int64,
    "host_state_used_slots": pl.Int64,
    "host_kv_used_bytes": pl.Int64,
}


def forwards(events: Iterable[Event]) -> pl.DataFrame:
    """One row per forward of the machine, with the occupancy of every axis after it."""
    ran = [event for event in events if isinstance(event, ForwardRan)]
    start_ns = ran[0].at_ns - ran[0].machine_ns if ran else 0
    rows = [
        {
            "forward": ordinal,
            "at_ms": _ms(event.at_ns - start_ns),
            "phase": event.phase.value,
            "rows": len(event.rows),
            "tokens": sum(row.end_tokens - row.start_tokens for row in event.rows),
            "requests": ",".join(str(row.request) for row in event.rows),
            "machine_ms": _ms(event.machine_ns),
            "gathered_bytes": event.gathered_bytes,
            "state_allocated_slots": event.occupancy.device_state.allocated_count,
            "state_capacity_slots": event.occupancy.device_state.capacity_count,
            "kv_allocated_pages": event.occupancy.device_kv.allocated_count,
            "kv_reserved_pages": event.occupancy.device_kv.reserved_count,
            "kv_capacity_pages": event.occupancy.device_kv.capacity_count,
            "backend_kv_used_pages": event.occupancy.device_backend_kv.used_count,
            "host_state_used_slots": event.occupancy.host_state.used_count,
            "host_kv_used_bytes": event.occupancy.host_kv.used_count,
        }
        for ordinal, event in enumerate(ran)
    ]
    return pl.DataFrame(rows, schema=_FORWARDS_SCHEMA)


def checkpoints(snapshot: ControllerSnapshot) -> pl.DataFrame:
    """One row per checkpoint of every inactive owner, with where it lies.

    Slots are null where there is no replica; `pages` names the Device pages, with a dash for one
    that is on the Host alone.
    """
    sessions = {entry.owner: entry.session_key for entry in snapshot.catalog}
    images = {each.image: each for each in snapshot.ledger.images}
    replicas = {each.page: each for each in snapshot.ledger.pages}
    rows = []
    for owner in snapshot.ledger.owners:
        for placed in owner.checkpoints:
            image, pages = images[placed.image], [replicas[page] for page in placed.pages]
            rows.append(
                {
                    "owner": owner.owner,
                    "session": sessions.get(owner.owner),
                    "checkpoint": placed.summary.ref.id,
                    "kind": placed.summary.kind.value,
                    "frontier_tokens": placed.summary.frontier_tokens,
                    "state_slot": image.device_slot,
                    "host_slot": image.host_slot,
                    "kv_pages": len(pages),
                    "host_pages": sum(page.host_granule is not None for page in pages),
                    "pages": " ".join(
                        "–" if page.device_page is None else str(page.device_page) for page in pages
                    ),
                }
            )
    return pl.DataFrame(rows, schema=_CHECKPOINTS_SCHEMA)


_CHECKPOINTS_SCHEMA = {
    "owner": pl.Int64,
    "session": pl.String,
    "checkpoint": pl.Int64,
    "kind": pl.String,
    "frontier_tokens": pl.Int64,
    "state_slot": pl.Int64,
    "host_slot": pl.Int64,
    "kv_pages": pl.Int64,
    "host_pages": pl.Int64,
    "pages": pl.String,
}


def captures(events: Iterable[Event]) -> pl.DataFrame:
    """One row per frontier at which a checkpoint was wanted."""
    rows = [
        {
            "request": event.request,
            "frontier_tokens": event.result.frontier_tokens,
            "outcome": event.result.outcome.value,
            "kind": None if event.result.checkpoint is None else event.result.checkpoint.kind.value,
            "replaced": None if event.result.replaced is None else event.result.replaced.id,
        }
        for event in events
        if isinstance(event, CaptureTried)
    ]
    schema = {
        "request": pl.Int64,
        "frontier_tokens": pl.Int64,
        "outcome": pl.String,
        "kind": pl.String,
        "replaced": pl.Int64,
    }
    return pl.DataFrame(rows, schema=schema)


def explanation(of: Explanation) -> pl.DataFrame:
    """One row per part of a violated inequality, largest first; shared units stand once."""
    rows = [
        {
            "holders": ", ".join(map(str, part.holders)),
            "why": part.kind.value,
            "is_reserved": part.kind.is_reservation,
            "units": part.units_count,
        }
        for part in of.parts
    ]
    schema = {"holders": pl.String, "why": pl.String, "is_reserved": pl.Boolean, "units": pl.Int64}
    return pl.DataFrame(rows, schema=schema)


def faults(table: FaultTable) -> pl.DataFrame:
    """One row per fault: what it does, who notices, how far the logits go, what the model says."""
    rows = [
        {
            "fault": row.fault.name.lower(),
            "what happens": row.fault.value,
            "caught by": ", ".join(check.name.lower() for check in row.caught_by),
            "drift": row.drift,
            "answer": row.answers[0],
        }
        for row in table.rows
    ]
    clean = {
        "fault": "none",
        "what happens": "a clean restore",
        "caught by": "",
        "drift": table.clean_drift,
        "answer": table.clean_answers[0],
    }
    return pl.DataFrame([clean, *rows])


def _ms(duration_ns: int | None) -> float | None:
    return None if duration_ns is None else duration_ns / 1e6
