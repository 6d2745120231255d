"""Is a fit good enough to be believed?

Owns the verdict: how far predictions lie from measured times, on points that were fitted to and on
points that were held out, and whether they put any two clearly different times in the wrong order.
Does not know how the fit was made.
Source: the thresholds of the original engine's calibration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from ninfer_lab.lab.calibration.grid import Part

TRANSFER_LIMIT = 0.35
"""Of the 95th percentile of relative errors, for copies."""

PREFILL_LIMIT = 0.15
"""The same for prefill."""

CLEARLY = 1.2
"""Two measured times are clearly different if the longer is more than this many times the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Residual:
    """One point, measured and predicted.

    Attributes:
        name: Of the point.
        group: Points of one group are compared with each other: a direction, or prefill.
        noise: Standard error of the measured median, as a part of it.
    """

    name: str
    group: str
    part: Part
    measured_ns: float
    predicted_ns: int
    noise: float

    @property
    def error(self) -> float:
        """Part of the measured time that the prediction is too long, or if negative too short."""
        return (self.predicted_ns - self.measured_ns) / self.measured_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """All points of one component, and what follows from them.

    Attributes:
        limit: Of the 95th percentile of relative errors.
    """

    residuals: tuple[Residual, ...]
    limit: float

    def worst(self, part: Part) -> float:
        """The 95th percentile of relative errors: of fewer than twenty points, the largest."""
        errors = sorted(abs(each.error) for each in self.residuals if each.part is part)
        return errors[ceil(0.95 * len(errors)) - 1] if errors else 0.0

    @property
    def misordered(self) -> tuple[tuple[Residual, Residual], ...]:
        """Pairs (quicker, slower) that are clearly different and predicted the other way round."""
        groups = {each.group for each in self.residuals}
        return tuple(pair for group in sorted(groups) for pair in _misordered(self._group(group)))

    @property
    def faults(self) -> tuple[str, ...]:
        """Why it is rejected, one sentence each; none if it is accepted."""
        found = [
            f"{part.value}: relative error {self.worst(part):.0%} at the 95th percentile;"
            f" limit {self.limit:.0%}"
            for part in Part
            if self.worst(part) > self.limit
        ]
        wrong = self.misordered
        if wrong:
            quicker, slower = wrong[0]
            more = f" (and {len(wrong) - 1} more pairs)" if len(wrong) > 1 else ""
            found.append(f"order: {slower.name} predicted below {quicker.name}{more}")
        return tuple(found)

    @property
    def is_accepted(self) -> bool:
        """Whether it may be written into a preset file."""
        return not self.faults

    def _group(self, group: str) -> list[Residual]:
        return [each for each in self.residuals if each.group == group]


def _misordered(residuals: Sequence[Residual]) -> list[tuple[Residual, Residual]]:
    return [
        (quicker, slower)
        for quicker in residuals
        for slower in residuals
        if slower.measured_ns > CLEARLY * quicker.measured_ns
        and slower.predicted_ns < quicker.predicted_ns
    ]
