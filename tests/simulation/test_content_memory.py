"""Law: the machine double notices who meets a transfer in flight, who reads what nobody has
written, and replicas that are not what the ledger names them.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ninfer_lab.contract.capacity import KvPool, Occupancy
from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import (
    CheckpointId,
    CheckpointRef,
    HostGranuleId,
    HostSlotId,
    KvPageId,
    OwnerId,
    PageId,
    SequenceId,
    StateImageId,
    StateSlotId,
)
from ninfer_lab.contract.machine_work import TransferDirection
from ninfer_lab.contract.placement import (
    CheckpointPlacement,
    ImageReplicas,
    LedgerSnapshot,
    OwnerPlacement,
    PageReplicas,
    SequencePlacement,
    SpacePlacement,
)
from ninfer_lab.contract.transfer import PageTransfer, StateTransfer, Transfer
from ninfer_lab.contract.work import ForwardPhase, ForwardStep, PageCopy
from simulation.content_machine import TRANSFER_NS, ContentMachine, MachineFault
from simulation.content_memory import Consumed
from simulation.half_read import (
    CAPACITY,
    LANE,
    MAIN,
    TOKENS,
    half_read,
    pages,
    prefill,
    refused,
    row,
)

D2H, H2D = TransferDirection.D2H, TransferDirection.H2D


def page(device_page: int, host_granule: int, pool: KvPool = MAIN) -> PageTransfer:
    return PageTransfer(
        pool=pool, device_page=PageId(device_page), host_granule=HostGranuleId(host_granule)
    )


def state(device_slot: int, host_slot: int) -> StateTransfer:
    return StateTransfer(device_slot=StateSlotId(device_slot), host_slot=HostSlotId(host_slot))


def transfer(direction: TransferDirection, *each: PageTransfer | StateTransfer) -> Transfer:
    return Transfer(
        direction=direction,
        states=tuple(one for one in each if isinstance(one, StateTransfer)),
        pages=tuple(one for one in each if isinstance(one, PageTransfer)),
    )


def arrived(machine: ContentMachine, asked: Transfer) -> None:
    machine.start_transfer(asked)
    machine.clock.wait_until(machine.next_completion_ns() or 0)
    assert machine.transfer_is_done()


WHOLE = (state(0, 1), page(0, 7), page(1, 0))


def demoted() -> ContentMachine:
    """Seventy tokens on the Device and on the Host: slot 1, granules 7 and 0."""
    machine = half_read()
    arrived(machine, transfer(D2H, *WHOLE))
    return machine


def test_what_is_restored_elsewhere_goes_on() -> None:
    machine = demoted()
    arrived(machine, transfer(H2D, state(2, 1), page(4, 7), page(3, 0)))
    machine.unbind(LANE)
    machine.bind(LANE, MAIN, pages(4, 3))
    prefill(machine, row(70, 80, read=2, write=2))


@pytest.mark.parametrize(
    ("wrong", "law"),
    [
        (transfer(H2D, state(2, 0)), "number 0 of the host state slots is read"),
        (transfer(H2D, page(4, 3)), "number 3 of the host KV bytes is read"),
        (transfer(H2D, page(4, 8)), "number 9 of the host KV bytes, and there are 9"),
        (transfer(H2D, page(4, 1)), "number 2 of the host KV bytes is read"),
        (transfer(D2H, page(2, 3)), "number 2 of the device KV pages is read"),
        (transfer(D2H, state(2, 0)), "number 2 of the device state slots is read"),
        (transfer(D2H, state(0, 0), page(0, 3), page(1, 4)), "destinations meet"),
        (transfer(H2D, state(2, 1), page(4, 7), page(4, 0)), "destinations meet"),
    ],
)
def test_a_copy_from_nowhere_or_onto_another_is_noticed(wrong: Transfer, law: str) -> None:
    with pytest.raises(InvariantBroken, match=law):
        demoted().start_transfer(wrong)


def test_an_extent_written_over_another_is_noticed() -> None:
    machine = demoted()
    arrived(machine, transfer(D2H, page(0, 1)))
    with pytest.raises(InvariantBroken, match="granule 0 does not begin a whole main page"):
        machine.start_transfer(transfer(H2D, page(4, 0)))


def test_pages_restored_to_each_other_s_place_are_noticed() -> None:
    machine = demoted()
    arrived(machine, transfer(H2D, page(4, 0), page(3, 7)))
    machine.unbind(LANE)
    machine.bind(LANE, MAIN, pages(4, 3))
    refused(machine, row(70, 80, read=0, write=0), "CONTENT KV")


def restoring() -> ContentMachine:
    """Slot 2 and pages 4 and 3 are on their way back while lane 0 could go on."""
    machine = demoted()
    machine.start_transfer(transfer(H2D, state(2, 1), page(4, 7), page(3, 0)))
    return machine


def test_a_forward_runs_beside_a_transfer_and_ends_before_it() -> None:
    machine = restoring()
    started_ns = machine.clock.now_ns()
    machine.submit(ForwardStep(phase=ForwardPhase.PREFILL, rows=(row(70, 80, read=0, write=1),)))
    ends_ns = machine.next_completion_ns()
    assert ends_ns is not None
    assert started_ns < ends_ns < started_ns + TRANSFER_NS
    machine.clock.wait_until(ends_ns)
    machine.take_result()
    assert not machine.transfer_is_done()
    assert machine.next_completion_ns() == started_ns + TRANSFER_NS


def reads_a_slot_on_its_way(machine: ContentMachine) -> None:
    prefill(machine, row(70, 80, read=2, write=1))


def reads_a_page_on_its_way(machine: ContentMachine) -> None:
    machine.replace_tail(LANE, MAIN, PageId(3))
    prefill(machine, row(70, 80, read=0, write=1))


def copies_a_page_on_its_way(machine: ContentMachine) -> None:
    machine.copy_pages([PageCopy(source=PageId(4), destination=PageId(2))])


@pytest.mark.parametrize(
    "reads", [reads_a_slot_on_its_way, reads_a_page_on_its_way, copies_a_page_on_its_way]
)
def test_what_is_on_its_way_may_not_be_read(reads: Callable[[ContentMachine], None]) -> None:
    with pytest.raises(InvariantBroken, match=r"CONTENT undefined.* is still being copied into"):
        reads(restoring())


def test_what_is_on_its_way_may_not_be_written() -> None:
    machine = restoring()
    refused(machine, row(70, 80, read=0, write=2), "CONTENT transfer.*device state slots")
    machine = restoring()
    with pytest.raises(InvariantBroken, match=r"CONTENT transfer.*device KV pages"):
        machine.copy_pages([PageCopy(source=PageId(0), destination=PageId(4))])


def test_what_is_being_demoted_may_be_read_and_not_written() -> None:
    machine = half_read()
    machine.start_transfer(transfer(D2H, state(0, 1), page(0, 0)))
    prefill(machine, row(70, 80, read=0, write=1))
    machine.unbind(LANE)
    machine.bind(LANE, MAIN, pages(0, 1))
    refused(machine, row(80, 81, read=1, write=0), "CONTENT transfer.*device state slots")
    machine = half_read()
    machine.start_transfer(transfer(D2H, page(1, 0)))
    refused(machine, row(70, 80, read=0, write=0), "CONTENT transfer.*device KV pages")


def test_a_failed_transfer_takes_its_time_and_leaves_nothing_that_may_be_read() -> None:
    machine = demoted()
    machine.failing_transfers.add(1)
    machine.start_transfer(transfer(H2D, state(2, 1), page(4, 7)))
    assert not machine.transfer_is_done()
    machine.clock.wait_until(machine.next_completion_ns() or 0)
    with pytest.raises(MachineFault, match="transfer 1 failed"):
        machine.transfer_is_done()
    assert machine.next_completion_ns() is None
    refused(machine, row(70, 80, read=2, write=0), "CONTENT undefined.* a copy failed")
    with pytest.raises(InvariantBroken, match=r"number 4 of the device KV pages.* a copy failed"):
        machine.start_transfer(transfer(D2H, page(4, 3)))
    prefill(machine, row(70, 80, read=0, write=2))  # over what is undefined
    prefill(machine, row(80, 81, read=2, write=2))


# ── what a ledger names ─────────────────────────────────────────────────────────────────────────


def nothing_used() -> Occupancy:
    counts = ((0, 0), (0, 0), (0, 0), (0, 0), (0, 0))
    return Occupancy.of(CAPACITY, counts)


def ledger(
    image: tuple[int | None, int | None] = (0, 1),
    first: tuple[int | None, int | None] = (0, 7),
    second: tuple[int | None, int | None] = (1, 0),
    *,
    frontier_tokens: int = 70,
    is_active: bool = False,
) -> LedgerSnapshot:
    """One holder of one image and two pages, each (on Device, on Host)."""
    logical = (KvPageId(0), KvPageId(1))
    summary = CheckpointSummary(
        ref=CheckpointRef(id=CheckpointId(1), owner=OwnerId(1)),
        kind=CheckpointKind.SESSION_ENDPOINT,
        frontier_tokens=frontier_tokens,
        prefix_digest=Consumed().then(TOKENS[:frontier_tokens]).digests[-1],
    )
    checkpoint = CheckpointPlacement(summary=summary, image=StateImageId(0), pages=logical)
    owner = OwnerPlacement(
        owner=OwnerId(1), history_tokens=frontier_tokens, checkpoints=(checkpoint,)
    )
    space = SpacePlacement(
        pool=MAIN, pages=logical, immutable_pages=1, reserved_pages=0, entitled_pages=2
    )
    sequence = SequencePlacement(
        sequence=SequenceId(1),
        lane=LANE,
        history_tokens=100,
        frontier_tokens=frontier_tokens,
        spaces=(space,),
        read_image=StateImageId(0),
        write_image=StateImageId(0),
        borrowed_read=False,
        checkpoints=(),
    )
    return LedgerSnapshot(
        resource_revision=1,
        occupancy=nothing_used(),
        owners=() if is_active else (owner,),
        sequences=(sequence,) if is_active else (),
        images=(
            ImageReplicas(
                StateImageId(0),
                None if image[0] is None else StateSlotId(image[0]),
                None if image[1] is None else HostSlotId(image[1]),
            ),
        ),
        pages=tuple(
            PageReplicas(
                page,
                None if on_device is None else PageId(on_device),
                None if on_host is None else HostGranuleId(on_host),
            )
            for page, (on_device, on_host) in zip(logical, (first, second), strict=True)
        ),
        backend_pages=(),
        row_tables=(),
    )


@pytest.mark.parametrize(
    "right",
    [
        ledger(),
        ledger((None, 1), (0, None), (None, 0)),
        ledger((0, None), (None, 7), (1, None)),
        ledger((0, None), (0, 7), (1, None), is_active=True),
    ],
)
def test_replicas_in_any_tier_hold_what_they_are_named_for(right: LedgerSnapshot) -> None:
    # spec: KV-5
    demoted().check_contents(right)


@pytest.mark.parametrize(
    ("wrong", "law"),
    [
        (ledger(frontier_tokens=69), "CONTENT state.*consumed 70 tokens"),
        (ledger((None, None)), "image 0 is nowhere"),
        (ledger(first=(None, None)), "main logical page 0 is nowhere"),
        (ledger((0, 0)), "number 0 of the host state slots is read"),
        (
            ledger(first=(None, 0), second=(1, None)),
            "page 0 of session_endpoint@70 .* another history",
        ),
        (ledger(first=(0, 0), second=(1, None)), "one thing here and another there"),
        (
            ledger(first=(0, None), second=(0, None)),
            "page 1 of session_endpoint@70 .* another history",
        ),
        (ledger((None, 1), is_active=True), "image 0 of sequence 1 .* not on the Device"),
        (ledger(second=(None, 0), is_active=True), "page 1 of sequence 1 .* not on the Device"),
    ],
)
def test_a_replica_that_holds_something_else_is_noticed(wrong: LedgerSnapshot, law: str) -> None:
    with pytest.raises(InvariantBroken, match=law):
        demoted().check_contents(wrong)


def test_a_host_replica_that_its_device_page_has_outgrown_is_noticed() -> None:
    machine = demoted()
    prefill(machine, row(70, 80, read=0, write=2))
    machine.check_contents(ledger(second=(1, None)))
    with pytest.raises(InvariantBroken, match="main logical page 1 is one thing here and another"):
        machine.check_contents(ledger())
    prefill(machine, row(80, 90, read=2, write=0))
    with pytest.raises(InvariantBroken, match="image 0 is one thing here and another there"):
        machine.check_contents(ledger(second=(1, None)))


def test_a_host_replica_is_looked_at_even_where_nobody_is_held_to_it() -> None:
    machine = demoted()
    machine.submit(ForwardStep(phase=ForwardPhase.PREFILL, rows=(row(70, 80, read=0, write=2),)))
    machine.check_contents(ledger((0, 1), second=(1, None), is_active=True))  # not yet committed
    with pytest.raises(InvariantBroken, match="number 0 of the host state slots is read"):
        machine.check_contents(ledger((0, 0), second=(1, None), is_active=True))
    with pytest.raises(InvariantBroken, match="main logical page 1 is one thing here and another"):
        machine.check_contents(ledger((0, 1), is_active=True))
