"""What is left if a transition is stopped half-way?

Owns one admission in which everything has to be done (a source on the Host, one owner to demote,
one to evict), run to its end or stopped at every place where it can be, on a real Program. Reads
the ledger where anyone may look at it: before, at every stage, while copies are in flight, after.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ninfer_lab.contract.capacity import Occupancy
from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.options import PAGE_TOKENS, EngineOptions
from ninfer_lab.contract.result import Aborted, Committed
from ninfer_lab.contract.target import Assessment, StageName
from ninfer_lab.contract.transaction import TransactionPhase
from ninfer_lab.lab.ledger_bench import PAGE_BYTES, LedgerBench
from ninfer_lab.lab.wanted import Wanted, demoting, evicting


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressed:
    """A bench on which one request has everything to do.

    Attributes:
        source: On the Host, 150 tokens; the request goes on from it.
        victim: On the Device, 130 tokens; it is to go to the Host.
        gone: On the Device, 60 tokens; it is to be evicted.
        wanted: The request.
    """

    bench: LedgerBench
    source: OwnerId
    victim: OwnerId
    gone: OwnerId
    wanted: Wanted


def pressed(*, failing_transfers: frozenset[int] = frozenset()) -> Pressed:
    """Builds it: six Device pages and three slots, so that without victims nothing fits.

    Args:
        failing_transfers: Of the request's own, from 0: 0 is the demotion, 1 is the restore.
    """
    options = EngineOptions(
        max_concurrency=1,
        device_state_slots=2,
        max_context_tokens=6 * PAGE_TOKENS,
        kv_capacity_tokens=6 * PAGE_TOKENS,
        host_state_slots=4,
        host_kv_capacity_bytes=8 * PAGE_BYTES,
    )
    before_count = 1  # the source's own demotion
    failing = frozenset(ordinal + before_count for ordinal in failing_transfers)
    bench = LedgerBench(options, failing_transfers=failing)
    source = bench.publish(150)
    bench.demote(source)
    victim, gone = bench.publish(130), bench.publish(60)
    wanted = Wanted(
        prompt_tokens=200,
        output_tokens=50,
        source=source,
        fates=(*demoting(victim), *evicting(gone)),
    )
    return Pressed(bench=bench, source=source, victim=victim, gone=gone, wanted=wanted)


# ── stage by stage ──────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedTransition:
    """One transition: what was proven of every stage, and what was found there.

    Attributes:
        observed: (stage, ledger's own occupancy), in order.
        phases: The phase in which each was reached.
    """

    assessment: Assessment
    observed: tuple[tuple[StageName, Occupancy], ...]
    phases: tuple[TransactionPhase, ...]


def staged() -> StagedTransition:
    """Runs the pressed request to its end, and looks wherever a stage has been reached."""
    scene = pressed()
    bench = scene.bench
    plan = bench.seal(scene.wanted)
    bench.moments.clear()
    bench.start(plan)
    result = bench.finish_transition()
    assert isinstance(result, Committed), result
    seen: dict[StageName, tuple[TransactionPhase, Occupancy]] = {}
    for _, ledger in bench.moments:
        if (transition := ledger.transition) is not None:
            seen.setdefault(transition.stage, (transition.phase, ledger.occupancy))
    seen[StageName.COMMITTED] = TransactionPhase.COMMITTED, bench.ledger.occupancy
    return StagedTransition(
        assessment=plan.assessment,
        observed=tuple((stage, occupancy) for stage, (_, occupancy) in seen.items()),
        phases=tuple(phase for phase, _ in seen.values()),
    )


# ── stopped half-way ────────────────────────────────────────────────────────────────────────────


class Stop(Enum):
    """Where and how a transition is stopped."""

    NOWHERE = "runs to its end"
    CANCELLED_FIRST = "cancelled before anything has happened"
    CANCELLED_DEMOTING = "cancelled while the demotion is in flight"
    DEMOTION_FAILS = "the demotion's copy fails"
    CANCELLED_RESTORING = "cancelled while the restore is in flight"
    RESTORE_FAILS = "the restore's copy fails"


_PAUSES_BEFORE = {Stop.CANCELLED_FIRST: 0, Stop.CANCELLED_DEMOTING: 1, Stop.CANCELLED_RESTORING: 2}
_FAILING = {Stop.DEMOTION_FAILS: frozenset({0}), Stop.RESTORE_FAILS: frozenset({1})}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What a stop left behind.

    Attributes:
        result: The absolute result.
        where: For source, victim, the evicted one: where each lies now.
        unchanged: Whether the ledger is exactly as it was.
        occupancy: With nothing held.
    """

    stop: Stop
    result: Committed | Aborted
    where: tuple[str, str, str]
    unchanged: bool
    occupancy: Occupancy

    @property
    def phase(self) -> TransactionPhase:
        """How far it came."""
        result = self.result
        return TransactionPhase.COMMITTED if isinstance(result, Committed) else result.phase


def endings() -> tuple[Ending, ...]:
    """Every way to stop, each on a fresh bench."""
    return tuple(ended(stop) for stop in Stop)


def ended(stop: Stop) -> Ending:
    """One of them."""
    scene = pressed(failing_transfers=_FAILING.get(stop, frozenset()))
    bench = scene.bench
    before = bench.ledger
    bench.start(bench.seal(scene.wanted))
    pauses_count = _PAUSES_BEFORE.get(stop, 0)
    for _ in range(pauses_count):
        if bench.advance() is None and pauses_count > 1:
            bench.arrive()
    if stop in _PAUSES_BEFORE:
        bench.cancel()
    if pauses_count:
        bench.arrive()
    result = bench.finish_transition()
    where = (
        bench.whereabouts(scene.source),
        bench.whereabouts(scene.victim),
        bench.whereabouts(scene.gone),
    )
    return Ending(
        stop=stop,
        result=result,
        where=where,
        unchanged=bench.ledger == before,
        occupancy=bench.ledger.occupancy,
    )
