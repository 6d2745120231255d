"""How well does a belief foresee the time to the first token on real tensors?

Owns the comparison: for every request of a run in wall time, what the belief said of the work of
the target that was taken, beside the time that passed from its arrival to its first token, and how
much of that the machine took. The rest is planning and bookkeeping, which a cost model does not
price. Reads events; predicts nothing that a planner would not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import polars as pl

from ninfer_lab.contract.events import (
    Event,
    ForwardRan,
    RequestAdmitted,
    RequestFinished,
    TransitionEnded,
)
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.machine_work import MachineWork
from ninfer_lab.contract.work import ForwardPhase
from ninfer_lab.cost.machine_cost_model import MachineCostModel
from ninfer_lab.lab import worlds
from ninfer_lab.lab.calibration.progress import progress
from ninfer_lab.lab.world import Machine, World


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstToken:
    """One request.

    Attributes:
        work: Of the target that was taken: copies, and what was left to prefill.
        predicted_ns: Its price by the belief.
        machine_ns: Its copies between the tiers, and its prefill forwards.
        ttft_ns: Arrival to first token.
    """

    request: RequestId
    path: str
    work: MachineWork
    predicted_ns: int
    machine_ns: int
    ttft_ns: int

    @property
    def machine_error(self) -> float:
        """Part of the machine's time that the prediction is too long, or too short below zero."""
        return self.predicted_ns / self.machine_ns - 1.0

    @property
    def ttft_error(self) -> float:
        """The same of the time to first token."""
        return self.predicted_ns / self.ttft_ns - 1.0

    @property
    def unpriced_ns(self) -> int:
        """Planning, bookkeeping and drawing: what no price speaks of."""
        return self.ttft_ns - self.machine_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstTokens:
    """Every request of a run that had one."""

    each: tuple[FirstToken, ...]

    @property
    def table(self) -> pl.DataFrame:
        """One row for each request."""
        schema = {
            "request": pl.Int64,
            "path": pl.String,
            "reused_tokens": pl.Int64,
            "computed_tokens": pl.Int64,
            "moved_KiB": pl.Float64,
            "predicted_ms": pl.Float64,
            "machine_ms": pl.Float64,
            "unpriced_ms": pl.Float64,
            "ttft_ms": pl.Float64,
            "machine_error": pl.Float64,
            "ttft_error": pl.Float64,
        }
        rows = [
            {
                "request": one.request,
                "path": one.path,
                "reused_tokens": 0 if one.work.prefill is None else one.work.prefill.reused_tokens,
                "computed_tokens": (
                    0 if one.work.prefill is None else one.work.prefill.suffix_tokens
                ),
                "moved_KiB": sum(b.payload_bytes for b in one.work.transfers) / 1024,
                "predicted_ms": one.predicted_ns / 1e6,
                "machine_ms": one.machine_ns / 1e6,
                "unpriced_ms": one.unpriced_ns / 1e6,
                "ttft_ms": one.ttft_ns / 1e6,
                "machine_error": one.machine_error,
                "ttft_error": one.ttft_error,
            }
            for one in self.each
        ]
        return pl.DataFrame(rows, schema=schema).with_columns(pl.selectors.float().round(3))

    @property
    def distribution(self) -> pl.DataFrame:
        """Quantiles of predicted over measured less one, by what it is compared with."""
        quantiles = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
        table = self.table
        columns = (
            ("the machine's time", "machine_error"),
            ("the time to first token", "ttft_error"),
        )
        rows = []
        for name, column in columns:
            row: dict[str, object] = {"predicted against": name, "requests": len(table)}
            for part in quantiles:
                row[f"p{part * 100:.0f}"] = table[column].quantile(part, interpolation="nearest")
            row["mean of |error|"] = table[column].abs().mean()
            rows.append(row)
        return pl.DataFrame(rows).with_columns(pl.selectors.float().round(3))


def time_first_tokens(
    world: World, belief: MachineCostModel, *, runs_count: int = 3, shows_progress: bool = True
) -> FirstTokens:
    """Tells a world's story to real tensors in wall time, again and again, by a planner that holds
    the belief.

    Args:
        world: One with a checkpoint.
        belief: What the planner holds, and what predictions are made from.
        runs_count: Each from an empty cache.
        shows_progress: Whether a bar is drawn.

    Raises:
        OptionsError: A world that no tensors stand behind.
    """
    found: list[FirstToken] = []
    believing = replace(world, belief=belief)
    with progress("runs", runs_count, is_shown=shows_progress) as tick:
        for _ in range(runs_count):
            run = worlds.run(believing, Machine.TORCH_WALL_TIME)
            found += first_tokens(run.events, belief).each
            tick()
    return FirstTokens(each=tuple(found))


def first_tokens(events: Iterable[Event], belief: MachineCostModel) -> FirstTokens:
    """Predictions beside measurements.

    Args:
        events: Of one engine, in order; on the wall clock, or there is nothing to foresee.
        belief: Prices the work that was carried out.
    """
    taken: dict[RequestId, RequestAdmitted] = {}
    machine_ns: dict[RequestId, int] = {}
    found: list[FirstToken] = []
    for event in events:
        match event:
            case RequestAdmitted(report=report) if report.winner is not None:
                taken[event.request] = event
            case TransitionEnded():
                took_ns = event.at_ns - event.started_ns
                machine_ns[event.request] = machine_ns.get(event.request, 0) + took_ns
            case ForwardRan(phase=ForwardPhase.PREFILL):
                (row,) = event.rows
                machine_ns[row.request] = machine_ns.get(row.request, 0) + event.machine_ns
            case RequestFinished() if event.request in taken and event.ttft_ns:
                admitted = taken[event.request]
                assert admitted.report.winner is not None
                work = admitted.report.winner.work
                found.append(
                    FirstToken(
                        request=event.request,
                        path=admitted.path.value,
                        work=work,
                        predicted_ns=belief.work_ns(work),
                        machine_ns=machine_ns.get(event.request, 0),
                        ttft_ns=event.ttft_ns,
                    )
                )
            case _:
                pass
    return FirstTokens(each=tuple(found))
