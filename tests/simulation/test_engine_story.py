"""Law: whatever clients do and whenever the device gives up, every law holds after every call,
every answer is the one its prompt has alone, every request ends, and nothing active is left.

Hypothesis writes the stories and makes a failing one short; how far they get is told of the longer
streams (`test_long_stream`).
"""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from ninfer_lab.contract.options import PAGE_TOKENS, CacheMode, EngineOptions, SpeculativeBackend
from simulation.engine_world import MAIN_PAGE_BYTES
from simulation.story import Fault, Sequel, Story, Wish

CONTEXT_PAGES = 3
WISHES = st.builds(
    Wish,
    output=st.integers(1, 20),
    session=st.sampled_from([None, None, "a", "b"]),
    mode=st.sampled_from([*[CacheMode.READ_WRITE] * 7, CacheMode.DISABLED]),
)
ENGINES = st.builds(
    lambda lanes, extra_pages, host_pages, extra_private, **chosen: EngineOptions(
        max_concurrency=lanes,
        max_context_tokens=PAGE_TOKENS * CONTEXT_PAGES,
        kv_capacity_tokens=PAGE_TOKENS * (CONTEXT_PAGES + extra_pages),
        host_kv_capacity_bytes=MAIN_PAGE_BYTES * host_pages,
        max_private_continuations=lanes + extra_private,
        max_pending_requests=4,
        **chosen,
    ),
    lanes=st.integers(1, 8),
    extra_pages=st.integers(0, 9),
    host_pages=st.sampled_from([0, 3, 20]),
    extra_private=st.integers(0, 3),
    prefill_chunk_tokens=st.sampled_from([16, 64, 100]),
    device_state_slots=st.integers(0, 3),
    host_state_slots=st.sampled_from([0, 1, 8]),
    backend=st.none() | st.builds(SpeculativeBackend, lag_tokens=st.sampled_from([0, 1, 70])),
    kv_lease_growth=st.booleans(),
    backfill=st.booleans(),
)


class EngineStory(RuleBasedStateMachine):
    """A story that Hypothesis writes; a failure is printed as the moves that lead to it."""

    story: Story

    @initialize(
        options=ENGINES,
        lease_window_tokens=st.sampled_from([1, 40]),
        transfer_ns=st.sampled_from([1, 900, 5_000, 30_000]),
    )
    def open(self, options: EngineOptions, lease_window_tokens: int, transfer_ns: int) -> None:
        self.story = Story(options, lease_window_tokens=lease_window_tokens)
        self.story.world.machine.transfer_ns = transfer_ns

    @rule(
        number=st.integers(0, 2),
        tokens=st.integers(1, 90),
        closure=st.none() | st.integers(0, 89),
        wish=WISHES,
    )
    def ask(self, number: int, tokens: int, closure: int | None, wish: Wish) -> None:
        self.story.ask(number, tokens, closure, wish)

    @rule(
        back=st.integers(0, 5),
        sequel=st.sampled_from(Sequel),
        extra=st.integers(1, 20),
        wish=WISHES,
    )
    def go_on(self, back: int, sequel: Sequel, extra: int, wish: Wish) -> None:
        self.story.go_on(back, sequel, extra, wish)

    @rule(back=st.integers(0, 5))
    def cancel(self, back: int) -> None:
        self.story.cancel(back)

    @rule()
    def cancel_whoever_waits_for_copies(self) -> None:
        self.story.cancel_opening()

    @rule(fault=st.sampled_from(Fault), times=st.integers(1, 3), after=st.integers(0, 1))
    def fail_next(self, fault: Fault, times: int, after: int) -> None:
        self.story.fail_next(fault, times=times, after=after)

    @rule()
    def fail_transfer_in_flight(self) -> None:
        self.story.fail_transfer_in_flight()

    @rule(count=st.integers(1, 12))
    def run_a_while(self, count: int) -> None:
        self.story.steps(count)

    @rule()
    def run_until_idle(self) -> None:
        self.story.settle()

    def teardown(self) -> None:
        if hasattr(self, "story"):
            self.story.close()


# spec: INV-2, INV-3, INV-6, INV-7, INV-8, INV-9, INV-11, INV-14, INV-15, IDN-6, OWN-6, REV-3
TestEngineStory = pytest.mark.slow(EngineStory.TestCase)
TestEngineStory.settings = settings(stateful_step_count=30, print_blob=True)
