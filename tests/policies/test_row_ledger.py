"""Law: a row has every page it was promised and no other, reads where it was told to, and hands
everything back once.
"""

from __future__ import annotations

import pytest

from ninfer_lab.contract.candidate import AdmissionRequest
from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.errors import InvariantBroken, OptionsError
from ninfer_lab.contract.ids import LaneId, RequestId
from ninfer_lab.contract.options import (
    CacheMode,
    EngineOptions,
    KvPageBytes,
    ResolvedOptions,
    SpeculativeBackend,
)
from ninfer_lab.machine.lane_tables import LaneTables
from ninfer_lab.policies.row_ledger import Row, RowLedger, RowStart
from simulation.content_machine import ContentMachine
from simulation.engine_world import prepared

LANE = LaneId(0)


def options(pages: int) -> ResolvedOptions:
    return EngineOptions(
        max_context_tokens=256,
        kv_capacity_tokens=64 * pages,
        prefill_chunk_tokens=100,
        device_state_slots=2,
    ).resolve(KvPageBytes(main=1))


def ledger(pages: int = 8) -> tuple[RowLedger, LaneTables]:
    resolved = options(pages)
    machine = ContentMachine(resolved.capacity)
    return RowLedger(resolved, machine), machine


def asking(tokens: int, *, output: int = 10, cuts: tuple[int, ...] = ()) -> AdmissionRequest:
    return AdmissionRequest(
        request=RequestId(1),
        prompt=prepared(range(tokens), cuts=cuts),
        max_output_tokens=output,
        mode=CacheMode.READ_WRITE,
        session_key=None,
        publication_order=1,
        free_lanes=(LANE,),
    )


def ran(rows: RowLedger, row: Row) -> tuple[int, int]:
    cut = rows.next_cut(row.handle)
    rows.commit(row.handle)
    return cut.start_tokens, cut.end_tokens


def test_the_whole_request_is_promised_and_mapped_cut_by_cut() -> None:  # spec: ACT-1, ACT-2
    rows, machine = ledger()
    row = rows.start(asking(150, output=42), LANE, RowStart())
    assert (rows.entitled_pages(row.request), row.promised_pages) == (3, 3)
    assert rows.unpromised_pages == 5
    assert ran(rows, row) == (0, 100)
    assert (len(row.pages), row.promised_pages, rows.unpromised_pages) == (2, 1, 5)
    assert ran(rows, row) == (100, 150)
    assert (len(row.pages), row.promised_pages) == (3, 0)
    assert machine.row_table(LANE, KvPool.MAIN) == tuple(row.pages)
    row.output.append(7)
    assert ran(rows, row) == (150, 151)


def test_forwards_end_at_cuts_and_where_a_policy_wants_to_be_asked() -> None:  # spec: IDN-3
    rows, _ = ledger()
    start = RowStart(captures_tokens=(90,))
    row = rows.start(asking(150, cuts=(30,)), LANE, start)
    assert [ran(rows, row) for _ in range(3)] == [(0, 30), (30, 90), (90, 150)]


def test_a_frozen_state_is_read_once_and_written_never_again() -> None:
    rows, _ = ledger()
    row = rows.start(asking(150, cuts=(30,)), LANE, RowStart())
    ran(rows, row)
    first = row.write_slot
    assert rows.freeze(row) == first
    cut = rows.next_cut(row.handle)
    assert (cut.state_read_slot, cut.state_write_slot) == (first, row.write_slot)
    assert row.write_slot != first
    rows.commit(row.handle)
    assert row.read_slot == row.write_slot
    assert rows.slots.taken_count == 2


def test_a_lent_slot_stays_its_lenders_and_one_taken_over_is_written_in_place() -> None:
    for is_lent in (True, False):
        rows, _ = ledger()
        (slot,), pages = rows.slots.take(1), rows.pages.take(1)
        start = RowStart(pages=pages, frontier_tokens=64, slot=slot, is_lent=is_lent)
        row = rows.start(asking(100), LANE, start)
        assert row.is_reading_lent is is_lent
        assert (row.write_slot == slot) is not is_lent
        ended = rows.end(row.handle)
        assert ended.slot == (None if is_lent else slot)
        assert rows.slots.taken_count == 1, "the state at the frontier is somebody's still"


def test_an_end_returns_the_promise_and_unbinds_the_row() -> None:  # spec: ACT-5, LANE-5
    rows, machine = ledger()
    row = rows.start(asking(150, output=42), LANE, RowStart())
    ran(rows, row)
    ended = rows.end(row.handle)
    assert machine.row_table(LANE, KvPool.MAIN) is None
    assert (ended.frontier_tokens, list(ended.consumed)) == (100, list(range(100)))
    assert len(ended.pages) == 2
    assert rows.unpromised_pages == 6
    rows.pages.give_back(ended.pages)
    assert rows.pages.free_count == 8
    with pytest.raises(InvariantBroken, match="is not active"):
        rows.row(row.handle)


def test_nobody_takes_what_is_promised() -> None:  # spec: INV-8
    rows, _ = ledger(pages=4)
    rows.start(asking(150, output=42), LANE, RowStart())
    with pytest.raises(InvariantBroken, match="2 pages wanted beside 0, 1 unpromised"):
        rows.start(asking(100, output=20), LaneId(1), RowStart())


def test_what_no_policy_serves_is_refused() -> None:
    backend = EngineOptions(backend=SpeculativeBackend())
    leased = EngineOptions(kv_lease_growth=True)
    cases = (
        (backend, KvPageBytes(main=1, backend=1), "options.backend"),
        (leased, KvPageBytes(main=1), "options.kv_lease_growth"),
    )
    for chosen, page_bytes, name in cases:
        resolved = chosen.resolve(page_bytes)
        with pytest.raises(OptionsError, match=name):
            RowLedger(resolved, ContentMachine(resolved.capacity))
