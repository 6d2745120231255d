"""Law: the brute force counts what a hand counts.

Two owners whose first checkpoint ends in the middle of a page: one page and one image for each
checkpoint of the first owner; the second owner holds two images and three pages of its own.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator

from ninfer_lab.contract.capacity import Capacity, HostArenaGeometry
from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.target import StageName, StateTransition
from small_worlds import brute_force, plain_sets
from small_worlds.brute_force import BruteForce
from small_worlds.filled_world import FilledWorld, Where, World
from small_worlds.plain_sets import Kind, Move, Played, Replica, Tier, contents_of
from small_worlds.topologies import Beside, Sharing, driven

UNALIGNED_TOKENS = (30, 60)
PAGE = HostArenaGeometry(granule_bytes=400, granules_count=4, main_page_granules=1)
ROOM = Capacity(device_state_slots=8, device_kv_pages=12, host_state_slots=2, host_kv=PAGE)


def filled(
    *, first: Where = Where.DEVICE, gap_granules: int = 0, room: Capacity = ROOM
) -> FilledWorld:
    """The world; the first owner's contents all in one way, the second's on the Device."""
    topology = driven(UNALIGNED_TOKENS, Sharing.NOTHING, Beside.NOBODY)
    where = dict.fromkeys(topology.contents, Where.DEVICE)
    where |= dict.fromkeys(topology.contents_of(0), first)
    return FilledWorld(World(topology=topology, where=where, gap_granules=gap_granules), ROOM)


def played(world: FilledWorld, move: Move) -> Played:
    return BruteForce(world.picture, world.options).play(move)


def from_deepest(world: FilledWorld, *, is_consumed: bool) -> Move:
    """60 tokens reused and 70 more: three pages in all."""
    first, _ = world.picture.owners
    return Move(
        source=first.checkpoints[-1],
        owner=first.owner,
        is_consumed=is_consumed,
        outcomes={},
        entitled_tokens=130,
    )


def used(play: Played, stage: StageName) -> tuple[int, ...]:
    return tuple(allocated + reserved for allocated, reserved in play.stages[stage])


def test_a_retained_tail_is_copied_and_its_image_forked() -> None:
    world = filled()
    play = played(world, from_deepest(world, is_consumed=False))
    assert play.state is StateTransition.FORK
    assert play.cow_pages == 1
    assert used(play, StageName.NOW) == (4, 0, 5, 0, 0)
    # One image to write, one copied tail, two pages of growth.
    assert play.stages[StageName.DESTINATIONS_RESERVED] == (
        (4, 1), (0, 0), (5, 3), (0, 0), (0, 0)
    )  # fmt: skip
    assert play.stages[StageName.COMMITTED] == ((5, 0), (0, 0), (6, 2), (0, 0), (0, 0))


def test_a_consumed_source_moves_and_its_stale_host_replicas_go_at_the_commit() -> None:
    world = filled(first=Where.BOTH)
    play = played(world, from_deepest(world, is_consumed=True))
    assert play.state is StateTransition.MOVE
    assert used(play, StageName.NOW) == (4, 2, 5, 0, 800)
    assert used(play, StageName.DESTINATIONS_RESERVED) == (4, 2, 7, 0, 800)
    # The first checkpoint goes on and keeps both tiers.
    assert used(play, StageName.COMMITTED) == (4, 1, 7, 0, 400)


def test_a_host_only_source_is_restored() -> None:
    world = filled(first=Where.HOST)
    play = played(world, from_deepest(world, is_consumed=True))
    assert play.state is StateTransition.RESTORE
    assert used(play, StageName.NOW) == (2, 2, 3, 0, 800)
    assert used(play, StageName.DESTINATIONS_RESERVED) == (3, 2, 6, 0, 800)
    assert used(play, StageName.COMMITTED) == (3, 1, 6, 0, 400)


def test_a_demotion_is_in_both_tiers_before_it_is_in_one() -> None:
    world = filled()
    first, _ = world.picture.owners
    contents = {content for c in first.checkpoints for content in contents_of(c)}
    keeps = frozenset(Replica(content, Tier.HOST) for content in contents)
    play = played(world, root_with({first.owner: keeps}))
    assert used(play, StageName.DEMOTION_RESERVED) == (4, 2, 5, 0, 800)
    assert used(play, StageName.DEMOTED) == (2, 2, 3, 0, 800)
    assert used(play, StageName.COMMITTED) == (3, 2, 4, 0, 800)
    assert play.fits(world.options.capacity)


def test_bytes_that_are_free_in_two_places_are_no_hole() -> None:
    """[page] free [page] free: an extent of two pages has its bytes and no place."""
    world = filled(first=Where.BOTH, gap_granules=1)
    second = world.picture.owners[1]
    pages = sorted(c for c in contents_of(second.checkpoints[-1]) if c.kind is not Kind.IMAGE)
    everything = {content for c in second.checkpoints for content in contents_of(c)}
    leaving = set(pages[:2])
    keeps = frozenset(
        Replica(content, Tier.HOST if content in leaving else Tier.DEVICE) for content in everything
    )
    play = played(world, root_with({second.owner: keeps}))
    assert used(play, StageName.DEMOTION_RESERVED)[4] == ROOM.host_kv.capacity_bytes
    assert play.unplaced_count == 1
    assert not play.fits(world.options.capacity)


def test_it_is_short_and_knows_no_more_than_the_contract() -> None:
    assert len(inspect.getsource(brute_force).splitlines()) <= 200
    for module in (brute_force, plain_sets):
        for name in imported_by(inspect.getsource(module)):
            assert name.startswith(("ninfer_lab.contract.", "small_worlds.plain_sets")) or (
                name.partition(".")[0] in sys.stdlib_module_names
            ), name


def imported_by(text: str) -> Iterator[str]:
    """Every module that a source text imports."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            yield str(node.module)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def root_with(outcomes: dict[OwnerId, frozenset[Replica]]) -> Move:
    """A request of one page from the root."""
    return Move(source=None, owner=None, is_consumed=False, outcomes=outcomes, entitled_tokens=60)
