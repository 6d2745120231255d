"""Decisions small enough to work out by hand, and what several tests ask of generated ones."""

from __future__ import annotations

from random import Random

from ninfer_lab.context_cache.judged_targets import Problem
from ninfer_lab.context_cache.resource_search import Found, search
from ninfer_lab.context_cache.search_budget import BoundaryAllowance
from ninfer_lab.contract.candidate import SourceDisposition
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.fixed_point import U64_MAX
from ninfer_lab.contract.machine_work import MachineWork, PrefillWork
from ninfer_lab.contract.planning import PlanningSession, TargetHandle
from ninfer_lab.engine.decision_problem import (
    Continued,
    DecisionProblem,
    KeptCheckpoint,
    KeptOwner,
    RetentionClass,
    Room,
    Where,
)
from ninfer_lab.engine.decision_room import UNLIMITED_NS, open_problem

TOKEN_NS, PAIR_NS, BYTE_NS, CALL_NS = 1_000_000, 10, 1, 100


def price(work: MachineWork) -> int:
    """Never less for more: tokens are dear, pairs and bytes are not."""
    prefill = work.prefill or PrefillWork.between(0, 0, prefill_chunk_tokens=1)
    return (
        prefill.suffix_tokens * TOKEN_NS
        + prefill.attention_pairs_count * PAIR_NS
        + sum(b.payload_bytes * BYTE_NS + b.operation_count * CALL_NS for b in work.transfers)
    )


def noise(work: MachineWork) -> int:
    """Any number, but the same for the same work."""
    return Random(repr(work)).randrange(10**12)


def free(work: MachineWork) -> int:
    return 0


def flat(work: MachineWork) -> int:
    """Whatever is to be done takes a second: nothing is spared by having it."""
    return 10**9


def saturated(work: MachineWork) -> int:
    return U64_MAX


def owner(
    *frontiers_tokens: int,
    retention: RetentionClass = RetentionClass.RECENT_PRIVATE,
    pages: Where = Where.DEVICE,
    branches_from: tuple[int, int] | None = None,
    hits: tuple[int, int] = (0, 0),
) -> KeptOwner:
    """An endpoint, with anchors before it."""
    kinds = [CheckpointKind.LONG_ANCHOR] * (len(frontiers_tokens) - 1)
    return KeptOwner(
        checkpoints=tuple(
            KeptCheckpoint(kind=kind, frontier_tokens=tokens, hits=hits)
            for kind, tokens in zip(
                (*kinds, CheckpointKind.SESSION_ENDPOINT), frontiers_tokens, strict=True
            )
        ),
        retention=retention,
        pages=pages,
        branches_from=branches_from,
    )


def problem(
    *owners: KeptOwner,
    continued: tuple[tuple[int, int, SourceDisposition], ...] = (),
    new_tokens: int = 128,
    slots: int = 8,
    pages: int,
    host_slots: int = 0,
    host_pages: int = 0,
    vacant: int = 1,
    session_owner: int | None = None,
    recency: tuple[int, ...] | None = None,
) -> DecisionProblem:
    """Pages of 1,000 bytes, images of 5,000."""
    return DecisionProblem(
        name="by hand",
        room=Room(
            device_slots=slots,
            device_pages=pages,
            host_slots=host_slots,
            host_pages=host_pages,
            page_bytes=1_000,
            state_image_bytes=5_000,
        ),
        owners=owners,
        continued=tuple(
            Continued(owner=o, checkpoint=c, disposition=disposition)
            for o, c, disposition in continued
        ),
        new_tokens=new_tokens,
        output_tokens=1,
        session_owner=session_owner,
        vacant_catalog_slots=vacant,
        recency=recency,
    )


def decided(written: DecisionProblem, *, allowance_ns: int = UNLIMITED_NS) -> Found:
    """By hand's price, with all the time there is."""
    return searched(open_problem(written, price), allowance_ns=allowance_ns)


def searched(posed: Problem, *, allowance_ns: int = UNLIMITED_NS, others: int = 0) -> Found:
    allowance = BoundaryAllowance(others)
    allowance.remaining_ns = allowance_ns
    return search(posed, allowance)


def evicted(session: PlanningSession, target: TargetHandle) -> list[int]:
    """Owners that end, by ordinal."""
    return [o for o, facts in session.facts(target) if facts.is_eviction]


def walk(session: PlanningSession, seed: int, length: int = 6) -> list[TargetHandle]:
    """A way down the graph, identity first."""
    draw = Random(seed)
    target = session.identity(draw.randrange(len(session.candidates)))
    way = [target]
    for _ in range(length):
        steps = session.steps(target)
        if not steps:
            break
        target = target.after(draw.choice(list(steps)))
        way.append(target)
    return way
