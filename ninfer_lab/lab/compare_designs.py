"""Which design spares more of the same requests, in the same bytes?

Owns `compare`, which plays traces to every design at every capacity, each run in a process of its
own where that is wanted, and `Comparison`, what came of it, request beside request. Every run is a
replay: the same engine, frontend, scheduler and machine. Does not know how a design works, nor what
the figures say (`compare_statistics`, `compare_figures`).
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ninfer_lab.contract.errors import NinferLabError
from ninfer_lab.contract.recording_options import RecordingOptions
from ninfer_lab.engine.assembly import ControllerFactory
from ninfer_lab.lab.compare_capacity import Capacity, setup
from ninfer_lab.lab.compare_runs import SAID_OF_MODELS, Compared, ComparedRun, run_of
from ninfer_lab.lab.traces.reading import read_trace
from ninfer_lab.lab.traces.replay import replay
from ninfer_lab.lab.traces.replay_client import Replayed
from ninfer_lab.lab.traces.replay_world import ReplayWorld, dense_27b
from ninfer_lab.lab.traces.trace import BlockIds, Trace

if TYPE_CHECKING:
    import polars as pl

    from ninfer_lab.lab.compare_statistics import Paired
    from ninfer_lab.lab.picture import Picture

Designs = Sequence[str] | Mapping[str, ControllerFactory | str]
"""Names of `lab.designs`; or designs, one's own among them, by the names they get in tables."""

COMPARED_RECORDING = RecordingOptions(retained_events=2_000, remembered_tokens=1)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison:
    """Every design at every capacity, over the same requests in the same order.

    Attributes:
        traces: Their names.
        runs: By capacity and then by design, as they were given.
    """

    traces: tuple[str, ...]
    runs: tuple[ComparedRun, ...]

    @property
    def designs(self) -> tuple[str, ...]:
        """Their names, in order."""
        return tuple(dict.fromkeys(run.design for run in self.runs))

    @property
    def capacities(self) -> tuple[Capacity, ...]:
        """In order."""
        return tuple(dict.fromkeys(run.capacity for run in self.runs))

    def run(self, design: str, capacity: Capacity) -> ComparedRun:
        """One of them.

        Raises:
            OptionsError: There is none.
        """
        return run_of(self.runs, design, capacity)

    def paired(
        self, baseline: str, *, draws_count: int = 2_000, seed: int = 0
    ) -> tuple[Paired, ...]:
        """Every other run against the baseline's at the same capacity, with 95 % intervals."""
        from ninfer_lab.lab.compare_statistics import paired

        return paired(self.runs, baseline, draws_count=draws_count, seed=seed)

    @property
    def table(self) -> pl.DataFrame:
        """One row per run."""
        from ninfer_lab.lab.compare_statistics import run_table

        return run_table(self.runs)

    @property
    def figure(self) -> Picture:
        """Hits and time to first token by capacity, a line for each design."""
        from ninfer_lab.lab.compare_figures import by_capacity

        return by_capacity(self.runs)

    def __repr__(self) -> str:
        many = len(self.capacities)
        at = f"{many} capacities" if many > 1 else str(self.capacities[0])
        return f"<Comparison of {len(self.designs)} designs at {at} over {', '.join(self.traces)}>"

    def _repr_html_(self) -> str:
        from ninfer_lab.lab.compare_statistics import whole_tables

        said = html.escape(f"{self!r}\n{SAID_OF_MODELS}")
        with whole_tables():
            return f"{self.table._repr_html_()}<pre>{said}</pre>"

    def __str__(self) -> str:
        from ninfer_lab.lab.compare_statistics import whole_tables

        with whole_tables():
            return f"{self.table}\n{SAID_OF_MODELS}"


