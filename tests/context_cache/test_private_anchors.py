"""Law: a history keeps a few of its earlier points, and a request that leaves it at one of them
goes on from there: beside the conversation where both fit, else in its place.
"""

from __future__ import annotations

from dataclasses import replace

from ninfer_lab.contract.candidate import ReusePath
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.events import CaptureTried, TransitionStarted
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.options import EngineOptions
from ninfer_lab.contract.prompt import AnchorOrigin, AnchorProposal, PreparedPrompt
from ninfer_lab.contract.target import StateTransition
from simulation.content_machine import answer_to
from simulation.engine_world import EngineWorld, engine_world

ANCHOR, ENDPOINT = CheckpointKind.LONG_ANCHOR, CheckpointKind.SESSION_ENDPOINT
CLOSURE = CheckpointKind.TURN_CLOSURE
OPTIONS = EngineOptions(
    max_context_tokens=1_600,
    kv_capacity_tokens=6_400,
    prefill_chunk_tokens=512,
    max_private_continuations=4,
    host_state_slots=0,
    host_kv_capacity_bytes=0,
)
"""One lane and one slot beside it: the default."""

FIRST = range(1_100)
LONG = [token % 500 for token in FIRST]


def anchored(prompt: PreparedPrompt, *frontiers: int) -> PreparedPrompt:
    """A prompt with proposals, by hand."""
    proposals = tuple(
        AnchorProposal(frontier_tokens=at, origin=AnchorOrigin.MESSAGE_BOUNDARY) for at in frontiers
    )
    return replace(prompt, private_anchors=proposals)


def run(
    world: EngineWorld, prompt: PreparedPrompt | list[int], session: str | None = "a"
) -> RequestId:
    request = world.submit(prompt, output=3, session=session)
    world.finish(request)
    return request


def kept(world: EngineWorld) -> list[tuple[int, str | None, list[tuple[CheckpointKind, int]]]]:
    """(owner, session, checkpoints) of every entry."""
    return [
        (e.owner, e.session_key, [(c.kind, c.frontier_tokens) for c in e.checkpoints])
        for e in world.snapshot.catalog
    ]


def start_of(world: EngineWorld, request: RequestId) -> tuple[ReusePath, StateTransition, int]:
    admitted = world.admission_of(request)
    return admitted.path, admitted.state, admitted.reuse_tokens


def continued(world: EngineWorld) -> list[int]:
    """Two turns; the prompt of the second."""
    run(world, LONG)
    second = [*LONG, *answer_to(LONG, 3), 7, 8]
    run(world, second)
    return second


def test_a_continued_endpoint_stays_as_an_anchor() -> None:  # spec: ANC-3
    world = engine_world(OPTIONS)
    second = continued(world)
    assert start_of(world, RequestId(2)) == (
        ReusePath.PRIVATE_ENDPOINT,
        StateTransition.MOVE,
        1_102,
    )
    print(kept(world), len(second))
    (tried,) = world.events(CaptureTried)
    print(tried)


def test_sibling() -> None:
    world = engine_world(OPTIONS)
    continued(world)
    sibling = [*LONG, *answer_to(LONG, 3), 9, 9, 9]
    third = run(world, sibling)
    print(start_of(world, third), kept(world))
    back = [*LONG, *answer_to(LONG, 3), 7, 8, 5]
    fourth = run(world, back)
    print(start_of(world, fourth), kept(world))


def test_host() -> None:
    world = engine_world(
        replace(OPTIONS, host_state_slots=2, host_kv_capacity_bytes=40_000, device_state_slots=0)
    )
    continued(world)
    print(
        start_of(world, RequestId(2)),
        kept(world),
        world.events(CaptureTried),
        world.events(TransitionStarted),
    )
    sibling = [*LONG, *answer_to(LONG, 3), 9, 9, 9]
    third = run(world, sibling)
    print(start_of(world, third), kept(world))
