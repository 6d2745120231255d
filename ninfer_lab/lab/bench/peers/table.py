"""How does what the engines said read beside what was predicted, and beside our own engine?

Owns the Markdown: a table for each stream, a column for each request, and three lines for each
engine and setting, which are measured, predicted by our model of that engine, and the catalog
engine with the same memory. Does not measure, and changes no number.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ninfer_lab.lab.bench.peers.catalog_side import catalog_beside, memory_of
from ninfer_lab.lab.bench.peers.measured import MeasuredRun, Measurements
from ninfer_lab.lab.bench.peers.predicted import predicted_beside
from ninfer_lab.lab.bench.peers.runs import MIB
from ninfer_lab.lab.bench.peers.streams import Stream, stream_named
from ninfer_lab.lab.bench.table import Cells, aligned_table

BEGIN_MARK = "<!-- peers -->"
END_MARK = "<!-- /peers -->"

_READ_WEIGHTS = "first-tokens"
"""The stream that asks whether all engines serve the same model; it has no table of its own."""


def render(found: Measurements) -> str:
    """Date, machine, versions, whether the same weights were read, and a table for each stream.

    Args:
        found: What was measured. Predictions and our own engine are computed here and now.
    """
    versions = ", ".join(f"{name} {version}" for name, version in found.versions.items())
    parts = [f"Measured {found.day.isoformat()} · {versions} · {found.machine}."]
    parts += [_agreement(run, found.own_first_tokens) for run in found.runs if _reads(run)]
    asked = [run for run in found.runs if not _reads(run)]
    names = list(dict.fromkeys(run.run.stream for run in asked))
    for name in names:
        runs = [run for run in asked if run.run.stream == name]
        parts.append(f"### {name}\n\n{_stream_table(stream_named(name), runs)}")
    return "\n\n".join(parts) + "\n"


def columns_of(stream: Stream) -> list[tuple[str, slice]]:
    """Heads of the columns, and the requests that each of them sums.

    >>> from ninfer_lab.lab.bench.peers.streams import cycle
    >>> columns_of(cycle())
    [('round 1 (12 × 1,500)', slice(0, 12, None)), ('round 2 (12 × 1,500)', slice(12, 24, None))]
    """
    columns = []
    start = 0
    for label, group in groupby(stream.requests, key=lambda request: request.label):
        same = list(group)
        times = f"{len(same)} × " if len(same) > 1 else ""
        head = f"{label} ({times}{len(same[0].prompt):,})"
        columns.append((head, slice(start, start + len(same))))
        start += len(same)
    return columns


def _reads(run: MeasuredRun) -> bool:
    return run.run.stream == _READ_WEIGHTS


def _agreement(run: MeasuredRun, own: Sequence[int]) -> str:
    pairs = list(zip(run.first_tokens, own, strict=True))
    same = sum(theirs == ours for theirs, ours in pairs)
    return (
        f"{run.run.peer.value} draws the same first token as this engine behind {same} of"
        f" {len(pairs)} prompts."
    )


def _stream_table(stream: Stream, runs: Sequence[MeasuredRun]) -> str:
    columns = columns_of(stream)
    lines: list[Cells] = []
    for run in runs:
        memory_mib = memory_of(run).total_bytes / MIB
        stale = "" if run.is_of_today else " (other requests than today's)"
        lines.append(
            _line(f"**{run.run.peer.value}**, {run.run.settings}", run.cached_tokens, columns)
        )
        lines.append(_line(f"predicted{stale}", predicted_beside(run), columns))
        ours = f"catalog engine, {memory_mib:,.1f} MiB{stale}"
        lines.append(_line(ours, catalog_beside(run), columns))
    return aligned_table(("cached tokens of", *(head for head, _ in columns)), lines)


def _line(name: str, cached: Sequence[int], columns: Sequence[tuple[str, slice]]) -> Cells:
    return (name, *(f"{sum(cached[requests]):,}" for _, requests in columns))
