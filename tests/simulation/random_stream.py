"""Streams of moves that a seed decides, in which reuse is common and room is short.

A handful of clients hold conversations that share their first words; they go on from what they were
answered, now and then from half of it, from their last turn's closure, or all over again. Each seed
has an engine of its own: lanes, slots and pages of both tiers, a backend or none, leases, backfill.
What is proposed as anchors, and which engines have room for them, is drawn apart.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from ninfer_lab.contract.options import (
    PAGE_TOKENS,
    CacheMode,
    EngineOptions,
    SpeculativeBackend,
)
from ninfer_lab.contract.transaction import TransactionPhase
from simulation.engine_world import BACKEND_PAGE_BYTES, MAIN_PAGE_BYTES
from simulation.story import Fault, Sequel, Story, Wish
from simulation.watched_controller import Watch

CONTEXT_PAGES = 5
SEQUELS = (
    *[Sequel.APPEND] * 6,
    *[Sequel.BRANCH] * 2,
    *[Sequel.REWRITE] * 2,
    *[Sequel.AGAIN] * 2,
)


@dataclass(slots=True, kw_only=True)
class _Client:
    """One conversation; who has no key leaves it to the cache to find what is known."""

    session: str | None
    last: int | None = None


class RandomStream:
    """One seed's engine and clients.

    Args:
        seed: Decides everything.
        watch: How often laws and contents are looked at.
    """

    def __init__(self, seed: int, watch: Watch = Watch.EVERY_STEP) -> None:
        self._random = Random(f"stream {seed}")
        self._anchoring = Random(f"anchors {seed}")
        self._is_roomy = seed % 5 == 0
        options = _sharing(_options(self._random), Random(f"shared {seed}"))
        self.options = replace(
            _roomy(options, self._anchoring) if self._is_roomy else options,
            max_long_anchors_per_continuation=self._anchoring.choice((0, 1, 1, 2, 2, 3)),
            endpoint_anchors=self._anchoring.random() < 0.8,
            release_diverged=Random(f"left {seed}").random() < 0.3,
        )
        window_tokens = self._random.choice((8, 40, 70))
        self.story = Story(
            self.options,
            lease_window_tokens=window_tokens,
            endpoint_gain_tokens=self._anchoring.choice((1, 20, 60)),
            watch=watch,
            shares=self.options.max_shared_prefixes != 0,
        )
        self.story.world.machine.transfer_ns = self._random.choice((1, 900, 2_500, 9_000, 30_000))
        self._long = 0.6 if self.options.kv_lease_growth else 0.25
        self._clients = [
            _Client(session=self._random.choice((f"s{n}", f"s{n}", None)))
            for n in range(self._random.randint(2, 5) + 4 * self.options.backfill)
        ]

    def run(self, steps: int) -> Story:
        """Moves until so many worker cycles have gone by, and then to the end."""
        while self.story.steps_count < steps:
            self._move()
        if self._random.random() < 0.5:
            self.story.end()
        else:
            self.story.close()
        return self.story

    def _move(self) -> None:
        random, story = self._random, self.story
        if random.random() < self._risk():
            story.cancel_opening() if random.random() < 0.3 else story.fail_transfer_in_flight()
            return
        chance = random.random()
        if chance < 0.55:
            self._talk()
        elif chance < 0.8:
            self._steps(random.randint(1, 6))
        elif chance < 0.87:
            story.settle()
        elif chance < 0.93:
            story.cancel(random.randrange(5))
        else:
            fault = random.choice((*Fault, *[Fault.TAIL_COPY] * 3))
            story.fail_next(fault, times=random.choice((1, 1, 2, 3)), after=random.choice((0, 1)))

    def _risk(self) -> float:
        """That the transition under way comes to a bad end; few come as far as to restore."""
        transition = self.story.world.controller.seen.ledger.transition
        if transition is None:
            return 0.0
        return 0.6 if transition.phase is TransactionPhase.COPY_PUBLICATION else 0.2

    def _long_output(self) -> int:
        """Over several pages where growth is leased; enough to block others where it is not."""
        return self._random.randint(20, 150)

    def _steps(self, count: int) -> None:
        """So many worker cycles; somebody may want a word as soon as a transition is under way."""
        for _ in range(count):
            self.story.steps(1)
            if self.story.world.controller.opening is not None and self._random.random() < 0.5:
                return

    def _talk(self) -> None:
        """A client speaks: as a rule about what it was told last, and once it has been."""
        random, story = self._random, self.story
        client = random.choice(self._clients)
        if client.last is not None and not story.has_ended(client.last) and random.random() < 0.9:
            self._steps(3)
            return
        told_count = len(story.told)
        wish = Wish(
            output=self._long_output() if random.random() < self._long else random.randint(1, 8),
            session=client.session if random.random() < 0.95 else "another",
            mode=CacheMode.DISABLED if random.random() < 0.04 else CacheMode.READ_WRITE,
            anchors=self._anchors(),
        )
        if client.last is None or random.random() < 0.04:
            closure = random.choice((None, None, random.randrange(150)))
            story.ask(random.randrange(3), random.randint(20, 150), closure, wish)
        else:
            back = told_count - 1 - client.last
            sequel = random.choice(SEQUELS)
            if self._is_roomy and self._anchoring.random() < 0.4:
                sequel = Sequel.EARLIER
            story.go_on(back, sequel, random.randint(1, 25), wish)
            if len(story.told) == told_count:
                client.last = None  # too long, or the queue is full: something new next time
        if len(story.told) > told_count:
            client.last = told_count

    def _anchors(self) -> tuple[int, ...]:
        """Proposals of every other request, now and then more than a lineage may keep."""
        random = self._anchoring
        count = random.choice((0, 0, 1, 2, 4))
        return tuple(sorted(random.sample(range(1, 200), count)))


def _sharing(options: EngineOptions, random: Random) -> EngineOptions:
    """With a shared catalog, or none; decided apart, so that the rest of a seed is what it was."""
    return replace(
        options,
        max_shared_prefixes=random.choice((0, 1, 2, 3, 7)),
        automatic_markers_take_surplus=random.random() < 0.2,
        recycles_shared_prefixes=random.random() < 0.8,
    )


def _options(random: Random) -> EngineOptions:
    """An engine that is short of something as a rule."""
    leases, backfill = random.random() < 0.3, random.random() < 0.8
    lanes = random.choice((2, 3, 4, 6, 8) if leases or backfill else (1, 1, 2, 3, 5, 7))
    extra_pages = random.randint(0, 2 if leases else 6)
    if not leases and not backfill:
        extra_pages += 2 * lanes
    backend = None
    if random.random() < 0.4:
        backend = SpeculativeBackend(
            kv_capacity_tokens=PAGE_TOKENS * (CONTEXT_PAGES + random.randint(0, 8)),
            lag_tokens=random.choice((0, 1, 1, 70)),
        )
    page_bytes = MAIN_PAGE_BYTES + (0 if backend is None else BACKEND_PAGE_BYTES)
    return EngineOptions(
        max_concurrency=lanes,
        max_context_tokens=PAGE_TOKENS * CONTEXT_PAGES,
        kv_capacity_tokens=PAGE_TOKENS * (CONTEXT_PAGES + extra_pages),
        prefill_chunk_tokens=random.choice((40, 64, 100, 320)),
        device_state_slots=random.randint(0, 4),
        host_state_slots=random.choice((0, 1, 3, 8, 16, 16)),
        host_kv_capacity_bytes=page_bytes * random.choice((0, 3, 9, 60, 60, 60)),
        max_private_continuations=lanes + random.randint(0, 6),
        backend=backend,
        kv_lease_growth=leases,
        backfill=backfill,
        max_pending_requests=random.randint(3, 9),
    )


def _roomy(options: EngineOptions, random: Random) -> EngineOptions:
    """The same for two at the most, with room for what they would leave behind: only there do
    histories get old enough to have earlier points.
    """
    lanes = min(options.max_concurrency, 2)
    contexts = lanes + random.randint(1, 3)
    return replace(
        options,
        max_concurrency=lanes,
        kv_capacity_tokens=PAGE_TOKENS * CONTEXT_PAGES * contexts,
        device_state_slots=random.randint(1, 7),
        host_state_slots=random.choice((0, 24, 48)),
        max_private_continuations=lanes + random.randint(0, 4),
        backend=None,
        kv_lease_growth=False,
        backfill=False,
    )
