"""Law: whatever streams ask, a tree design reads only what was computed, and gives back what it
took.
"""

from __future__ import annotations

from random import Random

import pytest

from ninfer_lab.contract.candidate import AdmissionRequest
from ninfer_lab.contract.options import CacheMode
from ninfer_lab.engine.assembly import ControllerFactory
from ninfer_lab.policies.community.marconi import marconi
from ninfer_lab.policies.community.sglang_radix import sglang_radix
from ninfer_lab.policies.community.tensorrt_priority import TokenRange, tensorrt_priority
from ninfer_lab.policies.community.vllm_aligned import vllm_aligned
from policies.tree_world import tree_world
from simulation.content_machine import answer_to


def by_length(request: AdmissionRequest) -> tuple[TokenRange, ...]:
    """Some priority, so that blocks differ."""
    return (TokenRange(end_tokens=128, priority=len(request.prompt.tokens) % 100),)


DESIGNS: dict[str, ControllerFactory] = {
    "vllm": vllm_aligned(64),
    "sglang": sglang_radix,
    "tensorrt": tensorrt_priority(retention=by_length),
    "marconi": marconi(),
    "vllm, one pool": vllm_aligned(128, blocks_count=13, state_blocks=1),
}


def random_prompt(random: Random) -> list[int]:
    """One of few beginnings, and one of few ends: much is shared, and much is not."""
    head = [random.choice((1, 2))] * random.choice((30, 64, 100, 200))
    return [*head, *([random.choice((3, 4, 5))] * random.choice((1, 64, 90, 150)))]


@pytest.mark.parametrize("name", DESIGNS)
def test_random_streams_are_answered_as_without_a_cache(name: str) -> None:  # spec: PEER-1
    assert sum(hits_of_stream(name, seed) for seed in range(4)) > 0


def hits_of_stream(name: str, seed: int) -> int:
    """Serves a stream, every law and every content watched; how many tokens were spared."""
    random = Random(seed)
    lanes = 1 + seed % 2
    world = tree_world(
        DESIGNS[name], lanes=lanes, pages=10 * lanes, extra_slots=random.choice((1, 2, 5))
    )
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
        assert outcome.output_tokens == whole[: len(outcome.output_tokens)], (name, seed, request)
    world.engine.close()
    return hits_tokens
