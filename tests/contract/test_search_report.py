"""Law: a verdict says what its target would do and why it cannot, and a decision keeps the winner's
stages alone.
"""

from __future__ import annotations

import pytest

from ninfer_lab.contract.candidate import ReusePath, SourceDisposition
from ninfer_lab.contract.capacity import Axis, Capacity, Occupancy
from ninfer_lab.contract.ids import CheckpointId, OwnerId
from ninfer_lab.contract.machine_work import (
    MachineWork,
    TransferBatch,
    TransferDirection,
    TransferPhase,
)
from ninfer_lab.contract.search_report import Resort, SearchReport, TargetVerdict
from ninfer_lab.contract.target import Stage, StageName, StateTransition, Violation

CAPACITY = Capacity(device_state_slots=2, device_kv_pages=4)
STAGES = (
    Stage(
        name=StageName.NOW,
        occupancy=Occupancy.of(CAPACITY, ((1, 0), (0, 0), (1, 1), (0, 0), (0, 0))),
    ),
)
SHORT = Violation(
    stage=StageName.DESTINATIONS_RESERVED, axis=Axis.DEVICE_STATE, used_count=3, capacity_count=2
)
ROOT = TargetVerdict(
    path=ReusePath.ROOT,
    owner=None,
    disposition=None,
    reuse_tokens=0,
    prefill_tokens=100,
    evicted=(),
    degraded=(),
    deleted=(),
    state=StateTransition.ROOT,
    cow_pages=0,
    stages=STAGES,
    work=MachineWork(),
    has_publication_slot=True,
    violations=(),
)
RESTORED = ROOT._replace(
    path=ReusePath.PRIVATE_ENDPOINT,
    owner=OwnerId(3),
    disposition=SourceDisposition.CONSUME,
    reuse_tokens=80,
    prefill_tokens=20,
    degraded=(OwnerId(1), OwnerId(2)),
    deleted=(CheckpointId(7),),
    state=StateTransition.RESTORE,
    work=MachineWork.of(
        (
            TransferBatch(
                phase=TransferPhase.CANDIDATE,
                direction=TransferDirection.H2D,
                payload_bytes=5_000,
                operation_count=3,
            ),
        )
    ),
)


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (ROOT, "root: reuse 0, compute 100, root — fits"),
        (
            RESTORED,
            "private_endpoint, consume owner 3, degrade 2: reuse 80, compute 20, restore, move"
            " 5,000 bytes between tiers — fits",
        ),
        (
            ROOT._replace(evicted=(OwnerId(1),), has_publication_slot=False),
            "root, evict 1: reuse 0, compute 100, root — no catalog slot",
        ),
        (
            ROOT._replace(violations=(SHORT, SHORT)),
            "root: reuse 0, compute 100, root — does not fit: at “destinations reserved” device"
            " state slots: 3 used > 2 there are (and 1 more)",
        ),
    ],
)
def test_a_verdict_is_one_sentence(verdict: TargetVerdict, said: str) -> None:
    assert str(verdict) == said


@pytest.mark.parametrize(
    ("verdict", "resort"),
    [
        (ROOT, Resort.IDENTITY),
        (RESTORED, Resort.PRESSURE),
        (RESTORED._replace(degraded=(), evicted=(OwnerId(1),)), Resort.PRESSURE),
        (ROOT._replace(degraded=(OwnerId(1),), evicted=(OwnerId(2),)), Resort.PRESSURE),
        (ROOT._replace(evicted=(OwnerId(1),)), Resort.MAXIMAL),
    ],
)
def test_how_much_was_given_up(verdict: TargetVerdict, resort: Resort) -> None:
    report = SearchReport(verdicts=(ROOT._replace(violations=(SHORT,)), verdict), chosen=1)
    assert report.resort is report.decision().resort is resort
    assert report.winner is verdict
    assert SearchReport(verdicts=report.verdicts, chosen=None).winner is None


def test_what_changes_others_is_no_identity() -> None:
    report = SearchReport(verdicts=(RESTORED, ROOT), chosen=0)
    assert (RESTORED.is_identity, ROOT.is_identity) == (False, True)
    assert report.best_identity == 1


def test_a_decision_keeps_the_stages_of_the_winner_alone() -> None:  # spec: RCD-1
    lost = ROOT._replace(violations=(SHORT,))
    decision = SearchReport(verdicts=(lost, RESTORED), chosen=1).decision()
    assert decision.verdicts == (lost._replace(stages=()), RESTORED)
    assert decision.decision() is decision
    blocked = SearchReport(verdicts=(lost,), chosen=None).decision()
    assert blocked.verdicts == (lost._replace(stages=()),)
    deeper = lost._replace(reuse_tokens=90)
    crowd = SearchReport(verdicts=(lost, deeper, lost, RESTORED), chosen=3).decision()
    assert [bool(verdict.stages) for verdict in crowd.verdicts] == [False, True]
