"""What would this engine have made of that trace?

Owns `replay`, which plays the requests of a trace to the simulated engine at the moments they once
came, and `Replay`, what came of it: a table with a line for every request, the totals, and the end
of the recording. Does not know how a trace is read, nor who sends what when (`replay_client`).
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from ninfer_lab.contract.cache_controller import ControllerSnapshot
from ninfer_lab.contract.clock import VirtualClock
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.events import Event
from ninfer_lab.contract.options import EngineOptions
from ninfer_lab.contract.output import FinishReason
from ninfer_lab.lab.traces.prompts import TracePrompts
from ninfer_lab.lab.traces.reading import read_trace
from ninfer_lab.lab.traces.replay_client import (
    HeldBy,
    Progress,
    ReplayAnswers,
    ReplayClient,
    Replayed,
    Served,
)
from ninfer_lab.lab.traces.replay_world import ReplayWorld, dense_27b
from ninfer_lab.lab.traces.trace import Trace

if TYPE_CHECKING:
    import polars as pl

    from ninfer_lab.lab.recording.recording import Recording


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A trace that was played to its end, or to the limit.

    Attributes:
        trace: All of it, also where only its beginning was played.
        replayed: Every request that was played, in the order of the trace.
        events: The last ones that were recorded.
        lost_events_count: Older ones that were not retained.
        snapshot: What the cache design holds at the end.
        time_scale: Seconds of the replay per second of the trace.
        end_ns: When the last request had ended, from the replay's beginning.
    """

    trace: Trace
    world: ReplayWorld
    replayed: tuple[Replayed, ...]
    events: tuple[Event, ...]
    lost_events_count: int
    snapshot: ControllerSnapshot
    time_scale: float
    end_ns: int

    @property
    def served(self) -> tuple[Served, ...]:
        """What became of those that were sent."""
        return tuple(each.served for each in self.replayed if each.served is not None)

    @property
    def refused_count(self) -> int:
        """Requests that were not sent, their prompts being too long for the engine."""
        return len(self.replayed) - len(self.served)

    @property
    def hit_tokens(self) -> int:
        """Prompt tokens that needed no forward."""
        return sum(served.hit_tokens for served in self.served)

    @property
    def prompt_tokens(self) -> int:
        """Of all requests that were sent."""
        return sum(each.asked.input_tokens for each in self.replayed if each.served is not None)

    @property
    def requests(self) -> pl.DataFrame:
        """A line for every request that was played, those that were not sent with nulls."""
        from ninfer_lab.lab.traces.replay_table import request_table  # data frames are an extra

        return request_table(self.replayed)

    @property
    def recording(self) -> Recording:
        """The end of the run as tables, pictures and one file, as far as events were retained."""
        from ninfer_lab.lab.recording.recording import Recording
        from ninfer_lab.lab.recording.run_facts import RunFacts

        facts = RunFacts(
            world=f"{self.trace.name} on {self.world.name}",
            seed=None,
            options=self.world.options.resolve(),
            geometry=self.world.name,
            prefill_signature=self.world.prefill_signature,
            page_bytes=self.world.device.page_bytes,
            package_version=version("ninfer-lab"),
        )
        return Recording(facts=facts, events=self.events, lost_events_count=self.lost_events_count)

    def __str__(self) -> str:
        return "\n".join(self._sentences())

    def __repr__(self) -> str:
        return f"<Replay of {len(self.replayed)} requests: {self.trace.name} on {self.world.name}>"

    def _repr_html_(self) -> str:
        return f"{self.requests._repr_html_()}<pre>{html.escape(str(self))}</pre>"

    def _sentences(self) -> Iterator[str]:
        asked_count, whole_count = len(self.replayed), len(self.trace.requests)
        yield (
            f"{self.trace.name} on {self.world.name}: {asked_count:,} of {whole_count:,} requests,"
            f" {self.end_ns / 1e6:,.0f} virtual ms, arrivals x {self.time_scale:g}"
        )
        share = self.hit_tokens / self.prompt_tokens if self.prompt_tokens else 0.0
        yield (
            f"{self.hit_tokens:,} of {self.prompt_tokens:,} prompt tokens reused ({share:.2%}),"
            f" {sum(served.output_tokens for served in self.served):,} tokens answered"
        )
        if self.refused_count:
            yield (
                f"{self.refused_count:,} not sent: their prompts have"
                f" {self.world.options.max_context_tokens:,} tokens or more, and the context holds"
                f" no more with an answer (options.max_context_tokens)"
            )
        cut_count = sum(
            each.served is not None and each.served.output_tokens < each.asked.output_tokens
            for each in self.replayed
        )
        if cut_count:
            yield f"{cut_count:,} answered with fewer tokens than in the trace"
        failed = [each for each in self.served if each.finish_reason is FinishReason.FAILED]
        if failed:
            yield f"{len(failed):,} failed, the first with: {failed[0].error}"
        for held_by, why in _WHY_HELD.items():
            if held_count := sum(served.held_by is held_by for served in self.served):
                yield f"{held_count:,} sent later than they were due: {why}"


_WHY_HELD = {
    HeldBy.CONVERSATION: "the request before in the conversation had not ended",
    HeldBy.QUEUE: "the engine's queue was full (options.max_pending_requests)",
}


def replay(
    trace: Trace | Path | str,
    *,
    world: ReplayWorld | None = None,
    options: EngineOptions | None = None,
    time_scale: float = 1.0,
    limit_requests: int | None = None,
    shows_progress: bool = True,
) -> Replay:
    """Plays the requests of a trace to the simulated engine, in virtual time.

    Args:
        trace: A public trace by its name, a file by its path, or one that was read.
        world: Model, machine and cache design; 27B on one RTX 5090 by default.
        options: The engine's, instead of the world's.
        time_scale: Seconds between arrivals here per second in the trace. The traces come from
            many machines; at 1 a single one falls behind, and its queue says so.
        limit_requests: Only the first so many.
        shows_progress: A bar, where requests are counted as they end.

    Raises:
        TraceError: A trace that cannot be found or read.
        OptionsError: Options that cannot hold one request, or no positive scale or limit.
    """
    if not isfinite(time_scale) or time_scale < 0.0:
        raise OptionsError("time_scale", found=time_scale, legal="a number from 0 on")
    if limit_requests is not None and limit_requests < 1:
        raise OptionsError("limit_requests", found=limit_requests, legal="None or >= 1")
    world = dense_27b() if world is None else world
    world = world if options is None else replace(world, options=options)
    found = trace if isinstance(trace, Trace) else read_trace(trace)
    asked = found.requests[:limit_requests]
    clock, answers = VirtualClock(), ReplayAnswers()
    with world.engine(answers, clock) as engine, _bar(len(asked), shows_progress) as progress:
        client = ReplayClient(
            asked,
            TracePrompts(found, world.geometry.vocab_size),
            engine,
            answers,
            clock,
            due_ns=lambda moment_ns: round(moment_ns * time_scale),
        )
        replayed = client.run(progress)
        return Replay(
            trace=found,
            world=world,
            replayed=replayed,
            events=engine.events,
            lost_events_count=engine.lost_events_count,
            snapshot=engine.describe(),
            time_scale=time_scale,
            end_ns=clock.now_ns(),
        )


@contextmanager
def _bar(request_count: int, shows_progress: bool) -> Iterator[Progress]:
    if not shows_progress:
        yield lambda _: None
        return
    from tqdm.auto import tqdm  # an extra, and notebooks get a widget of it

    with tqdm(total=request_count, unit="request") as bar:
        yield lambda _: bar.update()
