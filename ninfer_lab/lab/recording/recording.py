"""One run, kept: its events, what is needed to read them, and everything that follows.

Owns `Recording`, the only input of figures and widgets. Frozen; made from an engine once, or loaded
from a file. Does not hold prompts or answers, only what was decided about them and the drawn
tokens. Source: spec RCD-1..3, W-5, W-6.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ninfer_lab.contract.events import Event, LedgerChanged
from ninfer_lab.contract.options import KvPageBytes
from ninfer_lab.contract.placement import LedgerSnapshot
from ninfer_lab.engine.engine import Engine
from ninfer_lab.lab import tables
from ninfer_lab.lab.recording import copies, demand, frames, misses, rebuilt, recording_file
from ninfer_lab.lab.recording.recording_file import FileContent, RecordingError
from ninfer_lab.lab.recording.run_facts import RunFacts

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldName:
    """What the one who ran a world knows of it beside the engine.

    Attributes:
        name: As one asks for it again.
        seed: Of everything random in it; `None` if nothing is.
        geometry: Name of the model's geometry.
        prefill_signature: Names the work of a prefill.
        page_bytes: Of one page of each pool.
    """

    name: str
    seed: int | None = None
    geometry: str | None = None
    prefill_signature: str | None = None
    page_bytes: KvPageBytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A run's events, in order.

    Attributes:
        facts: World, options, versions, how it was told.
        events: Those that were retained.
        lost_events_count: Older ones that were not; tables then know nothing of them.
    """

    facts: RunFacts
    events: tuple[Event, ...]
    lost_events_count: int = 0

    @classmethod
    def of(cls, engine: Engine, world: WorldName) -> Recording:
        """What an engine has said so far. Reads only."""
        return cls(
            facts=RunFacts(
                world=world.name,
                seed=world.seed,
                options=engine.options,
                geometry=world.geometry,
                prefill_signature=world.prefill_signature,
                page_bytes=world.page_bytes,
                package_version=version("ninfer-lab"),
            ),
            events=engine.events,
            lost_events_count=engine.lost_events_count,
        )

    # ── one file ────────────────────────────────────────────────────────────────────────────────

    def save(self, path: Path | str) -> None:
        """Writes one file, whole or not at all; the same recording gives the same bytes (RCD-2).

        Raises:
            OSError: The folder cannot be written; what stood at `path` still does.
        """
        content = FileContent(
            facts=self.facts, lost_events_count=self.lost_events_count, events=self.events
        )
        recording_file.write(Path(path), content)

    @classmethod
    def load(cls, path: Path | str) -> Recording:
        """The recording that was saved, equal to it.

        Raises:
            RecordingError: No recording, damaged, cut short, or of another version (BAD-1).
        """
        content = recording_file.read(Path(path))
        return cls(
            facts=content.facts,
            events=content.events,
            lost_events_count=content.lost_events_count,
        )

    # ── the ledger, rebuilt ─────────────────────────────────────────────────────────────────────

    @property
    def has_placements(self) -> bool:
        """Whether the ledger's changes were recorded."""
        return any(isinstance(event, LedgerChanged) for event in self.events)

    def ledger_at(self, ordinal: int) -> LedgerSnapshot:
        """The ledger as event `ordinal` tells of it.

        Raises:
            IndexError: No such event.
            RecordingError: Its changes were not recorded, or the keyframe before it is lost.
        """
        if not 0 <= ordinal < len(self.events):
            raise IndexError(f"event {ordinal} of {len(self.events)}")
        ledger = rebuilt.ledger_at(self.events, ordinal)
        if ledger is None:
            raise RecordingError(
                f"ledger at event {ordinal}",
                found="no keyframe before it",
                legal="a run recorded with PlacementDetail.CHANGES, from its first keyframe on",
            )
        return ledger

    def ledgers(self) -> Iterator[tuple[int, LedgerSnapshot]]:
        """Every change's ordinal, and the ledger after it."""
        return rebuilt.walk(self.events)

    # ── tables: polars frames, pandas one call away ─────────────────────────────────────────────

    def pandas(self, name: str) -> pd.DataFrame:
        """A table as a pandas frame: `recording.pandas("requests")`.

        Polars' own conversion wants pyarrow, which is larger than all the rest.

        Raises:
            AttributeError: No such table.
        """
        import pandas as pd

        frame = getattr(self, name)
        if not isinstance(frame, pl.DataFrame):
            raise AttributeError(f"{name!r} is no table of a recording")
        return pd.DataFrame(frame.to_dict(as_series=False), columns=frame.columns)

    @property
    def requests(self) -> pl.DataFrame:
        """One row per ended request, in the request log's words (RCD-3)."""
        return tables.requests(self.events)

    @property
    def candidates(self) -> pl.DataFrame:
        """One row per source a request could have started from."""
        return frames.candidates(self.events)

    @property
    def targets(self) -> pl.DataFrame:
        """One row per recorded target, with the verdict on it."""
        return tables.targets(self.events)

    @property
    def plans(self) -> pl.DataFrame:
        """One row per search."""
        return frames.plans(self.events)

    @property
    def stages(self) -> pl.DataFrame:
        """One row per stage and axis of every plan that was carried out."""
        return tables.stages(self.events)

    @property
    def forwards(self) -> pl.DataFrame:
        """One row per forward of the machine."""
        return tables.forwards(self.events)

    @property
    def transfers(self) -> pl.DataFrame:
        """One row per batch of copies that was started."""
        return copies.transfers(self.events, self.facts.options, self.facts.page_bytes)

    @property
    def transitions(self) -> pl.DataFrame:
        """One row per transition with copies between Device and Host."""
        return copies.transitions(self.events)

    @property
    def placements(self) -> pl.DataFrame:
        """One row per holder after every change of the ledger."""
        return frames.placements(self.events)

    @property
    def captures(self) -> pl.DataFrame:
        """One row per frontier at which a checkpoint was wanted."""
        return tables.captures(self.events)

    @property
    def checkpoints(self) -> pl.DataFrame:
        """One row per checkpoint that ever stood, with its fate."""
        return frames.checkpoints(self.events)

    @property
    def demand(self) -> pl.DataFrame:
        """One row per prefix of every demand that joined the window (VAL-1)."""
        return demand.demand(self.events)

    @property
    def misses(self) -> pl.DataFrame:
        """One row per run of computed prompt tokens with one cause; of each request they add up to
        `computed_prefill_tokens`.
        """
        return frames.miss_rows(misses.misses(self.events, self.facts.options.context_cache))

    # ── shown ───────────────────────────────────────────────────────────────────────────────────

    def summary(self) -> tuple[tuple[str, str], ...]:
        """What stands on the cover: name and text, in reading order."""
        ended = self.requests
        prompt_tokens = int(ended["prompt_tokens"].sum())
        hit_tokens = int(ended["prefix_cache_hit_tokens"].sum())
        causes = (
            self.misses.group_by("cause")
            .agg(pl.col("tokens").sum())
            .sort(["tokens", "cause"], descending=[True, False])
        )
        last_ns = self.events[-1].at_ns - self.events[0].at_ns if self.events else 0
        share = f" ({hit_tokens / prompt_tokens:.1%})" if prompt_tokens else ""
        lost = f", {self.lost_events_count:,} older ones lost" if self.lost_events_count else ""
        seed = "" if self.facts.seed is None else f", seed {self.facts.seed}"
        return (
            ("world", f"{self.facts.world}{seed}"),
            ("geometry", self.facts.geometry or "not said"),
            ("requests", f"{len(ended):,} ended, over {last_ns / 1e9:,.3f} s"),
            ("prompt tokens", f"{prompt_tokens:,}, of which {hit_tokens:,} were reused{share}"),
            ("computed because", "; ".join(f"{c} {t:,}" for c, t in causes.iter_rows()) or "—"),
            ("placements", "recorded" if self.has_placements else "not recorded"),
            ("events", f"{len(self.events):,}{lost}"),
            ("made by", f"ninfer-lab {self.facts.package_version}"),
        )

    def __len__(self) -> int:
        return len(self.events)

    def __str__(self) -> str:
        return "\n".join(f"{name:16} {text}" for name, text in self.summary())

    def __repr__(self) -> str:
        return f"<Recording of {self.facts.world}: {len(self.events)} events>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
            for name, text in self.summary()
        )
        return f"<table>{rows}</table>"
