"""What became of every request of a replay, as a table?

Owns the columns. Reads a replay only.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ninfer_lab.lab.traces.replay_client import Replayed

NOT_SENT = "not sent"
"""The end of a request whose prompt is too long for the engine."""

_SCHEMA = {
    "line": pl.Int64,
    "conversation": pl.String,
    "due_ms": pl.Float64,
    "held_ms": pl.Float64,
    "held_by": pl.String,
    "prompt_tokens": pl.Int64,
    "prefix_cache_hit_tokens": pl.Int64,
    "computed_prefill_tokens": pl.Int64,
    "prefix_reuse_path": pl.String,
    "completion_tokens": pl.Int64,
    "finish_reason": pl.String,
    "queue_wait_ms": pl.Float64,
    "ttft_ms": pl.Float64,
    "total_ms": pl.Float64,
}


def request_table(replayed: Sequence[Replayed]) -> pl.DataFrame:
    """One row per request, in the order of the trace.

    Columns as in `tables.requests`, and before them: `line` of the trace's file, `due_ms` since the
    replay began, `held_ms` from then until it was sent, and `held_by` what, unless only a forward
    ran. The times behind are the engine's, from there on.
    """
    return pl.DataFrame([_row(each) for each in replayed], schema=_SCHEMA)


def _row(replayed: Replayed) -> dict[str, object]:
    asked, served = replayed.asked, replayed.served
    row: dict[str, object] = {
        "line": asked.line,
        "conversation": asked.conversation,
        "due_ms": _ms(replayed.due_ns),
        "prompt_tokens": asked.input_tokens,
        "finish_reason": NOT_SENT,
    }
    if served is None:
        return row
    return row | {
        "held_ms": _ms(served.sent_ns - replayed.due_ns),
        "held_by": None if served.held_by is None else served.held_by.value,
        "prefix_cache_hit_tokens": served.hit_tokens,
        "computed_prefill_tokens": served.computed_prefill_tokens,
        "prefix_reuse_path": None if served.path is None else served.path.value,
        "completion_tokens": served.output_tokens,
        "finish_reason": served.finish_reason.value,
        "queue_wait_ms": _ms(served.queue_wait_ns),
        "ttft_ms": _ms(served.ttft_ns),
        "total_ms": _ms(served.total_ns),
    }


def _ms(duration_ns: int | None) -> float | None:
    return None if duration_ns is None else duration_ns / 1e6
