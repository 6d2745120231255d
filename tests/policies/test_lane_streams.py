"""Law: whatever clients do, cancellations and failing forwards among it, every answer is the one
its prompt has alone, every place is given back once, and what comes back from the registry is what
its fingerprint says.

The machine that knows contents looks at every state and page after every call: a slot that a lane
wrote although it had been detached, or a state that does not end where its frontier says, is seen
there. Pages given back twice are refused by the pool.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ninfer_lab.contract.ids import StateSlotId
from ninfer_lab.contract.options import PAGE_TOKENS, CacheMode, EngineOptions
from ninfer_lab.contract.request_purpose import RequestPurpose
from ninfer_lab.policies.lane_owned.switches import EvictionOrder, LaneKey, LaneSwitches
from ninfer_lab.policies.lane_owned.trace import AdmissionRan, Attached, Detached, LaneTrace
from policies.lane_world import NOT_OWED, Built, building
from simulation.story import Fault, Sequel, Story, Wish
from simulation.watched_controller import Watch

CONTEXT_PAGES = 5
SEEDS_COUNT, MOVES_COUNT = 24, 40
WISHES = st.builds(
    Wish,
    output=st.integers(1, 20),
    session=st.none(),
    mode=st.sampled_from([*[CacheMode.READ_WRITE] * 7, CacheMode.DISABLED]),
    purpose=st.sampled_from(RequestPurpose),
)
SWITCHES = st.builds(
    LaneSwitches,
    preserves_existing=st.booleans(),
    detached_entries_count=st.sampled_from([0, 1, 2, 4]),
    lane_key=st.sampled_from(LaneKey),
    eviction_order=st.sampled_from(EvictionOrder),
    side_requests_declare=st.booleans(),
)


def engine_options(lanes: int, extra_pages: int, extra_slots: int, chunk: int) -> EngineOptions:
    return EngineOptions(
        max_concurrency=lanes,
        max_context_tokens=PAGE_TOKENS * CONTEXT_PAGES,
        kv_capacity_tokens=PAGE_TOKENS * (CONTEXT_PAGES + extra_pages),
        prefill_chunk_tokens=chunk,
        device_state_slots=extra_slots,
        max_pending_requests=4,
    )


def open_story(
    options: EngineOptions, switches: LaneSwitches, watch: Watch
) -> tuple[Story, LaneTrace, Built]:
    trace = LaneTrace()
    design, built = building(switches, trace)
    return Story(options, design=design, without=NOT_OWED, watch=watch), trace, built


def require_single_owners(built: Built) -> None:
    """No slot or page of a detached bundle is anybody else's (REG-1), and every place that is
    taken is somebody's, so that none can come back twice or never (REG-2).
    """
    ledger, store = built.last.ledger, built.last.store
    slots = Counter(slot for bundle in store.bundles for slot in bundle.slots)
    pages = Counter(page for bundle in store.bundles for page in bundle.pages)
    running = built.last.describe().ledger.sequences
    rewrites = {StateSlotId(each.image) for row in running for each in row.checkpoints}
    for row in ledger.rows:
        slots.update({row.write_slot, *([] if row.read_slot is None else [row.read_slot])})
        pages.update(row.pages)
    slots.update(slot for slot in rewrites if slot not in slots)
    assert max(slots.values(), default=1) == 1, slots
    assert max(pages.values(), default=1) == 1, pages
    assert (len(slots), len(pages)) == (ledger.slots.taken_count, ledger.pages.taken_count)


class LaneStory(RuleBasedStateMachine):
    """A story that Hypothesis writes."""

    story: Story
    built: Built

    @initialize(
        lanes=st.integers(1, 3),
        extra_pages=st.integers(0, 9),
        extra_slots=st.integers(0, 6),
        chunk=st.sampled_from([16, 64, 100]),
        switches=SWITCHES,
    )
    def open(
        self, lanes: int, extra_pages: int, extra_slots: int, chunk: int, switches: LaneSwitches
    ) -> None:
        options = engine_options(lanes, extra_pages, extra_slots, chunk)
        self.story, _, self.built = open_story(options, switches, Watch.EVERY_CALL)

    @rule(
        number=st.integers(0, 2),
        tokens=st.integers(1, 200),
        closure=st.none() | st.integers(0, 200),
        wish=WISHES,
    )
    def ask(self, number: int, tokens: int, closure: int | None, wish: Wish) -> None:
        self.story.ask(number, tokens, closure, wish)

    @rule(
        back=st.integers(0, 5),
        sequel=st.sampled_from(Sequel),
        extra=st.integers(1, 40),
        wish=WISHES,
    )
    def go_on(self, back: int, sequel: Sequel, extra: int, wish: Wish) -> None:
        self.story.go_on(back, sequel, extra, wish)

    @rule(count=st.integers(1, 6))
    def step(self, count: int) -> None:
        self.story.steps(count)

    @rule()
    def settle(self) -> None:
        self.story.settle()

    @rule(back=st.integers(0, 5))
    def cancel(self, back: int) -> None:
        self.story.cancel(back)

    @rule()
    def fail(self) -> None:
        self.story.fail_next(Fault.FORWARD)

    @invariant()
    def single_owners(self) -> None:
        if hasattr(self, "built"):
            require_single_owners(self.built)

    def teardown(self) -> None:
        if hasattr(self, "story"):
            self.story.end()


# spec: REG-1, REG-2, REG-3
TestLaneStory = pytest.mark.slow(LaneStory.TestCase)
TestLaneStory.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)


def random_run(seed: int) -> tuple[Story, LaneTrace, Built]:
    """A stream in which reuse is common and room is short."""
    rng = random.Random(f"lanes {seed}")
    lanes = rng.choice((1, 1, 2, 3))
    switches = LaneSwitches(
        preserves_existing=rng.random() < 0.5,
        detached_entries_count=rng.choice((0, 1, 2, 4)),
        lane_key=rng.choice(tuple(LaneKey)),
        eviction_order=rng.choice(tuple(EvictionOrder)),
    )
    options = engine_options(
        lanes, rng.randint(0, 8), rng.randint(0, lanes + 3), rng.choice((16, 64, 100))
    )
    story, trace, built = open_story(options, switches, Watch.EVERY_STEP)
    for _ in range(MOVES_COUNT):
        _move(rng, story)
        require_single_owners(built)
    story.end()
    return story, trace, built


def _move(rng: random.Random, story: Story) -> None:
    side = RequestPurpose.SIDE_REQUEST
    wish = Wish(
        output=rng.randint(1, 20),
        session=None,
        mode=CacheMode.DISABLED if rng.random() < 0.05 else CacheMode.READ_WRITE,
        purpose=side if rng.random() < 0.3 else RequestPurpose.CONVERSATION,
    )
    chance = rng.random()
    if chance < 0.2 or not story.told:
        closure = rng.choice((None, rng.randrange(150)))
        story.ask(rng.randrange(3), rng.randint(20, 200), closure, wish)
    elif chance < 0.6:
        story.go_on(rng.randrange(4), rng.choice(tuple(Sequel)), rng.randint(1, 25), wish)
    elif chance < 0.75:
        story.steps(rng.randint(1, 6))
    elif chance < 0.85:
        story.settle()
    elif chance < 0.93:
        story.cancel(rng.randrange(3))
    elif chance < 0.96:
        story.fail_next(Fault.FORWARD)


@pytest.mark.parametrize("seed", range(3))
def test_a_stream_is_lawful_throughout(seed: int) -> None:  # spec: REG-1, REG-2, REG-3, LANE-2
    story, trace, _ = random_run(seed)
    assert story.told
    assert trace.admissions


@pytest.mark.slow
def test_streams_meet_every_path_and_every_destroyer() -> None:  # spec: REG-1, REG-2, REG-3
    paths: Counter[str] = Counter()
    for seed in range(SEEDS_COUNT):
        _, trace, _ = random_run(seed)
        for record in trace.records:
            match record:
                case AdmissionRan(path=path, action=action) if path is not None:
                    paths[path.value] += 1
                    paths["" if action is None else action.value] += 1
                case Detached() | Attached():
                    paths[type(record).__name__] += 1
                case _:
                    pass
        paths.update(each.destroyer.value for each in trace.destructions)
    missing = {
        "full_reset",
        "append_at_frontier",
        "restore_turn_checkpoint",
        "restore_response_checkpoint",
        "capture_new",
        "drop",
        "keep",
        "preserve_existing",
        "Detached",
        "Attached",
        "full_reset, at entry",
        "CaptureNew, at execution",
        "eviction, pass 2",
        "the registry's limit",
    } - set(paths)
    assert not missing, f"the streams do not meet {missing}: {paths}"
