"""Seventy tokens on the machine that knows contents, by hand: what its own tests build on."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.capacity import Capacity, HostArenaGeometry, KvPool
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import LaneId, PageId, StateSlotId
from ninfer_lab.contract.work import Cut, ForwardPhase, ForwardRow, ForwardStep
from simulation.content_machine import ContentMachine

TOKENS = list(range(100))
LANE = LaneId(0)
MAIN, BACKEND = KvPool.MAIN, KvPool.BACKEND
CAPACITY = Capacity(
    device_state_slots=3,
    device_kv_pages=5,
    host_state_slots=2,
    host_kv=HostArenaGeometry(granule_bytes=1, granules_count=9, main_page_granules=2),
)


def pages(*ids: int) -> list[PageId]:
    return [PageId(i) for i in ids]


def row(start: int, end: int, *, read: int | None, write: int, lane: LaneId = LANE) -> ForwardRow:
    cut = Cut(
        start_tokens=start,
        end_tokens=end,
        state_read_slot=None if read is None else StateSlotId(read),
        state_write_slot=StateSlotId(write),
    )
    return ForwardRow(lane=lane, token_ids=tuple(TOKENS[start:end]), cut=cut, draw=None)


def prefill(machine: ContentMachine, one: ForwardRow) -> None:
    machine.submit(ForwardStep(phase=ForwardPhase.PREFILL, rows=(one,)))
    machine.take_result()
    machine.committed(one.lane)


def half_read() -> ContentMachine:
    """Seventy tokens in slot 0 and pages 0 and 1."""
    machine = ContentMachine(CAPACITY)
    machine.truth[LANE] = list(TOKENS)
    machine.bind(LANE, MAIN, pages(0, 1))
    prefill(machine, row(0, 70, read=None, write=0))
    return machine


def refused(machine: ContentMachine, one: ForwardRow, law: str) -> None:
    with pytest.raises(InvariantBroken, match=law):
        machine.submit(ForwardStep(phase=ForwardPhase.PREFILL, rows=(one,)))
