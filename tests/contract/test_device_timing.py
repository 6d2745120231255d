"""Law: no work takes no time, more work never takes less, and all of it is whole ns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ninfer_lab.contract.device_timing import (
    DecodeTiming,
    DeviceTiming,
    PrefillTiming,
    TransferTiming,
    TransferTimings,
)
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.fixed_point import Q32_ONE, U64_MAX
from ninfer_lab.contract.ids import LaneId, StateSlotId
from ninfer_lab.contract.machine_work import (
    MachineWork,
    PrefillWork,
    TransferBatch,
    TransferDirection,
    TransferPhase,
)
from ninfer_lab.contract.work import Cut, ForwardPhase, ForwardRow, ForwardStep

u64 = st.integers(0, U64_MAX)
counts = st.integers(0, 2**40)
transfer_timings = st.builds(TransferTiming, batch_ns=u64, operation_ns=u64, ns_per_byte_q32=u64)
prefill_timings = st.builds(
    PrefillTiming,
    chunk_ns=st.integers(0, 2**40),
    token_ns_q32=st.integers(0, 2**60),
    attention_pair_ns_q32=st.integers(0, 2**50),
)

SLOW_LINK = TransferTiming(batch_ns=100, operation_ns=10, ns_per_byte_q32=Q32_ONE // 2)


def test_a_batch_takes_the_longer_of_its_calls_and_its_bytes() -> None:  # spec: COST-3
    assert SLOW_LINK.elapsed_ns(0, 0) == 0
    assert SLOW_LINK.elapsed_ns(0, 1) == 110
    assert SLOW_LINK.elapsed_ns(1, 0) == 100
    assert SLOW_LINK.elapsed_ns(259, 3) == 130  # 100 + 3 · 10, and 129.5 up to 130
    assert SLOW_LINK.elapsed_ns(260, 3) == 130
    assert SLOW_LINK.elapsed_ns(261, 3) == 131


@given(
    timing=transfer_timings,
    payload_bytes=counts,
    operation_count=counts,
    more_bytes=counts,
    more_operations=counts,
)
def test_a_larger_batch_never_takes_less(
    timing: TransferTiming,
    payload_bytes: int,
    operation_count: int,
    more_bytes: int,
    more_operations: int,
) -> None:
    small = timing.elapsed_ns(payload_bytes, operation_count)
    large = timing.elapsed_ns(payload_bytes + more_bytes, operation_count + more_operations)
    assert 0 <= small <= large <= U64_MAX


def test_each_direction_has_its_own_law_and_batches_are_serial() -> None:  # spec: COST-2, COST-3
    timings = TransferTimings(
        d2h=TransferTiming(batch_ns=1, operation_ns=0, ns_per_byte_q32=0),
        h2d=TransferTiming(batch_ns=20, operation_ns=0, ns_per_byte_q32=0),
        d2d=TransferTiming(batch_ns=300, operation_ns=0, ns_per_byte_q32=0),
    )
    work = MachineWork.of(
        TransferBatch(phase=phase, direction=direction, payload_bytes=1, operation_count=1)
        for phase in TransferPhase
        for direction in TransferDirection
    )
    assert [timings.batch_ns(batch) for batch in work.transfers] == [1, 20, 300] * 2
    assert timings.elapsed_ns(work.transfers) == 642
    assert timings.elapsed_ns(()) == 0


def test_one_coalesced_batch_pays_its_start_once() -> None:  # spec: COST-3
    timings = TransferTimings(d2h=SLOW_LINK, h2d=SLOW_LINK, d2d=SLOW_LINK)
    one = TransferBatch(
        phase=TransferPhase.CANDIDATE,
        direction=TransferDirection.H2D,
        payload_bytes=4,
        operation_count=1,
    )
    assert timings.elapsed_ns(MachineWork.of([one, one]).transfers) == 120
    assert timings.elapsed_ns([one]) == 110


def test_prefill_is_the_sum_of_its_terms() -> None:  # spec: COST-4
    timing = PrefillTiming(
        chunk_ns=1000,
        token_ns_q32=Q32_ONE * 3 // 2,
        attention_pair_ns_q32=Q32_ONE // 4,
        vision_item_ns=50,
        vision_patch_ns_q32=Q32_ONE // 3,
    )
    # 3 computed behind 10: pairs 11 + 12 + 13 = 36.
    text = PrefillWork.between(10, 13, prefill_chunk_tokens=2)
    terms = timing.terms(text)
    assert (terms.chunks_ns, terms.tokens_ns, terms.attention_ns) == (2000, 5, 9)
    assert (terms.vision_items_ns, terms.vision_patches_ns) == (0, 0)
    assert timing.elapsed_ns(text) == 2014
    seen = PrefillWork(
        reused_tokens=10,
        suffix_tokens=3,
        chunk_count=2,
        vision_item_count=2,
        vision_patch_count=10,
    )
    assert timing.elapsed_ns(seen) == 2014 + 100 + 4  # 10 / 3 rounds up to 4


@given(
    timing=prefill_timings,
    reused=st.integers(0, 10**6),
    suffix=st.integers(0, 10**6),
    more=st.integers(0, 10**6),
    chunk=st.integers(1, 8192),
)
def test_more_tokens_never_take_less(
    timing: PrefillTiming, reused: int, suffix: int, more: int, chunk: int
) -> None:
    def elapsed_ns(start: int, end: int) -> int:
        return timing.elapsed_ns(PrefillWork.between(start, end, prefill_chunk_tokens=chunk))

    base = elapsed_ns(reused, reused + suffix)
    assert base <= elapsed_ns(reused, reused + suffix + more)
    assert base <= elapsed_ns(reused + more, reused + more + suffix)
    assert elapsed_ns(reused, reused) == 0


@given(
    timing=prefill_timings,
    start=st.integers(0, 5_000),
    suffix=st.integers(1, 2_000),
    chunk=st.integers(100, 1_024),
)
def test_a_prefill_takes_what_its_forwards_take_but_for_rounding(
    timing: PrefillTiming, start: int, suffix: int, chunk: int
) -> None:
    truth = device_timing(prefill=timing)
    work = PrefillWork.between(start, start + suffix, prefill_chunk_tokens=chunk)
    ends = [*range(start + chunk, start + suffix, chunk), start + suffix]
    forwards = [
        truth.forward_ns(prefill_step(low, high))
        for low, high in zip([start, *ends], ends, strict=False)
    ]
    assert len(forwards) == work.chunk_count
    # Each forward rounds its token term and its pair term up by less than 1 ns.
    assert 0 <= sum(forwards) - truth.prefill_ns(work) < 2 * len(forwards)


def test_decode_pays_weights_once_and_state_and_kv_for_each_row() -> None:
    timing = DecodeTiming(
        step_ns=1000, row_ns=10, kv_bytes_per_token=6, kv_ns_per_byte_q32=Q32_ONE // 4
    )
    assert timing.elapsed_ns([1]) == 1000 + 10 + 2  # 6 bytes, 1.5 ns
    assert timing.elapsed_ns([1, 1]) == 1000 + 20 + 3  # rounded up once for the step
    assert timing.elapsed_ns([100, 1]) == 1000 + 20 + 152


@given(frontiers=st.lists(st.integers(1, 10**6), min_size=1, max_size=8), more=counts)
def test_a_deeper_row_or_another_row_never_makes_a_step_shorter(
    frontiers: list[int], more: int
) -> None:
    timing = DecodeTiming(
        step_ns=11_000_000, row_ns=230_000, kv_bytes_per_token=33_792, kv_ns_per_byte_q32=3_000_000
    )
    base = timing.elapsed_ns(frontiers)
    assert base <= timing.elapsed_ns([*frontiers[:-1], frontiers[-1] + more])
    assert base < timing.elapsed_ns([*frontiers, 1])
    # One step of all rows is faster than a step of each: the weights are streamed once.
    alone = sum(timing.elapsed_ns([frontier]) for frontier in frontiers)
    assert base <= alone
    assert (base < alone) == (len(frontiers) > 1)


def test_a_decode_forward_reads_up_to_its_own_token() -> None:
    truth = device_timing(
        prefill=PrefillTiming(chunk_ns=7, token_ns_q32=0, attention_pair_ns_q32=0)
    )
    step = ForwardStep(
        phase=ForwardPhase.DECODE,
        rows=(row(99, 100), row(0, 1)),
    )
    assert truth.forward_ns(step) == truth.decode_step_ns([100, 1]) == 1000 + 20 + 101


def test_everything_saturates() -> None:
    most = TransferTiming(batch_ns=U64_MAX, operation_ns=U64_MAX, ns_per_byte_q32=U64_MAX)
    assert most.elapsed_ns(2**50, 2**50) == U64_MAX
    dear = PrefillTiming(chunk_ns=U64_MAX, token_ns_q32=U64_MAX, attention_pair_ns_q32=U64_MAX)
    assert dear.elapsed_ns(PrefillWork.between(0, 10**6, prefill_chunk_tokens=1)) == U64_MAX
    slow = DecodeTiming(
        step_ns=U64_MAX, row_ns=U64_MAX, kv_bytes_per_token=2**20, kv_ns_per_byte_q32=U64_MAX
    )
    assert slow.elapsed_ns([2**20] * 8) == U64_MAX


@pytest.mark.parametrize("wrong", [-1, U64_MAX + 1, 1.0, True])
def test_a_coefficient_is_an_integer_of_64_bits(wrong: int) -> None:
    with pytest.raises(OptionsError) as refused:
        TransferTiming(batch_ns=0, operation_ns=wrong, ns_per_byte_q32=0)
    assert str(refused.value) == (
        f"TransferTiming.operation_ns: found {wrong};"
        " legal: an integer, 0 <= operation_ns <= 2**64 - 1"
    )


def device_timing(*, prefill: PrefillTiming) -> DeviceTiming:
    return DeviceTiming(
        transfer=TransferTimings(d2h=SLOW_LINK, h2d=SLOW_LINK, d2d=SLOW_LINK),
        prefill=prefill,
        decode=DecodeTiming(
            step_ns=1000, row_ns=10, kv_bytes_per_token=4, kv_ns_per_byte_q32=Q32_ONE // 4
        ),
    )


def row(start: int, end: int) -> ForwardRow:
    slot = StateSlotId(0)
    cut = Cut(start_tokens=start, end_tokens=end, state_read_slot=slot, state_write_slot=slot)
    return ForwardRow(lane=LaneId(0), token_ids=tuple(range(start, end)), cut=cut, draw=None)


def prefill_step(start: int, end: int) -> ForwardStep:
    return ForwardStep(phase=ForwardPhase.PREFILL, rows=(row(start, end),))
