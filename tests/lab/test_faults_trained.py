"""Law: on the trained model a fault of the state is heard in answers that live in the state, and a
fault of the pages in answers that live in the pages.
"""

from __future__ import annotations

import pytest

from ninfer_lab.contract.errors import CheckpointError
from ninfer_lab.lab.faults.fault import Fault
from ninfer_lab.lab.faults.trained_world import trained_world
from ninfer_lab.lab.faults.trial import Check, fault_table
from ninfer_lab.lab.faults.world import FaultWorld
from ninfer_lab.lab.tiny_model.phrases import FactKind

pytestmark = pytest.mark.usefixtures("one_thread")


def world_of(kind: FactKind) -> FaultWorld:
    try:
        return trained_world(kind)
    except CheckpointError as absent:
        pytest.skip(str(absent))


CASES = [
    (FactKind.COLOUR, Fault.WRONG_STATE_SLOT),
    (FactKind.COLOUR, Fault.STATE_NOT_RESTORED),
    (FactKind.CODE, Fault.FOREIGN_PAGE),
]


@pytest.mark.parametrize(("kind", "fault"), CASES, ids=[f"{k.value}-{f}" for k, f in CASES])
def test_a_fault_is_heard_in_the_answer_that_depends_on_what_it_spoils(
    kind: FactKind, fault: Fault, capsys: pytest.CaptureFixture[str]
) -> None:  # spec: IDN-2
    world = world_of(kind)
    table = fault_table(world, (fault,))
    with capsys.disabled():
        print(f"\n{table}\nthe other conversation's: {world.other_answer}", end="")
    row = table.row(fault)
    assert table.clean_answers[0] == world.right_answer
    assert row.answers[0] != world.right_answer
    assert {Check.LOGIT_BITS, Check.LOGIT_DRIFT, Check.ANSWER} <= set(row.caught_by)
    assert row.answers[1] == table.clean_answers[1], "the second restore meets no fault"
