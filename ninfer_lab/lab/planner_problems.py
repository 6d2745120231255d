"""Which decisions is the planner tried on?

Owns the generators: from a seed, a small world whose every target can be looked at, a wide one with
many more targets, and the 64-owner problem that a decision is timed with. They are values; how one
is opened and searched is the engine's (`engine.decision_room`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from ninfer_lab.contract.candidate import SourceDisposition
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.options import PAGE_TOKENS, pages_of_tokens
from ninfer_lab.engine.decision_problem import (
    Continued,
    DecisionProblem,
    KeptCheckpoint,
    KeptOwner,
    RetentionClass,
    Room,
    Where,
)

PAGE_BYTES = 4 << 20
"""Of the dense 27B model in bfloat16."""
STATE_IMAGE_BYTES = 154 << 20

CROWD_OWNERS = 64
"""Of the problem that a decision is timed with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How large a generated problem is.

    Attributes:
        owners: Fewest and most.
        checkpoints: Of an owner, fewest and most.
        pages: Of an owner, fewest and most.
        host_share: How many problems of a hundred have a Host tier.
        new_pages: Of the request, behind what it may reuse, at the most.
        free_share: Of what root would take, free at the most.
    """

    owners: tuple[int, int]
    checkpoints: tuple[int, int]
    pages: tuple[int, int]
    host_share: int
    new_pages: int
    free_share: float


SMALL = Shape(
    owners=(2, 4), checkpoints=(1, 2), pages=(4, 60), host_share=50, new_pages=30, free_share=1.1
)
"""Some to some thousand targets."""
WIDE = Shape(
    owners=(5, 9), checkpoints=(1, 3), pages=(8, 200), host_share=60, new_pages=600, free_share=0.5
)
"""Up to many millions: who wants some number of them draws until it fits."""


def generated(seed: int, shape: Shape = SMALL) -> DecisionProblem:
    """The problem of a seed: always one that root can be admitted in with everything gone."""
    draw = Random(f"{seed} {shape}")
    has_host = draw.randrange(100) < shape.host_share
    owners: list[KeptOwner] = []
    for ordinal in range(draw.randint(*shape.owners)):
        parent = draw.randrange(ordinal) if ordinal and draw.random() < 0.3 else None
        owners.append(_owner(draw, shape, has_host, owners, parent))
    continued = _continued(draw, owners)
    problem = DecisionProblem(
        name=f"seed {seed}",
        room=Room(
            device_slots=0,
            device_pages=0,
            host_slots=0,
            host_pages=0,
            page_bytes=PAGE_BYTES,
            state_image_bytes=STATE_IMAGE_BYTES,
        ),
        owners=tuple(owners),
        continued=continued,
        new_tokens=draw.randint(1, shape.new_pages * PAGE_TOKENS),
        output_tokens=draw.randint(1, 512),
        session_owner=continued[-1].owner if continued else None,
        vacant_catalog_slots=draw.choice((0, 1, 1, 2)),
    )
    return replace(problem, room=_room(draw, problem, shape, has_host))


def _owner(
    draw: Random, shape: Shape, has_host: bool, before: list[KeptOwner], parent: int | None
) -> KeptOwner:
    """Some checkpoints, a rewrite one among them now and then; perhaps a branch of another."""
    shared_tokens, branches_from = 0, None
    if parent is not None:
        checkpoint = draw.randrange(len(before[parent].checkpoints))
        branches_from = (parent, checkpoint)
        shared_tokens = before[parent].checkpoints[checkpoint].frontier_tokens
    count = draw.randint(*shape.checkpoints)
    lengths = sorted(
        {shared_tokens + draw.randint(1, shape.pages[1] * PAGE_TOKENS) for _ in range(count)}
        | {shared_tokens + draw.randint(shape.pages[0], shape.pages[1]) * PAGE_TOKENS}
    )[-count:]
    kinds = [CheckpointKind.LONG_ANCHOR] * len(lengths)
    kinds[-1] = CheckpointKind.SESSION_ENDPOINT
    if len(kinds) > 1 and draw.random() < 0.6:
        kinds[-2] = CheckpointKind.TURN_CLOSURE
    tiers = (*[Where.DEVICE] * 6, Where.HOST, Where.BOTH) if has_host else (Where.DEVICE,)
    return KeptOwner(
        checkpoints=tuple(
            KeptCheckpoint(
                kind=kind,
                frontier_tokens=tokens,
                image=draw.choice(tiers),
                hits=(draw.randint(1, 3), draw.randint(1, 99)) if draw.random() < 0.4 else (0, 0),
            )
            for kind, tokens in zip(kinds, lengths, strict=True)
        ),
        retention=draw.choice(list(RetentionClass)),
        pages=draw.choice(tiers),
        branches_from=branches_from,
    )


def _continued(draw: Random, owners: list[KeptOwner]) -> tuple[Continued, ...]:
    """The checkpoints of one owner up to some depth, or none."""
    if draw.random() < 0.3:
        return ()
    owner = draw.randrange(len(owners))
    depth = draw.randint(1, len(owners[owner].checkpoints))
    consumes = draw.random() < 0.5
    disposition = SourceDisposition.CONSUME if consumes else SourceDisposition.RETAIN
    return tuple(
        Continued(owner=owner, checkpoint=i, disposition=disposition) for i in range(depth)
    )


def _room(draw: Random, problem: DecisionProblem, shape: Shape, has_host: bool) -> Room:
    """What is there now, and less beside it than the request would like."""
    device, host = Where.DEVICE, Where.HOST
    images = [c.image for owner in problem.owners for c in owner.checkpoints]
    pages = dict.fromkeys(Where, 0)
    for ordinal, owner in enumerate(problem.owners):
        pages[owner.pages] += own_pages(problem, ordinal)
    there = pages[device] + pages[Where.BOTH]
    needed = _needed_pages(problem)
    wished = int(needed * draw.uniform(0.0, shape.free_share))
    on_device = sum(image is not host for image in images)
    return replace(
        problem.room,
        device_slots=max(1, on_device + draw.choice((0, 0, 1, 2))),
        device_pages=max(there + wished, needed),
        host_slots=sum(i is not device for i in images) + (draw.randint(0, 3) if has_host else 0),
        host_pages=pages[host]
        + pages[Where.BOTH]
        + (int(there * draw.uniform(0.0, 0.9)) if has_host else 0),
    )


def own_pages(problem: DecisionProblem, ordinal: int) -> int:
    """Pages that an owner does not have from the one it branches from."""
    owner = problem.owners[ordinal]
    shared = 0
    if owner.branches_from is not None:
        parent, checkpoint = owner.branches_from
        shared = problem.owners[parent].checkpoints[checkpoint].frontier_tokens // PAGE_TOKENS
    tails = sum(c.frontier_tokens % PAGE_TOKENS > 0 for c in owner.checkpoints[:-1])
    return pages_of_tokens(owner.checkpoints[-1].frontier_tokens) - shared + tails


def _needed_pages(problem: DecisionProblem) -> int:
    """What root would take."""
    prefix_tokens = (
        max(
            (problem.owners[c.owner].checkpoints[c.checkpoint].frontier_tokens)
            for c in problem.continued
        )
        if problem.continued
        else 0
    )
    return pages_of_tokens(prefix_tokens + problem.new_tokens + problem.output_tokens)


def crowd(owners_count: int = CROWD_OWNERS, *, is_pressed: bool = True) -> DecisionProblem:
    """Many owners with as many checkpoints as an owner has by default, and a request that some of
    them must give way to; or one with room for it. The Host could carry one of them.
    """
    draw = Random(owners_count)
    classes = list(RetentionClass)
    pages = 62
    owner_tokens = [
        pages * PAGE_TOKENS * (i + 1) // 4 // PAGE_TOKENS * PAGE_TOKENS for i in range(4)
    ]
    kinds = [*[CheckpointKind.LONG_ANCHOR] * 2, CheckpointKind.TURN_CLOSURE]
    kinds.append(CheckpointKind.SESSION_ENDPOINT)
    owners = tuple(
        KeptOwner(
            checkpoints=tuple(
                KeptCheckpoint(kind=kind, frontier_tokens=tokens)
                for kind, tokens in zip(kinds, owner_tokens, strict=True)
            ),
            retention=draw.choice(classes),
        )
        for _ in range(owners_count)
    )
    needed = 10 * pages
    free = needed // 2 if is_pressed else 2 * needed
    return DecisionProblem(
        name="crowd" if is_pressed else "crowd with room",
        room=Room(
            device_slots=len(kinds) * owners_count + 1,
            device_pages=pages * owners_count + free,
            host_slots=2 * owners_count,
            host_pages=pages,
            page_bytes=PAGE_BYTES,
            state_image_bytes=STATE_IMAGE_BYTES,
        ),
        owners=owners,
        continued=tuple(
            Continued(owner=0, checkpoint=i, disposition=SourceDisposition.RETAIN) for i in (0, 2)
        ),
        new_tokens=(needed - 31) * PAGE_TOKENS,
        output_tokens=64,
        session_owner=0,
        vacant_catalog_slots=1,
    )


LEDGER_CHECKPOINTS = 6
LEDGER_PAGES = 4_000
"""Of the ledger that projection is timed on."""


def full_ledger(owners_count: int = CROWD_OWNERS) -> DecisionProblem:
    """As many owners with six checkpoints each, on 4,000 Device pages and a third as many of Host.

    One in eight branches from its neighbour, one lies on the Host and one in both tiers, and half
    of the frontiers are in the middle of a page. The request goes on from the first one.
    """
    kinds = [CheckpointKind.LONG_ANCHOR] * (LEDGER_CHECKPOINTS - 2)
    kinds += [CheckpointKind.TURN_CLOSURE, CheckpointKind.SESSION_ENDPOINT]
    classes = list(RetentionClass)
    places = {1: Where.HOST, 5: Where.BOTH}
    owners = []
    for ordinal in range(owners_count):
        place = places.get(ordinal % 8, Where.DEVICE)
        branches_from = (ordinal - 1, 1) if ordinal % 8 == 3 else None
        below_tokens = 0 if branches_from is None else 20 * PAGE_TOKENS
        owners.append(
            KeptOwner(
                checkpoints=tuple(
                    KeptCheckpoint(
                        kind=kind,
                        frontier_tokens=below_tokens + 10 * PAGE_TOKENS * (i + 1) + 10 * (i % 2),
                        image=place,
                    )
                    for i, kind in enumerate(kinds)
                ),
                retention=classes[ordinal % len(classes)],
                pages=place,
                branches_from=branches_from,
            )
        )
    return DecisionProblem(
        name="full ledger",
        room=Room(
            device_slots=LEDGER_CHECKPOINTS * owners_count + 1,
            device_pages=LEDGER_PAGES,
            host_slots=2 * owners_count,
            host_pages=LEDGER_PAGES // 3,
            page_bytes=PAGE_BYTES,
            state_image_bytes=STATE_IMAGE_BYTES,
        ),
        owners=tuple(owners),
        continued=(
            Continued(
                owner=0, checkpoint=LEDGER_CHECKPOINTS - 1, disposition=SourceDisposition.CONSUME
            ),
        ),
        new_tokens=900 * PAGE_TOKENS,
        output_tokens=PAGE_TOKENS,
    )
