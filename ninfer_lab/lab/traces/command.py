"""What does `ninfer-lab replay` print?

Owns the command's options and its output: the request table, shortened in the middle, and what came
of the trace in a few sentences. Does not know how a trace is replayed.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import polars as pl

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.options import EngineOptions
from ninfer_lab.lab.output_place import require_file_place
from ninfer_lab.lab.traces.replay import replay
from ninfer_lab.lab.traces.replay_world import REPLAY_OPTIONS

SHOWN_ROWS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayCommand:
    """What a person asks for.

    Attributes:
        engine_options: Each as `name=number`, instead of what `REPLAY_OPTIONS` says.
        table: A file for the whole request table.
    """

    trace: str
    limit_requests: int | None = None
    time_scale: float = 1.0
    engine_options: tuple[str, ...] = ()
    table: Path | None = None

    def run(self, say: Callable[[str], None]) -> None:
        """Replays and reports.

        Args:
            say: Takes one table or sentence at a time.

        Raises:
            TraceError: A trace that cannot be found or read.
            OptionsError: Options that cannot be; a table that cannot be written. Nothing was run.

        Effects: writes the table, whole or not at all.
        """
        if self.table is not None:
            require_file_place("--table", self.table)
        options = options_with(REPLAY_OPTIONS, self.engine_options)
        done = replay(
            self.trace,
            options=options,
            time_scale=self.time_scale,
            limit_requests=self.limit_requests,
        )
        requests = done.requests
        say(shown(requests))
        say(str(done))
        if self.table is not None:
            _write(self.table, requests)
            say(f"{len(requests):,} rows written to {self.table}")


def options_with(options: EngineOptions, written: Sequence[str]) -> EngineOptions:
    """The options with some of their numbers replaced, each written as `name=number`.

    Raises:
        OptionsError: No such option, or no whole number.
    """
    names = {each.name for each in fields(EngineOptions) if "int" in str(each.type).split(" | ")}
    chosen: dict[str, Any] = {}
    for each in written:
        name, _, number = each.partition("=")
        if name not in names:
            raise OptionsError("--option", found=each, legal="=N, ".join(sorted(names)) + "=N")
        if not re.fullmatch(r"[0-9]{1,18}", number):
            raise OptionsError(f"--option {name}", found=number or "nothing", legal="a number")
        chosen[name] = int(number)
    return replace(options, **chosen)


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
