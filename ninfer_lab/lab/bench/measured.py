"""What did one row find, and does that meet the project's goal?

Owns the kinds of finding, their goals, and how each is written in words. Does not know how
anything was timed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from ninfer_lab.lab.bench.interleaved import Interleaved, Spread


class Bound(Enum):
    """On which side of a goal a figure must lie."""

    AT_LEAST = "≥"
    AT_MOST = "≤"


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What the project promises of a figure."""

    bound: Bound
    figure: float

    def holds(self, figure: float) -> bool:
        match self.bound:
            case Bound.AT_LEAST:
                return figure >= self.figure
            case Bound.AT_MOST:
                return figure <= self.figure
            case _:
                assert_never(self.bound)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The Engine beside transformers.

    Attributes:
        timed: Ours is the Engine.
        unit_tokens: Tokens (or decode steps) of one repeat; times are shown for each of them if
            `is_per_unit`, else for the whole.
    """

    timed: Interleaved
    unit_tokens: int
    is_per_unit: bool

    @property
    def figure(self) -> float:
        """How many times faster the Engine is."""
        return self.timed.times_faster.middle

    @property
    def ours_text(self) -> str:
        return self._time(self.timed.ours_ns)

    @property
    def other_text(self) -> str:
        return self._time(self.timed.other_ns)

    def _time(self, took_ns: float) -> str:
        if self.is_per_unit:
            return f"{took_ns / self.unit_tokens / 1e6:.2f} ms/step"
        return f"{took_ns / 1e6:,.0f} ms ({self.unit_tokens / took_ns * 1e9:,.0f} tok/s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A part of a whole.

    Attributes:
        spread: Fractions, 0.1 being ten percent.
        detail: The two times behind it, in words.
    """

    spread: Spread
    detail: str

    @property
    def figure(self) -> float:
        return self.spread.middle


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """A duration of its own, in seconds."""

    figure: float
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How many a second.

    Attributes:
        detail: How many what, in words.
    """

    spread: Spread
    detail: str

    @property
    def figure(self) -> float:
        return self.spread.middle


@dataclass(frozen=True, slots=True, kw_only=True)
class NotMeasured:
    """A row that needs what is not here.

    Attributes:
        detail: What, and how to have it.
    """

    detail: str


Measured = Compared | Share | Took | Rate | NotMeasured


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line of a table.

    Attributes:
        name: Of the row, parts joined by slashes.
        goal: `None` where the project promises nothing.
    """

    name: str
    work: str
    measured: Measured
    goal: Goal | None

    @property
    def holds(self) -> bool | None:
        """Whether the goal is met; `None` without one, or without a figure."""
        if self.goal is None or isinstance(self.measured, NotMeasured):
            return None
        return self.goal.holds(self.measured.figure)

    @property
    def figure_text(self) -> str:
        match self.measured:
            case Compared(timed=timed):
                spread = timed.times_faster
                return f"{spread.middle:.2f}x ({spread.low:.2f} to {spread.high:.2f})"
            case Share(spread=spread):
                return f"{spread.middle:.1%} ({spread.low:.1%} to {spread.high:.1%})"
            case Took(figure=seconds):
                return f"{seconds:.3f} s" if seconds < 1.0 else f"{seconds:.1f} s"
            case Rate(spread=spread):
                return f"{spread.middle:,.0f}/s ({spread.low:,.0f} to {spread.high:,.0f})"
            case NotMeasured():
                return "not measured"
            case _:
                assert_never(self.measured)

    @property
    def goal_text(self) -> str:
        """The goal, and whether it is met."""
        if self.goal is None:
            return "none"
        match self.measured:
            case Compared():
                text = f"{self.goal.figure:.1f}x"
            case Share():
                text = f"{self.goal.figure:.0%}"
            case Took():
                text = f"{self.goal.figure:g} s"
            case Rate():
                text = f"{self.goal.figure:,.0f}/s"
            case NotMeasured():
                return "open"
            case _:
                assert_never(self.measured)
        return f"{self.goal.bound.value} {text} {'yes' if self.holds else 'NO'}"
