"""Law: under the lane-owned design and its cures, too, both worlds decide the same, and nothing
that was reused has changed what is said.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from ninfer_lab.contract.options import ContextCache
from ninfer_lab.contract.recording_options import EVERYTHING
from ninfer_lab.lab import worlds
from ninfer_lab.lab.token_sources import RecordedTokens
from ninfer_lab.lab.world import Machine, Run, World
from ninfer_lab.policies.lane_owned.design import lane_owned
from ninfer_lab.policies.lane_owned.switches import (
    AS_IT_WAS,
    DETACHED_REGISTRY,
    LANE_SELECTION,
    LaneSwitches,
)
from stories.random_story import random_story
from stories.test_both_worlds import answers, without_tensors

THINKING = worlds.named("side-request-short-title")
SEEDS = range(4)


def on_tensors(world: World, switches: LaneSwitches) -> Run:
    return worlds.run(world, Machine.TORCH, design=lane_owned(switches), recording=EVERYTHING)


@pytest.mark.slow
@pytest.mark.parametrize("switches", [AS_IT_WAS, DETACHED_REGISTRY, LANE_SELECTION])
def test_random_streams_go_the_same_way_and_say_what_no_cache_says(  # spec: IDN-6, OBS-1
    switches: LaneSwitches,
) -> None:
    paths: Counter[str] = Counter()
    for seed in SEEDS:
        world = replace(THINKING, story=random_story(seed))
        real = on_tensors(world, switches)
        drawn = RecordedTokens.of(real.events)
        virtual = worlds.run(world, tokens=drawn, design=lane_owned(switches), recording=EVERYTHING)
        assert without_tensors(virtual.events) == without_tensors(real.events), f"seed {seed}"
        assert virtual.snapshot == real.snapshot
        uncached = replace(
            world.story.options,
            device_state_slots=None,
            host_state_slots=None,
            host_kv_capacity_bytes=None,
            context_cache=ContextCache.DISABLED,
        )
        alone = on_tensors(replace(world, story=replace(world.story, options=uncached)), switches)
        assert answers(real) == answers(alone), f"seed {seed}"
        found = (told.outcome.log.prefix_reuse_path for told in real.told)
        paths.update(path.value for path in found if path is not None)
    assert {"full_reset", "append_at_frontier", "restore_turn_checkpoint"} <= set(paths), paths
