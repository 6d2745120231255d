"""Law: the grids tell apart what the cost model tells apart, and hold some points out."""

from __future__ import annotations

from collections import Counter

import pytest

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.machine_work import PrefillWork, TransferDirection
from ninfer_lab.lab.calibration.grid import (
    MIB,
    Part,
    TransferPoint,
    longest_run_pages,
    prefill_grid,
    transfer_grid,
)
from ninfer_lab.lab.calibration.transfer_side import transfer_of

ACROSS = [p for p in transfer_grid() if p.direction is not TransferDirection.D2D]


def test_every_direction_has_points_to_fit_and_points_to_judge_by() -> None:
    counts = Counter((point.direction, point.part) for point in transfer_grid())
    assert counts == {
        (TransferDirection.D2H, Part.TRAINING): 17,
        (TransferDirection.D2H, Part.HELD_OUT): 10,
        (TransferDirection.H2D, Part.TRAINING): 17,
        (TransferDirection.H2D, Part.HELD_OUT): 10,
        (TransferDirection.D2D, Part.TRAINING): 9,
        (TransferDirection.D2D, Part.HELD_OUT): 6,
    }


def test_bytes_and_calls_vary_apart() -> None:
    """Else the fit could not tell what a byte costs from what a call costs."""
    trained = {(p.payload_bytes, p.operation_count) for p in ACROSS if p.part is Part.TRAINING}
    for size in (1 * MIB, 8 * MIB, 64 * MIB):
        assert {(size, 1), (size, 8)} <= trained


@pytest.mark.parametrize("point", ACROSS, ids=str)
def test_a_transfer_is_what_its_point_says(point: TransferPoint) -> None:  # spec: COST-3
    """A machine counts the calls of a transfer itself: they must be the calls that are fitted."""
    transfer = transfer_of(point, page_granules=1)
    assert transfer.operation_count({KvPool.MAIN: 1}) == point.operation_count
    assert len(transfer.pages) == point.pages_count
    assert len(transfer.states) == point.images_count
    assert len({page.device_page for page in transfer.pages}) == point.pages_count
    last = max((page.device_page for page in transfer.pages), default=-1)
    assert last < longest_run_pages([point])


def test_no_point_is_longer_than_a_context_of_its_model() -> None:
    assert all(p.pages_count <= p.shape.longest_context_pages for p in ACROSS)


def test_prefills_in_units_of_a_chunk() -> None:  # spec: COST-4
    grid = prefill_grid(1024)
    trained = [(p.reused_tokens, p.suffix_tokens) for p in grid if p.part is Part.TRAINING]
    assert trained == [
        (0, 128),
        (0, 512),
        (0, 1024),
        (0, 2048),
        (1024, 128),
        (1024, 512),
        (4096, 128),
        (4096, 1024),
    ]
    held_out = [p for p in grid if p.part is Part.HELD_OUT]
    assert held_out[2].work == PrefillWork(reused_tokens=2048, suffix_tokens=1536, chunk_count=2)
    assert max(p.reused_tokens + p.suffix_tokens for p in grid) == 6 * 1024 + 512
