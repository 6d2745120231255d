"""Law: with three owners, too, a plan is sealed exactly when the brute force says that it fits.

Worlds are drawn: shape, sharing, company, pools, where every content is, and targets of all three.
A few here; in `make soak` many, from a seed that a failure names.
"""

from __future__ import annotations

import random

from ninfer_lab.contract.options import SpeculativeBackend
from small_worlds.filled_world import Where, World
from small_worlds.placements import placed_world
from small_worlds.proof import Tally, WorldProof
from small_worlds.targets import Target
from small_worlds.topologies import (
    ANCHOR,
    CLOSURE,
    SHAPES_TOKENS,
    Beside,
    Sharing,
    Topology,
    driven,
)

FIRST_SEED = 20_261_130
TESTED_TOPOLOGIES_COUNT = 6
SOAKED_TOPOLOGIES_COUNT = 2_000
WORLDS_PER_TOPOLOGY = 6
TARGETS_PER_WORLD = 24
RUN_EVERY = 4


def test_three_owners(soaking: bool) -> None:  # spec: REC-2, STG-1
    seed = random.SystemRandom().randrange(2**32) if soaking else FIRST_SEED
    tally = Tally()
    try_three_owners(seed, SOAKED_TOPOLOGIES_COUNT if soaking else TESTED_TOPOLOGIES_COUNT, tally)
    assert tally.runs_count > 0
    assert {"state move", "state fork", "state restore", "state root", "cow"} <= set(tally.seen)


def try_three_owners(first_seed: int, topologies_count: int, tally: Tally) -> None:
    """Draws so many topologies, each from a seed of its own.

    Raises:
        AssertionError: With the seed that draws it again as the only one.
    """
    for seed in range(first_seed, first_seed + topologies_count):
        try:
            _try_topology(random.Random(seed), tally)
        except Exception as difference:
            difference.add_note(f"again: try_three_owners({seed}, 1, Tally())")
            raise


def _try_topology(draw: random.Random, tally: Tally) -> None:
    lag_tokens = draw.choice((1, 40))
    topology = driven(
        draw.choice(SHAPES_TOKENS),
        draw.choice(list(Sharing)),
        draw.choice(list(Beside)),
        draw.choice((CLOSURE, ANCHOR)),
        backend=draw.choice((None, SpeculativeBackend(lag_tokens=lag_tokens))),
        owners_count=3,
    )
    for _ in range(WORLDS_PER_TOPOLOGY):
        proof = WorldProof(_drawn_world(draw, topology), tally)
        for _ in range(TARGETS_PER_WORLD):
            proof.check(_drawn_target(draw, proof), runs=draw.randrange(RUN_EVERY) == 0)


def _drawn_world(draw: random.Random, topology: Topology) -> World:
    where = {content: draw.choice(list(Where)) for content in sorted(topology.owned)}
    return placed_world(topology, where, gap_granules=draw.choice((0, 0, 1, 2)))


def _drawn_target(draw: random.Random, proof: WorldProof) -> Target:
    owners = proof.picture.owners
    source = draw.choice((None, *range(len(owners))))
    chosen = {
        owner.owner: draw.choice(proof.outcomes[owner.owner])
        for ordinal, owner in enumerate(owners)
        if ordinal != source and draw.randrange(4)
    }
    if source is None:
        return Target(source=None, is_consumed=False, outcomes=chosen)
    checkpoint = draw.randrange(len(owners[source].checkpoints))
    return Target(
        source=(source, checkpoint), is_consumed=draw.choice((False, True)), outcomes=chosen
    )
