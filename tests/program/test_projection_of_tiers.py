"""Law: how a state comes to be, what is restored and what is copied depend on which replicas are
left of the source, and on who else keeps them.
"""

from __future__ import annotations

import pytest

from ninfer_lab.contract.candidate import SourceDisposition
from ninfer_lab.contract.options import SpeculativeBackend
from ninfer_lab.contract.result import Committed, SequenceEnd
from ninfer_lab.contract.target import StageName, StateTransition
from program.scenes import branch, doubled, image_only_on_host
from simulation.engine_world import BACKEND_PAGE_BYTES, MAIN_PAGE_BYTES
from simulation.program_world import (
    CONSUME,
    RETAIN,
    ProgramWorld,
    Start,
    Used,
    closure_at,
    small_options,
    stage_uses,
)

PAGE = MAIN_PAGE_BYTES


def hosted(tokens: int = 150, *, pages: int = 8) -> ProgramWorld:
    """One owner of a prompt, all on the Host."""
    world = ProgramWorld(extra_slots=3, pages=pages, host_slots=3, host_granules=8)
    world.demote(world.published(range(tokens)))
    return world


def go_on(
    world: ProgramWorld, disposition: SourceDisposition, *, ordinal: int = -1, owner: int = 0
) -> tuple[dict[StageName, Used], Committed]:
    """Goes on from a checkpoint; what was projected at the commit is what there is then."""
    found = world.ledger.owners[owner].checkpoints[ordinal].summary.ref
    start = Start(checkpoint=found, disposition=disposition)
    request = world.request(range(200))
    uses = stage_uses(world.assess(request, start))
    result = world.admit(request, start)
    assert world.used == uses[StageName.COMMITTED]
    return uses, result


def test_an_image_that_is_on_the_host_alone_is_restored() -> None:  # spec: STATE-2, REC-3
    world = hosted()
    uses, result = go_on(world, RETAIN)
    assert (result.state, result.cow_pages) == (StateTransition.RESTORE, 1)
    # Two full pages back, the tail straight into the writer's own, and one to grow into.
    assert uses[StageName.COMMITTED] == (1, 1, 4, 0, 3 * PAGE)


def test_what_a_consumed_source_had_on_the_host_goes_where_it_becomes_stale() -> (
    None
):  # spec: STG-2, OWN-6
    world = hosted()
    uses, result = go_on(world, CONSUME)
    assert (result.state, result.cow_pages) == (StateTransition.RESTORE, 0)
    assert uses[StageName.DESTINATIONS_RESERVED] == (1, 1, 4, 0, 3 * PAGE)
    # The image and the tail will be written; the two full pages never are.
    assert uses[StageName.COMMITTED] == (1, 0, 4, 0, 2 * PAGE)
    world.prefill(result)
    world.finish(result, SequenceEnd.DISCARD)
    assert world.used == (0, 0, 0, 0, 0)


def test_at_a_page_edge_nothing_on_the_host_becomes_stale_but_the_state() -> None:  # spec: KV-4
    world = hosted(128)
    uses, result = go_on(world, CONSUME)
    assert (result.state, result.cow_pages) == (StateTransition.RESTORE, 0)
    assert uses[StageName.COMMITTED] == (1, 0, 4, 0, 2 * PAGE)


@pytest.mark.parametrize(
    ("disposition", "state", "committed"),
    [
        (RETAIN, StateTransition.FORK, (2, 1, 5, 0, 3 * PAGE)),
        # A moved image and a tail that goes on being written leave no replica behind.
        (CONSUME, StateTransition.MOVE, (1, 0, 4, 0, 2 * PAGE)),
    ],
)
def test_a_device_replica_is_taken_before_one_on_the_host(  # spec: STATE-3
    disposition: SourceDisposition, state: StateTransition, committed: Used
) -> None:
    world = ProgramWorld(extra_slots=3, pages=8, host_slots=3, host_granules=8)
    world.degrade(doubled(world, world.published(range(150))))
    assert world.used == (1, 1, 3, 0, 3 * PAGE)
    uses, result = go_on(world, disposition)
    assert (result.state, uses[StageName.COMMITTED]) == (state, committed)


def test_state_and_pages_are_restored_each_from_where_it_is() -> None:  # spec: KV-5
    world = ProgramWorld(extra_slots=3, pages=8, host_slots=3, host_granules=8)
    world.degrade(image_only_on_host(world, world.published(range(150))))
    assert world.used == (0, 1, 3, 0, 0)
    uses, result = go_on(world, RETAIN)
    assert (result.state, result.cow_pages) == (StateTransition.RESTORE, 1)
    assert uses[StageName.COMMITTED] == (1, 1, 5, 0, 0)


