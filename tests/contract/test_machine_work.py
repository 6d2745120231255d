"""Law: equal machine work is equal as a value, however it was put together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ninfer_lab.contract.machine_work import (
    MachineWork,
    PrefillWork,
    TransferBatch,
    TransferDirection,
    TransferPhase,
)

D2H, H2D, D2D = TransferDirection
PRESSURE, CANDIDATE = TransferPhase

batches = st.builds(
    TransferBatch,
    phase=st.sampled_from(TransferPhase),
    direction=st.sampled_from(TransferDirection),
    payload_bytes=st.integers(0, 2**40),
    operation_count=st.integers(0, 1000),
)


def batch(
    phase: TransferPhase, direction: TransferDirection, payload_bytes: int, operation_count: int
) -> TransferBatch:
    return TransferBatch(
        phase=phase,
        direction=direction,
        payload_bytes=payload_bytes,
        operation_count=operation_count,
    )


def test_copies_of_one_phase_and_direction_are_one_batch() -> None:
    work = MachineWork.of(
        [
            batch(CANDIDATE, D2D, 10, 1),
            batch(CANDIDATE, H2D, 300, 2),
            batch(PRESSURE, D2H, 50, 4),
            batch(CANDIDATE, H2D, 7, 1),
        ]
    )
    assert work.transfers == (
        batch(PRESSURE, D2H, 50, 4),
        batch(CANDIDATE, H2D, 307, 3),
        batch(CANDIDATE, D2D, 10, 1),
    )


def test_one_direction_in_two_phases_is_two_batches() -> None:
    work = MachineWork.of([batch(CANDIDATE, D2D, 1, 1), batch(PRESSURE, D2D, 2, 2)])
    assert work.transfers == (batch(PRESSURE, D2D, 2, 2), batch(CANDIDATE, D2D, 1, 1))


@given(given_batches=st.lists(batches, max_size=8), data=st.data())
def test_the_order_in_which_copies_are_named_does_not_matter(
    given_batches: list[TransferBatch], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(given_batches))
    work = MachineWork.of(given_batches)
    assert MachineWork.of(shuffled) == work
    assert hash(MachineWork.of(shuffled)) == hash(work)
    assert sum(b.payload_bytes for b in work.transfers) == sum(
        b.payload_bytes for b in given_batches
    )
    assert MachineWork.of(work.transfers) == work


def test_nothing_to_do_is_no_work() -> None:
    nothing = PrefillWork.between(40, 40, prefill_chunk_tokens=1024)
    assert MachineWork.of([batch(CANDIDATE, H2D, 0, 0)], prefill=nothing) == MachineWork()


def test_work_that_is_not_canonical_is_not_built() -> None:
    two = (batch(CANDIDATE, H2D, 1, 1), batch(PRESSURE, D2H, 1, 1))
    for transfers in (two, (two[0], two[0]), (batch(CANDIDATE, H2D, 0, 0),)):
        with pytest.raises(AssertionError, match=r"MachineWork\.of"):
            MachineWork(transfers=transfers)


def test_pairs_are_counted_by_hand() -> None:  # spec: COST-4
    # Three reused, two computed: the first sees 4 tokens, the second 5.
    work = PrefillWork.between(3, 5, prefill_chunk_tokens=1024)
    assert work.attention_pairs_count == 9
    assert PrefillWork.between(0, 4, prefill_chunk_tokens=1024).attention_pairs_count == 10
    assert PrefillWork.between(5, 5, prefill_chunk_tokens=1024).attention_pairs_count == 0


@given(start=st.integers(0, 10**6), first=st.integers(0, 10**5), second=st.integers(0, 10**5))
def test_a_cut_moves_no_pair(start: int, first: int, second: int) -> None:  # spec: COST-4
    def pairs(low: int, high: int) -> int:
        return PrefillWork.between(low, high, prefill_chunk_tokens=64).attention_pairs_count

    middle, end = start + first, start + first + second
    assert pairs(start, middle) + pairs(middle, end) == pairs(start, end)


@pytest.mark.parametrize(
    ("start", "end", "cuts", "chunks"),
    [
        (0, 0, (), 0),
        (0, 1, (), 1),
        (0, 64, (), 1),
        (0, 65, (), 2),
        (10, 74, (), 1),  # chunks are counted from where the computation starts
        (0, 128, (63,), 3),  # 63 in one, 65 in two
        (0, 128, (64,), 2),
        (0, 128, (64, 64), 2),
        (0, 128, (100, 30), 4),  # 30, 64 + 6, 28
        (0, 128, (0, 128, 500), 2),  # an edge and what lies outside cut nothing
        (50, 128, (10, 50, 60), 3),  # 10, 64 + 4
    ],
)
def test_chunks_are_counted_segment_by_segment(
    start: int, end: int, cuts: tuple[int, ...], chunks: int
) -> None:
    work = PrefillWork.between(start, end, prefill_chunk_tokens=64, cuts_tokens=cuts)
    assert work.chunk_count == chunks
    assert (work.reused_tokens, work.suffix_tokens) == (start, end - start)
