"""Law: the machine double notices every state or page that belongs to another history."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.capacity import Capacity
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import LaneId, PageId, RequestId, StateSlotId
from ninfer_lab.contract.options import Sampling
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.contract.work import (
    Cut,
    Draw,
    ForwardPhase,
    ForwardRow,
    ForwardStep,
    PageCopy,
)
from simulation.content_machine import Consumed, ContentMachine, MachineFault, answer_to

TOKENS = list(range(100))
LANE = LaneId(0)


def pages(*ids: int) -> list[PageId]:
    return [PageId(i) for i in ids]


def row(start: int, end: int, *, read: int | None, write: int, lane: LaneId = LANE) -> ForwardRow:
    cut = Cut(
        start_tokens=start,
        end_tokens=end,
        state_read_slot=None if read is None else StateSlotId(read),
        state_write_slot=StateSlotId(write),
    )
    return ForwardRow(lane=lane, token_ids=tuple(TOKENS[start:end]), cut=cut, draw=None)


def prefill(machine: ContentMachine, one: ForwardRow) -> None:
    machine.submit(ForwardStep(phase=ForwardPhase.PREFILL, rows=(one,)))
    machine.take_result()
    machine.committed(one.lane)


def half_read() -> ContentMachine:
    """Seventy tokens in slot 0 and pages 0 and 1."""
    machine = ContentMachine(Capacity(device_state_slots=3, device_kv_pages=5))
    machine.truth[LANE] = list(TOKENS)
    machine.bind(LANE, pages(0, 1))
    prefill(machine, row(0, 70, read=None, write=0))
    return machine


def refused(machine: ContentMachine, one: ForwardRow, law: str) -> None:
    with pytest.raises(InvariantBroken, match=law):
        machine.submit(ForwardStep(phase=ForwardPhase.PREFILL, rows=(one,)))


def test_a_right_forward_runs_in_place_or_forked() -> None:
    machine = half_read()
    prefill(machine, row(70, 80, read=0, write=1))
    prefill(machine, row(80, 100, read=1, write=1))


@pytest.mark.parametrize(
    "wrong",
    [
        row(69, 80, read=0, write=0),  # off by one
        row(71, 80, read=0, write=0),
        row(70, 80, read=None, write=0),  # from the root
        row(70, 80, read=2, write=0),  # from a slot never written
    ],
)
def test_a_state_that_consumed_other_tokens_is_noticed(wrong: ForwardRow) -> None:
    refused(half_read(), wrong, "CONTENT state")


def test_a_state_of_another_conversation_is_noticed() -> None:
    machine = half_read()
    machine.truth[LaneId(1)] = [7, *TOKENS[1:]]
    machine.bind(LaneId(1), pages(2, 3))
    other = row(0, 70, read=None, write=1, lane=LaneId(1))._replace(token_ids=(7, *TOKENS[1:70]))
    prefill(machine, other)
    refused(machine, row(70, 80, read=1, write=0), "CONTENT state")


def test_other_tokens_than_the_request_s_are_noticed() -> None:
    wrong = row(70, 72, read=0, write=0)._replace(token_ids=(70, 99))
    refused(half_read(), wrong, "CONTENT tokens")


@pytest.mark.parametrize("table", [(1, 0), (0, 2), (0,)])
def test_a_table_with_another_page_is_noticed(table: tuple[int, ...]) -> None:
    machine = half_read()
    machine.unbind(LANE)
    machine.bind(LANE, pages(*table))
    refused(machine, row(70, 80, read=0, write=0), "CONTENT KV")


def test_a_page_somebody_else_wrote_into_is_noticed() -> None:
    machine = half_read()
    machine.truth[LaneId(1)] = list(TOKENS)
    machine.bind(LaneId(1), pages(1))
    prefill(machine, row(0, 3, read=None, write=1, lane=LaneId(1)))
    refused(machine, row(70, 80, read=0, write=0), "CONTENT KV")


def test_a_copied_tail_holds_what_the_page_held() -> None:
    machine = half_read()
    machine.copy_pages([PageCopy(source=PageId(1), destination=PageId(4))])
    machine.replace_tail(LANE, PageId(4))
    assert machine.row_table(LANE) == (0, 4)
    prefill(machine, row(70, 80, read=0, write=1))
    machine.replace_tail(LANE, PageId(1))
    refused(machine, row(80, 90, read=1, write=1), "CONTENT KV")


def test_rows_that_share_a_slot_are_noticed() -> None:
    machine = half_read()
    machine.truth[LaneId(1)] = list(TOKENS)
    machine.bind(LaneId(1), pages(2, 3))
    prefill(machine, row(0, 70, read=None, write=1, lane=LaneId(1)))
    rows = (row(70, 71, read=0, write=0), row(70, 71, read=1, write=0, lane=LaneId(1)))
    with pytest.raises(InvariantBroken, match="writes a slot that"):
        machine.submit(ForwardStep(phase=ForwardPhase.DECODE, rows=rows))


def test_a_torn_forward_leaves_a_state_nobody_can_use() -> None:
    machine = half_read()
    machine.failing_forwards.add(1)
    with pytest.raises(MachineFault, match="forward 1 failed"):
        machine.submit(
            ForwardStep(phase=ForwardPhase.PREFILL, rows=(row(70, 80, read=0, write=0),))
        )
    refused(machine, row(80, 90, read=0, write=0), "CONTENT state")


def test_draws_follow_from_the_history_alone() -> None:
    machine = half_read()
    draw = Draw(request=RequestId(1), sampling=Sampling(), position_tokens=100)
    last = row(70, 100, read=0, write=0)._replace(draw=draw)
    machine.submit(ForwardStep(phase=ForwardPhase.PREFILL, rows=(last,)))
    assert machine.take_result().drawn_tokens == answer_to(TOKENS, 1)
    assert answer_to(TOKENS, 3)[1:] == answer_to([*TOKENS, *answer_to(TOKENS, 1)], 2)
    assert answer_to([1, *TOKENS], 2) != answer_to(TOKENS, 2)


def test_digests_are_those_of_the_token_span() -> None:
    history = Consumed().then(TOKENS[:50]).then(TOKENS[50:])
    assert history.digests == TokenSpan(TOKENS).prefix_digests(range(1, 101))
