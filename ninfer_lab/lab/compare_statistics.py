"""How sure is the difference between two designs?

Owns the table of a comparison and its paired statistics: per conversation, the difference of two
designs that served the same requests, and an interval from drawing the conversations again. Several
traces, such as one workload from many seeds, are drawn from together. Runs nothing.
Source: the percentile bootstrap over clusters (Efron and Tibshirani, 1993, chapter 13).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from ninfer_lab.lab.compare_capacity import Capacity
from ninfer_lab.lab.compare_runs import ComparedRun, run_of

INTERVAL_PERCENT = 95


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its interval of 95 %."""

    mean: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Whether the sign of the difference is sure, as far as this goes."""
        return self.low > 0.0 or self.high < 0.0

    def __str__(self) -> str:
        return f"{self.mean:+.2f} ({self.low:+.2f} to {self.high:+.2f})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """One design against the baseline, at one capacity.

    Attributes:
        hit_points: Difference of the shares of prompt tokens that were spared, in points of 100.
        ttft_ms: Difference of the mean times to first token, per request; below 0 is sooner.
        recomputed_points: Difference of the shares that were computed again.
    """

    design: str
    baseline: str
    capacity: Capacity
    hit_points: Interval
    recomputed_points: Interval
    ttft_ms: Interval


def paired(
    runs: Sequence[ComparedRun], baseline: str, *, draws_count: int, seed: int
) -> tuple[Paired, ...]:
    """Every other run against the baseline's at the same capacity.

    Args:
        draws_count: Of the bootstrap.
        seed: Of the bootstrap.

    Raises:
        OptionsError: No design of that name was run.
    """
    found = []
    for run in runs:
        base = run_of(runs, baseline, run.capacity)
        if run is not base:
            found.append(_paired(run, base, draws_count=draws_count, seed=seed))
    return tuple(found)


def _paired(run: ComparedRun, base: ComparedRun, *, draws_count: int, seed: int) -> Paired:
    units = sorted({each.unit for each in base.requests})
    ordinals = {unit: ordinal for ordinal, unit in enumerate(units)}
    sums = np.zeros((len(units), 5))
    for one, other in zip(run.requests, base.requests, strict=True):
        row = sums[ordinals[one.unit]]
        row[0] += one.hit_tokens - other.hit_tokens
        row[1] += one.recomputed_tokens - other.recomputed_tokens
        row[2] += one.prompt_tokens
        if one.ttft_ns is not None and other.ttft_ns is not None:
            row[3] += (one.ttft_ns - other.ttft_ns) / 1e6
            row[4] += 1
    random = np.random.default_rng(seed)
    picks = random.integers(len(units), size=(draws_count, len(units)))
    drawn = sums[picks].sum(axis=1)
    whole = sums.sum(axis=0)
    return Paired(
        design=run.design,
        baseline=base.design,
        capacity=run.capacity,
        hit_points=_interval(whole, drawn, 0, 2, 100.0),
        recomputed_points=_interval(whole, drawn, 1, 2, 100.0),
        ttft_ms=_interval(whole, drawn, 3, 4, 1.0),
    )


def _interval(
    whole: np.ndarray, drawn: np.ndarray, above: int, below: int, scale: float
) -> Interval:
    """A ratio of two sums."""
    ratios = scale * drawn[:, above] / np.maximum(drawn[:, below], 1.0)
    edge = (100 - INTERVAL_PERCENT) / 2
    low, high = np.percentile(ratios, [edge, 100 - edge])
    return Interval(scale * whole[above] / max(whole[below], 1.0), float(low), float(high))


def run_table(runs: Sequence[ComparedRun]) -> pl.DataFrame:
    """One row per run: what was spared, what was computed again, when the first token came, and
    what was held at the end.
    """
    rows = [
        {
            "capacity": str(run.capacity),
            "design": run.design,
            "hit_tokens": run.hit_tokens,
            "hit_percent": round(100 * run.hit_tokens / max(1, run.prompt_tokens), 1),
            "recomputed_tokens": run.recomputed_tokens,
            "mean_ttft_ms": round(run.mean_ttft_ns / 1e6, 1),
            "held_gib": round(run.held_bytes / 2**30, 2),
            "not_served": run.failed_count,
        }
        for run in runs
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def whole_tables() -> pl.Config:
    """While it is entered, tables are shown with every row."""
    return pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=160, fmt_str_lengths=80)


def paired_table(found: Sequence[Paired]) -> pl.DataFrame:
    """One row per pair, each difference with its interval."""
    rows = [
        {
            "capacity": str(each.capacity),
            "design": each.design,
            "against": each.baseline,
            "hits, points of 100": str(each.hit_points),
            "computed again, points": str(each.recomputed_points),
            "first token, ms": str(each.ttft_ms),
        }
        for each in found
    ]
    return pl.DataFrame(rows, infer_schema_length=None)
