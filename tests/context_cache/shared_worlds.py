"""Worlds in which requests begin alike, and short words for what becomes of it.

Every world is held to all laws after every call, and every content is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ninfer_lab.contract.candidate import ReusePath
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.events import CaptureTried, SharedCaptureEnded
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.options import EngineOptions
from ninfer_lab.contract.shared_prefix import Evidence
from ninfer_lab.contract.shared_report import SharedCaptureTold, SharedOutcome
from simulation.content_machine import answer_to
from simulation.engine_world import MAIN_PAGE_BYTES, EngineWorld, engine_world, prepared

EXPLICIT, ASKED = Evidence.EXPLICIT_BOUNDARY, Evidence.REQUESTED_AUTOMATIC
MARKER, STRUCTURE = Evidence.DEFAULT_AUTOMATIC, Evidence.ENGINE_STRUCTURAL
OBSERVED = Evidence.ENGINE_OBSERVED

HEAD_TOKENS = 100
ROOT, SHARED = ReusePath.ROOT, ReusePath.SHARED_STABLE_PREFIX


def shared_world(
    *,
    slots: int = 4,
    extra: int = 8,
    private: int = 8,
    host: int = 8,
    lanes: int = 1,
    pages: int = 64,
    markers_take_surplus: bool = False,
    recycles: bool = True,
    rolls: bool = False,
) -> EngineWorld:
    """Roomy by default, with chunks of 64 tokens."""
    return engine_world(
        EngineOptions(
            max_concurrency=lanes,
            max_context_tokens=256,
            kv_capacity_tokens=64 * pages,
            prefill_chunk_tokens=64,
            device_state_slots=extra,
            host_state_slots=host,
            host_kv_capacity_bytes=64 * MAIN_PAGE_BYTES if host else 0,
            max_private_continuations=private,
            max_shared_prefixes=slots,
            automatic_markers_take_surplus=markers_take_surplus,
            recycles_shared_prefixes=recycles,
            rolling_retention=rolls,
        )
    )


def head(ordinal: int, tokens: int = HEAD_TOKENS) -> list[int]:
    """The first tokens of a prompt; no two ordinals begin alike."""
    return [(300 * ordinal + i) % 1_000 for i in range(tokens)]


def tail(ordinal: int, tokens: int = 20) -> list[int]:
    """What follows; it differs from the first token on."""
    return [999 - ordinal, *(((7 * ordinal + i) % 500) for i in range(tokens - 1))]


def ask(
    world: EngineWorld,
    head_ordinal: int,
    tail_ordinal: int,
    *,
    evidence: Evidence | None = STRUCTURE,
    also: dict[int, Evidence] | None = None,
    session: str | None = None,
    head_tokens: int = HEAD_TOKENS,
) -> RequestId:
    """One request from its prompt to its end; its answer is what a fresh machine would say."""
    tokens = [*head(head_ordinal, head_tokens), *tail(tail_ordinal)]
    at_head = {} if evidence is None else {head_tokens: evidence}
    prompt = prepared(tokens, shared={**at_head, **(also or {})})
    request = world.submit(prompt, output=2, session=session)
    outcome = world.finish(request)
    assert outcome.output_tokens == answer_to(tokens, 2)
    return request


def reused(world: EngineWorld, request: RequestId) -> tuple[ReusePath, int]:
    admitted = world.admission_of(request)
    return admitted.path, admitted.reuse_tokens


def chances(world: EngineWorld, request: RequestId) -> list[SharedCaptureTold]:
    """Every chance of a request, with its end."""
    told = [
        event.result.shared
        for event in world.events(CaptureTried)
        if event.request == request and event.result.shared is not None
    ]
    ended = [e.told for e in world.events(SharedCaptureEnded) if e.request == request]
    return [each for each in (*told, *ended) if each.is_final]


def outcomes(world: EngineWorld, request: RequestId) -> list[tuple[int, SharedOutcome]]:
    return [(told.frontier_tokens, told.outcome) for told in chances(world, request)]


def shared_frontiers(world: EngineWorld) -> list[int]:
    """Of the shared owners there are, in slot order."""
    return [
        checkpoint.frontier_tokens
        for entry in world.snapshot.catalog
        for checkpoint in entry.checkpoints
        if checkpoint.kind is CheckpointKind.SHARED_STABLE_PREFIX
    ]


def hits(world: EngineWorld, requests: Iterable[RequestId]) -> list[int]:
    """Tokens that each of some requests needed no forward for."""
    return [world.admission_of(request).reuse_tokens for request in requests]


def rounds(
    world: EngineWorld,
    heads_count: int,
    rounds_count: int,
    *,
    also_marker: bool = False,
    lengths: Sequence[int] | None = None,
) -> list[list[int]]:
    """Different heads in strict turns, another tail each time; what was reused, round by round."""
    told = []
    for each in range(rounds_count):
        row = []
        for ordinal in range(heads_count):
            length = HEAD_TOKENS if lengths is None else lengths[ordinal]
            also = {length + 16: MARKER} if also_marker else None
            request = ask(world, ordinal, 10 * each + ordinal, also=also, head_tokens=length)
            row.append(world.admission_of(request).reuse_tokens)
        told.append(row)
    return told