def compare(
    traces: Trace | Path | str | Sequence[Trace],
    designs: Designs,
    capacities: Capacity | Sequence[Capacity],
    *,
    world: ReplayWorld | None = None,
    time_scale: float = 1.0,
    limit_requests: int | None = None,
    jobs: int | None = None,
) -> Comparison:
    """Plays the same requests to every design at every capacity.

    Args:
        traces: One by name, path or value; or several, such as one own workload from many seeds.
        designs: By name, or one's own by any name.
        capacities: In bytes.
        world: Model and machine; 27B on one RTX 5090 by default.
        time_scale: Seconds between arrivals per second of the trace.
        limit_requests: Only the first so many of each trace.
        jobs: Processes, as joblib counts them. `None` is one, or what a surrounding
            `joblib.parallel_config` says: with its backends the same call runs on a cluster.

    Raises:
        TraceError: A trace that cannot be found or read.
        OptionsError: A design that is not there, or a capacity that holds no context.
        NinferLabError: Several processes, and joblib is not installed.
    """
    several = traces if isinstance(traces, Sequence) and not isinstance(traces, str) else (traces,)
    found = [each if isinstance(each, Trace) else read_trace(each) for each in several]
    given = capacities if isinstance(capacities, Sequence) else (capacities,)
    chosen = designs if isinstance(designs, Mapping) else {name: name for name in designs}
    world = replace(dense_27b() if world is None else world, recording=COMPARED_RECORDING)
    tasks = [
        _Task(
            name=name,
            design=design,
            capacity=capacity,
            trace=trace,
            world=world,
            time_scale=time_scale,
            limit_requests=limit_requests,
        )
        for capacity in given
        for name, design in chosen.items()
        for trace in found
    ]
    for task in tasks:
        setup(task.design, task.capacity, world)  # what cannot be built is refused before any run
    parts = _in_parallel(tasks, jobs)
    known = [known_tokens(trace, limit_requests) for trace in found]
    runs = []
    for at in range(0, len(tasks), len(found)):
        task, of_traces = tasks[at], parts[at : at + len(found)]
        requests = tuple(
            _compared(ordinal, replayed, known[ordinal][at_request])
            for ordinal, part in enumerate(of_traces)
            for at_request, replayed in enumerate(part.replayed)
        )
        runs.append(
            ComparedRun(
                design=task.name,
                capacity=task.capacity,
                requests=requests,
                held_bytes=sum(part.held_bytes for part in of_traces) // len(found),
                failed_count=sum(each.ttft_ns is None for each in requests),
            )
        )
    return Comparison(traces=tuple(trace.name for trace in found), runs=tuple(runs))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """One run, as it is sent to a process."""

    name: str
    design: ControllerFactory | str
    capacity: Capacity
    trace: Trace
    world: ReplayWorld
    time_scale: float
    limit_requests: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """What comes back."""

    replayed: tuple[Replayed, ...]
    held_bytes: int


def _run(task: _Task) -> _Part:
    built = setup(task.design, task.capacity, task.world)
    done = replay(
        task.trace,
        world=replace(task.world, design=built.design),
        options=built.options,
        time_scale=task.time_scale,
        limit_requests=task.limit_requests,
        shows_progress=False,
    )
    occupancy, device = done.snapshot.ledger.occupancy, task.world.device
    held_states = occupancy.device_state.allocated_count + occupancy.host_state.allocated_count
    held_bytes = (
        held_states * device.state_image_bytes
        + occupancy.device_kv.allocated_count * device.kv_page_bytes
        + occupancy.host_kv.allocated_count
    )
    return _Part(replayed=done.replayed, held_bytes=held_bytes)


def _in_parallel(tasks: Sequence[_Task], jobs: int | None) -> list[_Part]:
    try:
        from joblib import Parallel, delayed  # an extra
    except ModuleNotFoundError:
        if jobs in (None, 1):
            return [_run(task) for task in tasks]
        raise NinferLabError(
            "jobs", found=jobs, legal="1, for joblib is not installed (the extra `notebooks`)"
        ) from None
    return list(Parallel(n_jobs=jobs)(delayed(_run)(task) for task in tasks))


def known_tokens(trace: Trace, limit_requests: int | None = None) -> tuple[int, ...]:
    """How much of each prompt was known already, in whole blocks: what a cache without end and with
    a state everywhere would spare. An answer is known as far as the next prompt shows it.
    """
    seen: _Known = {}
    known = []
    for request in trace.requests[:limit_requests]:
        shared_count = _learn(seen, request.blocks)
        known.append(min(shared_count * trace.block_tokens, max(0, request.input_tokens - 1)))
        if request.followed_by is not None:
            told_tokens = request.input_tokens + request.output_tokens
            follower = trace.requests[request.followed_by]
            _learn(seen, follower.blocks.between(0, told_tokens // trace.block_tokens))
    return tuple(known)


_Known = dict[int, "_Known"]
"""Blocks that came behind a beginning, by id."""


def _learn(seen: _Known, blocks: BlockIds) -> int:
    """Enters blocks; how many of them, from the first on, were there."""
    shared_count, is_new = 0, False
    for id in blocks:
        is_new = is_new or id not in seen
        shared_count += not is_new
        seen = seen.setdefault(id, {})
    return shared_count


def _compared(trace_ordinal: int, replayed: Replayed, known: int) -> Compared:
    asked, served = replayed.asked, replayed.served
    unit = asked.conversation or f"line {asked.line}"
    return Compared(
        unit=f"{trace_ordinal}/{unit}",
        prompt_tokens=asked.input_tokens,
        known_tokens=known,
        hit_tokens=0 if served is None else served.hit_tokens,
        ttft_ns=None if served is None else served.ttft_ns,
    )
