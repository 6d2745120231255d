"""Law: the window knows what the last 32 materializations could have reused, and nobody's words."""

from __future__ import annotations

from ninfer_lab.context_cache.demand_window import (
    DEMAND_WINDOW_REQUESTS,
    Demand,
    DemandWindow,
    PrefixKey,
    reuse_domain,
)
from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.ids import CheckpointId, CheckpointRef, OwnerId, RequestId, SessionKey


def demand(ordinal: int) -> Demand:
    return Demand(domain=b"d", keys=frozenset({PrefixKey(ordinal, b"k")}))


def test_the_oldest_of_33_is_forgotten() -> None:  # spec: VAL-1
    window = DemandWindow()
    for ordinal in range(DEMAND_WINDOW_REQUESTS + 1):
        window.observe(demand(ordinal))
    assert DEMAND_WINDOW_REQUESTS == 32
    assert window.demands == tuple(demand(ordinal) for ordinal in range(1, 33))


def test_a_session_is_one_domain_and_a_request_without_one_its_own() -> None:  # spec: VAL-1
    one, two = RequestId(1), RequestId(2)
    session = SessionKey("request 1")
    assert reuse_domain(session, one) == reuse_domain(session, two)
    assert len({reuse_domain(None, one), reuse_domain(None, two), reuse_domain(session, one)}) == 3
    assert b"request" not in reuse_domain(session, one)


def test_a_key_is_a_frontier_and_the_digest_below_it() -> None:
    summary = CheckpointSummary(
        ref=CheckpointRef(id=CheckpointId(1), owner=OwnerId(1)),
        kind=CheckpointKind.LONG_ANCHOR,
        frontier_tokens=7,
        prefix_digest=b"seven",
    )
    assert PrefixKey.of(summary) == PrefixKey(7, b"seven")
