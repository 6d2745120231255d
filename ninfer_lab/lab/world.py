"""What is a world, and what came of one?

Owns `World`, a story together with the model and the machine it plays on, and `Run`, the value that
running one gives, with its request table as plain text, so that the command prints it where no data
frames are installed. What a world's machine really takes is one value (`truth`), what a planner
believes of it another (`belief`). Does not know which worlds there are, nor how one is run
(`worlds`).
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from ninfer_lab.contract.cache_controller import ControllerSnapshot
from ninfer_lab.contract.device_timing import DeviceTiming, SimulatedDevice
from ninfer_lab.contract.events import Event
from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.contract.recording_options import RecordingOptions
from ninfer_lab.cost.machine_cost_model import MachineCostModel
from ninfer_lab.engine.assembly import ControllerFactory
from ninfer_lab.lab import designs
from ninfer_lab.lab.machines import Machine
from ninfer_lab.lab.recording.run_facts import RunFacts, Telling
from ninfer_lab.lab.story import Story
from ninfer_lab.lab.story_client import Told
from ninfer_lab.models.qwen3_5.config import ModelGeometry
from ninfer_lab.models.qwen3_5.measurement import (
    kv_page_bytes,
    prefill_signature,
    state_image_bytes,
)

if TYPE_CHECKING:
    import polars as pl

    from ninfer_lab.lab.recording.recording import Recording


__all__ = ["Machine", "Run", "World"]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A story and where it plays.

    Attributes:
        geometry: Of the model; pages and images are counted in its bytes.
        dtype: Of weights and KV.
        belief: What a planner holds of the machine, with where each part was found.
        truth: What the machine really takes.
        checkpoint: Its tokenizer and template serve chats and its weights the torch machines;
            without one there are token recipes alone, simulated alone.
        chat_template: Another of the checkpoint's templates, by its file; `None` is its own.
    """

    name: str
    story: Story
    geometry: ModelGeometry
    dtype: ModelDtype
    belief: MachineCostModel
    truth: DeviceTiming
    checkpoint: Path | None = None
    chat_template: str | None = None

    @property
    def device(self) -> SimulatedDevice:
        """Truth and sizes, as a machine without tensors has them."""
        return SimulatedDevice(
            timing=self.truth,
            kv_page_bytes=kv_page_bytes(self.geometry, self.dtype),
            state_image_bytes=state_image_bytes(self.geometry, self.dtype),
        )

    def facts(
        self, machine: Machine, design: ControllerFactory, recorded: RecordingOptions
    ) -> RunFacts:
        """What stands in front of a recording of it, if it is told like that."""
        device, asked = self.device, self.story.options
        return RunFacts(
            world=self.name,
            seed=None,
            options=asked.resolve(device.page_bytes, state_image_bytes=device.state_image_bytes),
            geometry=self.story.setting,
            prefill_signature=prefill_signature(self.geometry, self.dtype),
            page_bytes=device.page_bytes,
            package_version=version("ninfer-lab"),
            telling=Telling(
                machine=machine,
                design=designs.name_of(design),
                options=asked,
                recorded=recorded,
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A world that was run to its end.

    Attributes:
        design: The cache design it was run with.
        recorded: How much was written down.
        told: Every request in the order of their ends, with its arrival and outcome.
        events: Everything that was recorded.
        lost_events_count: Older events that were not retained.
        snapshot: What the cache design holds at the end.
        start_ns: On the run's clock.
        end_ns: On the run's clock.
    """

    world: World
    machine: Machine
    design: ControllerFactory = field(repr=False)
    recorded: RecordingOptions
    told: tuple[Told, ...]
    events: tuple[Event, ...]
    lost_events_count: int
    snapshot: ControllerSnapshot
    start_ns: int
    end_ns: int

    @property
    def facts(self) -> RunFacts:
        """What one must know to read its events, and to tell its world again."""
        return self.world.facts(self.machine, self.design, self.recorded)

    @property
    def recording(self) -> Recording:
        """The run as tables, pictures and one file."""
        from ninfer_lab.lab.recording.recording import Recording  # data frames are an extra

        return Recording(
            facts=self.facts, events=self.events, lost_events_count=self.lost_events_count
        )

    @property
    def requests(self) -> pl.DataFrame:
        """One row per request, with everything that the request log says."""
        return self.recording.requests

    def __str__(self) -> str:
        rows = [_COLUMNS, *self._rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if name in _WORDS else cell.rjust(width)
                for cell, width, name in zip(row, widths, _COLUMNS, strict=True)
            ).rstrip()
            for row in rows
        ]
        head = f"{self.world.name} ({self.machine.value}): {self.world.story.title}"
        return "\n".join((head, *lines, self._sum))

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for told in sorted(self.told, key=lambda each: each.request):
            log = told.outcome.log
            path = log.prefix_reuse_path
            yield (
                str(told.request),
                told.ask.conversation or "-",
                _ms(told.arrival_ns - self.start_ns),
                str(log.prompt_tokens),
                str(log.prefix_cache_hit_tokens),
                str(log.computed_prefill_tokens),
                "-" if path is None else path.value,
                str(log.completion_tokens),
                log.finish_reason.value,
                _ms(log.queue_wait_ns),
                _ms(log.ttft_ns),
                _ms(log.total_ns),
            )

    @property
    def _sum(self) -> str:
        logs = [told.outcome.log for told in self.told]
        prompt_tokens = sum(log.prompt_tokens for log in logs)
        hit_tokens = sum(log.prefix_cache_hit_tokens for log in logs)
        return (
            f"{len(logs)} requests in {(self.end_ns - self.start_ns) / 1e9:.3f} s;"
            f" {hit_tokens} of {prompt_tokens} prompt tokens reused"
            f" ({hit_tokens / prompt_tokens:.1%})"
        )


_COLUMNS = (
    "request",
    "conversation",
    "arrival_ms",
    "prompt_tokens",
    "hit",
    "computed",
    "path",
    "output_tokens",
    "end",
    "queue_ms",
    "ttft_ms",
    "total_ms",
)
_WORDS = frozenset(("conversation", "path", "end"))


def _ms(duration_ns: int | None) -> str:
    return "-" if duration_ns is None else f"{duration_ns / 1e6:.1f}"
