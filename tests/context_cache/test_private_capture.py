"""Law: one rewrite checkpoint is wanted, the turn closure before the replay, and none that lies
behind the start; anchors only above it, and none takes a slot that a later capture needs.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from context_cache.test_long_anchors import lineage
from ninfer_lab.context_cache.catalog import PrivateOwner
from ninfer_lab.context_cache.private_capture import (
    capture_terms,
    terms_at_start,
    wanted_captures,
)
from ninfer_lab.contract.candidate import (
    AdmissionCandidate,
    AdmissionRequest,
    CheckpointSource,
    SourceDisposition,
)
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.ids import (
    CheckpointId,
    CheckpointRef,
    LaneId,
    OwnerId,
    OwnerRef,
    RequestId,
)
from ninfer_lab.contract.options import CacheMode
from ninfer_lab.contract.plan import CaptureOffer
from ninfer_lab.contract.planned_capture import CaptureTerms, PlannedCapture
from ninfer_lab.contract.prompt import AnchorOrigin, AnchorProposal
from ninfer_lab.contract.result import OwnerState
from simulation.engine_world import prepared

CLOSURE, REPLAY = CheckpointKind.TURN_CLOSURE, CheckpointKind.RESPONSE_REPLAY
ANCHOR, ENDPOINT = CheckpointKind.LONG_ANCHOR, CheckpointKind.SESSION_ENDPOINT
CONSUME, RETAIN = SourceDisposition.CONSUME, SourceDisposition.RETAIN
OWNER = OwnerRef(id=OwnerId(1), generation=1)

Points = list[tuple[CheckpointKind, int]]


@pytest.mark.parametrize(
    ("closure", "replay", "reuse", "wanted"),
    [
        (40, 55, 0, [(CLOSURE, 40)]),
        (40, 55, 12, [(CLOSURE, 40)]),
        (40, 55, 40, [(CLOSURE, 40)]),  # where the request starts: captured before anything runs
        (40, 55, 41, []),  # the lineage has it already, and a replay would push it out
        (40, None, 0, [(CLOSURE, 40)]),
        (None, 55, 0, [(REPLAY, 55)]),
        (None, 55, 55, [(REPLAY, 55)]),
        (None, 55, 56, []),
        (None, None, 0, []),
    ],
)
def test_which_rewrite_checkpoint_is_wanted(  # spec: OWN-4, OWN-5
    closure: int | None, replay: int | None, reuse: int, wanted: list[tuple[CheckpointKind, int]]
) -> None:
    captures = wanted_captures(candidate_of(closure=closure, replay=replay, reuse=reuse))
    assert points_of(captures) == wanted


def candidate_of(
    *,
    closure: int | None = None,
    replay: int | None = None,
    anchors: tuple[int, ...] = (),
    reuse: int = 0,
    source: tuple[CheckpointKind, SourceDisposition] | None = None,
) -> AdmissionCandidate:
    """A prompt of 60 tokens that starts somewhere."""
    request = AdmissionRequest(
        request=RequestId(1),
        prompt=prepared(range(60), closure=closure, replay=replay, anchors=anchors),
        max_output_tokens=1,
        mode=CacheMode.READ_WRITE,
        session_key=None,
        publication_order=1,
        free_lanes=(LaneId(0),),
    )
    started = None
    if source is not None:
        started = CheckpointSource(
            owner=OWNER,
            checkpoint=CheckpointRef(id=CheckpointId(99), owner=OWNER.id),
            kind=source[0],
            disposition=source[1],
        )
    return AdmissionCandidate(
        request=request, source=started, reuse_tokens=reuse, prefill_tokens=60 - reuse
    )


def points_of(captures: tuple[PlannedCapture, ...]) -> Points:
    return [(capture.kind, capture.frontier_tokens) for capture in captures]


@pytest.mark.parametrize(
    ("anchors", "closure", "reuse", "endpoint", "wanted"),
    [
        ((20, 35), 40, 0, None, [(ANCHOR, 20), (ANCHOR, 35), (CLOSURE, 40)]),
        ((20, 35), 40, 20, None, [(ANCHOR, 35), (CLOSURE, 40)]),
        ((20, 40), 40, 0, None, [(ANCHOR, 20), (CLOSURE, 40)]),  # one image stands for both
        ((20, 35), None, 35, None, []),
        ((20,), 40, 0, 30, [(ANCHOR, 20), (ANCHOR, 30), (CLOSURE, 40)]),
        ((30,), 40, 0, 30, [(ANCHOR, 30), (CLOSURE, 40)]),
        ((20,), 40, 36, 30, [(CLOSURE, 40)]),  # behind the start: dropped
    ],
)
def test_anchors_are_wanted_above_the_start(  # spec: ANC-1, ANC-3
    anchors: tuple[int, ...], closure: int | None, reuse: int, endpoint: int | None, wanted: Points
) -> None:
    candidate = candidate_of(anchors=anchors, closure=closure, reuse=reuse)
    captures = wanted_captures(
        candidate, limit_anchors=2, limit_slots=3, endpoint_to_keep_tokens=endpoint
    )
    assert points_of(captures) == wanted


@pytest.mark.parametrize(
    ("closure", "slots", "wanted"),
    [
        (40, 0, [(CLOSURE, 40)]),
        (40, 1, [(CLOSURE, 40)]),
        (40, 2, [(ANCHOR, 35), (CLOSURE, 40)]),
        (40, 3, [(ANCHOR, 20), (ANCHOR, 35), (CLOSURE, 40)]),
        (None, 0, []),
        (None, 1, [(ANCHOR, 35)]),
        (None, 2, [(ANCHOR, 20), (ANCHOR, 35)]),
    ],
)
def test_no_more_are_planned_on_the_way_than_there_could_be_slots(  # spec: ANC-1, CAP-3
    closure: int | None, slots: int, wanted: Points
) -> None:
    candidate = candidate_of(anchors=(20, 35), closure=closure)
    captures = wanted_captures(candidate, limit_anchors=2, limit_slots=slots)
    assert points_of(captures) == wanted


def test_where_an_endpoint_was_no_slot_need_be_there() -> None:  # spec: ANC-3
    candidate = candidate_of(anchors=(35,), reuse=30, source=(ENDPOINT, CONSUME))
    captures = wanted_captures(candidate, limit_anchors=2, endpoint_to_keep_tokens=30)
    assert points_of(captures) == [(ANCHOR, 30)]


def test_what_the_caller_marks_comes_before_what_lies_deeper() -> None:  # spec: ANC-1
    """Two slots beside the closure's: of three places the marked one, and the deepest other."""
    candidate = candidate_of(anchors=(10, 20, 35), closure=40)
    assert points_of(wanted_captures(candidate, limit_anchors=2, limit_slots=3)) == [
        (ANCHOR, 20),
        (ANCHOR, 35),
        (CLOSURE, 40),
    ]
    prompt = candidate.request.prompt
    marked = AnchorProposal(frontier_tokens=10, origin=AnchorOrigin.CALLER)
    prompt = replace(prompt, private_anchors=(marked, *prompt.private_anchors[1:]))
    candidate = replace(candidate, request=replace(candidate.request, prompt=prompt))
    assert points_of(wanted_captures(candidate, limit_anchors=2, limit_slots=3)) == [
        (ANCHOR, 10),
        (ANCHOR, 35),
        (CLOSURE, 40),
    ]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ((ENDPOINT, CONSUME), [(ANCHOR, 30)]),
        ((ENDPOINT, RETAIN), []),  # the endpoint itself stays
        ((CLOSURE, CONSUME), []),
        ((ANCHOR, CONSUME), []),  # it goes on itself
    ],
)
def test_only_a_consumed_endpoint_leaves_an_anchor_where_it_was(  # spec: ANC-3
    source: tuple[CheckpointKind, SourceDisposition], wanted: Points
) -> None:
    candidate = candidate_of(reuse=30, source=source)
    captures = wanted_captures(candidate, limit_anchors=2, endpoint_to_keep_tokens=30)
    assert points_of(captures) == wanted


