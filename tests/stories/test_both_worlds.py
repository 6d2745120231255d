"""The same requests on real tensors and in virtual time make the same decisions at the same times.

On real tensors every drawn token is recorded; the world without tensors draws those. All events are
then compared whole, but for the one thing that only tensors have: how many bytes were gathered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import pytest

from ninfer_lab.contract.events import (
    CaptureTried,
    Event,
    ForwardRan,
    RequestAdmitted,
    RequestBlocked,
    RequestFinished,
    TransitionEnded,
    TransitionStarted,
)
from ninfer_lab.contract.options import ContextCache
from ninfer_lab.contract.recording_options import EVERYTHING
from ninfer_lab.lab import stories, worlds
from ninfer_lab.lab.story import Story
from ninfer_lab.lab.token_sources import RecordedTokens
from ninfer_lab.lab.worlds import Machine, Run, World
from stories.random_story import ASKS_COUNT, random_story

STREAMS_COUNT = 20
TINY = worlds.named("tiny-side-request")


def without_tensors(events: Iterable[Event]) -> list[Event]:
    return [
        event._replace(gathered_bytes=0) if isinstance(event, ForwardRan) else event
        for event in events
    ]


def on_tensors(world: World) -> Run:
    return worlds.run(world, Machine.TORCH, recording=EVERYTHING)


def simulated(world: World, drawn: Run) -> Run:
    return worlds.run(world, tokens=RecordedTokens.of(drawn.events), recording=EVERYTHING)


def require_same(world: World) -> Run:
    """Runs the world twice; returns the run on tensors."""
    real = on_tensors(world)
    virtual = simulated(world, real)
    for ordinal, (left, right) in enumerate(
        zip(without_tensors(real.events), without_tensors(virtual.events), strict=True)
    ):
        assert left == right, f"{world.story.title}: event {ordinal} of {len(real.events)}"
    assert virtual.snapshot == real.snapshot
    assert (virtual.start_ns, virtual.end_ns) == (real.start_ns, real.end_ns)
    return real


def kinds(events: Iterable[Event]) -> Counter[str]:
    """What a stream has in it that two worlds could differ on."""
    found: Counter[str] = Counter()
    is_open = False
    for event in events:
        match event:
            case TransitionStarted():
                found.update(b.direction.value for b in event.work.transfers if b.crosses_tiers)
                is_open = True
            case TransitionEnded():
                is_open = False
            case RequestAdmitted():
                found[event.path.value] += 1
                found[event.state.value] += 1
                found["evicting"] += bool(event.evicted)
                found["copying"] += event.cow_pages
            case RequestBlocked():
                found["blocked"] += 1
            case CaptureTried():
                found[event.result.outcome.value] += 1
            case ForwardRan():
                found["forward beside a transition"] += is_open
                found[f"{event.phase.value} of {len(event.rows)}"] += 1
            case RequestFinished():
                found[event.finish_reason.value] += 1
            case _:
                pass
    return found


def answers(run: Run) -> dict[tuple[str | None, int], tuple[int, ...]]:
    """What was said in every turn of every conversation: requests may come in another order."""
    turns: Counter[str | None] = Counter()
    said = {}
    for told in sorted(run.told, key=lambda each: each.request):
        conversation = told.ask.conversation
        said[conversation, turns[conversation]] = told.outcome.output_tokens
        turns[conversation] += 1
    return said


def require_uncached_answers(run: Run, seed: int) -> None:
    """Nothing that was reused, moved to the Host or brought back has changed what is said."""
    options = run.world.story.options
    uncached = replace(
        options,
        device_state_slots=None,
        host_state_slots=None,
        host_kv_capacity_bytes=None,
        context_cache=ContextCache.DISABLED,
    )
    alone = on_tensors(replace(run.world, story=replace(run.world.story, options=uncached)))
    assert all(told.outcome.log.prefix_cache_hit_tokens == 0 for told in alone.told)
    assert answers(run) == answers(alone), f"seed {seed}"


def test_random_streams_go_the_same_way_in_both_worlds() -> None:  # spec: IDN-6
    found: Counter[str] = Counter()
    for seed in range(STREAMS_COUNT):
        run = require_same(replace(TINY, story=random_story(seed)))
        assert len(run.told) == ASKS_COUNT, f"seed {seed}"
        require_uncached_answers(run, seed)
        found += kinds(run.events)
    missing = {
        "root",
        "private_endpoint",
        "private_turn_closure",
        "evicting",
        "copying",
        "blocked",
        "move",
        "fork",
        "restore",
        "d2h",
        "h2d",
        "forward beside a transition",
        "decode of 2",
        "stop",
        "length",
        "cancelled",
    } - set(found)
    assert not missing, f"the streams do not meet {missing}: {found}"


def test_a_world_that_takes_another_time_is_noticed() -> None:
    world = replace(TINY, story=random_story(0))
    real = on_tensors(world)
    truth = replace(world.truth, decode=replace(world.truth.decode, row_ns=0))
    other = simulated(replace(world, truth=truth), real)
    assert without_tensors(other.events) != without_tensors(real.events)


@pytest.mark.parametrize("name", [name for name in worlds.names() if name.startswith("tiny")])
def test_shipped_stories_go_the_same_way_in_both_worlds(name: str) -> None:
    require_same(worlds.named(name))


def test_wall_time_changes_when_things_happen_and_not_what_is_said() -> None:
    real, charged = worlds.run(TINY, Machine.TORCH_WALL_TIME), worlds.run(TINY, Machine.TORCH)
    assert [each.outcome.output_tokens for each in real.told] == [
        each.outcome.output_tokens for each in charged.told
    ]
    assert real.end_ns - real.start_ns != charged.end_ns - charged.start_ns


def test_a_random_story_is_a_text_too() -> None:
    story: Story = random_story(3)
    assert stories.parse(stories.text_of(story)) == story
