"""Random streams that share much, served by any design under every law, with cancellations and with
forwards that fail, and held to the answers of no cache.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from ninfer_lab.contract.options import CacheMode
from simulation.content_machine import answer_to
from simulation.engine_world import EngineWorld


def random_prompt(random: Random) -> list[int]:
    """One of few beginnings, and one of few ends: much is shared, and much is not."""
    head = [random.choice((1, 2))] * random.choice((30, 64, 100, 200))
    return [*head, *([random.choice((3, 4, 5))] * random.choice((1, 64, 90, 150)))]


def hits_of_stream(seed: int, build: Callable[[Random, int], EngineWorld]) -> int:
    """Serves a stream on one lane or two; how many tokens were spared.

    Args:
        build: A fresh engine for so many lanes.
    """
    random = Random(seed)
    world = build(random, 1 + seed % 2)
    world.machine.failing_forwards = {random.randrange(10, 100) for _ in range(3)}
    asked = {}
    for _ in range(16):
        prompt, output = random_prompt(random), random.choice((1, 5, 30))
        mode = CacheMode.DISABLED if random.random() < 0.1 else CacheMode.READ_WRITE
        asked[world.submit(prompt, output=output, mode=mode)] = (prompt, output)
        for _ in range(random.randrange(20)):
            world.engine.step()
        if random.random() < 0.1:
            world.engine.cancel(random.choice(list(asked)))
    world.settle()
    hits_tokens = 0
    for request, (prompt, output) in asked.items():
        outcome = world.engine.outcome(request)
        hits_tokens += outcome.log.prefix_cache_hit_tokens
        whole = answer_to(prompt, output)
        assert outcome.output_tokens == whole[: len(outcome.output_tokens)], (seed, request)
    world.engine.close()
    return hits_tokens
