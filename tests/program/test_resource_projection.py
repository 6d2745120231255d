"""Law: what a target frees and what it needs come from the references and replicas that survive the
whole of it.
"""

from __future__ import annotations

from itertools import combinations

import pytest

from ninfer_lab.contract.candidate import SourceDisposition
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.ids import OwnerRef
from ninfer_lab.contract.target import Assessment, StageName, StateTransition
from program.scenes import branch
from simulation.program_world import (
    CONSUME,
    RETAIN,
    ProgramWorld,
    Start,
    closure_at,
    planned,
    stage_uses,
)

RELEASED, COMMITTED = StageName.RELEASED, StageName.COMMITTED


def counts(found: Assessment) -> list[tuple[int, int, int]]:
    """(slots, pages, reserved pages) of the Device after releases and at the commit."""
    by_name = {stage.name: stage.occupancy for stage in found.stages}
    return [
        (
            by_name[name].device_state.allocated_count,
            by_name[name].device_kv.allocated_count,
            by_name[name].device_kv.reserved_count,
        )
        for name in (RELEASED, COMMITTED)
    ]


def continued(
    world: ProgramWorld,
    owner: OwnerRef,
    tokens: int,
    disposition: SourceDisposition,
    *evicted: OwnerRef,
) -> Assessment:
    """Assesses a prompt of `tokens` tokens that starts from an owner's deepest checkpoint."""
    start = Start(checkpoint=world.deepest(owner), disposition=disposition, evicted=evicted)
    return world.assess(world.request(range(tokens), output=10), start)


def test_a_source_that_nothing_else_needs_moves() -> None:  # spec: STATE-3, REC-3
    world = ProgramWorld(pages=4)
    owner = world.published(range(70))
    found = continued(world, owner, 100, CONSUME)
    assert (found.state, found.cow_pages) == (StateTransition.MOVE, 0)
    assert counts(found) == [(1, 2, 0), (1, 2, 0)]


def test_a_source_that_stays_is_forked() -> None:  # spec: STATE-3, REC-3
    world = ProgramWorld(pages=4)
    owner = world.published(range(70))
    found = continued(world, owner, 100, RETAIN)
    assert (found.state, found.cow_pages) == (StateTransition.FORK, 1)
    assert counts(found) == [(1, 2, 0), (2, 3, 0)]


def test_a_consumed_source_that_another_still_reads_is_forked() -> None:  # spec: REC-3, STATE-3
    world = ProgramWorld(lanes=2, extra_slots=1, pages=8)
    owner = world.published(range(70))
    reader = Start(checkpoint=world.deepest(owner), lane=1)
    result = world.admit(world.request(range(90)), reader)
    assert continued(world, owner, 100, CONSUME).state is StateTransition.FORK
    world.prefill(result)
    assert continued(world, owner, 100, CONSUME).state is StateTransition.MOVE


def test_a_consumed_source_that_goes_on_as_an_anchor_is_forked() -> None:  # spec: REC-3, KV-4
    world = ProgramWorld(extra_slots=3, pages=6)
    anchor = planned(CheckpointKind.LONG_ANCHOR, 70)
    owner = world.published(range(100), captures=(anchor,))
    start = Start(checkpoint=world.checkpoints(owner)[0].ref, disposition=CONSUME)
    found = world.assess(world.request(range(90)), start)
    assert (found.state, found.cow_pages) == (StateTransition.FORK, 1)


@pytest.mark.parametrize(
    ("frontier_tokens", "copied"), [(63, 1), (64, 0), (65, 1), (127, 1), (128, 0)]
)
def test_only_an_unaligned_tail_is_copied_for_a_second_writer(  # spec: KV-4, REC-3
    frontier_tokens: int, copied: int
) -> None:
    world = ProgramWorld(pages=4)
    owner = world.published(range(frontier_tokens))
    assert continued(world, owner, 150, RETAIN).cow_pages == copied
    assert continued(world, owner, 150, CONSUME).cow_pages == 0


def test_dropping_one_of_two_that_share_frees_only_what_it_alone_held() -> (
    None
):  # spec: REC-1, REC-2, INV-4
    world = ProgramWorld(lanes=1, extra_slots=3, pages=8)
    first = world.published(range(128))  # two pages
    second = branch(world, first, 140)  # the same, and one of its own
    request = world.request(range(500, 600))

    def after_release(*evicted: OwnerRef) -> tuple[int, int, int]:
        return counts(world.assess(request, Start(evicted=evicted)))[0]

    assert after_release() == (2, 3, 0)
    assert after_release(first) == (1, 3, 0)
    assert after_release(second) == (1, 2, 0)
    assert after_release(first, second) == (0, 0, 0)


