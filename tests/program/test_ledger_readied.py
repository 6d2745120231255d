"""Law: what has been made ready tells the ledger as it is, or says that it does not; a remembered
projection is the one a fresh ledger would give.
"""

from __future__ import annotations

from ninfer_lab.program.planning.ledger_readied import LedgerReadied
from program.scenes import ledger_of
from simulation.program_world import ProgramWorld, Start


def readied(world: ProgramWorld) -> LedgerReadied:
    return LedgerReadied(ledger_of(world), world.options, world.program.resource_revision)


def test_it_is_stale_once_the_revision_moves() -> None:
    world = ProgramWorld()
    before = readied(world)
    assert before.is_current(world.program.resource_revision)
    world.published(range(70))
    assert not before.is_current(world.program.resource_revision)


def test_it_is_stale_once_pages_are_mapped_though_no_revision_moves() -> None:
    world = ProgramWorld()
    result = world.admit(world.request(range(70)), Start())
    before, revision = readied(world), world.program.resource_revision
    world.program.next_cut(result.handle)
    assert world.program.resource_revision == revision
    assert not before.is_current(revision)


def test_a_remembered_projection_is_what_projecting_anew_gives() -> None:
    world = ProgramWorld()
    owner = world.published(range(70))
    start = Start(checkpoint=world.deepest(owner))
    target = world.assess(world.request(range(90)), start).target
    here = readied(world)
    assessment = here.assess(target)
    remembered = here.projected(assessment)
    assert here.projected(assessment) is remembered
    assert here.projected(assessment._replace()) is not remembered, "a copy is projected itself"
    assert readied(world).projected(assessment) == remembered
