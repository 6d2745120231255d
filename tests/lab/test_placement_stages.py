"""Law: at every stage of an admission the map has as many places in use as Program has counted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ninfer_lab.contract.capacity import Axis
from ninfer_lab.contract.events import RequestAdmitted
from ninfer_lab.contract.ids import LaneId, RequestId
from ninfer_lab.contract.options import EngineOptions
from ninfer_lab.contract.search_report import SearchReport, TargetVerdict
from ninfer_lab.contract.target import StageName
from ninfer_lab.lab.ledger_bench import LedgerBench
from ninfer_lab.lab.placement_places import PlaceReader, panels_of
from ninfer_lab.lab.placement_story import staged
from ninfer_lab.lab.wanted import Wanted, demoting, evicting

OPTIONS = EngineOptions(
    max_concurrency=2,
    device_state_slots=4,
    max_context_tokens=512,
    kv_capacity_tokens=1_024,
    host_state_slots=4,
    host_kv_capacity_bytes=32 * 1_024,
)


def spare_replicas_go(bench: LedgerBench) -> Wanted:
    owner = bench.publish(150)
    bench.demote(owner)
    beside = bench.publish(200, after=owner)
    bench.evict(beside)
    assert bench.whereabouts(owner) == "both"
    return Wanted(prompt_tokens=20, fates=demoting(owner))


def one_goes_and_one_becomes_the_request(bench: LedgerBench) -> Wanted:
    source, gone = bench.publish(200), bench.publish(100)
    return Wanted(prompt_tokens=220, source=source, consume=True, fates=evicting(gone))


def a_source_is_used_up_from_its_middle(bench: LedgerBench) -> Wanted:
    source = bench.publish(300, captures=[128])
    return Wanted(prompt_tokens=260, source=source, source_tokens=128, consume=True)


@pytest.mark.parametrize(
    "scene",
    [
        spare_replicas_go,
        one_goes_and_one_becomes_the_request,
        a_source_is_used_up_from_its_middle,
    ],
)
def test_each_stage_is_counted_as_program_counts_it(
    scene: Callable[[LedgerBench], Wanted],
) -> None:  # spec: W-3, STG-1
    bench = LedgerBench(OPTIONS)
    wanted = scene(bench)
    assessment = bench.assess(wanted)
    panels = panels_of(bench.options.capacity)
    reader = PlaceReader(panels, bench.options.capacity.host_kv)
    before = reader.places(bench.ledger)
    bench.start(bench.seal(wanted))
    assert bench.advance() is not None, "nothing is copied between the tiers"
    after = reader.places(bench.ledger)
    verdict = TargetVerdict.of(assessment, has_publication_slot=True)
    admitted = RequestAdmitted(
        at_ns=0,
        request=RequestId(1),
        lane=LaneId(0),
        path=verdict.path,
        state=verdict.state,
        reuse_tokens=verdict.reuse_tokens,
        cow_pages=verdict.cow_pages,
        evicted=verdict.evicted,
        report=SearchReport(verdicts=(verdict,), chosen=0),
    )
    names = [name for name, _ in reader.holders]
    stages = list(staged(admitted, before, after, names, reader.is_host))
    assert stages[-1][1].name is StageName.DESTINATIONS_RESERVED
    for _, stage, places in stages:
        for panel in panels:
            cells = range(panel.first, panel.first + panel.places_count)
            marks = [places[cell].mark for cell in cells if cell in places]
            is_arena = panel.axis is Axis.HOST_KV
            unit = bench.options.capacity.host_kv.granule_bytes if is_arena else 1
            use = stage.occupancy.on(panel.axis)
            there = sum(not mark.is_held for mark in marks) * unit
            assert there == use.allocated_count, (stage.name, panel.title)
            assert (len(marks) * unit - there) <= use.reserved_count, (stage.name, panel.title)
