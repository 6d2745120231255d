"""Law: in virtual time work is ordered, takes what the timing says, and time moves where one waits;
a transfer runs beside the forwards that come after it.
"""

from __future__ import annotations

import pytest

from ninfer_lab.contract.capacity import HostArenaGeometry, KvPool
from ninfer_lab.contract.clock import VirtualClock
from ninfer_lab.contract.device_timing import (
    DecodeTiming,
    DeviceTiming,
    PrefillTiming,
    SimulatedDevice,
    TransferTiming,
    TransferTimings,
)
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import (
    HostGranuleId,
    HostSlotId,
    LaneId,
    PageId,
    RequestId,
    StateSlotId,
)
from ninfer_lab.contract.machine_work import TransferDirection
from ninfer_lab.contract.sampling import Sampling
from ninfer_lab.contract.transfer import PageTransfer, StateTransfer, Transfer
from ninfer_lab.contract.work import Cut, Draw, ForwardPhase, ForwardRow, ForwardStep, PageCopy
from ninfer_lab.lab.token_sources import SeededTokens
from ninfer_lab.machine.charged_time import ChargedTime
from ninfer_lab.machine.simulated_machine import SimulatedFault, SimulatedMachine

LANE = LaneId(0)
D2H, H2D = TransferDirection.D2H, TransferDirection.H2D
BY_CALLS = TransferTiming(batch_ns=100, operation_ns=10, ns_per_byte_q32=0)
BY_BYTES = TransferTiming(batch_ns=0, operation_ns=0, ns_per_byte_q32=2**32)
DEVICE = SimulatedDevice(
    timing=DeviceTiming(
        transfer=TransferTimings(d2h=BY_BYTES, h2d=BY_CALLS, d2d=BY_CALLS),
        prefill=PrefillTiming(chunk_ns=1_000, token_ns_q32=2**32, attention_pair_ns_q32=0),
        decode=DecodeTiming(step_ns=500, row_ns=7, kv_bytes_per_token=0, kv_ns_per_byte_q32=0),
    ),
    kv_page_bytes=64,
    state_image_bytes=1_000,
    backend_page_bytes=16,
)
ARENA = HostArenaGeometry.divide(1_600, main_page_bytes=64, backend_page_bytes=16)
"""A Main page is four granules, a backend page one."""


def machine(
    clock: VirtualClock,
    *,
    failing_forwards: frozenset[int] = frozenset(),
    failing_transfers: frozenset[int] = frozenset(),
    device: SimulatedDevice = DEVICE,
) -> SimulatedMachine:
    return SimulatedMachine(
        ChargedTime(device, ARENA, clock),
        SeededTokens(seed=1, vocabulary_tokens=50, first_token=10),
        failing_forwards=failing_forwards,
        failing_transfers=failing_transfers,
    )


def page(device_page: int, host_granule: int, pool: KvPool = KvPool.MAIN) -> PageTransfer:
    return PageTransfer(
        pool=pool, device_page=PageId(device_page), host_granule=HostGranuleId(host_granule)
    )


def transfer(direction: TransferDirection, *pages: PageTransfer, states: int = 0) -> Transfer:
    return Transfer(
        direction=direction,
        states=tuple(
            StateTransfer(device_slot=StateSlotId(i), host_slot=HostSlotId(i))
            for i in range(states)
        ),
        pages=pages,
    )


COW = PageCopy(source=PageId(1), destination=PageId(2))


def row(start_tokens: int, end_tokens: int, *, draws: bool, lane: LaneId = LANE) -> ForwardRow:
    cut = Cut(
        start_tokens=start_tokens,
        end_tokens=end_tokens,
        state_read_slot=StateSlotId(0) if start_tokens else None,
        state_write_slot=StateSlotId(0),
    )
    draw = Draw(request=RequestId(1), sampling=Sampling(), position_tokens=end_tokens)
    token_ids = tuple(range(end_tokens - start_tokens))
    return ForwardRow(lane=lane, token_ids=token_ids, cut=cut, draw=draw if draws else None)


def prefill(tokens_count: int) -> ForwardStep:
    return ForwardStep(phase=ForwardPhase.PREFILL, rows=(row(0, tokens_count, draws=False),))


def test_a_forward_ends_when_the_timing_says_and_draws_from_the_source() -> None:
    clock = VirtualClock()
    device = machine(clock)
    rows = (row(5, 6, draws=True), row(9, 10, draws=True, lane=LaneId(1)))
    device.submit(ForwardStep(phase=ForwardPhase.DECODE, rows=rows))
    assert clock.now_ns() == 0, "time moves only where the loop waits"
    assert device.next_completion_ns() == 500 + 2 * 7
    drawn = device.take_result().drawn_tokens
    source = SeededTokens(seed=1, vocabulary_tokens=50, first_token=10)
    assert drawn == (source.token(RequestId(1), 6), source.token(RequestId(1), 10))
    assert device.next_completion_ns() is None


def test_copies_delay_the_forward_that_comes_after_them() -> None:
    clock = VirtualClock(start_ns=40)
    device = machine(clock)
    device.copy_pages((COW,))
    device.submit(prefill(12))
    assert device.next_completion_ns() == 40 + (100 + 10) + (1_000 + 12)
    assert device.take_result().elapsed_ns == 1_012, "a forward's own time, not its wait"


def test_idle_time_is_not_saved_up() -> None:
    clock = VirtualClock()
    device = machine(clock)
    device.submit(prefill(1))
    device.take_result()
    clock.wait_until(1_000_000)
    device.submit(prefill(1))
    assert device.next_completion_ns() == 1_000_000 + 1_001


