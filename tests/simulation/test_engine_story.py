"""Law: whatever clients do and whenever the device gives up, every law holds after every call,
every answer is the one its prompt has alone, every request ends, and nothing active is left.
"""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ninfer_lab.contract.options import CacheMode, ContextCache, EngineOptions
from ninfer_lab.lab.laws import check_laws
from simulation.story import CONTEXT_TOKENS, PAGES_OF_CONTEXT, Sequel, Story, Wish

WISHES = st.builds(
    Wish,
    output=st.integers(1, 20),
    session=st.sampled_from([None, None, "a", "b"]),
    mode=st.sampled_from([*[CacheMode.READ_WRITE] * 7, CacheMode.DISABLED]),
)


class EngineStory(RuleBasedStateMachine):
    """A story that Hypothesis writes; a failure is printed as the moves that lead to it."""

    story: Story

    @initialize(
        lanes=st.integers(1, 8),
        extra_slots=st.integers(0, 3),
        extra_pages=st.integers(0, 9),
        extra_private=st.integers(0, 3),
        chunk_tokens=st.sampled_from([16, 64, 100]),
    )
    def open(
        self,
        lanes: int,
        extra_slots: int,
        extra_pages: int,
        extra_private: int,
        chunk_tokens: int,
    ) -> None:
        self.story = Story(
            EngineOptions(
                max_concurrency=lanes,
                max_context_tokens=CONTEXT_TOKENS,
                kv_capacity_tokens=64 * (PAGES_OF_CONTEXT + extra_pages),
                prefill_chunk_tokens=chunk_tokens,
                device_state_slots=extra_slots,
                max_private_continuations=lanes + extra_private,
                context_cache=ContextCache.ENABLED,
                max_pending_requests=4,
            )
        )

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
    def fail_next_forward(self) -> None:
        self.story.fail_next_forward()

    @rule(count=st.integers(1, 12))
    def run_a_while(self, count: int) -> None:
        self.story.steps(count)

    @rule()
    def run_until_idle(self) -> None:
        self.story.world.settle()

    @invariant()
    def every_law_holds(self) -> None:
        if hasattr(self, "story"):
            check_laws(self.story.world.snapshot, self.story.world.engine.options)

    def teardown(self) -> None:
        if hasattr(self, "story"):
            self.story.end()


# spec: INV-2, INV-3, INV-6, INV-7, INV-8, INV-11, INV-14, INV-15, IDN-6, OWN-6, REV-3
TestEngineStory = pytest.mark.slow(EngineStory.TestCase)
TestEngineStory.settings = settings(stateful_step_count=30, print_blob=True)
