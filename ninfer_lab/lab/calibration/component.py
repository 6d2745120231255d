"""What came of measuring copies, or prefill?

Owns the two results: samples, the coefficients fitted to them, the verdict, and how firmly each
coefficient stands. That is found by the bootstrap: repeats are drawn again with replacement, point
by point, and the fit is made anew, so an interval says what noise may have done to a coefficient,
and nothing about whether the law has the right form. Does not know how anything was measured, nor
what a preset file looks like.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import TypeVar

from ninfer_lab.contract.device_timing import PrefillTiming, TransferTiming, TransferTimings
from ninfer_lab.contract.fixed_point import Q32_ONE
from ninfer_lab.contract.machine_work import TransferDirection
from ninfer_lab.lab.calibration.fits import TimedBatch, TimedPrefill, fit_prefill, fit_transfer
from ninfer_lab.lab.calibration.grid import Part, PrefillPoint, TransferPoint
from ninfer_lab.lab.calibration.judgement import (
    PREFILL_LIMIT,
    TRANSFER_LIMIT,
    Judgement,
    Residual,
)
from ninfer_lab.lab.calibration.samples import Sample

RESAMPLES_COUNT = 100
"""Five of them lie below the fifth percentile: enough to see which coefficients stand firmly."""

BOOTSTRAP_SEED = 11

Point = TypeVar("Point", TransferPoint, PrefillPoint)
Timing = TypeVar("Timing", TransferTiming, PrefillTiming)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """One coefficient and where nine of ten resamples put it.

    Attributes:
        name: With its unit last.
    """

    name: str
    fitted: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTransfers:
    """Copies in all three directions."""

    samples: tuple[Sample[TransferPoint], ...]
    timings: TransferTimings

    @classmethod
    def of(cls, samples: Sequence[Sample[TransferPoint]]) -> MeasuredTransfers:
        """Fits each direction to its training points."""
        d2h, h2d, d2d = (
            fit_transfer([_batch(s, s.median_ns) for s in _training(samples) if _is(s, direction)])
            for direction in (TransferDirection.D2H, TransferDirection.H2D, TransferDirection.D2D)
        )
        timings = TransferTimings(d2h=d2h, h2d=h2d, d2d=d2d)
        return cls(samples=tuple(samples), timings=timings)

    @property
    def judgement(self) -> Judgement:
        """Against every point."""
        residuals = (
            Residual(
                name=str(sample.point),
                group=sample.point.direction.value,
                part=sample.point.part,
                measured_ns=sample.median_ns,
                predicted_ns=self.timings.of(sample.point.direction).elapsed_ns(
                    sample.point.payload_bytes, sample.point.operation_count
                ),
                noise=sample.standard_error,
            )
            for sample in self.samples
        )
        return Judgement(residuals=tuple(residuals), limit=TRANSFER_LIMIT)

    def intervals(self, direction: TransferDirection) -> tuple[Interval, ...]:
        """Of one direction's three coefficients."""
        samples = [s for s in _training(self.samples) if _is(s, direction)]

        def fit(took_ns: Sequence[float]) -> TransferTiming:
            batches = [_batch(s, took) for s, took in zip(samples, took_ns, strict=True)]
            return fit_transfer(batches)

        return _intervals(self.timings.of(direction), samples, fit, transfer_coefficients)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPrefill:
    """Text prefill of one model."""

    samples: tuple[Sample[PrefillPoint], ...]
    timing: PrefillTiming

    @classmethod
    def of(cls, samples: Sequence[Sample[PrefillPoint]]) -> MeasuredPrefill:
        """Fits the training points."""
        timing = fit_prefill([TimedPrefill(s.point.work, s.median_ns) for s in _training(samples)])
        return cls(samples=tuple(samples), timing=timing)

    @property
    def chunk_tokens(self) -> int:
        """What one forward takes at most."""
        return self.samples[0].point.chunk_tokens

    @property
    def judgement(self) -> Judgement:
        """Against every point."""
        residuals = (
            Residual(
                name=str(sample.point),
                group="prefill",
                part=sample.point.part,
                measured_ns=sample.median_ns,
                predicted_ns=self.timing.elapsed_ns(sample.point.work),
                noise=sample.standard_error,
            )
            for sample in self.samples
        )
        return Judgement(residuals=tuple(residuals), limit=PREFILL_LIMIT)

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """Of the three coefficients."""
        samples = _training(self.samples)

        def fit(took_ns: Sequence[float]) -> PrefillTiming:
            pairs = zip(samples, took_ns, strict=True)
            return fit_prefill([TimedPrefill(s.point.work, took) for s, took in pairs])

        return _intervals(self.timing, samples, fit, prefill_coefficients)


def transfer_coefficients(timing: TransferTiming) -> dict[str, float]:
    """In units that a person reads."""
    return {
        "batch_us": timing.batch_ns / 1e3,
        "operation_us": timing.operation_ns / 1e3,
        "ns_per_KiB": timing.ns_per_byte_q32 / Q32_ONE * 1024,
    }


def prefill_coefficients(timing: PrefillTiming) -> dict[str, float]:
    """In units that a person reads."""
    return {
        "chunk_ms": timing.chunk_ns / 1e6,
        "token_us": timing.token_ns_q32 / Q32_ONE / 1e3,
        "pair_ns": timing.attention_pair_ns_q32 / Q32_ONE,
    }


def _intervals(
    fitted: Timing,
    samples: Sequence[Sample[Point]],
    fit: Callable[[Sequence[float]], Timing],
    coefficients: Callable[[Timing], dict[str, float]],
) -> tuple[Interval, ...]:
    random = Random(BOOTSTRAP_SEED)
    drawn = [
        coefficients(fit([_resampled(sample.repeats_ns, random) for sample in samples]))
        for _ in range(RESAMPLES_COUNT)
    ]
    edge = RESAMPLES_COUNT // 20
    found = []
    for name, value in coefficients(fitted).items():
        ascending = sorted(each[name] for each in drawn)
        found.append(
            Interval(name=name, fitted=value, low=ascending[edge], high=ascending[-1 - edge])
        )
    return tuple(found)


def _resampled(repeats_ns: Sequence[int], random: Random) -> float:
    return float(median(random.choices(repeats_ns, k=len(repeats_ns))))


def _training(samples: Sequence[Sample[Point]]) -> list[Sample[Point]]:
    return [sample for sample in samples if sample.point.part is Part.TRAINING]


def _is(sample: Sample[TransferPoint], direction: TransferDirection) -> bool:
    return sample.point.direction is direction


def _batch(sample: Sample[TransferPoint], took_ns: float) -> TimedBatch:
    point = sample.point
    return TimedBatch(point.payload_bytes, point.operation_count, took_ns)
