"""Who has wanted which prefix, and how often was it wanted then?

Owns the frame of demands: one row per prefix of every request that became Active, with what the
window of the last demands held of the same prefix. Prefixes and domains are digests, as the events
have them; equal ones are equal. Reads events only.
Source: spec RCD-1, VAL-1, EVD-1.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import polars as pl

from ninfer_lab.contract.demand_report import DemandTold, PrefixWanted
from ninfer_lab.contract.events import Event, RequestAdmitted
from ninfer_lab.engine.decision_reading import DEMAND_WINDOW_REQUESTS

DIGEST_DIGITS = 12
"""Of a digest's hexadecimal digits, shown: among 200,000 events two prefixes rarely meet in them.
"""

_DEMAND = {
    "request": pl.Int64,
    "at_ms": pl.Float64,
    "domain": pl.String,
    "frontier_tokens": pl.Int64,
    "prefix": pl.String,
    "evidence": pl.String,
    "matched": pl.Boolean,
    "selected": pl.Boolean,
    "may_be_created": pl.Boolean,
    "window_demands": pl.Int64,
    "window_domains": pl.Int64,
}


def demand(events: Iterable[Event]) -> pl.DataFrame:
    """One row per prefix of every demand, in the order in which they joined the window.

    `window_demands` and `window_domains` count those of the window, this one among them, that
    wanted the same prefix: two domains make it repeated (EVD-1). Of demands whose events were lost
    nothing is counted.
    """
    window: deque[DemandTold] = deque(maxlen=DEMAND_WINDOW_REQUESTS)
    rows: list[dict[str, object]] = []
    for event in events:
        if not isinstance(event, RequestAdmitted) or event.demand is None:
            continue
        window.append(event.demand)
        for wanted in event.demand.prefixes:
            alike = [each for each in window if _wants(each, wanted)]
            rows.append(
                {
                    "request": event.request,
                    "at_ms": event.at_ns / 1e6,
                    "domain": event.demand.domain.hex()[:DIGEST_DIGITS],
                    "frontier_tokens": wanted.frontier_tokens,
                    "prefix": wanted.digest.hex()[:DIGEST_DIGITS],
                    "evidence": "+".join(str(each.name).lower() for each in wanted.evidence),
                    "matched": wanted.is_matched,
                    "selected": wanted.is_selected,
                    "may_be_created": wanted.may_be_created,
                    "window_demands": len(alike),
                    "window_domains": len({each.domain for each in alike}),
                }
            )
    return pl.DataFrame(rows, schema=_DEMAND)


def _wants(demand: DemandTold, wanted: PrefixWanted) -> bool:
    return any(
        each.frontier_tokens == wanted.frontier_tokens and each.digest == wanted.digest
        for each in demand.prefixes
    )
