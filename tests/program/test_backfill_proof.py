"""Law: a borrower is proven exactly when the head's root still finds its lane, slot and pages with
the donors gone, everything unprotected gone, and the borrower running on with all it may need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from ninfer_lab.contract.backfill import BackfillQuestion
from ninfer_lab.contract.candidate import AdmissionRequest
from ninfer_lab.contract.errors import PlanRefused
from ninfer_lab.contract.ids import OwnerRef
from ninfer_lab.contract.options import SpeculativeBackend
from ninfer_lab.contract.result import Committed, SequenceEnd
from simulation.program_world import CONSUME, ProgramWorld, Start, closure_at, small_options


def proven(
    world: ProgramWorld,
    head: AdmissionRequest,
    borrower: AdmissionRequest,
    donors: Sequence[Committed],
    *,
    start: Start | None = None,
    protected: tuple[OwnerRef, ...] = (),
) -> bool:
    before = world.ledger
    question = BackfillQuestion(
        head=head,
        borrower=world.assess(borrower, start or Start(lane=1)),
        donors=tuple(donor.handle for donor in donors),
        protected=protected,
    )
    answer = world.program.prove_backfill(question)
    assert world.ledger == before  # spec: REV-1
    return answer


def pages(count: int) -> dict[str, int]:
    """The output of a prompt of ten tokens that needs so many pages."""
    return {"output": 64 * count - 10}


def blocked(
    *, lanes: int = 3, total: int = 8, extra_slots: int = 0
) -> tuple[ProgramWorld, Committed]:
    """A donor holds five of the pages."""
    world = ProgramWorld(lanes=lanes, extra_slots=extra_slots, pages=total)
    return world, world.admit(world.request(range(10), **pages(5)), Start())


@pytest.mark.parametrize(("borrowed_pages", "expected"), [(1, True), (2, True), (3, False)])
def test_the_head_finds_its_pages_once_the_donors_have_ended(  # spec: BKF-1
    borrowed_pages: int, expected: bool
) -> None:
    world, donor = blocked()
    head = world.request(range(100, 110), **pages(6))  # eight less two, the donor's own among them
    assert not world.assess(head, Start(lane=1)).is_feasible
    borrower = world.request(range(200, 210), **pages(borrowed_pages))
    assert world.assess(borrower, Start(lane=1)).is_feasible
    assert proven(world, head, borrower, [donor]) is expected


@pytest.mark.parametrize(("head_pages", "expected"), [(6, True), (7, False)])
def test_who_is_no_donor_runs_on_as_the_borrower_does(  # spec: BKF-1
    head_pages: int, expected: bool
) -> None:
    world, donor = blocked(lanes=4)
    world.admit(world.request(range(50, 60), **pages(1)), Start(lane=1))
    head = world.request(range(100, 110), **pages(head_pages))
    borrower = world.request(range(200, 210), **pages(1))
    start = Start(lane=2)
    assert proven(world, head, borrower, [donor], start=start) is expected


@pytest.mark.parametrize(("head_pages", "expected"), [(4, False), (5, True), (6, True), (7, False)])
def test_the_head_waits_for_no_donor_more(head_pages: int, expected: bool) -> None:  # spec: BKF-1
    """The small one's end lets a head of four in, the large one's a head of seven, and either not
    beside one page more; a head of five or six needs the large one's end all the same.
    """
    world = ProgramWorld(lanes=4, extra_slots=0, pages=8)
    donors = [
        world.admit(world.request(range(n * 50, n * 50 + 10), **pages(n)), Start(lane=n // 4))
        for n in (1, 4)
    ]
    head = world.request(range(300, 310), **pages(head_pages))
    borrower = world.request(range(400, 410), **pages(1))
    assert proven(world, head, borrower, donors, start=Start(lane=2)) is expected


def test_what_a_borrower_would_capture_is_taken_from_the_head() -> None:  # spec: BKF-1
    world, donor = blocked(lanes=3, extra_slots=1)
    borrower = world.request(range(200, 240), output=20)
    captures = (closure_at(30),)
    for head_pages, capturing, expected in (
        (7, (), True),
        (7, captures, False),
        (6, captures, True),
    ):
        head = world.request(range(100, 110), **pages(head_pages))
        question = BackfillQuestion(
            head=head,
            borrower=world.assess(borrower, Start(lane=1)),
            donors=(donor.handle,),
            protected=(),
            captures=capturing,
        )
        assert world.program.prove_backfill(question) is expected


def test_what_a_running_lineage_has_mapped_counts_as_what_it_is_promised() -> None:  # spec: BKF-1
    world, donor = blocked(lanes=4)
    earlier = world.admit(world.request(range(50, 60), **pages(1)), Start(lane=1))
    world.prefill(earlier)
    world.prefill(donor)
    for head_pages, expected in ((6, True), (7, False)):
        head = world.request(range(100, 110), **pages(head_pages))
        borrower = world.request(range(200, 210), **pages(1))
        assert proven(world, head, borrower, [donor], start=Start(lane=2)) is expected


@pytest.mark.parametrize(("lanes", "expected"), [(2, False), (3, True)])
def test_the_head_finds_a_lane(lanes: int, expected: bool) -> None:  # spec: BKF-1
    world = ProgramWorld(lanes=lanes, extra_slots=2, pages=8)
    world.admit(world.request(range(10)))
    head, borrower = world.request(range(100, 110)), world.request(range(200, 210))
    assert proven(world, head, borrower, []) is expected


@pytest.mark.parametrize(("extra_slots", "expected"), [(0, False), (1, True)])
def test_the_head_finds_a_slot_beside_what_the_borrower_reads(  # spec: BKF-1, STATE-4
    extra_slots: int, expected: bool
) -> None:
    world = ProgramWorld(lanes=2, extra_slots=extra_slots, pages=8)
    owner = world.published(range(64))
    head, borrower = world.request(range(100, 110)), world.request(range(70))
    start = Start(checkpoint=world.deepest(owner), lane=1)
    # The source's image, the borrower's, the head's: a retained source is leant on.
    assert proven(world, head, borrower, [], start=start) is expected
    moved = replace(start, disposition=CONSUME)
    assert proven(world, head, borrower, [], start=moved)


def test_inactive_cache_is_in_nobodys_way_unless_somebody_leans_on_it() -> None:  # spec: BKF-1
    world, donor = blocked(extra_slots=3)
    idle = world.published(range(300, 428), start=Start(lane=1))
    head, borrower = world.request(range(100, 110), **pages(7)), world.request(range(200, 210))
    assert proven(world, head, borrower, [donor])
    assert not proven(world, head, borrower, [donor], protected=(world.current(idle),))


def test_a_borrower_that_does_not_fit_is_proven_by_nothing() -> None:
    world, donor = blocked()
    head, borrower = world.request(range(100, 110)), world.request(range(200, 210), **pages(4))
    assert not world.assess(borrower, Start(lane=1)).is_feasible
    assert not proven(world, head, borrower, [donor])


def test_a_proof_holds_at_one_revision() -> None:  # spec: BKF-1, REV-1
    world, donor = blocked()
    question = BackfillQuestion(
        head=world.request(range(100, 110)),
        borrower=world.assess(world.request(range(200, 210)), Start(lane=1)),
        donors=(donor.handle,),
        protected=(),
    )
    assert world.program.prove_backfill(question)
    world.finish(donor, SequenceEnd.DISCARD)
    with pytest.raises(PlanRefused, match="assess again at the current revision"):
        world.program.prove_backfill(question)


@pytest.mark.parametrize(("head_tokens", "expected"), [(192, True), (193, False)])
def test_every_pool_must_hold_the_head(head_tokens: int, expected: bool) -> None:  # spec: KV-1
    options = small_options(
        lanes=2, extra_slots=0, pages=4, backend=SpeculativeBackend(lag_tokens=0)
    )
    # Main has room for more: only the backend is short.
    capacity = replace(options.capacity, device_kv_pages=8)
    world = ProgramWorld(options=replace(options, capacity=capacity))
    head = world.request(range(100, 110), output=head_tokens - 10)
    borrower = world.request(range(200, 210), **pages(1))
    assert proven(world, head, borrower, [], start=Start()) is expected


def test_what_was_proven_comes_true() -> None:  # spec: BKF-1, INV-15
    world, donor = blocked()
    head = world.request(range(100, 110), **pages(6))
    borrower = world.request(range(200, 210), **pages(2))
    assert proven(world, head, borrower, [donor])
    running = world.admit(borrower, Start(lane=1))
    world.prefill(running)
    assert not world.assess(head, Start(lane=2)).is_feasible
    world.finish(donor, SequenceEnd.DISCARD)
    world.admit(head, Start())
