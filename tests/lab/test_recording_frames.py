"""Law: every table of a recording says what its events say, and an empty one keeps its columns."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from lab.recorded_runs import PAGE_BYTES, random_run
from ninfer_lab.contract.events import CaptureTried, LedgerChanged, RequestAdmitted, RequestBlocked
from ninfer_lab.contract.recording_options import (
    PlacementDetail,
    RecordingDetail,
    RecordingOptions,
)
from ninfer_lab.contract.result import CaptureOutcome
from ninfer_lab.lab.recording.recording import Recording

FRAMES = (
    "requests candidates targets plans stages forwards transfers placements captures checkpoints"
    " demand misses"
).split()


@pytest.fixture(scope="module")
def whole() -> Recording:
    options = RecordingOptions(detail=RecordingDetail.TARGETS, placements=PlacementDetail.CHANGES)
    return random_run(3, requests=40, recording=options)


def frame(recording: Recording, name: str) -> pl.DataFrame:
    found: object = getattr(recording, name)
    assert isinstance(found, pl.DataFrame)
    return found


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_has_the_same_columns_with_and_without_rows_and_becomes_pandas(
    whole: Recording, name: str
) -> None:  # spec: RCD-1
    full, empty = frame(whole, name), frame(replace(whole, events=()), name)
    assert empty.is_empty()
    assert full.schema == empty.schema
    in_pandas = whole.pandas(name)
    assert list(in_pandas.columns) == full.columns
    assert len(in_pandas) == len(full)
    if name not in ("demand", "captures"):  # raw prompts have no frontier to capture at
        assert not full.is_empty(), name


def test_what_is_no_table_is_no_pandas_frame(whole: Recording) -> None:
    with pytest.raises(AttributeError, match="'facts' is no table"):
        whole.pandas("facts")


def test_every_search_is_a_plan_and_its_targets_are_counted(whole: Recording) -> None:
    searches = [e for e in whole.events if isinstance(e, RequestAdmitted | RequestBlocked)]
    plans = whole.plans
    assert plans["request"].to_list() == [e.request for e in searches]
    assert plans["admitted"].to_list() == [isinstance(e, RequestAdmitted) for e in searches]
    assert plans["seen_targets"].sum() == len(whole.targets) == whole.candidates["targets"].sum()
    assert whole.candidates["chosen"].sum() == plans["admitted"].sum()
    for row in plans.rows(named=True):
        assert row["seen_targets"] >= row["feasible_targets"] >= row["adoptable_targets"]
        if row["admitted"] and row["evicted_owners"] == 0:
            assert row["reuse_tokens"] == row["best_identity_tokens"]


def test_copies_are_told_with_their_bytes(whole: Recording) -> None:
    copied = sum(e.cow_pages for e in whole.events if isinstance(e, RequestAdmitted))
    copied += sum(
        e.result.outcome is CaptureOutcome.CAPTURED and e.result.frontier_tokens % 64 != 0
        for e in whole.events
        if isinstance(e, CaptureTried)
    )
    assert whole.transfers["pages"].sum() == copied > 0
    assert whole.transfers["payload_bytes"].sum() == copied * PAGE_BYTES
    unknown = replace(whole, facts=replace(whole.facts, kv_page_bytes=None))
    assert unknown.transfers["payload_bytes"].null_count() == len(unknown.transfers)


def test_placements_name_every_holder_after_every_change(whole: Recording) -> None:
    placements = whole.placements
    changes = [i for i, e in enumerate(whole.events) if isinstance(e, LedgerChanged)]
    assert set(placements["event"]) <= set(changes)
    for ordinal, ledger in list(whole.ledgers())[::11]:
        rows = placements.filter(pl.col("event") == ordinal)
        owners = rows.filter(pl.col("holder") == "owner")
        assert owners["id"].to_list() == [owner.owner for owner in ledger.owners]
        assert len(rows) == len(ledger.owners) + len(ledger.sequences)
        reserved = ledger.occupancy.device_kv.reserved_count
        assert rows["reserved_pages"].sum() == reserved


def test_what_is_resident_at_the_end_is_what_the_ledger_holds(whole: Recording) -> None:
    held = {
        placed.summary.ref.id
        for owner in whole.ledger_at(len(whole) - 1).owners
        for placed in owner.checkpoints
    }
    resident = whole.checkpoints.filter(pl.col("fate") == "resident")
    assert set(resident["checkpoint"]) == held
    assert len(held) > 0
    gone = whole.checkpoints.filter(pl.col("fate") != "resident")
    assert gone["gone_ms"].null_count() == 0
