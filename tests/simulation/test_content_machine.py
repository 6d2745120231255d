"""Law: the machine double notices every state or page that belongs to another history."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import LaneId, PageId, RequestId
from ninfer_lab.contract.options import SpeculativeBackend
from ninfer_lab.contract.sampling import Sampling
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.contract.work import Draw, ForwardPhase, ForwardRow, ForwardStep, PageCopy
from simulation.content_machine import ContentMachine, MachineFault, answer_to
from simulation.content_memory import Consumed
from simulation.half_read import (
    BACKEND,
    CAPACITY,
    LANE,
    MAIN,
    TOKENS,
    half_read,
    pages,
    prefill,
    refused,
    row,
)


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
    ],
)
def test_a_state_that_consumed_other_tokens_is_noticed(wrong: ForwardRow) -> None:
    refused(half_read(), wrong, "CONTENT state")


def test_a_state_of_another_conversation_is_noticed() -> None:
    machine = half_read()
    machine.truth[LaneId(1)] = [7, *TOKENS[1:]]
    machine.bind(LaneId(1), MAIN, pages(2, 3))
    other = row(0, 70, read=None, write=1, lane=LaneId(1))._replace(token_ids=(7, *TOKENS[1:70]))
    prefill(machine, other)
    refused(machine, row(70, 80, read=1, write=0), "CONTENT state")


def test_other_tokens_than_the_request_s_are_noticed() -> None:
    wrong = row(70, 72, read=0, write=0)._replace(token_ids=(70, 99))
    refused(half_read(), wrong, "CONTENT tokens")


def test_a_slot_never_written_is_noticed() -> None:
    refused(half_read(), row(70, 80, read=2, write=0), "number 2 of the device state slots is read")


@pytest.mark.parametrize("table", [(1, 0), (0,)])
def test_a_table_with_another_page_is_noticed(table: tuple[int, ...]) -> None:
    machine = half_read()
    machine.unbind(LANE)
    machine.bind(LANE, MAIN, pages(*table))
    refused(machine, row(70, 80, read=0, write=0), "CONTENT KV")


def test_a_page_never_written_is_noticed() -> None:
    machine = half_read()
    machine.replace_tail(LANE, MAIN, PageId(2))
    refused(machine, row(70, 80, read=0, write=0), "number 2 of the device KV pages is read")
    with pytest.raises(InvariantBroken, match="number 3 of the device KV pages is read"):
        machine.copy_pages([PageCopy(source=PageId(3), destination=PageId(4))])


def test_a_place_that_is_not_there_is_noticed() -> None:
    refused(half_read(), row(70, 80, read=-1, write=0), "number -1 .* and there are 3")


def test_a_page_somebody_else_wrote_into_is_noticed() -> None:
    machine = half_read()
    machine.truth[LaneId(1)] = list(TOKENS)
    machine.bind(LaneId(1), MAIN, pages(1))
    prefill(machine, row(0, 3, read=None, write=1, lane=LaneId(1)))
    refused(machine, row(70, 80, read=0, write=0), "CONTENT KV")


def test_a_copied_tail_holds_what_the_page_held() -> None:
    machine = half_read()
    machine.copy_pages([PageCopy(source=PageId(1), destination=PageId(4))])
    machine.replace_tail(LANE, MAIN, PageId(4))
    assert machine.row_table(LANE, MAIN) == (0, 4)
    prefill(machine, row(70, 80, read=0, write=1))
    machine.replace_tail(LANE, MAIN, PageId(1))
    refused(machine, row(80, 90, read=1, write=1), "CONTENT KV")


def test_rows_that_share_a_slot_are_noticed() -> None:
    machine = half_read()
    machine.truth[LaneId(1)] = list(TOKENS)
    machine.bind(LaneId(1), MAIN, pages(2, 3))
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


# ── the backend's pool ──────────────────────────────────────────────────────────────────────────


def with_backend() -> ContentMachine:
    """Seventy tokens, of which the backend has consumed 68."""
    machine = ContentMachine(
        replace(CAPACITY, device_backend_kv_pages=3), backend=SpeculativeBackend(lag_tokens=2)
    )
    machine.truth[LANE] = list(TOKENS)
    machine.bind(LANE, MAIN, pages(0, 1))
    machine.bind(LANE, BACKEND, pages(2, 0))
    prefill(machine, row(0, 70, read=None, write=0))
    return machine


def test_the_backend_lags_and_goes_on() -> None:
    machine = with_backend()
    prefill(machine, row(70, 80, read=0, write=1))
    prefill(machine, row(80, 81, read=1, write=1))


def test_a_forward_within_the_lag_needs_no_backend_page() -> None:
    machine = with_backend()
    machine.truth[LaneId(1)] = list(TOKENS)
    machine.bind(LaneId(1), MAIN, pages(3))
    machine.bind(LaneId(1), BACKEND, ())
    prefill(machine, row(0, 2, read=None, write=2, lane=LaneId(1)))
    refused(machine, row(2, 3, read=2, write=2, lane=LaneId(1)), "has no backend page 0")


@pytest.mark.parametrize("table", [(0, 2), (2,), (2, 1)])
def test_a_backend_table_with_another_page_is_noticed(table: tuple[int, ...]) -> None:
    machine = with_backend()
    machine.unbind(LANE)
    machine.bind(LANE, MAIN, pages(0, 1))
    machine.bind(LANE, BACKEND, pages(*table))
    refused(machine, row(70, 80, read=0, write=0), "backend")


def test_a_lane_that_is_bound_in_one_pool_alone_is_noticed() -> None:
    machine = with_backend()
    machine.unbind(LANE)
    machine.bind(LANE, MAIN, pages(0, 1))
    refused(machine, row(70, 80, read=0, write=0), "lane 0 has no backend table")


def test_a_backend_page_copied_from_another_frontier_is_noticed() -> None:
    machine = with_backend()
    machine.copy_pages([PageCopy(source=PageId(0), destination=PageId(1), pool=BACKEND)])
    prefill(machine, row(70, 80, read=0, write=1))
    machine.replace_tail(LANE, BACKEND, PageId(1))
    refused(machine, row(80, 81, read=1, write=1), "backend page 1 of lane 0")
