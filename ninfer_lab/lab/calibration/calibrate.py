"""What do copies and prefill cost on this machine?

Owns the run: which suites, how often, on which model; and `MachineBench`, the little that measuring
needs to know of a machine, behind which real tensors stand or numbers that somebody made up. What
comes of a run is a `Calibration`; nothing is written here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Protocol

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.lab.calibration.calibration import Calibration, MeasuredOn
from ninfer_lab.lab.calibration.component import MeasuredPrefill, MeasuredTransfers
from ninfer_lab.lab.calibration.grid import (
    PrefillPoint,
    TransferPoint,
    prefill_grid,
    transfer_grid,
)
from ninfer_lab.lab.calibration.progress import progress
from ninfer_lab.lab.calibration.samples import Measurer, Rounds, take_samples

ROUND_SEED = 11
"""Of the order of points in each round."""


class Suite(Enum):
    """What is measured."""

    ALL = "all"
    TRANSFER = "transfer"
    PREFILL = "prefill"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How often each suite is measured."""

    transfer: Rounds
    prefill: Rounds


FULL_EFFORT = Effort(
    transfer=Rounds(warm_up_count=2, kept_count=61),
    prefill=Rounds(warm_up_count=2, kept_count=61),
)
"""About three minutes on two cores and the small model."""

QUICK_EFFORT = Effort(
    transfer=Rounds(warm_up_count=1, kept_count=11),
    prefill=Rounds(warm_up_count=1, kept_count=9),
)
"""About 25 s there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationRequest:
    """What a person asks for.

    Attributes:
        suite: Of copies, of prefill, or of both.
        is_quick: Few repeats: wider intervals, and a fit that is rejected more easily.
        checkpoint: Folder of the model whose prefill is measured; the small trained one by default.
        device: `cpu` or `cuda`.
        dtype: Of the model's weights and KV.
        chunk_tokens: Prefill chunk; the engine's default by default.
        shows_progress: Whether a bar is drawn.
    """

    suite: Suite = Suite.ALL
    is_quick: bool = False
    checkpoint: Path | None = None
    device: str = "cpu"
    dtype: ModelDtype = ModelDtype.FLOAT32
    chunk_tokens: int = 1024
    shows_progress: bool = True

    @property
    def effort(self) -> Effort:
        return QUICK_EFFORT if self.is_quick else FULL_EFFORT


class MachineBench(Protocol):
    """A machine that can be measured."""

    @property
    def measured_on(self) -> MeasuredOn:
        """What it is, and what its times depend on."""
        ...

    def transfer_measurers(
        self, points: Sequence[TransferPoint]
    ) -> Sequence[tuple[TransferPoint, Measurer]]:
        """Each point with what carries it out once and says what it took."""
        ...

    def prefill_measurers(
        self, points: Sequence[PrefillPoint]
    ) -> Sequence[tuple[PrefillPoint, Measurer]]:
        """The same of prefills."""
        ...


def calibrate(
    request: CalibrationRequest | None = None, *, bench: MachineBench | None = None
) -> Calibration:
    """Measures this machine and fits the cost model to it.

    Args:
        request: Both suites on a CPU and the small model, in about three minutes, by default.
        bench: What is measured; real tensors as the request says by default.

    Returns:
        Samples, coefficients and the verdict on them. Nothing is written.

    Raises:
        OptionsError: A chunk or a device that cannot be measured.
        CheckpointError: A checkpoint that cannot be served.
    """
    request = request or CalibrationRequest()
    chosen_transfer, chosen_prefill = _points(request)
    machine = bench or _tensor_bench(request)
    is_shown = request.shows_progress
    transfers = prefill = None
    if chosen_transfer:
        rounds = request.effort.transfer
        measurers = machine.transfer_measurers(chosen_transfer)
        with progress("copies", len(measurers) * rounds.count, is_shown=is_shown) as tick:
            samples = take_samples(measurers, rounds, ROUND_SEED, tick)
        transfers = MeasuredTransfers.of(samples)
    if chosen_prefill:
        rounds = request.effort.prefill
        prefill_measurers = machine.prefill_measurers(chosen_prefill)
        with progress("prefill", len(prefill_measurers) * rounds.count, is_shown=is_shown) as tick:
            prefill_samples = take_samples(prefill_measurers, rounds, ROUND_SEED, tick)
        prefill = MeasuredPrefill.of(prefill_samples)
    return Calibration(measured_on=machine.measured_on, transfers=transfers, prefill=prefill)


def _points(
    request: CalibrationRequest,
) -> tuple[tuple[TransferPoint, ...], tuple[PrefillPoint, ...]]:
    wants_transfer = request.suite in (Suite.ALL, Suite.TRANSFER)
    wants_prefill = request.suite in (Suite.ALL, Suite.PREFILL)
    return (
        transfer_grid() if wants_transfer else (),
        prefill_grid(request.chunk_tokens) if wants_prefill else (),
    )


def suite_named(name: str) -> Suite:
    """The suite of that name.

    Raises:
        OptionsError: There is none.
    """
    suites = {suite.value: suite for suite in Suite}
    if name not in suites:
        raise OptionsError("suite", found=name, legal=" or ".join(suites))
    return suites[name]


def dtype_named(name: str) -> ModelDtype:
    """The element type of that name.

    Raises:
        OptionsError: There is none.
    """
    dtypes = {dtype.value: dtype for dtype in ModelDtype}
    if name not in dtypes:
        raise OptionsError("dtype", found=name, legal=" or ".join(dtypes))
    return dtypes[name]


def _tensor_bench(request: CalibrationRequest) -> MachineBench:
    from ninfer_lab.lab.calibration.tensor_bench import TensorBench  # torch

    return TensorBench(checkpoint=request.checkpoint, device=request.device, dtype=request.dtype)
