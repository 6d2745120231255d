"""Which rows does `make bench` have, and what does each promise?

Owns the list: what is run, on which checkpoint, against which goal. Does not know how a row is
timed (`measure`).
Source: the project's promises of speed, in its README.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.lab.bench.checkpoints import BenchCheckpoint
from ninfer_lab.lab.bench.measured import Bound, Goal


class RegretFamily(Enum):
    """Which generated worlds (`lab.regret`)."""

    SMALL = "small"
    WIDE = "wide"


class ProjectionForm(Enum):
    """How a target is projected."""

    WHOLE = "from scratch"
    NEIGHBOUR = "one owner changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefillRow:
    """A prompt from nothing to its first token, against transformers."""

    checkpoint: BenchCheckpoint
    dtype: ModelDtype
    prompt_tokens: int
    goal: Goal

    @property
    def name(self) -> str:
        return f"{self.checkpoint.value}/{self.dtype.value}/prefill-{self.prompt_tokens}"

    @property
    def work(self) -> str:
        return f"prefill of {self.prompt_tokens:,} tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeRow:
    """Decode steps of several requests together, against transformers."""

    checkpoint: BenchCheckpoint
    dtype: ModelDtype
    lanes: int
    prompt_tokens: int
    goal: Goal

    @property
    def name(self) -> str:
        place = f"{self.checkpoint.value}/{self.dtype.value}"
        return f"{place}/decode-{self.lanes}x{self.prompt_tokens}"

    @property
    def work(self) -> str:
        return f"decode, batch {self.lanes}, behind {self.prompt_tokens:,} tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class BookkeepingRow:
    """What a decode step takes beside its machine."""

    checkpoint: BenchCheckpoint
    lanes: int
    prompt_tokens: int
    goal: Goal

    @property
    def name(self) -> str:
        return f"bookkeeping/{self.checkpoint.value}/decode-{self.lanes}x{self.prompt_tokens}"

    @property
    def work(self) -> str:
        return (
            f"`{self.checkpoint.value}`, decode step, batch {self.lanes}: the Engine's own"
            " bookkeeping / step"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeRow:
    """The end of a prompt whose beginning the session left behind, against the whole prompt."""

    checkpoint: BenchCheckpoint
    prompt_tokens: int
    new_tokens: int
    goal: Goal

    @property
    def name(self) -> str:
        return f"resume/{self.checkpoint.value}/{self.new_tokens}-of-{self.prompt_tokens}"

    @property
    def work(self) -> str:
        return (
            f"`{self.checkpoint.value}`, resume of the last {self.new_tokens} of"
            f" {self.prompt_tokens:,} tokens / cold prefill"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRow:
    """A module imported by a fresh process."""

    module: str
    goal: Goal | None

    @property
    def name(self) -> str:
        return f"import/{self.module}"

    @property
    def work(self) -> str:
        return f"`import {self.module}` in a fresh process"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookRow:
    """A notebook from a fresh kernel, top to bottom."""

    notebook: str

    @property
    def name(self) -> str:
        return f"notebook/{self.notebook}"

    @property
    def work(self) -> str:
        return f"notebook `{self.notebook}`, kernel start included"

    @property
    def goal(self) -> None:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedRow:
    """Small requests through the engine without tensors, per second of one processor."""

    goal: Goal

    @property
    def name(self) -> str:
        return "simulated/requests"

    @property
    def work(self) -> str:
        return "small requests without pressure, simulated at 27B, per CPU second"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecorderRow:
    """What of that goes into telling what happens."""

    goal: Goal

    @property
    def name(self) -> str:
        return "simulated/recorder"

    @property
    def work(self) -> str:
        return "the same requests: recording of decisions / all CPU time"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRow:
    """A public trace from its file to the end of its last request."""

    trace: str

    @property
    def name(self) -> str:
        return f"simulated/{self.trace}"

    @property
    def work(self) -> str:
        return f"replay of the trace `{self.trace}`, simulated at 27B, CPU time"

    @property
    def goal(self) -> None:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class PressureRow:
    """One decision over many owners that some must give way in, J included."""

    goal: Goal

    @property
    def name(self) -> str:
        return "planner/pressure"

    @property
    def work(self) -> str:
        return "a decision over 64 owners under pressure, up to 4,096 targets, CPU time"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionsOnlyRow:
    """The decision of `PressureRow` without what pricing its targets takes."""

    goal: Goal

    @property
    def name(self) -> str:
        return "planner/decisions-only"

    @property
    def work(self) -> str:
        return "the same decision over 64 owners under pressure, J left out, CPU time"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoPressureRow:
    """One decision in which everything fits, which most are."""

    goal: Goal

    @property
    def name(self) -> str:
        return "planner/no-pressure"

    @property
    def work(self) -> str:
        return "a decision over 64 owners with room for the request, CPU time"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegretRow:
    """What decisions cost more than the best, in the worst twentieth of generated problems."""

    family: RegretFamily
    problems: int
    goal: Goal

    @property
    def name(self) -> str:
        return f"planner/regret-{self.family.value}"

    @property
    def work(self) -> str:
        return (
            f"regret of J over {self.problems:,} {self.family.value} worlds, 4,096 targets: the"
            " worst twentieth begins at"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectionRow:
    """Exact projections of complete targets, to every stage's count and every extent's place."""

    form: ProjectionForm
    goal: Goal

    @property
    def name(self) -> str:
        return f"program/projection-{self.form.name.lower()}"

    @property
    def work(self) -> str:
        return (
            f"exact projections per CPU second, {self.form.value}: 64 owners, 6 checkpoints each,"
            " 4,000 pages"
        )


Row = (
    PrefillRow
    | DecodeRow
    | BookkeepingRow
    | ResumeRow
    | SimulatedRow
    | RecorderRow
    | ReplayRow
    | PressureRow
    | DecisionsOnlyRow
    | NoPressureRow
    | RegretRow
    | ProjectionRow
    | ImportRow
    | NotebookRow
)


def all_rows(notebooks: Sequence[str]) -> tuple[Row, ...]:
    """Every row, in the order of the tables.

    Args:
        notebooks: Names of the notebooks, in reading order.
    """
    compared = tuple(
        row
        for checkpoint in (BenchCheckpoint.BENCH_12M, BenchCheckpoint.TINY)
        for dtype in ModelDtype
        for row in _compared(checkpoint, dtype)
    )
    own: tuple[Row, ...] = (
        *(
            BookkeepingRow(
                checkpoint=checkpoint, lanes=lanes, prompt_tokens=512, goal=_at_most(0.10)
            )
            for checkpoint in (BenchCheckpoint.BENCH_12M, BenchCheckpoint.TINY)
            for lanes in (1, 8)
        ),
        *(
            ResumeRow(
                checkpoint=checkpoint, prompt_tokens=4_096, new_tokens=256, goal=_at_most(0.11)
            )
            for checkpoint in (BenchCheckpoint.BENCH_12M, BenchCheckpoint.TINY)
        ),
        SimulatedRow(goal=_at_least(2_000)),
        RecorderRow(goal=_at_most(0.10)),
        ReplayRow(trace="mooncake-conversation"),
        PressureRow(goal=_at_most(1.0)),
        DecisionsOnlyRow(goal=_at_most(0.5)),
        NoPressureRow(goal=_at_most(0.001)),
        RegretRow(family=RegretFamily.SMALL, problems=1_000, goal=_at_most(0.05)),
        RegretRow(family=RegretFamily.WIDE, problems=50, goal=_at_most(0.05)),
        ProjectionRow(form=ProjectionForm.WHOLE, goal=_at_least(20_000)),
        ProjectionRow(form=ProjectionForm.NEIGHBOUR, goal=_at_least(100_000)),
        ImportRow(module="ninfer_lab", goal=_at_most(0.3)),
        ImportRow(module="ninfer_lab.engine.assembly", goal=None),
        *(NotebookRow(notebook=notebook) for notebook in notebooks),
    )
    return (*compared, *own)


def select_rows(rows: Sequence[Row], patterns: Sequence[str]) -> tuple[Row, ...]:
    """The rows whose name matches a shell pattern; all without a pattern.

    Raises:
        OptionsError: A pattern that matches no row.
    """
    for pattern in patterns:
        if not any(fnmatchcase(row.name, pattern) for row in rows):
            raise OptionsError(
                "bench rows", found=pattern, legal="a pattern of " + ", ".join(r.name for r in rows)
            )
    return tuple(
        row
        for row in rows
        if not patterns or any(fnmatchcase(row.name, pattern) for pattern in patterns)
    )


def _compared(checkpoint: BenchCheckpoint, dtype: ModelDtype) -> tuple[PrefillRow | DecodeRow, ...]:
    alone = _at_least(1.3 if dtype is ModelDtype.FLOAT32 else 1.5)
    return (
        *(
            PrefillRow(checkpoint=checkpoint, dtype=dtype, prompt_tokens=tokens, goal=goal)
            for tokens, goal in ((4_096, _at_least(1.2)), (1_024, _at_least(1.0)))
        ),
        *(
            DecodeRow(
                checkpoint=checkpoint, dtype=dtype, lanes=lanes, prompt_tokens=tokens, goal=goal
            )
            for lanes, tokens, goal in (
                (1, 1_024, alone),
                (1, 4_096, alone),
                (8, 512, _at_least(1.3)),
            )
        ),
    )


def _at_least(figure: float) -> Goal:
    return Goal(bound=Bound.AT_LEAST, figure=figure)


def _at_most(figure: float) -> Goal:
    return Goal(bound=Bound.AT_MOST, figure=figure)