def test_without_a_place_for_anchors_none_is_wanted() -> None:
    candidate = candidate_of(anchors=(20,), closure=40, reuse=30, source=(ENDPOINT, CONSUME))
    captures = wanted_captures(candidate, limit_anchors=0, endpoint_to_keep_tokens=30)
    assert points_of(captures) == [(CLOSURE, 40)]


def terms(
    kind: CheckpointKind, had: Points, later: Points | None = None, *, limit: int = 2
) -> CaptureTerms:
    """Of a capture at 50, on the way."""
    offer = CaptureOffer(
        planned=PlannedCapture(kind=kind, frontier_tokens=50),
        is_at_start=False,
        lineage=lineage(*had),
        later=tuple(PlannedCapture(kind=k, frontier_tokens=f) for k, f in later or []),
    )
    return capture_terms(offer, limit)


@pytest.mark.parametrize(
    ("kind", "had", "gives_way"),
    [
        (CLOSURE, [(ANCHOR, 10), (REPLAY, 20)], 1),
        (REPLAY, [(CLOSURE, 5)], 0),
        (CLOSURE, [(ANCHOR, 10), (ANCHOR, 20)], None),
        (ANCHOR, [(ANCHOR, 10)], None),
        (ANCHOR, [(ANCHOR, 10), (ANCHOR, 15)], 1),  # 10 tokens are covered, and 5
        (ANCHOR, [(ANCHOR, 10), (ANCHOR, 25)], 0),
    ],
)
def test_what_gives_way(  # spec: ANC-1
    kind: CheckpointKind, had: Points, gives_way: int | None
) -> None:
    given = terms(kind, had).gives_way
    assert (None if given is None else given.id) == gives_way


