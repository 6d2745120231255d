"""How is each row measured?

Owns the measuring of one row: both sides loaded, the same prompts for both, interleaved repeats,
and the check that in float32 both draw the same tokens, for a side that computes something else may
be fast. Does not know which rows there are, nor how findings are shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import assert_never

from ninfer_lab.contract.clock import Clock
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import SessionKey
from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.contract.options import CacheMode
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.lab.bench.checkpoints import SEED, BenchCheckpoint, checkpoint_folder
from ninfer_lab.lab.bench.engine_side import EngineSide
from ninfer_lab.lab.bench.interleaved import Spread, interleave
from ninfer_lab.lab.bench.measured import (
    Compared,
    Finding,
    Measured,
    NotMeasured,
    Rate,
    Share,
    Took,
)
from ninfer_lab.lab.bench.planner_side import decisions_only, no_pressure, pressure, regret
from ninfer_lab.lab.bench.program_side import projections
from ninfer_lab.lab.bench.rows import (
    BookkeepingRow,
    DecisionsOnlyRow,
    DecodeRow,
    ImportRow,
    NoPressureRow,
    NotebookRow,
    PrefillRow,
    PressureRow,
    ProjectionRow,
    RecorderRow,
    RegretRow,
    ReplayRow,
    ResumeRow,
    Row,
    SimulatedRow,
)
from ninfer_lab.lab.bench.simulated_side import (
    SMALL_REQUESTS,
    ReplayCost,
    in_fresh_process,
    recorder_shares,
    replay_cost,
    requests_per_second,
)
from ninfer_lab.lab.bench.start_up import import_seconds
from ninfer_lab.lab.traces.reading import trace_path
from ninfer_lab.lab.traces.trace import TraceError
from ninfer_lab.models.qwen3_5.config import read_geometry

CHECKED_TOKENS = 8
"""Tokens per row that both sides must draw alike in float32; beyond, a near tie may part them."""

NOTEBOOK_CELL_LIMIT_S = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much is repeated.

    Attributes:
        prefill_repeats: Pairs of a prefill.
        decode_repeats: Pairs of decode blocks.
        decode_block_steps: Steps of one block.
        simulated_repeats: Of small simulated requests.
        replay_limit_requests: How much of a trace; `None` is all of it.
        planner_repeats: Of one decision.
        regret_limit_problems: How many generated problems; `None` is all that a row wants.
        projection_repeats: Of some targets.
    """

    prefill_repeats: int
    decode_repeats: int
    decode_block_steps: int
    simulated_repeats: int
    replay_limit_requests: int | None
    planner_repeats: int
    regret_limit_problems: int | None
    projection_repeats: int


FULL_EFFORT = Effort(
    prefill_repeats=9,
    decode_repeats=15,
    decode_block_steps=16,
    simulated_repeats=15,
    replay_limit_requests=None,
    planner_repeats=5,
    regret_limit_problems=None,
    projection_repeats=15,
)
QUICK_EFFORT = Effort(
    prefill_repeats=1,
    decode_repeats=1,
    decode_block_steps=CHECKED_TOKENS,
    simulated_repeats=1,
    replay_limit_requests=50,
    planner_repeats=1,
    regret_limit_problems=3,
    projection_repeats=1,
)


