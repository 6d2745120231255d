"""What happens if one does it all the same?

Owns small experiments that notebooks show: each does something to a real Program, or asks it for
what cannot be had, and says what came of it. Uses public calls only. What happens in time, with an
engine around, is in `engine_trials`; transitions half-way are in `transition_trials`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import combinations

import polars as pl

from ninfer_lab.contract.capacity import Axis, Occupancy
from ninfer_lab.contract.errors import PlanRefused
from ninfer_lab.contract.explanation import Explanation
from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.options import PAGE_TOKENS, EngineOptions
from ninfer_lab.contract.placement import LedgerSnapshot
from ninfer_lab.contract.result import Committed, SequenceEnd
from ninfer_lab.contract.target import StageName
from ninfer_lab.lab.ledger_bench import PAGE_BYTES, LedgerBench
from ninfer_lab.lab.wanted import Wanted, demoting, evicting

REQUEST_TOKENS = 10
"""Of a request that only has to be there for owners to be pressed by."""


def refused_plans() -> pl.DataFrame:
    """Runs a plan; then the same again, a copy of one, and one that the ledger has moved past.

    Returns:
        One row per attempt: what was tried, what happened, whether the ledger changed, what was
        said.
    """
    bench = LedgerBench(EngineOptions(max_concurrency=2, device_state_slots=1))
    wanted = Wanted(prompt_tokens=100, output_tokens=20)
    first = bench.seal(wanted)
    rows: list[dict[str, object]] = []

    def attempt(tried: str, act: Callable[[], object]) -> None:
        before, happened, said = bench.ledger, "ran", ""
        try:
            act()
        except PlanRefused as refusal:
            happened, said = "refused", str(refusal)
        rows.append(
            {
                "what was tried": tried,
                "what happened": happened,
                "ledger changed": bench.ledger != before,
                "what was said": said,
            }
        )

    committed: list[Committed] = []

    def run_first() -> None:
        bench.start(first)
        result = bench.finish_transition()
        assert isinstance(result, Committed), "from root nothing is copied"
        committed.append(result)

    attempt("a sealed plan", run_first)
    attempt("the same plan again", lambda: bench.start(first))
    forged = replace(bench.seal(replace(wanted, lane=1)))
    attempt("an equal copy of a sealed plan", lambda: bench.start(forged))
    stale = bench.seal(replace(wanted, lane=1))
    bench.finish(committed[0].handle, SequenceEnd.DISCARD)
    attempt("a plan sealed before another request ended", lambda: bench.start(stale))
    return pl.DataFrame(rows)


def unfit_target() -> Explanation:
    """Asks for two pages beside a running request that has been promised two of three, and takes
    the answer apart.
    """
    options = EngineOptions(
        max_concurrency=2,
        device_state_slots=1,
        max_context_tokens=3 * PAGE_TOKENS,
        kv_capacity_tokens=3 * PAGE_TOKENS,
    )
    bench = LedgerBench(options)
    wanted = Wanted(prompt_tokens=100, output_tokens=20)
    bench.admit(wanted)
    explanations = bench.explain(replace(wanted, lane=1))
    (explanation,) = (
        each for each in explanations if each.violation.stage is StageName.DESTINATIONS_RESERVED
    )
    return explanation


# ── what goes with whom ─────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Reclaim:
    """What becomes free if these owners go together, beside what each held alone.

    Attributes:
        freed_slots: Device StateImage slots, by the joint post-state; likewise the pages.
        alone_slots: The sum over the owners of what each would free if it went alone.
    """

    owners: tuple[OwnerId, ...]
    freed_slots: int
    freed_pages: int
    alone_slots: int
    alone_pages: int


def reclaims(bench: LedgerBench) -> tuple[Reclaim, ...]:
    """Every set of owners that could be evicted, none first. Reads only."""
    return tuple(
        _reclaim(bench, owners)
        for size in range(len(bench.owners) + 1)
        for owners in combinations(bench.owners, size)
    )


def _reclaim(bench: LedgerBench, owners: tuple[OwnerId, ...]) -> Reclaim:
    assessment = bench.assess(Wanted(prompt_tokens=REQUEST_TOKENS, fates=evicting(*owners)))
    at = {stage.name: stage.occupancy for stage in assessment.stages}
    now, released = at[StageName.NOW], at[StageName.RELEASED]
    alone = [bench.exclusive(owner) for owner in owners]
    return Reclaim(
        owners=owners,
        freed_slots=now.device_state.used_count - released.device_state.used_count,
        freed_pages=now.device_kv.used_count - released.device_kv.used_count,
        alone_slots=sum(each.device_state_slots for each in alone),
        alone_pages=sum(each.device_kv_pages for each in alone),
    )


def two_aliases() -> LedgerBench:
    """Three inactive owners: 1 and 2 share four pages, 2 has one of its own, 3 shares nothing."""
    bench = LedgerBench(_roomy(device_pages=16))
    first = bench.publish(4 * PAGE_TOKENS)
    bench.publish(4 * PAGE_TOKENS + 12, after=first)
    bench.publish(2 * PAGE_TOKENS)
    return bench


def split_host(hole_pages: int = 2) -> tuple[LedgerBench, Wanted]:
    """A Host arena with just the free bytes that one more owner takes, in two equal holes.

    Two owners of one page are left in it: 2 between the holes, 4 behind the second.

    Args:
        hole_pages: Length of each hole.

    Returns:
        The bench, and a request that wants the last owner on the Host.
    """
    sizes_pages = (hole_pages, 1, hole_pages, 1)
    bench = LedgerBench(_roomy(device_pages=16, host_pages=sum(sizes_pages)))
    residents = [bench.publish(pages * PAGE_TOKENS) for pages in sizes_pages]
    for owner in residents:
        bench.demote(owner)
    bench.evict(*residents[::2])
    mover = bench.publish(2 * hole_pages * PAGE_TOKENS)
    return bench, Wanted(prompt_tokens=REQUEST_TOKENS, fates=demoting(mover))


# ── how a request comes by its state and pages ──────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class WayIn:
    """One admission that has just been committed; no forward has run yet.

    Attributes:
        situation: In words.
        before: The ledger when it was asked for.
        source_pages: How many whole pages the source covers.
        after: The ledger with the sequence active, its first forward still to come.
    """

    situation: str
    before: LedgerSnapshot
    committed: Committed
    source_pages: int
    after: LedgerSnapshot

    def __str__(self) -> str:
        return f"{self.situation}: {self.committed.state.value}, {self.committed.cow_pages} copied"


def ways_in() -> tuple[WayIn, ...]:
    """The same prompt of 150 tokens, admitted in seven situations."""
    tail, edge = 2 * PAGE_TOKENS + 2, 2 * PAGE_TOKENS
    return (
        _way("nothing is reused", tail, root=True),
        _way("its owner is used up", tail, consume=True),
        _way(
            "used up, while another\nrequest still reads the state", tail, consume=True, read=True
        ),
        _way("its owner stays", tail),
        _way("its owner stays;\nfrontier on a page edge", edge),
        _way("used up; all of it\nis on the Host", tail, consume=True, on_host=True),
        _way("its owner stays;\nall of it is on the Host", tail, on_host=True),
    )


def _way(
    situation: str,
    frontier_tokens: int,
    *,
    root: bool = False,
    consume: bool = False,
    read: bool = False,
    on_host: bool = False,
) -> WayIn:
    bench = LedgerBench(_roomy(device_pages=16, host_pages=8))
    owner = bench.publish(frontier_tokens)
    if read:
        bench.admit(Wanted(prompt_tokens=frontier_tokens + 9, source=owner, lane=1))
    if on_host:
        bench.demote(owner)
    before = bench.ledger
    wanted = Wanted(prompt_tokens=150, source=None if root else owner, consume=consume)
    result = bench.run(wanted)
    assert isinstance(result, Committed), result
    return WayIn(
        situation=situation,
        before=before,
        committed=result,
        source_pages=0 if root else frontier_tokens // PAGE_TOKENS,
        after=bench.ledger,
    )


def tail_copies(frontiers_tokens: Iterable[int]) -> pl.DataFrame:
    """What a second writer copies at each frontier, and what a request that uses its owner up
    does.
    """
    rows = []
    for frontier in frontiers_tokens:
        bench = LedgerBench(_roomy(device_pages=16))
        owner = bench.publish(frontier)
        wanted = Wanted(prompt_tokens=frontier + 20, source=owner)
        stays, used_up = bench.assess(wanted), bench.assess(replace(wanted, consume=True))
        rows.append(
            {
                "frontier_tokens": frontier,
                "tokens in the last page": frontier % PAGE_TOKENS or PAGE_TOKENS,
                "pages copied if the owner stays": stays.cow_pages,
                "pages copied if it is used up": used_up.cow_pages,
            }
        )
    return pl.DataFrame(rows)


def occupancy_table(occupancy: Occupancy) -> pl.DataFrame:
    """One row per axis that is there."""
    rows = [
        {
            "axis": use.axis.value,
            "allocated": use.allocated_count,
            "reserved": use.reserved_count,
            "used": use.used_count,
            "capacity": use.capacity_count,
        }
        for use in occupancy.axes
        if use.capacity_count or use.axis is not Axis.DEVICE_BACKEND_KV
    ]
    return pl.DataFrame(rows)


def _roomy(*, device_pages: int, host_pages: int = 8) -> EngineOptions:
    """Two lanes and room for four checkpoints in each tier."""
    return EngineOptions(
        max_concurrency=2,
        device_state_slots=4,
        max_context_tokens=8 * PAGE_TOKENS,
        kv_capacity_tokens=device_pages * PAGE_TOKENS,
        host_state_slots=4,
        host_kv_capacity_bytes=host_pages * PAGE_BYTES,
    )
