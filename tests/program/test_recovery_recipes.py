"""Law: recipes follow real placement, name no price, and always hold the rebuild."""

from __future__ import annotations

from ninfer_lab.contract.machine_work import TransferDirection, TransferPhase
from ninfer_lab.program.planning.recovery_recipes import RecoveryRecipes
from program.scenes import ledger_of
from simulation.engine_world import MAIN_PAGE_BYTES, STATE_IMAGE_BYTES
from simulation.program_world import ProgramWorld, closure_at


def world_of_one() -> ProgramWorld:
    """A closure at 70 and an endpoint at 150 tokens, chunks of 64."""
    world = ProgramWorld(extra_slots=3, pages=8, host_slots=4, host_granules=8, chunk_tokens=64)
    world.published(range(150), captures=(closure_at(70),))
    return world


def told(
    world: ProgramWorld, *, survivors: int = 2, present: bool = True
) -> list[list[tuple[int, ...]]]:
    """For each checkpoint its recipes: (reused, suffix, chunks, bytes, calls)."""
    ledger = ledger_of(world)
    (owner,) = ledger.continuations.all()
    recipes = RecoveryRecipes(ledger.layout, world.options)
    listed = recipes.of(owner, owner.checkpoints[:survivors], ledger.present if present else 0)
    rows: list[list[tuple[int, ...]]] = []
    for each in listed:
        assert each.recipes[-1] is each.rebuild
        row: list[tuple[int, ...]] = []
        for work in each.recipes:
            prefill = work.prefill
            for batch in work.transfers:
                assert batch.direction is TransferDirection.H2D
                assert batch.phase is TransferPhase.CANDIDATE
            row.append(
                (
                    *(
                        (prefill.reused_tokens, prefill.suffix_tokens, prefill.chunk_count)
                        if prefill
                        else (0, 0, 0)
                    ),
                    sum(b.payload_bytes for b in work.transfers),
                    sum(b.operation_count for b in work.transfers),
                )
            )
        rows.append(row)
    return rows


def test_on_the_device_a_checkpoint_costs_nothing() -> None:  # spec: VAL-2
    assert told(world_of_one()) == [
        [(0, 0, 0, 0, 0), (0, 70, 2, 0, 0)],
        # From the closure: 80 tokens behind 70, in chunks of their own. From root: cut at 70, too.
        [(70, 80, 2, 0, 0), (0, 0, 0, 0, 0), (0, 150, 3, 0, 0)],
    ]


def test_from_the_host_it_costs_its_copies() -> None:  # spec: VAL-2
    closure, endpoint = told(world_of_one(), present=False)
    image, page = STATE_IMAGE_BYTES, MAIN_PAGE_BYTES
    assert [row[:4] for row in closure] == [(0, 0, 0, image + 2 * page), (0, 70, 2, 0)]
    assert [row[:4] for row in endpoint] == [
        (70, 80, 2, image + 2 * page),
        (0, 0, 0, image + 3 * page),
        (0, 150, 3, 0),
    ]
    assert closure[0][4] == 3  # an image is two calls, pages in a row one


def test_an_ended_checkpoint_is_reached_from_what_is_left() -> None:  # spec: VAL-2
    _, endpoint = told(world_of_one(), survivors=1)
    assert endpoint == [(70, 80, 2, 0, 0), (0, 150, 3, 0, 0)]


def test_without_any_survivor_only_the_rebuild_is_left() -> None:  # spec: VAL-2
    closure, endpoint = told(world_of_one(), survivors=0)
    assert (closure, endpoint) == ([(0, 70, 2, 0, 0)], [(0, 150, 3, 0, 0)])


def test_equal_work_is_one_value() -> None:
    world = world_of_one()
    ledger = ledger_of(world)
    (owner,) = ledger.continuations.all()
    recipes = RecoveryRecipes(ledger.layout, world.options)
    first, again = (recipes.of(owner, owner.checkpoints, ledger.present) for _ in range(2))
    for one, other in zip(first, again, strict=True):
        assert all(a is b for a, b in zip(one.recipes, other.recipes, strict=True))
