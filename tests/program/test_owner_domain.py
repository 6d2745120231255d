"""Law: an owner only ever gives up; nothing of it comes back, and what it keeps is whole."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.ids import OwnerRef
from ninfer_lab.contract.planning import STAYS
from ninfer_lab.contract.replicas import NOTHING
from ninfer_lab.program.planning.owner_domain import OwnerDomain
from ninfer_lab.program.storage.checkpoint_record import holdings_of
from program.scenes import branch, image_only_on_host, ledger_of
from simulation.program_world import ProgramWorld, closure_at


def domain_of(
    world: ProgramWorld, owner: OwnerRef, missing_pages: tuple[int, ...] = ()
) -> OwnerDomain:
    ledger = ledger_of(world)
    continuation = ledger.continuations.require(world.current(owner))
    return OwnerDomain(ledger, continuation, {KvPool.MAIN: missing_pages})


def two_tiers() -> tuple[ProgramWorld, OwnerRef]:
    """An owner with a closure at 70 and an endpoint at 150 tokens: five pages with two tails."""
    world = ProgramWorld(extra_slots=3, pages=8, host_slots=4, host_granules=8)
    return world, world.published(range(150), captures=(closure_at(70),))


def every_outcome(domain: OwnerDomain) -> list[int]:
    found, waiting = [STAYS], [STAYS]
    while waiting:
        for lower in domain.below(waiting.pop()):
            if lower not in found:
                found.append(lower)
                waiting.append(lower)
    return found


def steps(domain: OwnerDomain) -> Iterator[tuple[int, int]]:
    for number in every_outcome(domain):
        yield from ((number, lower) for lower in domain.below(number))


def worlds() -> list[tuple[ProgramWorld, OwnerRef]]:
    plain = ProgramWorld(extra_slots=3, pages=8)
    half = two_tiers()
    half[0].degrade(image_only_on_host(*half))
    shared = two_tiers()
    branch(*shared, 170)
    return [
        (plain, plain.published(range(150), captures=(closure_at(70),))),
        two_tiers(),
        half,
        shared,
    ]


@pytest.mark.parametrize("missing", [(), (1, 3)])
@pytest.mark.parametrize("which", range(4))
def test_nothing_comes_back(which: int, missing: tuple[int, ...]) -> None:  # spec: TGT-5
    world, owner = worlds()[which]
    domain, layout = domain_of(world, owner, missing), ledger_of(world).layout
    host = {"images": layout.host_images.mask, "pages": 0}
    for field in layout.host_pages.values():
        host["pages"] |= field.mask
    for before, after in steps(domain):
        higher, lower = domain.outcome(before), domain.outcome(after)
        assert higher.deleted <= lower.deleted
        # Only a demotion adds anything: a Host replica of what leaves the Device.
        added = lower.keeps & ~higher.keeps
        assert not added & ~(host["images"] | host["pages"])
        left = layout.contents(higher.keeps & ~lower.keeps)
        assert layout.contents(added) == layout.contents(added & layout.on_host(left))
        assert (higher.deleted, higher.keeps) != (lower.deleted, lower.keeps)


@pytest.mark.parametrize("missing", [(), (1, 3)])
@pytest.mark.parametrize("which", range(4))
def test_the_graph_has_no_cycle(which: int, missing: tuple[int, ...]) -> None:  # spec: TGT-5
    domain = domain_of(*worlds()[which], missing)
    below = {number: domain.below(number) for number in every_outcome(domain)}
    done: set[int] = set()
    while len(done) < len(below):
        ready = [n for n, lower in below.items() if n not in done and set(lower) <= done]
        assert ready, "what is left leads back to itself"
        done.update(ready)


@pytest.mark.parametrize("missing", [(), (1, 3)])
@pytest.mark.parametrize("which", range(4))
def test_what_survives_is_whole(which: int, missing: tuple[int, ...]) -> None:  # spec: TGT-7, OWN-7
    world, owner = worlds()[which]
    domain, layout = domain_of(world, owner, missing), ledger_of(world).layout
    for number in every_outcome(domain):
        outcome = domain.outcome(number)
        surviving = domain.surviving(number)
        assert {c.summary.ref for c in surviving} == domain.owner.checkpoint_refs - outcome.deleted
        there = layout.contents(outcome.keeps)
        assert there == holdings_of(surviving)


def test_one_outcome_has_one_number() -> None:  # spec: TGT-5
    domain = domain_of(*two_tiers())
    numbers = every_outcome(domain)
    values = [(domain.outcome(n).deleted, domain.outcome(n).keeps) for n in numbers]
    assert len(set(values)) == len(values)
    assert sorted(numbers) == list(range(len(numbers)))


def test_every_kind_of_step_is_there() -> None:  # spec: TGT-5
    world, owner = two_tiers()
    domain, layout = domain_of(world, owner), ledger_of(world).layout
    stays = domain.outcome(STAYS)
    first = [domain.outcome(n) for n in domain.below(STAYS)]
    assert sum(bool(o.deleted) and not o.is_eviction for o in first) == 2
    assert [o.is_eviction for o in first].count(True) == 1
    moved_images = [layout.host_images.count(o.keeps) for o in first if not o.deleted]
    moved_pages = [
        sum(f.count(o.keeps) for f in layout.host_pages.values()) for o in first if not o.deleted
    ]
    # Either image; the later half of the four pages, or all of them.
    assert sorted(zip(moved_images, moved_pages, strict=True)) == [(0, 2), (0, 4), (1, 0), (1, 0)]
    # Once both replicas are there, either of them may go.
    both = domain_of(*worlds()[2])
    assert layout.host_images.count(both.outcome(STAYS).keeps) == 2
    assert stays.keeps != NOTHING


def test_as_many_pages_as_are_missing_leave_together() -> None:  # spec: TGT-5
    """Of four pages three, if three are missing; once, and what is left then goes as a whole."""
    world, owner = two_tiers()
    domain, layout = domain_of(world, owner, (3, 4, 9)), ledger_of(world).layout
    field = layout.host_pages[KvPool.MAIN]

    def pages_left(number: int) -> dict[int, int]:
        """Pages that have left, by outcome, where nothing else has become of the owner."""
        return {
            lower: field.count(domain.outcome(lower).keeps)
            for lower in domain.below(number)
            if not domain.outcome(lower).deleted
            and domain.outcome(lower).keeps & layout.host_images.mask == 0
        }

    first = pages_left(STAYS)
    assert sorted(first.values()) == [2, 3, 4]
    by_count = {count: number for number, count in first.items()}
    assert sorted(pages_left(by_count[3]).values()) == [4]
    assert sorted(pages_left(by_count[2]).values()) == [3, 4]  # by halves
    first_page = domain.owner.checkpoints[-1].pages_of(KvPool.MAIN)[0]
    stays_on_device = layout.device_pages[KvPool.MAIN].of(domain.outcome(by_count[3]).keeps)
    assert stays_on_device == 1 << first_page  # later ones leave first


def test_without_a_host_there_is_nothing_to_move_to() -> None:
    domain = domain_of(*worlds()[0])
    outcomes = [domain.outcome(n) for n in every_outcome(domain)]
    assert sorted(len(o.deleted) for o in outcomes) == [0, 1, 1, 2]


def test_a_deleted_checkpoint_takes_the_coverage_that_only_it_needed() -> None:  # spec: TGT-5
    world, owner = two_tiers()
    domain, layout = domain_of(world, owner), ledger_of(world).layout
    (shorter,) = [
        n
        for n in domain.below(STAYS)
        if [c.summary.frontier_tokens for c in domain.surviving(n)] == [70]
    ]
    held = domain.outcome(shorter).keeps
    assert sum(field.count(held) for field in layout.device_pages.values()) == 2
    assert layout.device_images.count(held) == 1


def test_off_the_device_is_everything_that_the_host_can_carry() -> None:  # spec: SRCH-4
    world, owner = two_tiers()
    domain, layout = domain_of(world, owner), ledger_of(world).layout
    outcome = domain.outcome(domain.off_device())
    assert not outcome.deleted
    assert not outcome.keeps & layout.on_device(domain.owner.holdings)
    plain = domain_of(*worlds()[0])
    assert plain.off_device() == STAYS


def test_whoever_is_asked_what_lies_above_names_the_least_degraded_first() -> None:
    domain = domain_of(*two_tiers())
    every_outcome(domain)
    above = domain.above(domain.evicted)
    counts = [domain.facts(n).steps_count for n in above]
    assert above[0] == STAYS
    assert counts == sorted(counts)
    assert domain.above(STAYS) == ()
