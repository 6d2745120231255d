"""Law: pages that agree are no reuse where no state has read them."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.options import EngineOptions
from ninfer_lab.lab.checkers.accounting import EverythingIsHeld, OccupancyIsCounted
from ninfer_lab.lab.laws import Law
from ninfer_lab.policies.longest_prefix import longest_prefix
from simulation.engine_world import EngineWorld, engine_world

NOT_OWED: frozenset[type[Law]] = frozenset({EverythingIsHeld, OccupancyIsCounted})
"""It keeps pages that no picture has a word for, and a slot that is all zeros."""


def world() -> EngineWorld:
    options = EngineOptions(max_context_tokens=256, kv_capacity_tokens=512, device_state_slots=1)
    return engine_world(options, design=longest_prefix, without=NOT_OWED)


def test_a_prompt_that_shares_no_page_is_served() -> None:
    served = world()
    for first in (1, 2):
        log = served.finish(served.submit([first, *range(100, 200)])).log
        assert log.prefix_cache_hit_tokens == 0


def test_the_machine_has_no_state_for_pages_alone() -> None:  # spec: NOT-1
    served = world()
    served.finish(served.submit(range(100)))
    with pytest.raises(InvariantBroken, match="was never written"):
        served.finish(served.submit([*range(90), 7]))
