"""Random lives of one Program: admissions that ask anything of anybody, forwards, ends, releases.

No ladder and no policy narrow the targets down, so most of them are such as no planner would ask
for.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from ninfer_lab.contract.candidate import SourceDisposition
from ninfer_lab.contract.errors import PlanRefused
from ninfer_lab.contract.ids import CheckpointRef, OwnerId, OwnerRef
from ninfer_lab.contract.options import ResolvedOptions, SpeculativeBackend
from ninfer_lab.contract.replicas import ReplicaSet
from ninfer_lab.contract.result import Aborted, Committed, SequenceEnd
from ninfer_lab.contract.target import OwnerOutcome, StageName
from ninfer_lab.contract.transaction import TransactionPhase
from ninfer_lab.program.storage.bitset import ordinals_of
from ninfer_lab.program.storage.checkpoint_record import holdings_of
from program.scenes import ledger_of
from simulation.program_world import (
    CONSUME,
    RETAIN,
    ProgramWorld,
    Start,
    closure_at,
    small_options,
    stage_uses,
)


class Walk:
    """One random life of a Program."""

    def __init__(self, options: ResolvedOptions, seed: int) -> None:
        self.chance = Random(seed)
        self.world = ProgramWorld(options=options)
        self.histories: dict[OwnerId, list[int]] = {}
        self.running: dict[int, tuple[Committed, OwnerRef]] = {}
        self.seen: Counter[str] = Counter()
        self._fresh_tokens = 1_000_000

    def step(self) -> None:
        chance, lanes = self.chance, self.world.options.max_concurrency
        free = [lane for lane in range(lanes) if lane not in self.running]
        if free and chance.random() < 0.5:
            self.admission(chance.choice(free))
        elif self.running and chance.random() < 0.9:
            lane = chance.choice(sorted(self.running))
            self.forward(lane) if chance.random() < 0.6 else self.end(lane)
        elif self.histories and chance.random() < 0.3:
            owner = chance.choice(sorted(self.histories))
            self.world.release(OwnerRef(id=owner, generation=0))
            del self.histories[owner]

    # ── what a request asks for ─────────────────────────────────────────────────────────────────

    def admission(self, lane: int) -> None:
        world, chance = self.world, self.chance
        source, disposition, tokens = self.source()
        request = world.request(tokens, output=chance.choice((1, 20, 90)))
        if not world.program.can_ever_run(request):
            return
        own = None if source is None else source.owner
        outcomes = tuple(
            self.outcome(owner)
            for owner in sorted(self.histories)
            if owner != own and chance.random() < 0.5
        )
        becomes = world.new_owner()
        if own is not None and disposition is CONSUME:
            becomes = world.next_generation(OwnerRef(id=own, generation=0))
        capture = closure_at(chance.randrange(1, len(tokens)))
        start = Start(
            checkpoint=source,
            disposition=disposition,
            outcomes=outcomes,
            owner=becomes,
            captures=(capture,) if chance.random() < 0.5 else (),
            lane=lane,
        )
        found = world.assess(request, start)
        if not found.is_feasible:
            self.seen["refused"] += 1
            before = world.ledger
            with pytest.raises(PlanRefused):
                world.seal(request, start)
            assert world.ledger == before
            return
        if found.needs_transfer and chance.random() < 0.15:
            world.machine.failing_transfers.add(len(world.machine.transfers))
        transaction, stopped = world.open(request, start), False
        uses = stage_uses(found)
        while (result := world.advance(transaction)) is None:
            in_flight = world.phase is TransactionPhase.COPIES_IN_FLIGHT
            stage = StageName.DEMOTION_RESERVED if in_flight else StageName.DESTINATIONS_RESERVED
            assert world.used == uses[stage]
            self.seen[stage.name] += 1
            if chance.random() < 0.25:
                world.program.cancel(transaction)
                stopped = True
            world.arrive()
        assert isinstance(result, Aborted) or not stopped
        self.ended(result, becomes, lane)
        if isinstance(result, Committed):
            assert world.used == uses[StageName.COMMITTED]

    def source(self) -> tuple[CheckpointRef | None, SourceDisposition, list[int]]:
        """Root, or any checkpoint, with a prompt that goes on from it."""
        chance = self.chance
        self._fresh_tokens += 1_000
        fresh = list(range(self._fresh_tokens, self._fresh_tokens + chance.randrange(2, 150)))
        if not self.histories or chance.random() < 0.25:
            return None, RETAIN, fresh
        owner = chance.choice(sorted(self.histories))
        checkpoint = chance.choice(self.world.checkpoints(OwnerRef(id=owner, generation=0)))
        prefix = self.histories[owner][: checkpoint.frontier_tokens]
        return checkpoint.ref, chance.choice((RETAIN, CONSUME)), [*prefix, *fresh[:70]]

    def outcome(self, owner: OwnerId) -> OwnerOutcome:
        """Any checkpoints end, and of the others each content stays anywhere it can."""
        world, ledger = self.world, ledger_of(self.world)
        continuation = ledger.continuations.require(world.current(OwnerRef(id=owner, generation=0)))
        left = [c for c in continuation.checkpoints if self.chance.random() < 0.9]
        deleted = continuation.checkpoint_refs - {c.summary.ref for c in left}
        if not left:
            return world.program.ladder(continuation.ref)[-1]
        kept, layout = holdings_of(left), ledger.layout
        keeps = 0
        for image in ordinals_of(kept.images):
            on_device, on_host = self.tiers(ledger.states.on_device >> image & 1)
            keeps |= layout.device_images.put(on_device << image)
            keeps |= layout.host_images.put(on_host << image)
        for pool, store in ledger.kv.items():
            for page in ordinals_of(kept.of_pool(pool)):
                there = store.on_host >> page & 1
                on_device, on_host = self.tiers(store.on_device >> page & 1)
                keeps |= layout.device_pages[pool].put(on_device << page)
                keeps |= layout.host_pages[pool].put(on_host << page)
                if on_host and there:
                    keeps |= layout.granules.put(store.granules_of(1 << page))
        return OwnerOutcome(owner=continuation.ref, deleted=deleted, keeps=ReplicaSet(keeps))

    def tiers(self, on_device: int) -> tuple[int, int]:
        """What is kept of one content, at least one replica: a Device one only if it is there."""
        ways = [(0, 1), (0, 1), (1, 0), (1, 1)] if on_device else [(0, 1)]
        return self.chance.choice(ways)

    # ── what becomes of it ──────────────────────────────────────────────────────────────────────

    def ended(self, result: Committed | Aborted, becomes: OwnerRef, lane: int) -> None:
        for end in result.evicted:
            del self.histories[end.ref.id]
        if isinstance(result, Aborted):
            self.seen[f"aborted: {result.cause.name}"] += 1
            return
        self.seen[result.state.name] += 1
        self.seen["copied tails"] += result.cow_pages
        if result.consumed is not None:
            del self.histories[result.consumed.ref.id]
        self.running[lane] = result, becomes

    def forward(self, lane: int) -> None:
        result, _ = self.running[lane]
        request = result.candidate.request
        longest = len(request.prompt.tokens) + request.max_output_tokens
        for _ in range(self.chance.randrange(1, 6)):
            placed = self.world.sequence(result)
            if placed.frontier_tokens < min(placed.history_tokens, longest - 1):
                self.world.forward(result)

    def end(self, lane: int) -> None:
        result, becomes = self.running.pop(lane)
        truth = list(self.world.machine.truth[result.handle.lane])
        end = self.chance.choice((SequenceEnd.PUBLISH, SequenceEnd.PUBLISH, *SequenceEnd))
        if self.world.finish(result, end).published is not None:
            self.histories[becomes.id] = truth

    def close(self) -> None:
        for lane in sorted(self.running):
            self.end(lane)
        for owner in sorted(self.histories):
            self.world.release(OwnerRef(id=owner, generation=0))
        assert self.world.used == (0, 0, 0, 0, 0)
        assert (self.world.ledger.images, self.world.ledger.pages) == ((), ())


OPTIONS = {
    "two tiers": small_options(
        lanes=2, extra_slots=5, pages=16, chunk_tokens=64, host_slots=8, host_granules=16
    ),
    "a tight Host": small_options(
        lanes=3, extra_slots=1, pages=9, chunk_tokens=64, host_slots=3, host_granules=6
    ),
    "a backend": small_options(
        lanes=2,
        extra_slots=4,
        pages=12,
        chunk_tokens=64,
        host_slots=6,
        host_granules=60,
        backend=SpeculativeBackend(lag_tokens=20),
    ),
}
