"""What was measured at each point?

Owns a point with its repeats, and the order in which repeats are taken: round after round over all
points, each round in another order, so that a slow minute of the machine falls on no point alone
and none always meets what the same neighbour left in a cache. Does not know what is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from random import Random
from statistics import median
from typing import Generic, TypeVar

Point = TypeVar("Point")

Measurer = Callable[[], int]
"""Does the work of a point once and says what it took, ns."""

Tick = Callable[[], None]
"""Called after each measurement."""

MAD_OF_A_SIGMA = 1.4826
"""How many median deviations one standard deviation of a normal distribution is."""

SIGMA_OF_A_MEDIAN = 1.2533
"""How much less sharp than a mean the median of a normal distribution is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample(Generic[Point]):
    """One point and the repeats that were kept, in the order they were taken; at least one."""

    point: Point
    repeats_ns: tuple[int, ...]

    @property
    def median_ns(self) -> float:
        """What a fit sees."""
        return float(median(self.repeats_ns))

    @property
    def spread(self) -> float:
        """Half of the repeats lie within this part of the median on either side."""
        middle = self.median_ns
        return float(median(abs(each - middle) for each in self.repeats_ns)) / middle

    @property
    def standard_error(self) -> float:
        """Of the median, as a part of it: how well the point is known."""
        return SIGMA_OF_A_MEDIAN * MAD_OF_A_SIGMA * self.spread / sqrt(len(self.repeats_ns))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """How often everything is measured.

    Attributes:
        warm_up_count: Rounds that are thrown away.
        kept_count: Rounds that are kept, at least one.
    """

    warm_up_count: int
    kept_count: int

    @property
    def count(self) -> int:
        return self.warm_up_count + self.kept_count


def take_samples(
    measurers: Sequence[tuple[Point, Measurer]], rounds: Rounds, seed: int, tick: Tick
) -> tuple[Sample[Point], ...]:
    """Measures every point once a round.

    Args:
        measurers: Each point with its own.
        rounds: Kept and not kept.
        seed: Of the orders.
        tick: After each measurement.

    Returns:
        A sample for each point, in the order they were given.
    """
    taken: list[list[int]] = [[] for _ in measurers]
    random = Random(seed)
    for ordinal in range(rounds.count):
        for i in random.sample(range(len(measurers)), len(measurers)):
            took_ns = measurers[i][1]()
            if ordinal >= rounds.warm_up_count:
                taken[i].append(took_ns)
            tick()
    return tuple(
        Sample(point=point, repeats_ns=tuple(repeats))
        for (point, _), repeats in zip(measurers, taken, strict=True)
    )
