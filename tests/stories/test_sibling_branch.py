"""Law: who leaves a conversation where its last turn began computes that turn alone again, though
nothing has room beside the conversation; and so does who comes back.
"""

from __future__ import annotations

from dataclasses import replace

from ninfer_lab.contract.candidate import ReusePath
from ninfer_lab.contract.events import RequestFinished
from ninfer_lab.contract.options import EngineOptions
from ninfer_lab.lab import worlds
from ninfer_lab.lab.world import World

SIBLING = worlds.named("tiny-sibling-branch")
ROOT, ENDPOINT = ReusePath.ROOT, ReusePath.PRIVATE_ENDPOINT
ANCHOR = ReusePath.PRIVATE_LONG_ANCHOR


def told(world: World) -> list[tuple[ReusePath | None, int, int]]:
    """(path, reused, computed) of every request, as its log has it."""
    return [
        (event.prefix_reuse_path, event.prefix_cache_hit_tokens, event.computed_prefill_tokens)
        for event in worlds.run(world).events
        if isinstance(event, RequestFinished)
    ]


def with_options(**changes: bool | int) -> World:
    story = SIBLING.story
    options = EngineOptions(
        max_context_tokens=story.options.max_context_tokens,
        host_state_slots=0,
        host_kv_capacity_bytes=0,
        **changes,  # type: ignore[arg-type]
    )
    return replace(SIBLING, story=replace(story, options=options))


def test_a_sibling_starts_where_the_endpoint_was() -> None:  # spec: ANC-3, ANC-4, ANC-5
    assert SIBLING.story.options.max_concurrency == SIBLING.story.options.device_state_slots == 1
    assert told(SIBLING) == [
        (ROOT, 0, 1_100),
        (ENDPOINT, 1_111, 31),
        (ANCHOR, 1_111, 26),  # another question in its place
        (ANCHOR, 1_111, 53),  # and back: the old branch has lost its endpoint, no more
    ]


def test_without_endpoint_anchors_it_starts_from_the_root() -> None:  # spec: ANC-3
    assert told(with_options(endpoint_anchors=False)) == [
        (ROOT, 0, 1_100),
        (ENDPOINT, 1_111, 31),
        (ROOT, 0, 1_137),
        (ROOT, 0, 1_164),
    ]


def test_with_room_for_both_the_branch_stands_beside_it() -> None:  # spec: ANC-4
    assert told(with_options(device_state_slots=3)) == [
        (ROOT, 0, 1_100),
        (ENDPOINT, 1_111, 31),
        (ANCHOR, 1_111, 26),
        (ENDPOINT, 1_153, 11),
    ]
