"""Law: a slot goes on from its end or from a checkpoint within what is shared, and from nothing
else; the pool in main memory brings whole contents back.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from ninfer_lab.lab.checkers.publication import CheckpointsAreProtected
from ninfer_lab.policies.community.llama_slots import LlamaOptions, llama_slots
from policies.random_prompts import hits_of_stream
from policies.tree_world import reused, tree_world
from simulation.content_machine import answer_to
from simulation.engine_world import EngineWorld

NOT_OWED = frozenset({CheckpointsAreProtected})
"""A slot writes into the page in which its own checkpoint ends, past the checkpoint's tokens."""


def slots_world(server: LlamaOptions, *, lanes: int = 1) -> EngineWorld:
    """Contexts of eight pages, and places for a pool of a few."""
    return tree_world(
        llama_slots(server),
        lanes=lanes,
        pages=9 * lanes + 20,
        extra_slots=lanes * (server.checkpoints_count + 3) + 10,
        without=NOT_OWED,
    )


def small(ram_bytes: int = 10_000) -> LlamaOptions:
    return LlamaOptions(ram_bytes=ram_bytes, checkpoints_count=3, small_batch_tokens=40)


@pytest.mark.parametrize("ram_bytes", [0, 10_000])
def test_random_streams_are_answered_as_without_a_cache(ram_bytes: int) -> None:
    def build(random: Random, lanes: int) -> EngineWorld:
        return slots_world(small(ram_bytes=ram_bytes), lanes=lanes)

    assert sum(hits_of_stream(seed, build) for seed in range(3)) > 0


def test_the_end_is_gone_on_from_and_anything_else_needs_a_checkpoint() -> None:
    world = slots_world(small(ram_bytes=0))
    first = list(range(100))
    assert reused(world, first) == 0
    assert reused(world, [*first, 7, 8]) == 100, "the answer drawn last was never consumed"
    assert reused(world, [*first, 9, 8]) == 100, "a batch began there, near the end"
    assert reused(world, [*first[:98], 3, 4]) == 96, "4 tokens before the first prompt's end"
    assert reused(world, [*first[:50], *range(500, 550)]) == 0, "none lies so far up"


def test_the_same_prompt_finds_the_checkpoint_before_its_last_tokens() -> None:
    world = slots_world(small(ram_bytes=0))
    assert [reused(world, range(200)) for _ in range(3)] == [0, 196, 196]


def test_the_pool_brings_a_conversation_back_and_its_limit_takes_the_oldest() -> None:
    title, first = list(range(500, 540)), list(range(200))
    with_pool, without = slots_world(small()), slots_world(small(ram_bytes=0))
    assert [reused(with_pool, each) for each in (first, title, [*first, 1])] == [0, 0, 200]
    assert [reused(without, each) for each in (first, title, [*first, 1])] == [0, 0, 0]
    tight = slots_world(small(ram_bytes=1))
    third = list(range(700, 900))
    assert [reused(tight, each) for each in (first, title, third, [*first, 1])] == [0, 0, 0, 0]


def test_what_a_slot_writes_is_not_written_into_the_pool() -> None:
    """A branch goes on from a checkpoint in the middle of a page that the pool holds, too."""
    world = slots_world(small(ram_bytes=20_000))
    first = list(range(80))
    longer = [*first, *answer_to(first, 1), *range(500, 700)]
    assert [reused(world, each) for each in (first, longer)] == [0, 80]
    assert reused(world, [*first[:78], *range(800, 960)]) == 76
    assert reused(world, [*longer, *answer_to(longer, 1), 1]) == len(longer)


def test_more_checkpoints_cure_nothing_once_the_pages_are_returned() -> None:  # spec: PEER-3
    first, title = list(range(200)), list(range(500, 540))
    for checkpoints_count in (1, 32):
        server = replace(
            small(ram_bytes=0), checkpoints_count=checkpoints_count, clears_at_entry=True
        )
        world = slots_world(server)
        assert [reused(world, each) for each in (first, first, title, first)] == [0] * 4
    alive = slots_world(replace(small(ram_bytes=0), checkpoints_count=1))
    assert [reused(alive, each) for each in (first, first)] == [0, 196]


def test_with_few_places_lists_are_short_and_idle_slots_are_emptied() -> None:
    world = tree_world(
        llama_slots(small(ram_bytes=0)), lanes=2, pages=9, extra_slots=2, without=NOT_OWED
    )
    first, second = list(range(300)), list(range(500, 900))
    assert [reused(world, each) for each in (first, second, first)] == [0, 0, 0]
    assert reused(world, [*first, 0, 1]) == 300
