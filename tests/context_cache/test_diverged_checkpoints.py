"""Law: what a session's newest prompt has left below a frontier is worth nothing any more, where an
engine is told to believe so; another session, a late prompt and one that goes back are heeded.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from ninfer_lab.context_cache.catalog import PrivateOwner
from ninfer_lab.context_cache.diverged_checkpoints import DivergedCheckpoints
from ninfer_lab.contract.candidate import (
    AdmissionCandidate,
    AdmissionRequest,
    NotReusable,
    SourceDisposition,
)
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
from ninfer_lab.contract.options import CacheMode, EngineOptions
from ninfer_lab.contract.program_api import ProgramApi
from ninfer_lab.contract.prompt import PreparedPrompt
from ninfer_lab.contract.result import OwnerState
from ninfer_lab.program.planning.exact_identity import compare
from ninfer_lab.program.storage.continuation_store import Continuation
from ninfer_lab.program.storage.replica_layout import Holdings
from simulation.engine_world import prepared

FIRST, SECOND = OwnerId(1), OwnerId(2)
HISTORY = prepared(range(20))
FRONTIERS = (5, 10, 20)


class Histories:
    """Program's comparison, over two owners of known histories."""

    def __init__(self) -> None:
        self.prompts: dict[OwnerId, PreparedPrompt] = {FIRST: HISTORY}

    def verify(
        self, request: AdmissionRequest, checkpoint: CheckpointRef, disposition: SourceDisposition
    ) -> AdmissionCandidate | NotReusable:
        prompt, frontier_tokens = self.prompts[checkpoint.owner], int(checkpoint.id)
        owner = Continuation(
            ref=OwnerRef(id=checkpoint.owner, generation=1),
            identity=prompt.identity,
            history=prompt.tokens,
            execution_frontiers_tokens=prompt.rewrite_execution_frontiers,
            checkpoints=(),
            holdings=Holdings(),
        )
        difference = compare(request.prompt, owner, frontier_tokens)
        root = AdmissionCandidate(
            request=request, source=None, reuse_tokens=0, prefill_tokens=len(request.prompt.tokens)
        )
        return difference or root


def owner(number: OwnerId) -> PrivateOwner:
    """With a checkpoint at each frontier, called by it."""
    checkpoints = tuple(
        CheckpointSummary(
            ref=CheckpointRef(id=CheckpointId(at), owner=number),
            kind=CheckpointKind.LONG_ANCHOR,
            frontier_tokens=at,
            prefix_digest=b"",
        )
        for at in FRONTIERS
    )
    ref = OwnerRef(id=number, generation=1)
    return PrivateOwner(state=OwnerState(ref=ref, checkpoints=checkpoints), publication_order=1)


def prompt_of(
    prompt: PreparedPrompt, *, order: int = 2, session: str | None = "s"
) -> AdmissionRequest:
    return AdmissionRequest(
        request=RequestId(order),
        prompt=prompt,
        max_output_tokens=1,
        mode=CacheMode.READ_WRITE,
        session_key=None if session is None else SessionKey(session),
        publication_order=order,
        free_lanes=(LaneId(0),),
    )


def leaving(at: int, length: int = 30) -> PreparedPrompt:
    """Leaves the history at a token."""
    return prepared([*range(at), *range(500, 500 + length - at)])


def listening(*, is_chosen: bool = True) -> DivergedCheckpoints:
    return DivergedCheckpoints(cast(ProgramApi, Histories()), is_chosen=is_chosen)


def left(diverged: DivergedCheckpoints, number: OwnerId = FIRST) -> list[int]:
    return sorted(ref.id for ref in diverged.of(number))


def test_checkpoints_above_the_place_of_parting_are_left_and_no_other() -> None:  # spec: VAL-4
    for at, expected in ((4, [5, 10, 20]), (5, [10, 20]), (9, [10, 20]), (10, [20]), (20, [])):
        diverged = listening()
        diverged.hear(prompt_of(leaving(at)), FIRST, (owner(FIRST),))
        assert left(diverged) == expected, at


def test_a_prompt_that_merely_ends_earlier_leaves_nothing() -> None:  # spec: VAL-4
    diverged = listening()
    diverged.hear(prompt_of(prepared(range(7))), FIRST, (owner(FIRST),))
    assert left(diverged) == []
    diverged.hear(prompt_of(leaving(6, length=7), order=3), FIRST, (owner(FIRST),))
    assert left(diverged) == [10, 20]


def test_another_template_proves_nothing_of_the_tokens() -> None:  # spec: VAL-4
    diverged = listening()
    other = prepared([*range(4), *range(500, 530)], template="other")
    diverged.hear(prompt_of(other), FIRST, (owner(FIRST),))
    assert left(diverged) == []


def test_only_the_owners_of_the_session_are_judged() -> None:  # spec: VAL-4
    diverged = listening()
    diverged.hear(prompt_of(leaving(6), session=None), None, (owner(FIRST),))
    diverged.hear(prompt_of(leaving(6), session="t"), SECOND, (owner(FIRST),))
    assert left(diverged) == []


def test_an_owner_that_the_session_was_bound_to_stays_judged_by_its_prompts() -> None:
    # spec: VAL-4
    diverged, owners = listening(), (owner(FIRST),)
    diverged.hear(prompt_of(leaving(6)), FIRST, owners)
    diverged.hear(prompt_of(leaving(15), order=3), SECOND, owners)
    assert left(diverged) == [20]  # it went back, past 10
    diverged.hear(prompt_of(leaving(4), order=2), SECOND, owners)
    assert left(diverged) == [20]  # an older prompt that is looked at late says nothing
    diverged.hear(prompt_of(leaving(4), order=4, session="t"), SECOND, owners)
    assert left(diverged) == [20]
    diverged.forget(FIRST)
    assert left(diverged) == []


def test_by_default_nothing_counts_as_left() -> None:  # spec: VAL-4
    diverged = listening(is_chosen=False)
    diverged.hear(prompt_of(leaving(4)), FIRST, (owner(FIRST),))
    assert left(diverged) == []
    assert not EngineOptions().resolve().release_diverged
    assert replace(EngineOptions(), release_diverged=True).resolve().release_diverged
