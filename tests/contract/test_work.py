"""Law: slots alone say how a forward comes by its state, and a prefill is one sequence's."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.ids import LaneId, StateSlotId
from ninfer_lab.contract.work import Cut, ForwardPhase, ForwardRow, ForwardStep, StateAccess


def cut(read: int | None, write: int, start: int = 5, end: int = 6) -> Cut:
    return Cut(
        start_tokens=start,
        end_tokens=end,
        state_read_slot=None if read is None else StateSlotId(read),
        state_write_slot=StateSlotId(write),
    )


def row(lane: int) -> ForwardRow:
    return ForwardRow(lane=LaneId(lane), token_ids=(1,), cut=cut(lane, lane), draw=None)


@pytest.mark.parametrize(
    ("read", "write", "access"),
    [(None, 0, StateAccess.ROOT), (0, 0, StateAccess.IN_PLACE), (0, 1, StateAccess.FORK)],
)
def test_how_a_forward_comes_by_its_state(  # spec: STATE-2
    read: int | None, write: int, access: StateAccess
) -> None:
    assert cut(read, write).state_access is access


def test_many_decode_together_and_one_prefills() -> None:
    step = ForwardStep(phase=ForwardPhase.DECODE, rows=tuple(row(lane) for lane in range(8)))
    assert step.tokens_count == 8
    assert ForwardStep(phase=ForwardPhase.PREFILL, rows=(row(0),)).tokens_count == 1
    with pytest.raises(AssertionError):
        ForwardStep(phase=ForwardPhase.PREFILL, rows=(row(0), row(1)))
    with pytest.raises(AssertionError):
        ForwardStep(phase=ForwardPhase.DECODE, rows=())
