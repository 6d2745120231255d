"""Law: Move or Fork, the copied tail and what is freed come from the references that survive the
whole target, and every stage on the way is counted.
"""

from __future__ import annotations

import pytest

from ninfer_lab.contract.candidate import SourceDisposition
from ninfer_lab.contract.capacity import Occupancy
from ninfer_lab.contract.ids import OwnerRef
from ninfer_lab.contract.target import Assessment, StateTransition
from simulation.program_world import ProgramWorld, Start, closure_at

CONSUME, RETAIN = SourceDisposition.CONSUME, SourceDisposition.RETAIN


def counts(stage: Occupancy) -> tuple[int, int, int]:
    """(slots, pages, reserved pages) of one stage."""
    state, kv = stage.device_state, stage.device_kv
    return state.allocated_count, kv.allocated_count, kv.reserved_count


def continued(world: ProgramWorld, owner: OwnerRef, tokens: int, start: Start) -> Assessment:
    """Assesses a prompt of `tokens` tokens that starts from an owner's deepest checkpoint."""
    source = world.checkpoints(owner)[-1]
    return world.assess(
        world.request(range(tokens), output=10),
        Start(checkpoint=source.ref, disposition=start.disposition, evicted=start.evicted),
    )


def branch(world: ProgramWorld, owner: OwnerRef, tokens: int) -> OwnerRef:
    """Another owner that shares what it can with the deepest checkpoint of this one."""
    ref, source = world.new_owner(), world.checkpoints(owner)[-1]
    result = world.admit(
        world.request(range(tokens), output=1), Start(checkpoint=source.ref, owner=ref)
    )
    world.prefill(result)
    world.finish(result)
    return ref


def test_a_source_that_nothing_else_needs_moves() -> None:  # spec: STATE-3, REC-3
    world = ProgramWorld(pages=4)
    owner = world.published(range(70))
    found = continued(world, owner, 100, Start(disposition=CONSUME))
    assert (found.state, found.cow_pages) == (StateTransition.MOVE, 0)
    assert [counts(stage) for stage in found.stages] == [(1, 2, 0), (1, 2, 0), (1, 2, 0)]


def test_a_source_that_stays_is_forked() -> None:  # spec: STATE-3, REC-3
    world = ProgramWorld(pages=4)
    owner = world.published(range(70))
    found = continued(world, owner, 100, Start(disposition=RETAIN))
    assert (found.state, found.cow_pages) == (StateTransition.FORK, 1)
    assert [counts(stage) for stage in found.stages] == [(1, 2, 0), (1, 2, 0), (2, 3, 0)]


def test_a_consumed_source_that_another_still_reads_is_forked() -> None:  # spec: REC-3, STATE-3
    world = ProgramWorld(lanes=2, extra_slots=1, pages=8)
    owner = world.published(range(70))
    reader = Start(checkpoint=world.checkpoints(owner)[-1].ref, lane=1)
    result = world.admit(world.request(range(90)), reader)
    assert continued(world, owner, 100, Start(disposition=CONSUME)).state is StateTransition.FORK
    world.prefill(result)
    assert continued(world, owner, 100, Start(disposition=CONSUME)).state is StateTransition.MOVE


@pytest.mark.parametrize(
    ("frontier_tokens", "copied"), [(63, 1), (64, 0), (65, 1), (127, 1), (128, 0)]
)
def test_only_an_unaligned_tail_is_copied_for_a_second_writer(  # spec: KV-4, REC-3
    frontier_tokens: int, copied: int
) -> None:
    world = ProgramWorld(pages=4)
    owner = world.published(range(frontier_tokens))
    assert continued(world, owner, 150, Start(disposition=RETAIN)).cow_pages == copied
    assert continued(world, owner, 150, Start(disposition=CONSUME)).cow_pages == 0


def test_dropping_one_of_two_that_share_frees_only_what_it_alone_held() -> (
    None
):  # spec: REC-1, REC-2, INV-4
    world = ProgramWorld(lanes=1, extra_slots=3, pages=8)
    first = world.published(range(128))  # pages 0 and 1
    second = branch(world, first, 140)  # pages 0 and 1, and one of its own
    request = world.request(range(500, 600))

    def after_release(*evicted: OwnerRef) -> tuple[int, int, int]:
        return counts(world.assess(request, Start(evicted=evicted)).stages[1])

    assert after_release() == (2, 3, 0)
    assert after_release(first) == (1, 3, 0)
    assert after_release(second) == (1, 2, 0)
    assert after_release(first, second) == (0, 0, 0)


def test_a_source_whose_owner_shares_with_an_evicted_one_counts_the_survivors() -> None:
    world = ProgramWorld(lanes=1, extra_slots=3, pages=8)
    first = world.published(range(128))
    second = branch(world, first, 140)
    kept = continued(world, second, 200, Start(disposition=CONSUME))
    alone = continued(world, second, 200, Start(disposition=CONSUME, evicted=(first,)))
    assert (kept.state, alone.state) == (StateTransition.MOVE, StateTransition.MOVE)
    assert [counts(s) for s in alone.stages] == [(2, 3, 0), (1, 3, 0), (1, 3, 1)]


def test_a_consumed_lineage_loses_what_lies_above_the_source() -> None:
    world = ProgramWorld(lanes=1, extra_slots=2, pages=6)
    owner = world.published(range(150), captures=(closure_at(70),))
    closure, endpoint = world.owner(owner).checkpoints
    assert (closure.pages, endpoint.pages) == ((0, 1), (0, 2, 3))
    found = world.assess(
        world.request(range(100), output=10),
        Start(checkpoint=closure.summary.ref, disposition=CONSUME),
    )
    # The endpoint's slot and its two own pages go; nobody else writes the closure's tail.
    assert (found.state, found.cow_pages) == (StateTransition.MOVE, 0)
    assert [counts(stage) for stage in found.stages] == [(2, 4, 0), (1, 2, 0), (1, 2, 0)]


def test_the_whole_remaining_growth_is_promised() -> None:  # spec: ACT-1
    world = ProgramWorld(pages=8)
    owner = world.published(range(70))
    request = world.request(range(100), output=200)  # 300 tokens: five pages
    root = world.assess(request, Start(evicted=(owner,)))
    assert counts(root.stages[-1]) == (1, 0, 5)
    source = world.checkpoints(owner)[-1].ref
    moved = world.assess(request, Start(checkpoint=source, disposition=CONSUME))
    assert counts(moved.stages[-1]) == (1, 2, 3)
    forked = world.assess(request, Start(checkpoint=source))
    assert counts(forked.stages[-1]) == (2, 3, 3)


def test_what_others_are_promised_is_not_there_to_be_had() -> None:  # spec: INV-8
    world = ProgramWorld(lanes=2, extra_slots=0, pages=4)
    world.admit(world.request(range(10), output=150))  # three pages, none mapped
    found = world.assess(world.request(range(70)), Start(lane=1))
    assert not found.is_feasible
    assert [(stage, str(use)) for stage, use in found.violations] == [
        (2, "device KV pages: 0 allocated + 5 reserved of 4")
    ]


def test_a_projection_only_reads() -> None:  # spec: REV-1
    world = ProgramWorld(lanes=1, extra_slots=2, pages=6)
    owner = world.published(range(150), captures=(closure_at(70),))
    before = world.ledger
    for disposition in SourceDisposition:
        continued(world, owner, 160, Start(disposition=disposition))
    world.assess(world.request(range(9)), Start(evicted=(owner,)))
    assert world.ledger == before
