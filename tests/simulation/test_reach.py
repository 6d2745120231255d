"""Law: the stories that prove the engine do get to every place where it could go wrong.

One seeded walk per world, always the same; what it reached is counted from events.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from ninfer_lab.contract.candidate import ReusePath, SourceDisposition
from ninfer_lab.contract.events import (
    CaptureTried,
    ForwardRan,
    RequestAdmitted,
    RequestBlocked,
    RequestFinished,
)
from ninfer_lab.contract.options import CacheMode, EngineOptions
from ninfer_lab.contract.output import FinishReason
from ninfer_lab.contract.result import CaptureOutcome
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.contract.work import StateAccess
from simulation.story import CONTEXT_TOKENS, PAGES_OF_CONTEXT, Sequel, Story, Wish

pytestmark = pytest.mark.slow

MOVES = 120


def walked(seed: int, *, lanes: int, extra_slots: int, extra_pages: int) -> Story:
    """A long story from one seed."""
    random = Random(seed)
    story = Story(
        EngineOptions(
            max_concurrency=lanes,
            max_context_tokens=CONTEXT_TOKENS,
            kv_capacity_tokens=64 * (PAGES_OF_CONTEXT + extra_pages),
            prefill_chunk_tokens=64,
            device_state_slots=extra_slots,
            max_private_continuations=lanes + 2,
            max_pending_requests=4,
        )
    )
    for _ in range(MOVES):
        wish = Wish(
            output=random.randint(1, 20),
            session=random.choice(["a", "b", None, None]),
            mode=CacheMode.DISABLED if random.random() < 0.1 else CacheMode.READ_WRITE,
        )
        match random.randrange(13):
            case 0 | 1:
                closure = random.choice([None, random.randrange(90)])
                story.ask(random.randrange(3), random.randint(1, 90), closure, wish)
            case 2 | 3 | 4 | 5:
                sequel = random.choice(list(Sequel))
                story.go_on(random.randrange(3), sequel, random.randint(1, 20), wish)
            case 6:
                story.cancel(random.randrange(4))
            case 7:
                if random.random() < 0.3:
                    story.fail_next_forward()
            case 8 | 9:
                story.world.settle()
            case _:
                story.steps(random.randint(1, 12))
    story.end()
    return story


def reached(story: Story) -> Counter[object]:
    """How often each place was visited."""
    seen: Counter[object] = Counter()
    for event in story.world.engine.events:
        match event:
            case RequestAdmitted():
                seen[event.state] += 1
                seen[event.path] += 1
                seen["copied tail"] += event.cow_pages
                seen["maximal fallback"] += event.report.maximal_fallback
                assert event.report.chosen is not None
                chosen = event.report.verdicts[event.report.chosen]
                seen[chosen.disposition] += 1
            case RequestBlocked():
                seen["blocked head"] += 1
            case CaptureTried():
                seen[event.result.outcome] += 1
                seen["replaced capture"] += event.result.replaced is not None
            case ForwardRan():
                seen["batch"] += len(event.rows) > 1
                seen.update(row.state_access for row in event.rows)
            case RequestFinished():
                seen[event.finish_reason] += 1
            case _:
                pass
    return seen


WANTED = (
    *StateTransition,
    *StateAccess,
    *SourceDisposition,
    ReusePath.PRIVATE_ENDPOINT,
    ReusePath.PRIVATE_TURN_CLOSURE,
    ReusePath.PRIVATE_RESPONSE_REPLAY,
    CaptureOutcome.CAPTURED,
    CaptureOutcome.NO_STATE_SLOT,
    CaptureOutcome.NO_KV_PAGE,
    FinishReason.LENGTH,
    FinishReason.CANCELLED,
    FinishReason.FAILED,
    "copied tail",
    "replaced capture",
    "maximal fallback",
    "blocked head",
    "batch",
)


@pytest.fixture(scope="module")
def everywhere() -> Counter[object]:
    worlds = [
        (1, {"lanes": 1, "extra_slots": 1, "extra_pages": 3}),
        (2, {"lanes": 2, "extra_slots": 0, "extra_pages": 0}),
        (3, {"lanes": 3, "extra_slots": 4, "extra_pages": 12}),
        (4, {"lanes": 8, "extra_slots": 2, "extra_pages": 6}),
        (5, {"lanes": 1, "extra_slots": 1, "extra_pages": 9}),
    ]
    total: Counter[object] = Counter()
    for seed, world in worlds:
        total += reached(walked(seed, **world))
    return total


@pytest.mark.parametrize("place", WANTED, ids=str)
def test_stories_get_there(everywhere: Counter[object], place: object) -> None:
    assert everywhere[place] >= 3, dict(everywhere)