def test_reclaim_is_what_is_used_before_less_what_is_used_after() -> None:  # spec: REC-1, REC-2
    def lineages() -> tuple[ProgramWorld, list[OwnerRef]]:
        world = ProgramWorld(extra_slots=5, pages=12, host_slots=4, host_granules=12)
        owners = [world.published(range(130), captures=(closure_at(128),))]
        owners += [branch(world, owners[0], 140), world.published(range(300, 400))]
        world.demote(owners[1])
        return world, owners

    world, owners = lineages()
    request = world.request(range(500, 510))
    for count in range(len(owners) + 1):
        for gone in combinations(owners, count):
            projected = stage_uses(world.assess(request, Start(evicted=gone)))[RELEASED]
            again, same = lineages()
            for owner in gone:
                again.release(same[owners.index(owner)])
            assert projected == again.used, gone


def test_a_source_whose_owner_shares_with_an_evicted_one_counts_the_survivors() -> None:
    world = ProgramWorld(lanes=1, extra_slots=3, pages=8)
    first = world.published(range(128))
    second = branch(world, first, 140)
    kept = continued(world, second, 200, CONSUME)
    alone = continued(world, second, 200, CONSUME, first)
    assert (kept.state, alone.state) == (StateTransition.MOVE, StateTransition.MOVE)
    assert counts(alone) == [(1, 3, 0), (1, 3, 1)]


def test_a_consumed_lineage_loses_what_lies_above_the_source() -> None:
    world = ProgramWorld(lanes=1, extra_slots=2, pages=6)
    owner = world.published(range(150), captures=(closure_at(70),))
    closure = world.checkpoints(owner)[0].ref
    found = world.assess(
        world.request(range(100), output=10), Start(checkpoint=closure, disposition=CONSUME)
    )
    # The endpoint's slot and its two own pages go; nobody else writes the closure's tail.
    assert (found.state, found.cow_pages) == (StateTransition.MOVE, 0)
    assert counts(found) == [(2, 4, 0), (1, 2, 0)]


def test_the_whole_remaining_growth_is_promised() -> None:  # spec: ACT-1
    world = ProgramWorld(pages=8)
    owner = world.published(range(70))
    request = world.request(range(100), output=200)  # 300 tokens: five pages
    root = world.assess(request, Start(evicted=(owner,)))
    assert counts(root)[1] == (1, 0, 5)
    source = world.deepest(owner)
    moved = world.assess(request, Start(checkpoint=source, disposition=CONSUME))
    assert counts(moved)[1] == (1, 2, 3)
    forked = world.assess(request, Start(checkpoint=source))
    assert counts(forked)[1] == (2, 3, 3)


def test_what_others_are_promised_is_not_there_to_be_had() -> None:  # spec: INV-8
    world = ProgramWorld(lanes=2, extra_slots=0, pages=4)
    world.admit(world.request(range(10), output=150))  # three pages, none mapped
    found = world.assess(world.request(range(70)), Start(lane=1))
    assert not found.is_feasible
    assert str(found) == (
        "does not fit: at “destinations reserved” device KV pages: 5 used > 4 there are"
    )


def test_a_projection_only_reads() -> None:  # spec: REV-1
    world = ProgramWorld(lanes=1, extra_slots=2, pages=6, host_slots=2, host_granules=4)
    owner = world.published(range(150), captures=(closure_at(70),))
    before = world.ledger
    for disposition in SourceDisposition:
        continued(world, owner, 160, disposition)
    for rung in world.program.ladder(world.current(owner)):
        world.assess(world.request(range(9)), Start(outcomes=(rung,)))
    assert world.ledger == before


def test_pages_mapped_since_the_last_projection_are_seen() -> None:  # spec: REV-3
    world = ProgramWorld(lanes=2, extra_slots=1, pages=8, chunk_tokens=64)
    running = world.admit(world.request(range(190)))
    request = world.request(range(300, 310))
    first = world.assess(request, Start(lane=1))
    world.forward(running)
    second = world.assess(request, Start(lane=1))
    assert first.resource_revision == second.resource_revision
    assert (counts(first)[0], counts(second)[0]) == ((1, 0, 3), (1, 1, 2))
