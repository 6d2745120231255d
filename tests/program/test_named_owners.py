"""Law: a target names owners as they are, and an intent one that will not be there; anything else
is refused before a transition starts.
"""

from __future__ import annotations

import pytest

from ninfer_lab.contract.candidate import SourceDisposition
from ninfer_lab.contract.errors import PlanRefused
from ninfer_lab.contract.ids import OwnerRef
from simulation.program_world import CONSUME, RETAIN, ProgramWorld, Start, closure_at


def owned() -> tuple[ProgramWorld, OwnerRef, OwnerRef]:
    world = ProgramWorld(lanes=2, extra_slots=3, pages=8, host_slots=3, host_granules=8)
    return world, world.published(range(100), captures=(closure_at(70),)), world.published((7, 8))


def test_an_outcome_of_an_old_generation_is_refused_before_anything_happens() -> (
    None
):  # spec: TXN-2, REV-4
    world, owner, _ = owned()
    old = world.program.ladder(owner)[0]
    world.demote(owner)
    before = world.ledger
    with pytest.raises(PlanRefused, match=r"found owner 1\.1; legal: owners inactive at this"):
        world.seal(world.request(range(900, 903)), Start(outcomes=(old,)))
    assert world.ledger == before


@pytest.mark.parametrize("disposition", SourceDisposition)
def test_the_source_is_no_victim_of_its_own_target(disposition: SourceDisposition) -> None:
    world, owner, _ = owned()
    rung = world.program.ladder(owner)[-1]
    start = Start(checkpoint=world.deepest(owner), disposition=disposition, outcomes=(rung,))
    with pytest.raises(PlanRefused, match="the source's own"):
        world.assess(world.request(range(180)), start)


def test_a_destination_that_is_there_already_is_refused() -> None:  # spec: TXN-2
    world, owner, other = owned()
    request, source = world.request(range(120)), world.deepest(owner)
    taken = Start(checkpoint=source, disposition=CONSUME, owner=other)
    kept = Start(checkpoint=source, disposition=RETAIN, owner=world.next_generation(owner))
    before = world.ledger
    for start in (taken, kept, Start(owner=other)):
        with pytest.raises(PlanRefused, match=r"intent\.destination"):
            world.seal(request, start)
    assert world.ledger == before


def test_a_destination_that_is_promised_is_refused() -> None:  # spec: TXN-2
    world, _, _ = owned()
    promised = world.new_owner()
    world.admit(world.request(range(20)), Start(owner=promised))
    with pytest.raises(PlanRefused, match=r"intent\.destination"):
        world.seal(world.request(range(30, 40)), Start(owner=promised, lane=1))


def test_an_owner_that_ends_with_the_admission_may_come_back() -> None:
    world, owner, other = owned()
    consumed = Start(
        checkpoint=world.deepest(owner), disposition=CONSUME, owner=world.next_generation(owner)
    )
    world.seal(world.request(range(120)), consumed)
    world.seal(world.request(range(120)), Start(evicted=(other,), owner=other))
