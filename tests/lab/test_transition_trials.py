"""Law: what has been published stays, what has not never was, and every stage is as proven."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.capacity import Axis
from ninfer_lab.contract.result import AbortCause, Aborted, Committed
from ninfer_lab.contract.target import StageName
from ninfer_lab.contract.transaction import TransactionPhase
from ninfer_lab.lab.transition_trials import Stop, ended, pressed, staged

IN_FLIGHT, PUBLICATION = TransactionPhase.COPIES_IN_FLIGHT, TransactionPhase.COPY_PUBLICATION


def test_every_stage_is_as_it_was_proven() -> None:  # spec: STG-1
    found = staged()
    assert found.observed == tuple((each.name, each.occupancy) for each in found.assessment.stages)
    assert dict(zip(StageName, found.phases, strict=True)) == {
        StageName.NOW: TransactionPhase.HOST_RELEASES,
        StageName.RELEASED: TransactionPhase.HOST_RELEASES,
        StageName.DEMOTION_RESERVED: TransactionPhase.COPY_PREPARATION,
        StageName.DEMOTED: IN_FLIGHT,
        StageName.DESTINATIONS_RESERVED: PUBLICATION,
        StageName.COMMITTED: TransactionPhase.COMMITTED,
    }


def test_without_its_victims_the_request_does_not_fit() -> None:
    scene = pressed()
    (found, *_) = scene.bench.assess(scene.wanted.with_fates(())).violations
    assert (found.axis, found.used_count, found.capacity_count) == (Axis.DEVICE_KV, 8, 6)


@pytest.mark.parametrize(
    ("stop", "phase", "where"),
    [
        (Stop.NOWHERE, TransactionPhase.COMMITTED, ("both", "Host", "gone")),
        (Stop.CANCELLED_FIRST, TransactionPhase.HOST_RELEASES, ("Host", "Device", "Device")),
        (Stop.CANCELLED_DEMOTING, PUBLICATION, ("Host", "Host", "gone")),
        (Stop.DEMOTION_FAILS, IN_FLIGHT, ("Host", "Device", "gone")),
        (Stop.CANCELLED_RESTORING, PUBLICATION, ("Host", "Host", "gone")),
        (Stop.RESTORE_FAILS, PUBLICATION, ("Host", "Host", "gone")),
    ],
)
def test_what_each_stop_leaves_behind(  # spec: TXN-6
    stop: Stop, phase: TransactionPhase, where: tuple[str, str, str]
) -> None:
    found = ended(stop)
    assert (found.phase, found.where) == (phase, where)
    assert found.unchanged is (stop is Stop.CANCELLED_FIRST)
    if isinstance(found.result, Committed):
        return
    assert isinstance(found.result, Aborted)
    fails = stop in (Stop.DEMOTION_FAILS, Stop.RESTORE_FAILS)
    assert found.result.cause is (AbortCause.COPY_FAILED if fails else AbortCause.CANCELLED)
    assert all(use.reserved_count == 0 for use in found.occupancy.axes), "nothing stays held"
