"""In virtual time work is ordered, takes what the timing says, and time moves where one waits."""

from __future__ import annotations

import pytest

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
from ninfer_lab.contract.ids import LaneId, PageId, RequestId, StateSlotId
from ninfer_lab.contract.options import Sampling
from ninfer_lab.contract.work import Cut, Draw, ForwardPhase, ForwardRow, ForwardStep, PageCopy
from ninfer_lab.lab.token_sources import SeededTokens
from ninfer_lab.machine.simulated_machine import SimulatedFault, SimulatedMachine

LANE = LaneId(0)
TRANSFER = TransferTiming(batch_ns=100, operation_ns=10, ns_per_byte_q32=0)
DEVICE = SimulatedDevice(
    timing=DeviceTiming(
        transfer=TransferTimings(d2h=TRANSFER, h2d=TRANSFER, d2d=TRANSFER),
        prefill=PrefillTiming(chunk_ns=1_000, token_ns_q32=2**32, attention_pair_ns_q32=0),
        decode=DecodeTiming(step_ns=500, row_ns=7, kv_bytes_per_token=0, kv_ns_per_byte_q32=0),
    ),
    kv_page_bytes=64,
)


def machine(clock: VirtualClock, failing: frozenset[int] = frozenset()) -> SimulatedMachine:
    tokens = SeededTokens(seed=1, vocabulary_tokens=50, first_token=10)
    return SimulatedMachine(DEVICE, tokens, clock, failing)


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
    device.copy_pages((PageCopy(source=PageId(1), destination=PageId(2)),))
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
    device = machine(VirtualClock(), failing=frozenset({1}))
    device.submit(prefill(1))
    device.take_result()
    with pytest.raises(SimulatedFault, match="forward 1"):
        device.submit(prefill(1))
    assert device.next_completion_ns() is None
    device.submit(prefill(1))
    assert device.take_result().drawn_tokens == (None,)


def test_row_tables_are_what_was_bound() -> None:
    device = machine(VirtualClock())
    device.bind(LANE, (PageId(3),))
    device.extend(LANE, (PageId(4), PageId(5)))
    device.replace_tail(LANE, PageId(9))
    assert device.row_table(LANE) == (3, 4, 9)
    with pytest.raises(InvariantBroken, match="bound already"):
        device.bind(LANE, ())
    device.unbind(LANE)
    assert device.row_table(LANE) is None
