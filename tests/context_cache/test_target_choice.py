"""Law: what needs nobody to give way comes first, then what only moves others to the Host, then
root with as few of the oldest gone as will do; root with everything unprotected gone comes last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from ninfer_lab.context_cache.target_choice import TargetChoice, choose_target, consumes
from ninfer_lab.contract.candidate import AdmissionCandidate, AdmissionRequest, SourceDisposition
from ninfer_lab.contract.ids import CheckpointRef, OwnerRef
from ninfer_lab.contract.result import SequenceEnd
from ninfer_lab.contract.target import TargetSketch
from simulation.program_world import CONSUME, RETAIN, ProgramWorld, Start, closure_at

Slots = Callable[[TargetSketch], bool]


def everywhere(_: TargetSketch) -> bool:
    return True


def chosen(
    world: ProgramWorld,
    request: AdmissionRequest,
    sources: Sequence[CheckpointRef],
    victims: Sequence[OwnerRef],
    *,
    has_slot: Slots = everywhere,
    disposition: SourceDisposition = RETAIN,
) -> TargetChoice:
    candidates: list[AdmissionCandidate] = [
        world.candidate(request, Start(checkpoint=source, disposition=disposition))
        for source in (None, *sources)
    ]
    before = world.ledger
    choice = choose_target(
        world.program, candidates, [world.current(victim) for victim in victims], has_slot
    )
    assert world.ledger == before  # spec: INV-17
    return choice


def described(choice: TargetChoice) -> tuple[int, list[int], list[int]]:
    """(reused tokens, owners evicted, owners degraded) of what was chosen."""
    assert choice.chosen is not None
    target = choice.chosen.target
    return (
        target.candidate.reuse_tokens,
        [owner.id for owner in target.evicted],
        [owner.id for owner in target.degraded],
    )


def roomy() -> tuple[ProgramWorld, OwnerRef]:
    world = ProgramWorld(extra_slots=4, pages=10, host_slots=4, host_granules=10)
    return world, world.published(range(150), captures=(closure_at(70),))


def test_the_deepest_identity_that_fits_is_taken() -> None:  # spec: TGT-4, SRCH-2
    world, owner = roomy()
    closure, endpoint = (c.ref for c in world.checkpoints(owner))
    choice = chosen(world, world.request(range(200)), [closure, endpoint], [])
    assert described(choice) == (150, [], [])
    # Root and both sources were looked at, and nothing under pressure.
    assert [v.reuse_tokens for v in choice.report.verdicts] == [0, 70, 150]
    assert choice.report.chosen == 2


def test_of_equally_deep_ones_the_first_is_taken() -> None:
    world, owner = roomy()
    twin = world.published(range(150))
    sources = [world.deepest(twin), world.deepest(owner)]
    choice = chosen(world, world.request(range(200)), sources, [])
    assert choice.chosen is not None
    assert choice.chosen.target.candidate.source is not None
    assert choice.chosen.target.candidate.source.owner.id == twin.id


def tight() -> tuple[ProgramWorld, list[OwnerRef]]:
    """Three owners of two pages fill six of seven; the first was published first."""
    world = ProgramWorld(extra_slots=4, pages=7, host_slots=4, host_granules=8)
    return world, [world.published(range(n, n + 100)) for n in (0, 200, 400)]


def test_a_source_is_worth_moving_others_to_the_host() -> None:  # spec: TGT-4
    world, owners = tight()
    # A Fork needs a tail and two pages to grow: three where one is free.
    request = world.request(range(100 + 80), output=40)
    choice = chosen(world, request, [world.deepest(owners[0])], owners)
    assert described(choice) == (100, [], [owners[1].id, owners[2].id])
    assert [verdict.is_feasible for verdict in choice.report.verdicts] == [False, False, True]


def test_the_source_is_not_among_its_victims() -> None:  # spec: SRCH-10
    world, owners = tight()
    request = world.request(range(200, 200 + 180), output=40)
    choice = chosen(world, request, [world.deepest(owners[1])], owners[::-1])
    # In the order of their names, whatever the order in which they were published.
    assert described(choice) == (100, [], [owners[0].id, owners[2].id])


def test_root_takes_as_few_of_the_oldest_as_will_do() -> None:
    world = ProgramWorld(extra_slots=4, pages=7)  # no Host: owners stay or go
    owners = [world.published(range(n, n + 100)) for n in (0, 200, 400)]
    oldest_first = [owners[2], owners[0], owners[1]]
    for needed, gone in ((1, []), (3, [2]), (5, [2, 0]), (7, [2, 0, 1])):
        request = world.request(range(900, 910), output=64 * needed - 10)
        choice = chosen(world, request, [], oldest_first)
        assert described(choice) == (0, sorted(owners[i].id for i in gone), [])


def test_who_is_not_gone_is_on_the_host() -> None:
    world, owners = tight()
    request = world.request(range(900, 910), output=64 * 7 - 10)
    choice = chosen(world, request, [], owners)
    assert described(choice) == (0, [], [owner.id for owner in owners])
    # The Host holds two of them: the oldest goes, and only then it fits.
    world = ProgramWorld(extra_slots=4, pages=7, host_slots=4, host_granules=5)
    owners = [world.published(range(n, n + 100)) for n in (0, 200, 400)]
    choice = chosen(world, world.request(range(900, 910), output=64 * 7 - 10), [], owners)
    assert described(choice) == (0, [owners[0].id], [owners[1].id, owners[2].id])


def test_root_with_all_unprotected_gone_is_the_last_way() -> None:  # spec: INV-12, SRCH-3
    world = ProgramWorld(lanes=2, extra_slots=3, pages=7, host_slots=4, host_granules=8)
    owners = [world.published(range(n, n + 100)) for n in (0, 200)]
    running = world.admit(world.request(range(700, 710), output=100), Start(lane=1))
    request = world.request(range(110), output=64 * 6 - 110)
    choice = chosen(world, request, [world.deepest(owners[0])], owners)
    assert choice.chosen is None
    assert choice.report.chosen is None
    last = choice.report.verdicts[-1]
    assert (last.reuse_tokens, set(last.evicted)) == (0, {owner.id for owner in owners})
    world.finish(running, SequenceEnd.DISCARD)
    again = chosen(world, request, [world.deepest(owners[0])], owners)
    assert again.chosen is not None


def test_a_protected_owner_is_in_no_target() -> None:  # spec: TGT-2
    world, owners = tight()
    request = world.request(range(900, 910), output=64 * 5 - 10)
    choice = chosen(world, request, [], owners[1:])
    _, evicted, degraded = described(choice)
    assert owners[0].id not in evicted + degraded
    for verdict in choice.report.verdicts:
        assert owners[0].id not in verdict.evicted


def test_a_target_without_a_place_in_the_catalog_is_passed_over() -> None:  # spec: CAP-3, SRCH-5
    world, owner = roomy()
    other = world.published(range(300, 400))

    def only_with_an_eviction(target: TargetSketch) -> bool:
        return bool(target.evicted)

    choice = chosen(
        world,
        world.request(range(200)),
        [world.deepest(owner)],
        [other, owner],
        has_slot=only_with_an_eviction,
    )
    # Every target before it fits physically: a slot is what was missing.
    assert described(choice) == (0, [other.id], [owner.id])
    assert all(verdict.is_feasible for verdict in choice.report.verdicts)


def test_without_any_place_it_runs_all_the_same() -> None:  # spec: SES-2, INV-12
    world, owner = roomy()
    choice = chosen(world, world.request(range(200)), [], [owner], has_slot=lambda target: False)
    assert described(choice) == (0, [owner.id], [])


@pytest.mark.parametrize(("disposition", "expected"), [(CONSUME, True), (RETAIN, False)])
def test_only_a_consumed_source_brings_its_place_along(
    disposition: SourceDisposition, expected: bool
) -> None:
    world, owner = roomy()
    request = world.request(range(200))
    start = Start(checkpoint=world.deepest(owner), disposition=disposition)
    assert consumes(world.candidate(request, start)) is expected
    assert not consumes(world.candidate(request, Start()))
