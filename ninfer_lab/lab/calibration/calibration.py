"""What is known of a machine after it was measured?

Owns `Calibration`: both components with their verdicts, on what they were measured, and what may be
believed or written of it: a component that was rejected changes no preset. How a file is read and
replaced is `cost.preset_file`'s.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from ninfer_lab.contract.fixed_point import Q32_ONE
from ninfer_lab.contract.machine_work import TransferDirection
from ninfer_lab.cost.machine_cost_model import (
    CoefficientOrigin,
    CoefficientSource,
    MachineCostModel,
)
from ninfer_lab.cost.preset_file import read_presets, shipped_presets, write_presets
from ninfer_lab.cost.presets import (
    GENERIC,
    PrefillPreset,
    PresetTable,
    Provenance,
    resolve_cost_model,
)
from ninfer_lab.lab.calibration.component import (
    MeasuredPrefill,
    MeasuredTransfers,
    prefill_coefficients,
)
from ninfer_lab.lab.calibration.grid import Part
from ninfer_lab.lab.calibration.judgement import Judgement

COMMAND = "ninfer-lab calibrate"
"""What measured entries name as their source."""

THIS = "this calibration"
"""What stands for a file's name in a belief that was measured and not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredOn:
    """What was measured, and what its times depend on.

    Attributes:
        hardware_class: As presets know the machine.
        signature: Of the model's prefill; `None` where no model was measured.
        model: In words; `None` likewise.
        conditions: Libraries, threads, load: what else the numbers depend on.
    """

    hardware_class: str
    signature: str | None
    model: str | None
    conditions: str
    day: date


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Calibration:
    """One run.

    Attributes:
        transfers: `None` if copies were not measured.
        prefill: `None` if no prefill was.
    """

    measured_on: MeasuredOn
    transfers: MeasuredTransfers | None
    prefill: MeasuredPrefill | None

    @property
    def is_accepted(self) -> bool:
        """Whether everything that was measured may be believed."""
        return all(verdict.is_accepted for _, verdict in self._judgements)

    @property
    def accepted(self) -> tuple[str, ...]:
        """Components that a preset file takes."""
        return tuple(name for name, verdict in self._judgements if verdict.is_accepted)

    def into(self, table: PresetTable) -> PresetTable:
        """The table with what was accepted in place of its like; the rest as it was."""
        measured_on = self.measured_on
        transfer = provenance = None
        entries: tuple[PrefillPreset, ...] = ()
        if self.transfers is not None and self.transfers.judgement.is_accepted:
            transfer = self.transfers.timings
            provenance = self._provenance(self.transfers.judgement)
        if self.prefill is not None and self.prefill.judgement.is_accepted:
            assert measured_on.signature is not None
            entry = PrefillPreset(
                signature=measured_on.signature,
                coefficients=self.prefill.timing,
                provenance=self._provenance(
                    self.prefill.judgement,
                    model=measured_on.model,
                    chunk_tokens=self.prefill.chunk_tokens,
                ),
            )
            entries = (entry,)
        if transfer is None and not entries:
            return table
        return table.with_measured(
            measured_on.hardware_class,
            transfer=transfer,
            transfer_provenance=provenance,
            prefill=entries,
        )

    def write(self, path: Path) -> bool:
        """Puts what was accepted into a preset file, which is made if there is none.

        Returns:
            Whether there was anything to write.

        Raises:
            PresetError: The file that is there cannot be read; it stays as it is.
            OSError: The folder cannot be written; likewise.
        """
        if not self.accepted:
            return False
        write_presets(self.into(presets_at(path)), path)
        return True

    def belief(self) -> MachineCostModel:
        """What a planner may hold of this machine: what was accepted, and presets for the rest.

        Raises:
            PresetError: Not run from a checkout, where the shipped presets are.
        """
        return resolve_cost_model(
            hardware_class=self.measured_on.hardware_class,
            signature=self.measured_on.signature or GENERIC,
            shipped=shipped_presets(),
            user=self.into(PresetTable(file_name=THIS, machines=())),
        )

    def fitted(self) -> MachineCostModel:
        """What was measured, accepted or not, and presets for the rest: for looking at a fit, not
        for planning by it.

        Raises:
            PresetError: As `belief`.
        """
        model, hardware_class = self.belief(), self.measured_on.hardware_class
        origin, signature = CoefficientOrigin.FILE, self.measured_on.signature
        source = CoefficientSource(
            origin=origin, hardware_class=hardware_class, signature=None, file_name=THIS
        )
        if self.transfers is not None:
            model = replace(model, transfer=self.transfers.timings, transfer_source=source)
        if self.prefill is not None:
            prefill_source = replace(source, signature=signature)
            model = replace(model, prefill=self.prefill.timing, prefill_source=prefill_source)
        return model

    @property
    def _judgements(self) -> tuple[tuple[str, Judgement], ...]:
        there: list[tuple[str, Judgement]] = []
        if self.transfers is not None:
            there.append(("transfer", self.transfers.judgement))
        if self.prefill is not None:
            there.append(("prefill", self.prefill.judgement))
        return tuple(there)

    def _provenance(
        self, judgement: Judgement, *, model: str | None = None, chunk_tokens: int | None = None
    ) -> Provenance:
        chunk = "" if chunk_tokens is None else f", prefill chunk {chunk_tokens:,} tokens"
        errors = " and ".join(f"{judgement.worst(part):.1%} {part.value}" for part in Part)
        text_alone = "" if model is None else " Text alone: no vision was measured."
        return Provenance(
            source=COMMAND,
            model=model,
            measured_on=self.measured_on.day.isoformat(),
            conditions=f"{self.measured_on.conditions}{chunk}",
            note=f"Relative error at the 95th percentile: {errors}.{text_alone}",
        )

    def __str__(self) -> str:
        on = self.measured_on
        lines = [f"{on.hardware_class}, {on.day.isoformat()}: {on.conditions}"]
        if self.transfers is not None:
            lines += _verdict("transfer", self.transfers.judgement)
            for direction in TransferDirection:
                timing = self.transfers.timings.of(direction)
                rate = timing.ns_per_byte_q32 / Q32_ONE
                speed = f"{1 / rate:.2f} GB/s" if rate else "bytes cost nothing"
                lines.append(
                    f"  {direction.value}: {timing.batch_ns / 1e3:,.1f} µs a batch,"
                    f" {timing.operation_ns / 1e3:,.1f} µs a call, {speed}"
                )
        if self.prefill is not None:
            lines += _verdict("prefill", self.prefill.judgement)
            named = prefill_coefficients(self.prefill.timing)
            lines.append(
                f"  {on.model}, chunks of {self.prefill.chunk_tokens:,}:"
                f" {named['chunk_ms']:.3f} ms a chunk, {named['token_us']:.3f} µs a token,"
                f" {named['pair_ns']:.3f} ns a pair"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        # A notebook keeps a value's repr beside its HTML, and all samples are a hundred kB.
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def presets_at(path: Path) -> PresetTable:
    """The file's presets, or none where there is no file.

    Raises:
        PresetError: A file that cannot be read.
    """
    if not path.exists():
        return PresetTable(file_name=path.name, machines=())
    return read_presets(path)


def _verdict(name: str, judgement: Judgement) -> list[str]:
    if judgement.is_accepted:
        errors = ", ".join(f"{part.value} {judgement.worst(part):.1%}" for part in Part)
        return [f"{name}: accepted (relative error at the 95th percentile: {errors})"]
    return [f"{name}: REJECTED", *(f"  {fault}" for fault in judgement.faults)]
