"""Law: an active answer goes on beside a transfer, a head waits for nobody who came later, and a
lease promises less at a time.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from ninfer_lab.contract.events import ForwardRan, RequestAdmitted, TransitionStarted
from ninfer_lab.contract.machine_work import TransferDirection, TransferPhase
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.contract.work import ForwardPhase
from ninfer_lab.lab import engine_trials
from ninfer_lab.lab.engine_trials import (
    EngineRun,
    backfill_runs,
    beside_a_transfer,
    growth_runs,
    head_waits_for_nobody_else,
    steps_beside_copies,
)


def admitted(run: EngineRun) -> list[str]:
    return [
        run.names[event.request]
        for event in run.events
        if isinstance(event, RequestAdmitted) and event.request in run.names
    ]


def test_a_long_answer_goes_on_while_gigabytes_move() -> None:  # spec: TXN-7
    run = beside_a_transfer()
    assert steps_beside_copies(run) == 7
    back = next(e for e in run.events if isinstance(e, RequestAdmitted) and e.reuse_tokens)
    # Its image has stayed where it was, and a copy of it goes to the Host as an anchor; what comes
    # back are the pages.
    assert (back.state, back.reuse_tokens) == (StateTransition.MOVE, 30_000)
    started = next(
        e for e in run.events if isinstance(e, TransitionStarted) and e.request == back.request
    )
    assert [(batch.phase, batch.direction) for batch in started.work.transfers] == [
        (TransferPhase.PRESSURE_TO_HOST, TransferDirection.D2H),
        (TransferPhase.CANDIDATE, TransferDirection.D2H),
        (TransferPhase.CANDIDATE, TransferDirection.H2D),
    ]


def test_who_is_let_past_does_not_put_the_head_off() -> None:  # spec: BKF-1
    without, with_it = backfill_runs()
    assert admitted(without) == ["runs already", "the head", "small, later"]
    assert admitted(with_it) == ["runs already", "small, later", "the head"]
    assert head_waits_for_nobody_else(with_it)
    assert not head_waits_for_nobody_else(without), "nobody was let past"


def test_a_lease_promises_a_window_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # spec: ACT-4
    monkeypatch.setattr(engine_trials, "SAID_TOKENS", 4_200)
    whole, leased = (
        [
            event.occupancy.device_kv.used_count
            for event in run.events
            if isinstance(event, ForwardRan) and event.phase is ForwardPhase.DECODE
        ]
        for run in growth_runs()
    )
    assert set(whole) == {-(-(2_000 + engine_trials.LEASED_OUTPUT_TOKENS) // 64)}
    assert leased[0] == -(-(2_000 + 4_096) // 64)
    assert leased[-1] > leased[0]
    assert max(leased) < whole[0] / 2


def test_the_names_of_a_run_are_those_of_its_requests() -> None:
    run = replace(backfill_runs()[1], title="again")
    assert set(run.names) <= {e.request for e in run.events if isinstance(e, RequestAdmitted)}