class Studio:
    """Measures rows one after another.

    Args:
        scratch: For checkpoints that are made for the run.
        notebooks: The notebooks by name.
        effort: How much is repeated.
        clock: Times everything.
    """

    def __init__(
        self, *, scratch: Path, notebooks: dict[str, Path], effort: Effort, clock: Clock
    ) -> None:
        self._scratch = scratch
        self._notebooks = notebooks
        self._effort = effort
        self._clock = clock

    def find(self, row: Row) -> Finding:
        """Measures one row; seconds to a minute each.

        Raises:
            InvariantBroken: The two sides did not compute the same.
        """
        return Finding(name=row.name, work=row.work, measured=self._measure(row), goal=row.goal)

    def _measure(self, row: Row) -> Measured:
        match row:
            case PrefillRow():
                return self._prefill(row)
            case DecodeRow():
                return self._decode(row)
            case BookkeepingRow():
                return self._bookkeeping(row)
            case ResumeRow():
                return self._resume(row)
            case SimulatedRow():
                rates = in_fresh_process(requests_per_second, self._effort.simulated_repeats)
                return Rate(spread=Spread.of(rates), detail=SMALL_REQUESTS)
            case RecorderRow():
                shares = in_fresh_process(recorder_shares, self._effort.simulated_repeats)
                return Share(spread=Spread.of(shares), detail="samples of the running stack")
            case ReplayRow():
                return self._replay(row)
            case PressureRow():
                return pressure(self._effort.planner_repeats)
            case DecisionsOnlyRow():
                return decisions_only(self._effort.planner_repeats)
            case NoPressureRow():
                return no_pressure(self._effort.planner_repeats)
            case RegretRow():
                limit = self._effort.regret_limit_problems
                return regret(row.family, row.problems if limit is None else limit)
            case ProjectionRow():
                return projections(row.form, self._effort.projection_repeats)
            case ImportRow():
                return Took(figure=import_seconds(row.module), detail="best of five")
            case NotebookRow():
                return self._notebook(row)
            case _:
                assert_never(row)

    def _prefill(self, row: PrefillRow) -> Compared:
        from ninfer_lab.lab.bench.transformers_side import TransformersSide

        folder = checkpoint_folder(row.checkpoint, self._scratch)
        prompts = _prompts(folder, row.prompt_tokens, self._effort.prefill_repeats + 1)
        other = TransformersSide(folder, row.dtype, clock=self._clock)
        with self._engine(row.checkpoint, row.dtype, context_tokens=row.prompt_tokens + 1) as ours:
            drawn: dict[int, list[int]] = {}

            def run_ours(repeat: int) -> int:
                first = ours.prefill(prompts[repeat])
                drawn.setdefault(repeat, []).append(first.token)
                return first.took_ns

            def run_other(repeat: int) -> int:
                first = other.prefill(prompts[repeat])
                drawn.setdefault(repeat, []).append(first.token)
                return first.took_ns

            timed = interleave(run_ours, run_other, repeat_count=self._effort.prefill_repeats)
        require_alike(row, *zip(*drawn.values(), strict=True))
        return Compared(timed=timed, unit_tokens=row.prompt_tokens, is_per_unit=False)

    def _decode(self, row: DecodeRow) -> Compared:
        from ninfer_lab.lab.bench.transformers_side import TransformersSide

        folder = checkpoint_folder(row.checkpoint, self._scratch)
        prompts = _prompts(folder, row.prompt_tokens, row.lanes)
        steps = self._effort.decode_block_steps
        output_tokens = self._output_tokens(row.lanes)
        context_tokens = row.prompt_tokens + output_tokens
        other = TransformersSide(folder, row.dtype, clock=self._clock)
        other.start_decode(prompts)
        with self._engine(
            row.checkpoint, row.dtype, context_tokens=context_tokens, lanes=row.lanes
        ) as ours:
            ours.start_decode(prompts, output_tokens=output_tokens)
            timed = interleave(
                lambda _: sum(ours.decode(steps).steps_ns),
                lambda _: other.decode(steps),
                repeat_count=self._effort.decode_repeats,
            )
            for tokens, others in zip(ours.drawn_tokens, other.drawn_tokens, strict=True):
                require_alike(row, tokens[:CHECKED_TOKENS], others[:CHECKED_TOKENS])
            ours.stop_decode()
        return Compared(timed=timed, unit_tokens=steps, is_per_unit=True)

    def _bookkeeping(self, row: BookkeepingRow) -> Share:
        folder = checkpoint_folder(row.checkpoint, self._scratch)
        prompts = _prompts(folder, row.prompt_tokens, row.lanes)
        output_tokens = self._output_tokens(row.lanes)
        context_tokens = row.prompt_tokens + output_tokens
        with self._engine(
            row.checkpoint, ModelDtype.FLOAT32, context_tokens=context_tokens, lanes=row.lanes
        ) as ours:
            ours.start_decode(prompts, output_tokens=output_tokens)
            ours.decode(self._effort.decode_block_steps)
            times = ours.decode(self._effort.decode_block_steps * self._effort.decode_repeats)
            ours.stop_decode()
        step_ns = Spread.of(times.steps_ns).middle
        own_ns = Spread.of(
            [
                step - machine
                for step, machine in zip(times.steps_ns, times.machines_ns, strict=True)
            ]
        ).middle
        return Share(
            spread=times.bookkeeping, detail=f"{own_ns / 1e3:.0f} µs of {step_ns / 1e3:,.0f} µs"
        )

    def _resume(self, row: ResumeRow) -> Share:
        folder = checkpoint_folder(row.checkpoint, self._scratch)
        prompts = _prompts(folder, row.prompt_tokens, 2 * (self._effort.prefill_repeats + 1))
        kept_tokens = row.prompt_tokens - row.new_tokens
        with self._engine(
            row.checkpoint, ModelDtype.FLOAT32, context_tokens=row.prompt_tokens + 1
        ) as ours:
            timed = interleave(
                lambda repeat: ours.resume(
                    prompts[2 * repeat],
                    kept_tokens=kept_tokens,
                    session=SessionKey(f"bench {repeat}"),
                ),
                lambda repeat: (
                    ours.prefill(prompts[2 * repeat + 1], mode=CacheMode.DISABLED).took_ns
                ),
                repeat_count=self._effort.prefill_repeats,
            )
        detail = f"{timed.ours_ns / 1e6:,.0f} ms of {timed.other_ns / 1e6:,.0f} ms"
        return Share(spread=timed.share, detail=detail)

    def _replay(self, row: ReplayRow) -> Took | NotMeasured:
        try:
            trace_path(row.trace)
        except TraceError as missing:
            return NotMeasured(detail=str(missing))
        cost = ReplayCost(
            **in_fresh_process(replay_cost, row.trace, self._effort.replay_limit_requests)
        )
        peak = "unknown" if cost.peak_bytes is None else f"{cost.peak_bytes / 2**20:,.0f} MiB"
        detail = (
            f"{cost.replayed_count:,} requests, peak memory {peak},"
            f" {cost.hit_share:.2%} of prompt tokens reused"
        )
        return Took(figure=cost.cpu_s, detail=detail)

    def _notebook(self, row: NotebookRow) -> Took:
        from ninfer_lab.lab.notebooks import run_notebook

        started_ns = self._clock.now_ns()
        run_notebook(self._notebooks[row.notebook], cell_timeout_s=NOTEBOOK_CELL_LIMIT_S)
        return Took(figure=(self._clock.now_ns() - started_ns) / 1e9, detail="once")

    def _output_tokens(self, lanes: int) -> int:
        """Enough for every block, the warm-up, and the steps lanes take while others prefill."""
        blocks = self._effort.decode_repeats + 1
        return blocks * self._effort.decode_block_steps + 2 * lanes + 1

    @contextmanager
    def _engine(
        self, checkpoint: BenchCheckpoint, dtype: ModelDtype, *, context_tokens: int, lanes: int = 1
    ) -> Iterator[EngineSide]:
        side = EngineSide(
            checkpoint_folder(checkpoint, self._scratch),
            dtype,
            lanes=lanes,
            context_tokens=context_tokens,
            clock=self._clock,
        )
        with closing(side):
            yield side


def _prompts(folder: Path, prompt_tokens: int, prompt_count: int) -> tuple[TokenSpan, ...]:
    """Uniform random ids, other ones for every prompt: nothing of one is a prefix of another."""
    random = Random(SEED)
    vocabulary = read_geometry(folder).vocab_size
    return tuple(
        TokenSpan(random.randrange(vocabulary) for _ in range(prompt_tokens))
        for _ in range(prompt_count)
    )


def require_alike(row: PrefillRow | DecodeRow, ours: Sequence[int], others: Sequence[int]) -> None:
    """In bfloat16 the sides round differently, and near ties part them at once."""
    if row.dtype is ModelDtype.FLOAT32 and tuple(ours) != tuple(others):
        raise InvariantBroken(
            f"bench {row.name}", f"the Engine drew {ours}, transformers drew {others}"
        )
