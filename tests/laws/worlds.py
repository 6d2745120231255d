"""Running engines to hold laws to."""

from __future__ import annotations

from ninfer_lab.contract.options import EngineOptions
from simulation.content_machine import answer_to
from simulation.engine_world import EngineWorld, engine_world, prepared


def busy_world() -> EngineWorld:
    """Two inactive owners that share a page, and three sequences.

    Owner 1 of session "a" has a turn closure and an endpoint, owner 2 branched from its endpoint.
    One sequence decodes, one has forked from owner 1 and not run yet, one has just captured.
    """
    world = engine_world(
        EngineOptions(
            max_concurrency=3,
            max_context_tokens=256,
            kv_capacity_tokens=64 * 24,
            device_state_slots=5,
            prefill_chunk_tokens=80,
            max_private_continuations=6,
        )
    )
    first = prepared(range(100), closure=70)
    world.finish(world.submit(first, output=2, session="a"))
    tail = [*range(100), answer_to(range(100), 1)[0]]
    world.finish(world.submit(prepared([*tail, 5], cuts=(70,)), output=2, session="b"))
    world.submit(range(300, 350), output=100, session="c")
    world.engine.step()
    world.submit(prepared([*range(500, 540), *range(200)], closure=65), output=2, session="d")
    while not any(sequence.checkpoints for sequence in world.snapshot.ledger.sequences):
        world.engine.step()
    world.submit(prepared([*tail, *range(700, 720)], cuts=(70,)), output=40)
    world.engine.step()
    return world
