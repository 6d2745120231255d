"""Law: every table of a recording says what its events say, and an empty one keeps its columns."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from lab.recorded_runs import PAGE_BYTES, random_run
from ninfer_lab.contract.events import (
    CaptureTried,
    LedgerChanged,
    RequestAdmitted,
    RequestBlocked,
    SharedCaptureEnded,
    TransitionEnded,
    TransitionEnding,
    TransitionStarted,
)
from ninfer_lab.contract.recording_options import (
    PlacementDetail,
    RecordingDetail,
    RecordingOptions,
)
from ninfer_lab.contract.result import CaptureOutcome
from ninfer_lab.contract.transaction import TransactionPhase
from ninfer_lab.lab.recording.recording import Recording
from ninfer_lab.lab.searches import searches

FRAMES = (
    "requests candidates targets plans stages forwards transfers transitions placements captures"
    " checkpoints demand misses"
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
    words = {RequestAdmitted: "admitted", RequestBlocked: "blocked", TransitionEnded: "aborted"}
    told = [event for event, _ in searches(whole.events)]
    plans = whole.plans
    assert plans["request"].to_list() == [e.request for e in told]
    assert plans["outcome"].to_list() == [words[type(e)] for e in told]
    assert {"admitted", "aborted"} <= set(plans["outcome"])
    assert plans["seen_targets"].sum() == len(whole.targets) == whole.candidates["targets"].sum()
    assert whole.candidates["chosen"].sum() == (plans["outcome"] != "blocked").sum()
    for row in plans.rows(named=True):
        assert row["seen_targets"] >= row["feasible_targets"] >= row["adoptable_targets"]
        if row["outcome"] == "admitted" and row["evicted_owners"] == row["degraded_owners"] == 0:
            assert row["reuse_tokens"] == row["best_identity_tokens"]


def test_copies_are_told_with_their_bytes(whole: Recording) -> None:
    tails = whole.transfers.filter(pl.col("direction") == "d2d")
    winners = [e.report.winner for e in whole.events if isinstance(e, RequestAdmitted)]
    copied = sum(
        batch.operation_count
        for winner in winners
        if winner is not None
        for batch in winner.work.transfers
        if not batch.crosses_tiers
    )
    private = sum(
        e.result.outcome is CaptureOutcome.CAPTURED and e.result.frontier_tokens % 64 != 0
        for e in whole.events
        if isinstance(e, CaptureTried)
    )
    shared = [
        *(e.result.shared for e in whole.events if isinstance(e, CaptureTried)),
        *(e.told for e in whole.events if isinstance(e, SharedCaptureEnded)),
    ]
    copied += private + sum(
        batch.operation_count
        for told in shared
        if told is not None and told.is_final and told.work is not None
        for batch in told.work.transfers
        if not batch.crosses_tiers
    )
    assert tails["pages"].sum() == copied > 0
    assert tails["payload_bytes"].sum() == copied * PAGE_BYTES
    unknown = replace(whole, facts=replace(whole.facts, page_bytes=None)).transfers
    # Only the tails of private captures are not told as work.
    assert unknown["payload_bytes"].null_count() == private


def test_copies_between_the_tiers_are_told_with_their_transition(whole: Recording) -> None:
    # spec: RCD-1
    started = [e for e in whole.events if isinstance(e, TransitionStarted)]
    ended = [e for e in whole.events if isinstance(e, TransitionEnded)]
    assert [e.request for e in started] == [e.request for e in ended]
    assert {e.ending for e in ended} >= {
        TransitionEnding.COMMITTED,
        TransitionEnding.COPY_FAILED,
    }
    transitions = whole.transitions
    assert transitions["request"].to_list() == [e.request for e in ended]
    assert (transitions["ended_ms"] > transitions["started_ms"]).all()
    crossing = whole.transfers.filter(pl.col("direction") != "d2d")
    moved = transitions["d2h_bytes"] + transitions["h2d_bytes"]
    assert crossing["payload_bytes"].sum() == moved.sum()
    failed = transitions.filter(pl.col("ending") == TransitionEnding.COPY_FAILED.value)
    assert (failed["detail"].str.len_chars() > 0).all()
    for before, after in zip(started, ended, strict=True):
        assert (after.started_ns, after.work) == (before.at_ns, before.work)
        assert (after.phase is TransactionPhase.COMMITTED) == (after.report is None)


def test_placements_name_every_holder_after_every_change(whole: Recording) -> None:
    placements = whole.placements
    changes = [i for i, e in enumerate(whole.events) if isinstance(e, LedgerChanged)]
    assert set(placements["event"]) <= set(changes)
    for ordinal, ledger in list(whole.ledgers())[::11]:
        rows = placements.filter(pl.col("event") == ordinal)
        owners = rows.filter(pl.col("holder") == "owner")
        assert owners["id"].to_list() == [owner.owner for owner in ledger.owners]
        is_open = ledger.transition is not None
        assert len(rows) == len(ledger.owners) + len(ledger.sequences) + is_open
        reserved = ledger.occupancy.device_kv.reserved_count
        assert rows["reserved_pages"].sum() == reserved
    demoted = placements.filter((pl.col("holder") == "owner") & (pl.col("host_slots") != ""))
    assert len(demoted) > 0
    assert (placements["holder"] == "transition").any()


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
