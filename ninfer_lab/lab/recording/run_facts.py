"""What must one know of a run beside its events?

Owns the values that stand in front of a recording: what its events are read with, and how its world
was told, for whoever tells it again. Does not know which worlds and designs there are.
"""

from __future__ import annotations

from dataclasses import dataclass

from ninfer_lab.contract.options import EngineOptions, KvPageBytes, ResolvedOptions
from ninfer_lab.contract.recording_options import RecordingOptions
from ninfer_lab.lab.machines import Machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """How a world was told: what one needs beside its name to tell it again.

    Attributes:
        machine: On what.
        design: Name of the cache design; `None` for one that has none.
        options: As they were asked for, with what was left open.
        recorded: How much was written down.
    """

    machine: Machine
    design: str | None
    options: EngineOptions
    recorded: RecordingOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What one must know of a run to read its events.

    Attributes:
        world: Its name.
        seed: Of everything random in it.
        options: The engine's.
        geometry: Name of the model's geometry.
        prefill_signature: Names the work of a prefill (COST-5).
        page_bytes: Of one page of each pool; prices a copy.
        package_version: Of the package that made the run.
        telling: How the world was told; `None` where nobody told one: of a served engine, or of a
            trace.
    """

    world: str
    seed: int | None
    options: ResolvedOptions
    geometry: str | None
    prefill_signature: str | None
    page_bytes: KvPageBytes | None
    package_version: str
    telling: Telling | None = None
