"""Law: a room's two ways to a target say the same of it, and its targets are what was wished."""

from __future__ import annotations

from random import Random

from ninfer_lab.engine.projection_room import ProjectionRoom
from ninfer_lab.lab.planner_problems import WIDE, full_ledger, generated

SEEDS = 12


def test_a_target_is_the_same_whole_and_by_what_differs() -> None:  # spec: REC-2, STG-1
    seen = set()
    for seed in range(SEEDS):
        room, draw = ProjectionRoom(generated(seed, WIDE)), Random(seed)
        target = room.drawn(draw, changed_share=0.5, steps_count=2)
        outcomes, fits = room.outcomes(target), room.beside(room.outcomes(target))
        for changed in room.below(target):
            expected = room.fits(room.replaced(outcomes, changed))
            assert fits(changed) == expected
            seen.add(expected)
    assert seen == {True, False}


def test_owners_are_changed_as_often_as_is_wished() -> None:
    room, draw = ProjectionRoom(full_ledger()), Random(1)
    assert set(room.drawn(draw, changed_share=0.0, steps_count=1)) == {0}
    assert 0 not in room.drawn(draw, changed_share=1.0, steps_count=1)
    target = room.drawn(draw, changed_share=0.25, steps_count=1)
    assert len(target) == 63, "the consumed source's owner is no victim"
    assert 8 <= len(room.outcomes(target)) == sum(n != 0 for n in target) <= 24
