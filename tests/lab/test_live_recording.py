"""Law: what is recorded of a served engine is all that it has said until then."""

from __future__ import annotations

from ninfer_lab.lab.live_recording import recorded
from simulation.engine_world import engine_world


def test_it_holds_what_was_said_and_not_what_comes() -> None:  # spec: RCD-1
    world = engine_world()
    world.finish(world.submit(range(40), output=2))
    found, told = recorded(world.engine, "a test"), world.engine.events
    world.finish(world.submit(range(60), output=2))
    assert found.events == told != world.engine.events
    assert (found.facts.world, found.facts.options) == ("a test", world.engine.options)
