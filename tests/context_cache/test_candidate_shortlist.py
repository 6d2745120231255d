"""Law: a digest narrows the search to frontiers below the prompt's end; only a request of the same
session, later than the owner and with nobody leaning on it, may take the owner over.
"""

from __future__ import annotations

import pytest

from ninfer_lab.context_cache.candidate_shortlist import disposition_of, shortlist
from ninfer_lab.context_cache.catalog import PrivateOwner
from ninfer_lab.context_cache.owner_edges import OwnerEdges
from ninfer_lab.context_cache.session_index import SessionIndex
from ninfer_lab.contract.candidate import AdmissionRequest, SourceDisposition
from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.ids import (
    CheckpointId,
    CheckpointRef,
    LaneId,
    OwnerId,
    OwnerRef,
    RequestId,
    SessionKey,
)
from ninfer_lab.contract.options import CacheMode
from ninfer_lab.contract.result import OwnerState
from ninfer_lab.contract.token_span import TokenSpan
from simulation.engine_world import prepared

CONSUME, RETAIN = SourceDisposition.CONSUME, SourceDisposition.RETAIN


def request_of(
    tokens: range | list[int], *, session: str | None = None, order: int = 9
) -> AdmissionRequest:
    return AdmissionRequest(
        request=RequestId(order),
        prompt=prepared(tokens),
        max_output_tokens=1,
        mode=CacheMode.READ_WRITE,
        session_key=None if session is None else SessionKey(session),
        publication_order=order,
        free_lanes=(LaneId(0),),
    )


def owner_of(number: int, tokens: range, *frontiers: int, order: int = 1) -> PrivateOwner:
    """An owner with checkpoints at frontiers of one history."""
    history = TokenSpan(tokens)
    checkpoints = tuple(
        CheckpointSummary(
            ref=CheckpointRef(id=CheckpointId(number * 100 + frontier), owner=OwnerId(number)),
            kind=CheckpointKind.SESSION_ENDPOINT,
            frontier_tokens=frontier,
            prefix_digest=history.prefix_digest(frontier),
        )
        for frontier in frontiers
    )
    ref = OwnerRef(id=OwnerId(number), generation=1)
    return PrivateOwner(state=OwnerState(ref=ref, checkpoints=checkpoints), publication_order=order)


def test_matching_frontiers_are_listed_by_slot_then_by_depth() -> None:  # spec: CAND-1
    owners = (owner_of(2, range(20), 5, 12), owner_of(1, range(20), 8))
    found = shortlist(request_of(range(30)), owners)
    assert [(e.owner.id, e.checkpoint.frontier_tokens) for e in found] == [(2, 5), (2, 12), (1, 8)]


@pytest.mark.parametrize(("prompt_tokens", "listed"), [(12, []), (13, [12]), (30, [12])])
def test_a_frontier_that_leaves_nothing_to_compute_is_not_listed(
    prompt_tokens: int, listed: list[int]
) -> None:
    found = shortlist(request_of(range(prompt_tokens)), (owner_of(1, range(20), 12),))
    assert [entry.checkpoint.frontier_tokens for entry in found] == listed


def test_only_checkpoints_of_the_same_beginning_are_listed() -> None:
    diverged = [*range(10), *range(500, 520)]
    found = shortlist(request_of(diverged), (owner_of(1, range(20), 5, 10, 11),))
    assert [entry.checkpoint.frontier_tokens for entry in found] == [5, 10]


def test_an_empty_catalog_lists_nothing() -> None:
    assert shortlist(request_of(range(5)), ()) == ()


def test_a_later_request_of_the_same_session_consumes() -> None:  # spec: SES-1
    sessions, owner = SessionIndex(), owner_of(1, range(20), 12)
    sessions.bind(SessionKey("a"), owner.id, owner.publication_order)
    request = request_of(range(30), session="a")
    assert disposition_of(request, owner, sessions, OwnerEdges()) is CONSUME


@pytest.mark.parametrize("session", [None, "b"])
def test_another_session_or_none_retains(session: str | None) -> None:  # spec: ANC-4
    sessions, owner = SessionIndex(), owner_of(1, range(20), 12)
    sessions.bind(SessionKey("a"), owner.id, owner.publication_order)
    request = request_of(range(30), session=session)
    assert disposition_of(request, owner, sessions, OwnerEdges()) is RETAIN


def test_an_owner_of_nobody_is_retained_by_everybody() -> None:
    owner = owner_of(1, range(20), 12)
    for session in (None, "a"):
        request = request_of(range(30), session=session)
        assert disposition_of(request, owner, SessionIndex(), OwnerEdges()) is RETAIN


@pytest.mark.parametrize("order", [8, 9, 10])
def test_what_a_later_request_published_is_retained_by_an_older_one(order: int) -> None:
    sessions, owner = SessionIndex(), owner_of(1, range(20), 12, order=9)  # spec: SES-1
    sessions.bind(SessionKey("a"), owner.id, owner.publication_order)
    request = request_of(range(30), session="a", order=order)
    expected = CONSUME if order > 9 else RETAIN
    assert disposition_of(request, owner, sessions, OwnerEdges()) is expected


def test_an_owner_somebody_leans_on_is_retained() -> None:  # spec: TGT-2
    sessions, edges, owner = SessionIndex(), OwnerEdges(), owner_of(1, range(20), 12)
    sessions.bind(SessionKey("a"), owner.id, owner.publication_order)
    request = request_of(range(30), session="a")
    edges.add(RequestId(5), owner.id)
    assert disposition_of(request, owner, sessions, edges) is RETAIN
    edges.settle(RequestId(5))
    assert disposition_of(request, owner, sessions, edges) is CONSUME
