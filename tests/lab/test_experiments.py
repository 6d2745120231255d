"""What the experiments show is what Program did."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.capacity import Axis
from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.lab import tables
from ninfer_lab.lab.experiments import (
    occupancy_table,
    reclaims,
    refused_plans,
    split_host,
    tail_copies,
    two_aliases,
    unfit_target,
    ways_in,
)
from ninfer_lab.lab.wanted import Wanted, evicting


def test_a_plan_runs_once_and_never_as_a_copy_or_late() -> None:
    # spec: TXN-1
    table = refused_plans()
    assert table["what happened"].to_list() == ["ran", "refused", "refused", "refused"]
    assert table["ledger changed"].to_list() == [True, False, False, False]
    assert "assess again at the current revision" in table["what was said"][3]


def test_a_target_that_does_not_fit_is_taken_apart_to_the_last_page() -> None:
    explanation = unfit_target()
    assert str(explanation.violation) == (
        "at “destinations reserved” device KV pages: 4 used > 3 there are"
    )
    assert explanation.lines == (
        "2 promised growth by sequence 2",
        "2 promised growth by request 2",
    )
    table = tables.explanation(explanation)
    assert table["holders"].to_list() == ["sequence 2", "request 2"]
    assert table["units"].sum() == explanation.violation.used_count
    assert table["is_reserved"].all()


def test_dropping_one_alias_frees_nothing_and_the_last_frees_it_once() -> None:  # spec: REC-2
    freed = {row.owners: row.freed_pages for row in reclaims(two_aliases())}
    alone = {row.owners: row.alone_pages for row in reclaims(two_aliases())}
    assert freed == {
        (): 0,
        (1,): 0,
        (2,): 1,
        (3,): 2,
        (1, 2): 5,
        (1, 3): 2,
        (2, 3): 3,
        (1, 2, 3): 7,
    }
    assert [owners for owners in freed if freed[owners] != alone[owners]] == [(1, 2), (1, 2, 3)]


@pytest.mark.parametrize("gone", [(1,), (2,), (1, 2), (1, 2, 3)])
def test_what_a_reclaim_promises_is_what_an_eviction_frees(gone: tuple[int, ...]) -> None:
    owners = tuple(OwnerId(owner) for owner in gone)
    bench = two_aliases()
    promised = next(row for row in reclaims(bench) if row.owners == owners)
    before = bench.ledger.occupancy
    bench.evict(*owners)
    after = bench.ledger.occupancy
    assert before.device_kv.used_count - after.device_kv.used_count == promised.freed_pages
    assert before.device_state.used_count - after.device_state.used_count == promised.freed_slots


@pytest.mark.parametrize("hole_pages", [1, 2, 3])
def test_free_bytes_that_would_do_are_no_place(hole_pages: int) -> None:  # spec: CAP-2
    bench, wanted = split_host(hole_pages)
    (found,) = bench.explain(wanted)
    assert found.violation.axis is Axis.HOST_KV
    assert found.violation.run_bytes is not None
    assert max(found.holes_bytes) < found.violation.run_bytes <= sum(found.holes_bytes)
    between, behind = (
        bench.assess(wanted.with_fates((*wanted.fates, *evicting(OwnerId(owner)))))
        for owner in (2, 4)
    )
    assert between.is_feasible
    assert behind.is_feasible is (hole_pages == 1), "as many bytes, in another place"


def test_each_situation_has_its_way_in() -> None:  # spec: STATE-3, KV-4
    ways = [(way.committed.state, way.committed.cow_pages) for way in ways_in()]
    assert ways == [
        (StateTransition.ROOT, 0),
        (StateTransition.MOVE, 0),
        (StateTransition.FORK, 0),
        (StateTransition.FORK, 1),
        (StateTransition.FORK, 0),
        (StateTransition.RESTORE, 0),
        (StateTransition.RESTORE, 1),
    ]


def test_only_a_second_writer_copies_and_only_off_a_page_edge() -> None:
    table = tail_copies((63, 64, 65))
    assert table["pages copied if the owner stays"].to_list() == [1, 0, 1]
    assert table["pages copied if it is used up"].to_list() == [0, 0, 0]
    assert table["tokens in the last page"].to_list() == [63, 64, 1]


def test_an_occupancy_table_has_a_row_for_each_axis_there_is() -> None:
    bench = two_aliases()
    occupancy = bench.assess(Wanted(prompt_tokens=100)).stages[-1].occupancy
    table = occupancy_table(occupancy)
    assert table["axis"].to_list() == [
        axis.value for axis in Axis if axis is not Axis.DEVICE_BACKEND_KV
    ]
    assert table["used"].to_list() == (table["allocated"] + table["reserved"]).to_list()
    assert table.row(2) == ("device KV pages", 7, 2, 9, 16)
