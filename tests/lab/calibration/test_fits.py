"""Law: a fit finds the coefficients that made its points, and none of them is negative."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from lab.calibration.synthetic_bench import PREFILL, TRANSFERS
from ninfer_lab.contract.device_timing import PrefillTiming, TransferTiming
from ninfer_lab.contract.machine_work import PrefillWork, TransferDirection
from ninfer_lab.lab.calibration.fits import TimedBatch, TimedPrefill, fit_prefill, fit_transfer
from ninfer_lab.lab.calibration.grid import Part, prefill_grid, transfer_grid

DIRECTIONS = list(TransferDirection)


def batches(timing: TransferTiming, direction: TransferDirection) -> list[TimedBatch]:
    """The training points of a direction, as long as the law says."""
    return [
        TimedBatch(
            point.payload_bytes,
            point.operation_count,
            timing.elapsed_ns(point.payload_bytes, point.operation_count),
        )
        for point in transfer_grid()
        if point.direction is direction and point.part is Part.TRAINING
    ]


def prefills(timing: PrefillTiming) -> list[TimedPrefill]:
    return [
        TimedPrefill(point.work, timing.elapsed_ns(point.work))
        for point in prefill_grid(1024)
        if point.part is Part.TRAINING
    ]


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_roofline_is_found_again(direction: TransferDirection) -> None:  # spec: COST-3
    truth = TRANSFERS.of(direction)
    found = fit_transfer(batches(truth, direction))
    assert found.batch_ns == pytest.approx(truth.batch_ns, rel=1e-3, abs=20)
    assert found.operation_ns == pytest.approx(truth.operation_ns, rel=1e-3)
    assert found.ns_per_byte_q32 == pytest.approx(truth.ns_per_byte_q32, rel=1e-4)


def test_many_rooflines_are_found_again() -> None:
    """What is found predicts each point of its own, whichever side of the ridge it lies on."""
    random = Random(7)
    for _ in range(20):
        truth = TransferTiming(
            batch_ns=random.randrange(200_000),
            operation_ns=random.randrange(1_000, 30_000),
            ns_per_byte_q32=random.randrange(2_000_000, 900_000_000),
        )
        points = batches(truth, TransferDirection.H2D)
        found = fit_transfer(points)
        for payload, calls, took_ns in points:
            assert found.elapsed_ns(payload, calls) == pytest.approx(took_ns, rel=0.005), truth


def test_the_law_is_the_longer_of_two_times_and_not_their_sum() -> None:
    """Two points on either side of the ridge; a fit to a sum would miss both."""
    truth = TransferTiming(batch_ns=1_000, operation_ns=10_000, ns_per_byte_q32=2**32)
    sizes = product((1_000, 2_000, 500_000, 1_000_000), (1, 2, 10))
    points = [TimedBatch(b, ops, truth.elapsed_ns(b, ops)) for b, ops in sizes]
    found = fit_transfer(points)
    assert found.elapsed_ns(1_000_000, 10) == pytest.approx(1_000_000, rel=1e-4)
    assert found.elapsed_ns(1_000, 10) == pytest.approx(101_000, rel=1e-3)


def test_a_prefill_law_is_found_again() -> None:  # spec: COST-4
    found = fit_prefill(prefills(PREFILL))
    assert found.chunk_ns == pytest.approx(PREFILL.chunk_ns, rel=1e-6)
    assert found.token_ns_q32 == pytest.approx(PREFILL.token_ns_q32, rel=1e-6)
    assert found.attention_pair_ns_q32 == pytest.approx(PREFILL.attention_pair_ns_q32, rel=1e-5)
    assert (found.vision_item_ns, found.vision_patch_ns_q32) == (0, 0)


def test_no_coefficient_is_negative() -> None:
    """Long prefills a little too quick: a plain solution would pay attention back."""
    quick = [
        TimedPrefill(work, took_ns * (0.7 if work.attention_pairs_count > 10**6 else 1.0))
        for work, took_ns in prefills(
            PrefillTiming(chunk_ns=10**6, token_ns_q32=10**14, attention_pair_ns_q32=0)
        )
    ]
    found = fit_prefill(quick)
    assert found.attention_pair_ns_q32 == 0
    assert found.token_ns_q32 > 0
    assert found.chunk_ns > 0


def test_errors_count_as_parts_of_their_time() -> None:
    """Of two times that one coefficient cannot both explain, neither is preferred for being long:
    the best token term for 100 tokens in 100 ns and 10,000 in 20,000 ns lies near 1.2 ns, where a
    fit of absolute errors would say 2 ns.
    """
    works = [PrefillWork(reused_tokens=0, suffix_tokens=n, chunk_count=1) for n in (100, 10_000)]
    one_each = [TimedPrefill(works[0], 100.0), TimedPrefill(works[1], 20_000.0)]
    found = fit_prefill(one_each)
    errors = [found.elapsed_ns(work) / took_ns - 1 for work, took_ns in one_each]
    assert abs(errors[0]) < 0.2
    assert abs(errors[1]) < 0.2


def test_a_short_batch_weighs_as_much_as_a_long_one() -> None:
    """Batches that no roofline explains: long ones twice as slow a byte as middle ones. A fit of
    absolute errors would serve the long ones alone.
    """
    misfit = [TimedBatch(1_000_000, 1, 1_000_000.0), TimedBatch(100_000_000, 1, 200_000_000.0)]
    found = fit_transfer(misfit)
    errors = [found.elapsed_ns(payload, 1) / took_ns - 1 for payload, _, took_ns in misfit]
    assert errors[0] == pytest.approx(0.2, abs=0.01)
    assert errors[1] == pytest.approx(-0.4, abs=0.01)
