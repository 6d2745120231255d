"""A tree design over the machine that knows contents, held to every law it owes.

One law of the catalog engine does not hold here, and is not meant to: these designs keep pages that
no state lies over, and states that lost a page. That is the very thing PEER-1 says of them.
"""

from __future__ import annotations

from collections.abc import Iterable

from ninfer_lab.contract.options import EngineOptions
from ninfer_lab.engine.assembly import ControllerFactory
from ninfer_lab.lab.checkers.accounting import EverythingIsHeld
from ninfer_lab.lab.laws import Law
from simulation.engine_world import EngineWorld, engine_world

NOT_OWED: frozenset[type[Law]] = frozenset({EverythingIsHeld})


def tree_world(
    design: ControllerFactory,
    *,
    lanes: int = 1,
    pages: int = 24,
    extra_slots: int = 6,
    context_pages: int = 8,
    chunk_tokens: int = 128,
    without: frozenset[type[Law]] = NOT_OWED,
) -> EngineWorld:
    """An engine with contexts of eight pages."""
    options = EngineOptions(
        max_concurrency=lanes,
        max_context_tokens=64 * context_pages,
        kv_capacity_tokens=64 * pages,
        prefill_chunk_tokens=chunk_tokens,
        device_state_slots=extra_slots,
    )
    return engine_world(options, design=design, without=without)


def reused(world: EngineWorld, prompt: Iterable[int], *, output: int = 1) -> int:
    """Serves a prompt to its end; how much of it was spared."""
    request = world.submit(prompt, output=output)
    return world.finish(request).log.prefix_cache_hit_tokens
