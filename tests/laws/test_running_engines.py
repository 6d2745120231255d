"""Law: an engine that runs breaks no law, at no step and between no two."""

from __future__ import annotations

from laws.worlds import busy_world
from ninfer_lab.lab.laws import check_laws


def test_a_whole_run_is_lawful_step_by_step() -> None:
    world = busy_world()
    options, before = world.engine.options, world.snapshot
    check_laws(before, options)
    while not world.engine.is_idle:
        world.engine.step()
        check_laws(world.snapshot, options, before)
        before = world.snapshot
    assert world.controller.checks_count > 200
    assert world.controller.proved_count >= 10
