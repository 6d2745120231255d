"""Law: a place that the caller marks in its own prompt is kept, and whoever comes back to it
computes what lies behind it alone, without any proposal of the engine's; both worlds agree.
"""

from __future__ import annotations

from dataclasses import replace

from ninfer_lab.contract.candidate import ReusePath
from ninfer_lab.contract.events import RequestFinished
from ninfer_lab.lab import worlds
from ninfer_lab.lab.story_marks import NO_MARKS
from ninfer_lab.lab.world import World
from stories.test_both_worlds import require_same

MARKED = worlds.named("tiny-marked-anchor")
ROOT, ANCHOR = ReusePath.ROOT, ReusePath.PRIVATE_LONG_ANCHOR


def told(world: World) -> list[tuple[ReusePath | None, int, int]]:
    """(path, reused, computed) of every request, as its log has it."""
    return [
        (event.prefix_reuse_path, event.prefix_cache_hit_tokens, event.computed_prefill_tokens)
        for event in worlds.run(world).events
        if isinstance(event, RequestFinished)
    ]


def unmarked(world: World) -> World:
    asks = tuple(replace(ask, marks=NO_MARKS) for ask in world.story.asks)
    return replace(world, story=replace(world.story, steps=asks))


def test_who_comes_back_to_a_marked_place_starts_there() -> None:  # spec: ANC-1, SHR-2
    assert told(MARKED) == [(ROOT, 0, 940), (ANCHOR, 900, 30), (ANCHOR, 900, 25)]


def test_without_the_mark_everything_is_computed_again() -> None:  # spec: ANC-1
    assert told(unmarked(MARKED)) == [(ROOT, 0, 940), (ROOT, 0, 930), (ROOT, 0, 925)]


def test_both_worlds_keep_the_same_place() -> None:  # spec: ANC-1
    require_same(MARKED)