def test_pages_of_one_checkpoint_lie_in_both_tiers() -> None:  # spec: KV-5
    world = ProgramWorld(extra_slots=4, pages=10, host_slots=4, host_granules=8)
    first = world.published(range(130))
    second = branch(world, first, 200)  # shares two pages, has two of its own
    world.demote(second)
    # The first keeps its own replicas of the shared pages, the second has others on the Host.
    assert world.used == (1, 1, 3, 0, 4 * PAGE)
    found = world.owner(second).checkpoints[0]
    tiers = {page.page: page for page in world.ledger.pages}
    assert [tiers[page].device_page is not None for page in found.pages] == [
        True,
        True,
        False,
        False,
    ]
    start = Start(checkpoint=found.summary.ref)
    result = world.admit(world.request(range(220)), start)
    assert (result.state, result.cow_pages) == (StateTransition.RESTORE, 1)
    # One full page comes back, the tail is copied; the shared ones are there.
    assert world.used == (2, 1, 5, 0, 4 * PAGE)


def test_dropping_a_shared_page_from_the_device_takes_all_who_keep_it() -> None:  # spec: REC-2
    world = ProgramWorld(extra_slots=4, pages=10, host_slots=4, host_granules=8)
    first = world.published(range(128))
    second = branch(world, first, 200)
    request = world.request(range(900, 903))

    def demoted(*owners: object) -> Used:
        outcomes = tuple(world.demoted(o) for o in (first, second) if o in owners)
        return stage_uses(world.assess(request, Start(outcomes=outcomes)))[StageName.DEMOTED]

    assert world.used == (2, 0, 4, 0, 0)
    assert demoted(first) == (1, 1, 4, 0, 2 * PAGE)
    assert demoted(second) == (1, 1, 2, 0, 4 * PAGE)
    # Each alone moves its images; only both free the pages they share, on the Host but once.
    assert demoted(first, second) == (0, 2, 0, 0, 4 * PAGE)


def test_a_checkpoint_below_keeps_what_the_source_would_have_made_stale() -> (
    None
):  # spec: REC-3, STATE-3
    world = ProgramWorld(extra_slots=3, pages=8, host_slots=4, host_granules=8)
    owner = world.published(range(100), captures=(closure_at(70),))
    world.demote(owner)
    assert world.used == (0, 2, 0, 0, 3 * PAGE)
    uses, result = go_on(world, CONSUME)
    assert (result.state, result.cow_pages) == (StateTransition.RESTORE, 0)
    # The closure keeps image, first page and its tail on the Host; the endpoint's image and tail
    # are the sequence's own now.
    assert uses[StageName.COMMITTED] == (1, 1, 4, 0, 2 * PAGE)
    assert [c.summary.frontier_tokens for c in world.sequence(result).checkpoints] == [70]


def test_the_tail_end_of_a_consumed_owner_goes_before_destinations_are_held() -> (
    None
):  # spec: STG-2
    world = ProgramWorld(extra_slots=3, pages=8, host_slots=4, host_granules=8)
    owner = world.published(range(150), captures=(closure_at(70),))
    world.demote(owner)
    assert world.used == (0, 2, 0, 0, 4 * PAGE)
    uses, _ = go_on(world, CONSUME, ordinal=0)
    assert uses[StageName.RELEASED] == (0, 2, 0, 0, 4 * PAGE)
    assert uses[StageName.DESTINATIONS_RESERVED] == (1, 1, 4, 0, 2 * PAGE)
    assert uses[StageName.COMMITTED] == (1, 0, 4, 0, 1 * PAGE)


@pytest.mark.parametrize(
    ("tokens", "lag_tokens", "cow_pages", "backend_pages"),
    [
        (70, 1, 2, 2),  # 69 tokens: both pools have a tail
        (65, 1, 1, 1),  # 64 tokens: the backend ends at a page edge
        (128, 1, 1, 2),  # 127 tokens: only the backend has a tail
        (70, 6, 1, 1),  # 64 tokens again
        (70, 70, 1, 0),  # none yet
    ],
)
def test_a_backend_has_a_frontier_of_its_own(  # spec: KV-1, KV-4
    tokens: int, lag_tokens: int, cow_pages: int, backend_pages: int
) -> None:
    world = ProgramWorld(
        options=small_options(
            extra_slots=2,
            pages=4,
            host_slots=2,
            host_granules=20,
            backend=SpeculativeBackend(lag_tokens=lag_tokens),
        )
    )
    owner = world.published(range(tokens))
    main_pages = -(-tokens // 64)
    assert world.used == (1, 0, main_pages, backend_pages, 0)
    start = Start(checkpoint=world.deepest(owner))
    found = world.assess(world.request(range(140)), start)
    assert (found.state, found.cow_pages) == (StateTransition.FORK, cow_pages)
    # The longest request has 141 tokens: three pages of Main, and of what lags by less than 14.
    needed = {1: 3, 6: 3, 70: 2}[lag_tokens]
    full = ((tokens - lag_tokens) // 64, backend_pages)
    assert stage_uses(found)[StageName.COMMITTED][3] == needed - full[0] + full[1]
    world.demote(owner)
    expected = main_pages * MAIN_PAGE_BYTES + backend_pages * BACKEND_PAGE_BYTES
    assert world.used == (0, 1, 0, 0, expected)
    restored = world.admit(world.request(range(140)), Start(checkpoint=world.deepest(owner)))
    assert (restored.state, restored.cow_pages) == (StateTransition.RESTORE, cow_pages)
    world.prefill(restored)
    world.finish(restored, SequenceEnd.DISCARD)