def test_a_seeded_fault_raises_in_place_of_its_forward_and_leaves_nothing_in_flight() -> None:
    device = machine(VirtualClock(), failing_forwards=frozenset({1}))
    device.submit(prefill(1))
    device.take_result()
    with pytest.raises(SimulatedFault, match="forward 1"):
        device.submit(prefill(1))
    assert device.next_completion_ns() is None
    device.submit(prefill(1))
    assert device.take_result().drawn_tokens == (None,)


# ── transfers ───────────────────────────────────────────────────────────────────────────────────


def test_bytes_that_arrive_are_charged_once_for_each_image_and_page() -> None:  # spec: COST-3
    clock = VirtualClock(start_ns=40)
    device = machine(clock)
    device.start_transfer(transfer(D2H, page(3, 0), page(7, 4, KvPool.BACKEND), states=2))
    assert device.next_completion_ns() == 40 + 2 * 1_000 + 64 + 16


@pytest.mark.parametrize(
    ("pages", "calls"),
    [
        ((page(3, 0), page(4, 4), page(5, 8)), 1),
        ((page(3, 0), page(4, 5)), 2),  # apart on the Host
        ((page(3, 0), page(5, 4)), 2),  # apart on the Device
        ((page(4, 4), page(3, 0)), 2),  # backwards
        ((page(3, 0), page(4, 4, KvPool.BACKEND), page(5, 5, KvPool.BACKEND)), 2),
    ],
)
def test_pages_in_a_row_on_both_sides_are_one_call(
    pages: tuple[PageTransfer, ...], calls: int
) -> None:  # spec: COST-3
    device = machine(VirtualClock())
    device.start_transfer(transfer(H2D, *pages, states=1))
    assert device.next_completion_ns() == 100 + 10 * (2 + calls)


def test_a_forward_runs_beside_a_transfer_and_neither_waits() -> None:  # spec: TXN-7
    clock = VirtualClock()
    device = machine(clock)
    device.start_transfer(transfer(D2H, page(3, 0), states=2))
    device.submit(prefill(1))
    assert device.next_completion_ns() == 1_001, "the forward is awaited first"
    clock.wait_until(1_001)
    device.take_result()
    assert not device.transfer_is_done()
    assert device.next_completion_ns() == 2_064
    clock.wait_until(2_063)
    assert not device.transfer_is_done()
    clock.wait_until(2_064)
    assert device.transfer_is_done()
    assert device.next_completion_ns() is None


def test_a_longer_forward_does_not_end_sooner_for_a_transfer_that_has() -> None:
    clock = VirtualClock()
    device = machine(clock)
    device.start_transfer(transfer(H2D, page(3, 0)))
    device.submit(prefill(1))
    clock.wait_until(110)
    assert device.next_completion_ns() == 1_001
    assert device.transfer_is_done()
    assert device.next_completion_ns() == 1_001


def test_a_transfer_waits_for_what_was_asked_before_and_page_copies_do_not_wait_for_it() -> None:
    clock = VirtualClock()
    device = machine(clock)
    device.copy_pages((COW, COW))
    device.start_transfer(transfer(D2H, page(3, 0)))
    device.copy_pages((COW,))
    assert device.next_completion_ns() == (100 + 2 * 10) + 64
    device.submit(prefill(1))
    assert device.next_completion_ns() == (100 + 2 * 10) + (100 + 10) + 1_001


def test_a_page_of_the_backend_is_charged_by_its_own_size() -> None:
    timing = DeviceTiming(
        transfer=TransferTimings(d2h=BY_BYTES, h2d=BY_BYTES, d2d=BY_BYTES),
        prefill=DEVICE.timing.prefill,
        decode=DEVICE.timing.decode,
    )
    device = machine(
        VirtualClock(),
        device=SimulatedDevice(
            timing=timing, kv_page_bytes=64, state_image_bytes=1, backend_page_bytes=16
        ),
    )
    backend = PageCopy(source=PageId(1), destination=PageId(2), pool=KvPool.BACKEND)
    device.copy_pages((COW, backend, backend))
    device.submit(prefill(1))
    assert device.next_completion_ns() == 64 + 2 * 16 + 1_001


def test_a_page_of_a_pool_that_is_not_there_is_refused() -> None:
    without = SimulatedDevice(timing=DEVICE.timing, kv_page_bytes=64, state_image_bytes=1_000)
    device = machine(VirtualClock(), device=without)
    with pytest.raises(InvariantBroken, match="backend pool"):
        device.start_transfer(transfer(D2H, page(3, 0, KvPool.BACKEND)))
    assert device.next_completion_ns() is None


def test_a_seeded_fault_takes_its_time_raises_once_and_leaves_nothing_in_flight() -> None:
    clock = VirtualClock()
    device = machine(clock, failing_transfers=frozenset({1}))
    for start_ns in (0, 1_000):
        clock.wait_until(start_ns)
        device.start_transfer(transfer(D2H, page(3, 0)))
        assert not device.transfer_is_done(), "a copy fails where it would have ended"
        assert device.next_completion_ns() == start_ns + 64
        clock.wait_until(start_ns + 64)
        if start_ns == 0:
            assert device.transfer_is_done()
    with pytest.raises(SimulatedFault, match="transfer 1 "):
        device.transfer_is_done()
    assert device.next_completion_ns() is None
    device.start_transfer(transfer(D2H, page(3, 0)))
    clock.wait_until(1_128)
    assert device.transfer_is_done()
