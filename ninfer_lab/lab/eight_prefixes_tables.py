"""What do the runs of the eight-prefix study say, row by row?

Owns the tables: reuse beside the published figures, and every chance to keep a prefix with the
terms by which it was or was not taken. Reads runs only.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from ninfer_lab.contract.shared_report import SharedOutcome
from ninfer_lab.lab.eight_prefixes_study import PUBLISHED_PERCENT, TurnsRun


def reuse_table(runs: Iterable[TurnsRun]) -> pl.DataFrame:
    """One row per run, the published figure beside it."""
    rows = [
        {
            "rules": run.rules.value,
            "slots": run.slots_count,
            **{
                f"hits in round {each}": run.hits_in_round(each)
                for each in range(1, run.turns.rounds_count + 1)
            },
            "reuse_percent": round(run.reuse_percent, 2),
            "published_percent": PUBLISHED_PERCENT.get((run.rules, run.slots_count)),
        }
        for run in runs
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def chance_table(run: TurnsRun) -> pl.DataFrame:
    """Why each chance to keep a prefix was or was not taken, term by term: one row per scenario,
    and one for a chance without any.
    """
    rows: list[dict[str, object]] = []
    for turn in run.requests:
        for told in turn.chances:
            shared: dict[str, object] = {
                "request": turn.request,
                "round": turn.round_ordinal,
                "prefix": turn.prefix_ordinal,
                "frontier_tokens": told.frontier_tokens,
                "evidence": "+".join(str(each.name).lower() for each in told.evidence),
                "outcome": told.outcome.value,
            }
            scenarios = told.scenarios or (None,)
            for ordinal, scenario in enumerate(scenarios):
                gain = None if scenario is None else scenario.gain
                rows.append(
                    shared
                    | {
                        "slot": None if scenario is None else scenario.slot.value,
                        "taken": told.chosen == ordinal and told.outcome is SharedOutcome.PUBLISHED,
                        "public_before_ms": None if gain is None else gain.public_before_ns / 1e6,
                        "public_after_ms": None if gain is None else gain.public_after_ns / 1e6,
                        "private_loss_ms": None if gain is None else gain.private_loss_ns / 1e6,
                        "immediate_ms": None if gain is None else gain.immediate_ns / 1e6,
                        "net_ms": None if gain is None else gain.net_ns / 1e6,
                    }
                )
    return pl.DataFrame(rows, infer_schema_length=None)
