"""Law: whatever streams ask, a tree design reads only what was computed, and gives back what it
took.
"""

from __future__ import annotations

from random import Random

import pytest

from ninfer_lab.contract.candidate import AdmissionRequest
from ninfer_lab.engine.assembly import ControllerFactory
from ninfer_lab.policies.community.marconi import marconi
from ninfer_lab.policies.community.sglang_radix import sglang_radix
from ninfer_lab.policies.community.snapshot_tree import snapshot_tree
from ninfer_lab.policies.community.tensorrt_priority import TokenRange, tensorrt_priority
from ninfer_lab.policies.community.vllm_aligned import vllm_aligned
from policies.random_prompts import hits_of_stream
from policies.tree_world import tree_world
from simulation.engine_world import EngineWorld


def by_length(request: AdmissionRequest) -> tuple[TokenRange, ...]:
    """Some priority, so that blocks differ."""
    return (TokenRange(end_tokens=128, priority=len(request.prompt.tokens) % 100),)


DESIGNS: dict[str, ControllerFactory] = {
    "vllm": vllm_aligned(64),
    "sglang": sglang_radix,
    "tensorrt": tensorrt_priority(retention=by_length),
    "marconi": marconi(),
    "snapshot tree": snapshot_tree,
    "vllm, one pool": vllm_aligned(128, blocks_count=13, state_blocks=1),
}


@pytest.mark.parametrize("name", DESIGNS)
def test_random_streams_are_answered_as_without_a_cache(name: str) -> None:  # spec: PEER-1
    def build(random: Random, lanes: int) -> EngineWorld:
        slots = random.choice((1, 2, 5))
        return tree_world(DESIGNS[name], lanes=lanes, pages=10 * lanes, extra_slots=slots)

    assert sum(hits_of_stream(seed, build) for seed in range(3)) > 0
