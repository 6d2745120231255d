"""Which coefficients of a law come closest to measured times?

Owns the two fits. Both make the sum of squared *relative* errors smallest, for a planner compares a
restore of a millisecond with a prefill of a second and must be right about both. The roofline of a
direction is searched over a box that its own points bound, ever finer around the best; the prefill
law is linear, so every subset of its terms is solved exactly and the best one without a negative
coefficient is taken. Works on integers and arrays alone: who measured them is unknown here.
Source: laws of COST-3 and COST-4; objective and box as in the original engine's calibration.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ninfer_lab.contract.device_timing import PrefillTiming, TransferTiming
from ninfer_lab.contract.fixed_point import Q32_ONE
from ninfer_lab.contract.machine_work import PrefillWork

Floats = NDArray[np.float64]

BOX_SLACK = 1.25
"""A coefficient alone never explains more than the whole of its fastest point, give or take noise;
the box ends this much above."""

CELLS_COUNT = 12
"""Cells on each axis of the box."""

SHRINKAGE = 3
"""The box shrinks to a third around its best corner: two cells stay on either side of it."""

REFINEMENTS_COUNT = 10
"""Times that it shrinks: a cell is below two millionths of a coefficient's bound then."""


class TimedBatch(NamedTuple):
    """One batch of copies of one direction, and what it took."""

    payload_bytes: int
    operation_count: int
    took_ns: float


class TimedPrefill(NamedTuple):
    """One prefill, and what it took."""

    work: PrefillWork
    took_ns: float


def fit_transfer(batches: Sequence[TimedBatch]) -> TransferTiming:
    """The roofline of one direction (COST-3).

    Args:
        batches: At least one; each of some bytes, some calls, and more than no time.
    """
    columns = np.array(batches, dtype=np.float64)
    payload, calls, took = columns.T
    bounds = BOX_SLACK * np.array([took.min(), (took / calls).min(), (took / payload).min()])
    low, width = np.zeros(3), bounds
    best = bounds / 2
    for _ in range(1 + REFINEMENTS_COUNT):
        batch_ns, operation_ns, byte_ns = axes = np.linspace(low, low + width, CELLS_COUNT + 1).T
        latency = batch_ns[:, None, None] + operation_ns[:, None] * calls
        bandwidth = byte_ns[:, None] * payload
        predicted = np.maximum(latency[:, :, None], bandwidth)
        losses = ((predicted / took - 1.0) ** 2).sum(axis=-1)
        cell = np.unravel_index(int(losses.argmin()), losses.shape)
        best = axes[np.arange(3), cell]
        width = width / SHRINKAGE
        low = np.clip(best - width / 2, 0.0, bounds - width)
    batch, operation, byte = best
    return TransferTiming(
        batch_ns=round(batch),
        operation_ns=round(operation),
        ns_per_byte_q32=round(byte * Q32_ONE),
    )


def fit_prefill(prefills: Sequence[TimedPrefill]) -> PrefillTiming:
    """Chunk, token and pair terms, none of them negative (COST-4); vision is not measured.

    Args:
        prefills: At least one, each of more than no time.
    """
    took = np.array([each.took_ns for each in prefills])
    columns = np.array(
        [
            (work.chunk_count, work.suffix_tokens, work.attention_pairs_count)
            for work, _ in prefills
        ],
        dtype=np.float64,
    )
    scale = columns.max(axis=0)
    chunk, token, pair = _non_negative(columns / scale / took[:, None]) / scale
    return PrefillTiming(
        chunk_ns=round(chunk),
        token_ns_q32=round(token * Q32_ONE),
        attention_pair_ns_q32=round(pair * Q32_ONE),
    )


def _non_negative(columns: Floats) -> Floats:
    """The x >= 0 that brings every row's product closest to 1.

    The best such x solves the plain problem on the columns where it is not zero, so it is among the
    plain solutions of all subsets; of three columns there are seven.
    """
    ones = np.ones(len(columns))
    best, best_loss = np.zeros(columns.shape[1]), float(len(columns))
    for size in range(1, columns.shape[1] + 1):
        for chosen in map(list, combinations(range(columns.shape[1]), size)):
            solution = np.linalg.lstsq(columns[:, chosen], ones, rcond=None)[0]
            if (solution < 0.0).any():
                continue
            loss = float(((columns[:, chosen] @ solution - ones) ** 2).sum())
            if loss < best_loss:
                best, best_loss = np.zeros(columns.shape[1]), loss
                best[chosen] = solution
    return best
