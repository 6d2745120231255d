"""How are two sides timed so that a busy machine does not decide who is faster?

Owns the interleaving: the sides take turns, neighbours form a pair, and what is reported are
medians over pairs. Slow minutes of the machine then fall on both sides. Does not know what is
timed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

TimedRepeat = Callable[[int], int]
"""Runs the repeat of this number, counted from 0, and says how many ns it took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A median and the quartiles around it."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Of at least one value; a single one is its own quartiles.

        Example:
            >>> Spread.of([3.0, 1.0, 2.0])
            Spread(low=1.5, middle=2.0, high=2.5)
        """
        if len(values) == 1:
            return cls(low=values[0], middle=values[0], high=values[0])
        low, _, high = quantiles(values, n=4, method="inclusive")
        return cls(low=low, middle=median(values), high=high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two neighbouring repeats, one of each side."""

    ours_ns: int
    other_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Interleaved:
    """Pairs in the order they were run; at least one."""

    pairs: tuple[Pair, ...]

    @property
    def ours_ns(self) -> float:
        """Median of one side."""
        return median(pair.ours_ns for pair in self.pairs)

    @property
    def other_ns(self) -> float:
        """Median of the other."""
        return median(pair.other_ns for pair in self.pairs)

    @property
    def times_faster(self) -> Spread:
        """How many times faster ours is, pair by pair."""
        return Spread.of([pair.other_ns / pair.ours_ns for pair in self.pairs])

    @property
    def share(self) -> Spread:
        """Which part of the other's time ours takes, pair by pair."""
        return Spread.of([pair.ours_ns / pair.other_ns for pair in self.pairs])


def interleave(ours: TimedRepeat, other: TimedRepeat, *, repeat_count: int) -> Interleaved:
    """Warms both sides up with repeat 0, then times `repeat_count` pairs.

    The side that goes first changes with every pair, so that neither always meets what the other
    left behind in the processor's caches.

    Raises:
        ValueError: Less than one repeat.
    """
    if repeat_count < 1:
        raise ValueError(f"repeat_count: found {repeat_count}; legal: >= 1")
    ours(0)
    other(0)
    pairs = []
    for repeat in range(1, repeat_count + 1):
        if repeat % 2:
            ours_ns = ours(repeat)
            other_ns = other(repeat)
        else:
            other_ns = other(repeat)
            ours_ns = ours(repeat)
        pairs.append(Pair(ours_ns=ours_ns, other_ns=other_ns))
    return Interleaved(pairs=tuple(pairs))
