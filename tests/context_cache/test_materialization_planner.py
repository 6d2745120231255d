"""Law: what is taken is the best target that the search has verified, whatever was told of it; a
choice changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from context_cache.decisions import free, price
from ninfer_lab.context_cache.materialization_planner import (
    AdmissionProblem,
    Decision,
    decide,
    publication_slot,
)
from ninfer_lab.context_cache.retention import RetentionClass
from ninfer_lab.context_cache.search_budget import BoundaryAllowance
from ninfer_lab.context_cache.valuation import OwnerWorth, PriceWork
from ninfer_lab.contract.candidate import AdmissionRequest, SourceDisposition
from ninfer_lab.contract.ids import CheckpointRef, OwnerRef
from ninfer_lab.contract.result import SequenceEnd
from ninfer_lab.contract.search_report import SearchStop, TargetCounts
from ninfer_lab.engine.decision_room import UNLIMITED_NS
from simulation.program_world import CONSUME, RETAIN, ProgramWorld, Start, closure_at

RECENT = OwnerWorth(retention=RetentionClass.RECENT_PRIVATE)


def taken(
    world: ProgramWorld,
    request: AdmissionRequest,
    sources: Sequence[CheckpointRef],
    victims: Sequence[OwnerRef],
    *,
    disposition: SourceDisposition = RETAIN,
    vacant: bool = True,
    recency: Sequence[int] | None = None,
    tells_targets: bool = True,
    believed: PriceWork = price,
) -> Decision:
    before = world.ledger
    decision = decide(
        world.program,
        believed,
        AdmissionProblem(
            candidates=[
                world.candidate(request, Start(checkpoint=source, disposition=disposition))
                for source in (None, *sources)
            ],
            victims=[world.current(victim) for victim in victims],
            worth=lambda _: RECENT,
            needs_slot=True,
            has_vacant_slot=vacant,
            session_owner=None,
            recency=None if recency is None else tuple(recency),
        ),
        unlimited(),
        tells_targets=tells_targets,
    )
    assert world.ledger == before  # spec: INV-17
    return decision


def unlimited() -> BoundaryAllowance:
    allowance = BoundaryAllowance(0)
    allowance.remaining_ns = UNLIMITED_NS
    return allowance


def described(decision: Decision) -> tuple[int, list[int], list[int]]:
    """(reused tokens, owners evicted, owners degraded) of what was taken."""
    assert decision.chosen is not None
    target = decision.chosen.target
    return (
        target.candidate.reuse_tokens,
        [owner.id for owner in target.evicted],
        [owner.id for owner in target.degraded],
    )


def roomy() -> tuple[ProgramWorld, OwnerRef]:
    world = ProgramWorld(extra_slots=4, pages=10, host_slots=4, host_granules=10)
    return world, world.published(range(150), captures=(closure_at(70),))


def tight(host_granules: int = 8) -> tuple[ProgramWorld, list[OwnerRef]]:
    """Three owners of two pages fill six of seven."""
    world = ProgramWorld(extra_slots=4, pages=7, host_slots=4, host_granules=host_granules)
    return world, [world.published(range(n, n + 100)) for n in (0, 200, 400)]


def test_what_fits_and_is_cheapest_is_taken_at_once() -> None:  # spec: TGT-4, SRCH-2
    world, owner = roomy()
    closure, endpoint = (c.ref for c in world.checkpoints(owner))
    decision = taken(world, world.request(range(200)), [closure, endpoint], [owner])
    assert described(decision) == (150, [], [])
    assert [v.reuse_tokens for v in decision.report.verdicts] == [0, 70, 150]
    assert decision.report.search is not None
    assert decision.report.search.stop is SearchStop.NO_PRESSURE
    assert decision.report.search.spent_ns == 0


def test_of_equally_cheap_ones_the_first_is_taken() -> None:  # spec: SRCH-8
    world, owner = roomy()
    twin = world.published(range(150))
    sources = [world.deepest(twin), world.deepest(owner)]
    decision = taken(world, world.request(range(200)), sources, [])
    assert decision.chosen is not None
    assert decision.chosen.target.candidate.source is not None
    assert decision.chosen.target.candidate.source.owner.id == twin.id


def test_what_is_told_changes_nothing_that_is_done() -> None:  # spec: RCD-1
    world, owners = tight()
    request = world.request(range(100 + 80), output=40)
    sources = [world.deepest(owners[0])]
    whole = taken(world, request, sources, owners)
    brief = taken(world, request, sources, owners, tells_targets=False)
    assert brief.chosen == whole.chosen
    assert brief.report == whole.report.decision()
    assert whole.report.omitted == TargetCounts(seen=0, feasible=0, adoptable=0)
    assert brief.report.omitted.seen == len(whole.report.verdicts) - len(brief.report.verdicts) > 0
    assert all(verdict.cost is not None for verdict in whole.report.verdicts)


def test_a_source_is_worth_moving_others_to_the_host() -> None:  # spec: TGT-4, VAL-6
    world, owners = tight()
    # A Fork needs a tail and two pages to grow: three where one is free.
    request = world.request(range(100 + 80), output=40)
    reuse_tokens, evicted, degraded = described(
        taken(world, request, [world.deepest(owners[0])], owners)
    )
    assert (reuse_tokens, evicted) == (100, [])
    assert degraded
    assert owners[0].id not in degraded  # spec: SRCH-10


def test_without_prices_only_what_is_given_up_counts() -> None:  # spec: INV-13, COST-1
    world, owners = tight()
    request = world.request(range(100 + 80), output=40)
    sources = [world.deepest(owners[0])]
    dear, nothing = (
        taken(world, request, sources, owners, believed=believed) for believed in (price, free)
    )
    feasible = [{str(v) for v in d.report.verdicts if v.is_feasible} for d in (dear, nothing)]
    refused = [{str(v) for v in d.report.verdicts if not v.is_feasible} for d in (dear, nothing)]
    assert not feasible[0] & refused[1]
    assert not feasible[1] & refused[0]


def test_root_with_all_unprotected_gone_is_the_last_way() -> None:  # spec: INV-12, SRCH-3
    world, owners = tight(host_granules=0)
    decision = taken(world, world.request(range(600, 1_000), output=48), [], owners)
    assert described(decision) == (0, [owner.id for owner in owners], [])
    blocked = taken(world, world.request(range(600, 1_000), output=49), [], owners)
    assert (blocked.chosen, blocked.report.chosen) == (None, None)


def test_a_protected_owner_is_in_no_target() -> None:  # spec: TGT-2
    world, owners = tight()
    decision = taken(world, world.request(range(600, 840), output=16), [], owners[1:])
    assert all(
        owners[0].id not in (*verdict.evicted, *verdict.degraded)
        for verdict in decision.report.verdicts
    )
    assert decision.chosen is not None


def test_without_a_vacant_slot_somebody_goes() -> None:  # spec: CAP-3, SRCH-5
    world, owner = roomy()
    vacant, full = (
        taken(world, world.request(range(600, 640)), [], [owner], vacant=vacant)
        for vacant in (True, False)
    )
    assert described(vacant) == (0, [], [])
    assert described(full) == (0, [owner.id], [])
    refused = next(v for v in full.report.verdicts if v.is_identity)
    assert refused.is_feasible
    assert not refused.is_adoptable


def test_without_any_place_it_runs_all_the_same() -> None:  # spec: SES-2, INV-12
    world = ProgramWorld(extra_slots=2, pages=6)
    decision = taken(world, world.request(range(100)), [], [], vacant=False)
    assert described(decision) == (0, [], [])
    assert decision.report.winner is not None
    assert decision.report.winner.is_adoptable


@pytest.mark.parametrize(("disposition", "needs_one"), [(CONSUME, False), (RETAIN, True)])
def test_only_a_consumed_source_brings_its_place_along(
    disposition: SourceDisposition, needs_one: bool
) -> None:  # spec: CAP-3
    world, owner = roomy()
    start = Start(checkpoint=world.deepest(owner), disposition=disposition)
    session = world.program.plan([world.candidate(world.request(range(200)), start)], [])
    has_slot = publication_slot(session, needed=True, vacant=False)
    assert has_slot(session.identity(0)) is not needs_one
    assert publication_slot(session, needed=False, vacant=False)(session.identity(0))


def test_who_was_used_last_the_longest_ago_goes_first() -> None:  # spec: SRCH-4
    world, owners = tight(host_granules=0)
    request = world.request(range(600, 700), output=28)
    for order in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        decision = taken(world, request, [], owners, recency=order)
        assert described(decision)[1] == [owners[order[0]].id]


def test_a_sequence_that_ended_without_an_owner_leaves_no_victim() -> None:
    world = ProgramWorld(extra_slots=2, pages=6)
    committed = world.admit(world.request(range(100)))
    world.prefill(committed)
    world.finish(committed, SequenceEnd.DISCARD)
    assert described(taken(world, world.request(range(300)), [], [])) == (0, [], [])
