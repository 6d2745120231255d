"""What does `ninfer-lab replay` print?

Owns the command's options and its output: the request table, shortened in the middle, and what came
of the trace in a few sentences. Does not know how a trace is replayed.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.options import EngineOptions
from ninfer_lab.lab.traces.replay import replay
from ninfer_lab.lab.traces.replay_world import REPLAY_OPTIONS

SHOWN_ROWS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayCommand:
    """What a person asks for; `None` takes what `replay` takes.

    Attributes:
        table: A file for the whole request table.
    """

    trace: str
    limit_requests: int | None = None
    time_scale: float = 1.0
    lanes: int | None = None
    kv_tokens: int | None = None
    state_slots: int | None = None
    table: Path | None = None

    @property
    def options(self) -> EngineOptions:
        """Of the engine."""
        options = REPLAY_OPTIONS
        if self.lanes is not None:
            options = replace(options, max_concurrency=self.lanes)
        if self.kv_tokens is not None:
            options = replace(options, kv_capacity_tokens=self.kv_tokens)
        if self.state_slots is not None:
            options = replace(options, device_state_slots=self.state_slots)
        return options

    def run(self, say: Callable[[str], None]) -> None:
        """Replays and reports.

        Args:
            say: Takes one table or sentence at a time.

        Raises:
            TraceError: A trace that cannot be found or read.
            OptionsError: Options that cannot be; a table that cannot be written. Nothing was run.

        Effects: writes the table, whole or not at all.
        """
        if self.table is not None and not self.table.parent.is_dir():
            found = f"no folder {self.table.parent}"
            raise OptionsError("--table", found=found, legal="a file in a folder that is there")
        done = replay(
            self.trace,
            options=self.options,
            time_scale=self.time_scale,
            limit_requests=self.limit_requests,
        )
        requests = done.requests
        say(shown(requests))
        say(str(done))
        if self.table is not None:
            _write(self.table, requests)
            say(f"{len(requests):,} rows written to {self.table}")


def shown(requests: pl.DataFrame) -> str:
    """A table of the terminal: every column, the first and the last rows."""
    with pl.Config(
        tbl_rows=SHOWN_ROWS,
        tbl_cols=-1,
        tbl_width_chars=1_000,
        tbl_hide_column_data_types=True,
        tbl_formatting="ASCII_MARKDOWN",
        float_precision=1,
    ):
        return str(requests)


def _write(path: Path, requests: pl.DataFrame) -> None:
    draft = path.with_name(f".{path.name}.draft")
    text = io.BytesIO()
    requests.write_csv(text)
    try:
        draft.write_bytes(text.getvalue())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
