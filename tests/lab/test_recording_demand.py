"""Law: a recording tells every demand that joined the window, by digests, with what the window held
of each prefix; and whom a search might evict.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from lab.recorded_runs import OPTIONS, random_run
from ninfer_lab.context_cache.demand_window import DEMAND_WINDOW_REQUESTS
from ninfer_lab.contract.events import RequestAdmitted, RequestSubmitted
from ninfer_lab.contract.options import CacheMode
from ninfer_lab.lab import worlds
from ninfer_lab.lab.recording.recording import Recording


@pytest.fixture(scope="module")
def eight() -> Recording:
    """Eight heads in turn, four rounds: 32 requests, each of its own domain."""
    return worlds.run("eight-prefixes-small").recording


def test_every_reading_request_that_became_active_is_a_demand(eight: Recording) -> None:
    # spec: RCD-1
    demand = eight.demand
    assert demand["request"].unique().to_list() == list(range(1, 33))
    assert demand["domain"].n_unique() == 32
    stream = random_run(1, requests=30)
    wanted = {e.request for e in stream.events if isinstance(e, RequestAdmitted) and e.demand}
    without = {
        e.request
        for e in stream.events
        if isinstance(e, RequestSubmitted) and e.mode is CacheMode.DISABLED
    }
    admitted = {e.request for e in stream.events if isinstance(e, RequestAdmitted)}
    assert without & admitted
    assert wanted == admitted - without
    told = next(e for e in eight.events if isinstance(e, RequestAdmitted)).demand
    assert told is not None
    assert [len(each.digest) for each in told.prefixes] == [len(told.prefixes[0].digest)] * 2


def test_a_head_is_repeated_from_its_second_round_on(eight: Recording) -> None:
    heads = eight.demand.filter(pl.col("evidence") == "engine_structural")
    for number in range(32):
        row = heads.row(number, named=True)
        assert row["window_demands"] == row["window_domains"] == 1 + number // 8
        assert row["selected"] == (number < 8)  # eight slots: published when first seen
        assert row["matched"] == (number >= 8)
    ends = eight.demand.filter(pl.col("evidence").str.contains("engine_observed"))
    assert ends["may_be_created"].any() is False
    assert ends["window_demands"].to_list() == [1] * 32


def test_the_window_forgets_what_it_forgets(eight: Recording) -> None:
    admitted = [e for e in eight.events if isinstance(e, RequestAdmitted)]
    first = admitted[0]
    again = replace(eight, events=(first,) * (DEMAND_WINDOW_REQUESTS + 5)).demand
    counts = again.filter(pl.col("frontier_tokens") == 143)["window_demands"].to_list()
    assert counts == [*range(1, DEMAND_WINDOW_REQUESTS + 1), *[DEMAND_WINDOW_REQUESTS] * 5]
    assert again["window_domains"].unique().to_list() == [1]


def test_the_licence_of_a_search_is_told_by_owners() -> None:  # spec: SRCH-4
    free = random_run(3, requests=10).plans
    assert free["licence"].null_count() == len(free)
    recency = random_run(3, requests=30, options=replace(OPTIONS, recency_eviction=True))
    licences = {
        row["request"]: row["licence"]
        for row in recency.plans.rows(named=True)
        if row["outcome"] == "admitted"
    }
    assert set(licences.values()) - {""}, "nobody had to go in this stream"
    for event in recency.events:
        if not isinstance(event, RequestAdmitted):
            continue
        winner, licence = event.report.winner, licences[event.request]
        if winner is not None and event.report.best_identity is not None:
            assert licence == ""
        if winner is not None and licence is not None and not event.report.maximal_fallback:
            assert set(winner.evicted) <= {int(owner) for owner in licence.split()}