@pytest.mark.parametrize(
    ("had", "later", "leaves"),
    [
        ([], [], 0),
        ([], [(CLOSURE, 55)], 1),
        ([(REPLAY, 5)], [(CLOSURE, 55)], 0),  # which brings the older one's
        ([], [(ANCHOR, 52), (CLOSURE, 55)], 2),
        ([(ANCHOR, 5)], [(ANCHOR, 52), (CLOSURE, 55)], 1),  # the second is one too many
        ([(ANCHOR, 5), (ANCHOR, 9)], [(ANCHOR, 52)], 0),
    ],
)
def test_an_anchor_leaves_what_later_captures_need(  # spec: ANC-1, OWN-5
    had: Points, later: Points, leaves: int
) -> None:
    assert terms(ANCHOR, had, later).leaves_slots_count == leaves
    assert terms(CLOSURE, had, later).leaves_slots_count == 0


def test_where_a_request_starts_nothing_is_left_for_later() -> None:  # spec: ANC-3
    candidate = candidate_of(closure=40, reuse=30, source=(ENDPOINT, CONSUME))
    captures = wanted_captures(candidate, limit_anchors=2, endpoint_to_keep_tokens=30)
    assert points_of(captures) == [(ANCHOR, 30), (CLOSURE, 40)]
    had = lineage((ANCHOR, 4), (ANCHOR, 20), (ENDPOINT, 30))
    owner = PrivateOwner(state=OwnerState(ref=OWNER, checkpoints=had), publication_order=1)
    planned = replace(candidate, captures=captures)
    given = terms_at_start(planned, (owner,), 2)
    assert given == CaptureTerms(gives_way=had[0].ref)  # 4 tokens are covered, and 16
    assert terms_at_start(planned, (owner,), 3) == CaptureTerms()
    root = candidate_of(closure=40)
    planned = replace(root, captures=wanted_captures(root))
    assert terms_at_start(planned, (owner,), 2) is None
