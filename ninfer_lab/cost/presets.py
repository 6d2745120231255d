"""Which coefficients are used on this machine, for this model, and where do they come from?

Owns the preset values and their resolution: copies by hardware class, prefill by hardware class and
prefill signature, each component on its own; the user's file before the shipped one, and what
neither knows from the shipped generic machine (COST-5). A missing match is no error: the model says
`generic`. Does not know the format of the file (`preset_file`).
Source: spec COST-5; resolution order: the original engine's presets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ninfer_lab.contract.device_timing import PrefillTiming, TransferTimings
from ninfer_lab.contract.errors import NinferLabError
from ninfer_lab.cost.machine_cost_model import (
    CoefficientOrigin,
    CoefficientSource,
    MachineCostModel,
)

GENERIC = "generic"
"""Hardware class and prefill signature of the fallback."""


class PresetError(NinferLabError):
    """A preset file that cannot be used, named down to the field (BAD-1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Who measured it, on what, and when.

    Attributes:
        source: Where the numbers were published, or by which command they were measured.
        model: The model and its weight format; for prefill only.
        measured_on: A date, as far as it is known.
        conditions: Driver, power limit, context range: what else the numbers depend on.
        note: Anything a reader must know before using them for something else.
    """

    source: str
    model: str | None = None
    measured_on: str | None = None
    conditions: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefillPreset:
    """Coefficients of one kind of prefill on one machine.

    Attributes:
        signature: `prefill_signature` of a geometry; or `name:...` where the project has no
            geometry to make one from, or more than one measurement of it.
    """

    signature: str
    coefficients: PrefillTiming
    provenance: Provenance | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinePresets:
    """All that is known of one hardware class."""

    hardware_class: str
    transfer: TransferTimings | None
    prefill: tuple[PrefillPreset, ...]
    transfer_provenance: Provenance | None = None

    def prefill_preset(self, signature: str) -> PrefillPreset | None:
        """The entry of that signature."""
        return next((entry for entry in self.prefill if entry.signature == signature), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PresetTable:
    """One preset file as a value.

    Attributes:
        file_name: What errors and sources call it.
    """

    file_name: str
    machines: tuple[MachinePresets, ...]

    def machine(self, hardware_class: str) -> MachinePresets | None:
        """The machine of that class."""
        matches = (m for m in self.machines if m.hardware_class == hardware_class)
        return next(matches, None)

    def with_measured(
        self,
        hardware_class: str,
        *,
        transfer: TransferTimings | None = None,
        transfer_provenance: Provenance | None = None,
        prefill: tuple[PrefillPreset, ...] = (),
    ) -> PresetTable:
        """The table after a calibration: what was measured replaces its like, the rest stays."""
        old = self.machine(hardware_class)
        new = old or MachinePresets(hardware_class=hardware_class, transfer=None, prefill=())
        if transfer is not None:
            new = replace(new, transfer=transfer, transfer_provenance=transfer_provenance)
        entries = {entry.signature: entry for entry in (*new.prefill, *prefill)}
        new = replace(new, prefill=tuple(entries.values()))
        if old is None:
            return replace(self, machines=(*self.machines, new))
        return replace(self, machines=tuple(new if m is old else m for m in self.machines))


def resolve_cost_model(
    *,
    hardware_class: str,
    signature: str,
    shipped: PresetTable,
    user: PresetTable | None = None,
) -> MachineCostModel:
    """The belief about one machine and one model; decided once, at start.

    Raises:
        PresetError: The shipped table has no complete generic machine to fall back to.
    """
    transfer, transfer_source = _transfer(hardware_class, shipped, user)
    prefill, prefill_source = _prefill(hardware_class, signature, shipped, user)
    return MachineCostModel(
        transfer=transfer,
        prefill=prefill,
        transfer_source=transfer_source,
        prefill_source=prefill_source,
    )


def hardware_class_of(device_name: str, compute_capability: tuple[int, int]) -> str:
    """The class of an NVIDIA device: a slug of its name, and its architecture.

    >>> hardware_class_of("NVIDIA GeForce RTX 3090", (8, 6))
    'nvidia-geforce-rtx-3090-sm86'
    """
    major, minor = compute_capability
    return f"nvidia-{_slug(device_name).removeprefix('nvidia-')}-sm{major}{minor}"


def processor_class_of(name: str, thread_count: int) -> str:
    """The class of a CPU: a slug of its name, and the threads that compute, for a prefill on two
    takes half of what it takes on one.

    >>> processor_class_of("AMD EPYC(TM) 7763", 2)
    'cpu-amd-epyc-tm-7763-2-threads'
    """
    threads = "1-thread" if thread_count == 1 else f"{thread_count}-threads"
    return "-".join(part for part in ("cpu", _slug(name), threads) if part)


def _slug(name: str) -> str:
    """Lower-case words and digits, joined by dashes."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _transfer(
    hardware_class: str, shipped: PresetTable, user: PresetTable | None
) -> tuple[TransferTimings, CoefficientSource]:
    for origin, table, name in _places(hardware_class, shipped, user):
        machine = table.machine(name)
        if machine is not None and machine.transfer is not None:
            return machine.transfer, _source(origin, table, name, None)
    raise _no_fallback(shipped, "transfer")


def _prefill(
    hardware_class: str, signature: str, shipped: PresetTable, user: PresetTable | None
) -> tuple[PrefillTiming, CoefficientSource]:
    for origin, table, name in _places(hardware_class, shipped, user):
        machine = table.machine(name)
        wanted = GENERIC if origin is CoefficientOrigin.GENERIC else signature
        entry = None if machine is None else machine.prefill_preset(wanted)
        if entry is not None:
            return entry.coefficients, _source(origin, table, name, wanted)
    raise _no_fallback(shipped, f"prefill signature {GENERIC}")


def _places(
    hardware_class: str, shipped: PresetTable, user: PresetTable | None
) -> list[tuple[CoefficientOrigin, PresetTable, str]]:
    """Where to look, best first."""
    places: list[tuple[CoefficientOrigin, PresetTable, str]] = []
    if user is not None:
        places.append((CoefficientOrigin.FILE, user, hardware_class))
    if hardware_class != GENERIC:
        places.append((CoefficientOrigin.SHIPPED, shipped, hardware_class))
    places.append((CoefficientOrigin.GENERIC, shipped, GENERIC))
    return places


def _source(
    origin: CoefficientOrigin, table: PresetTable, hardware_class: str, signature: str | None
) -> CoefficientSource:
    return CoefficientSource(
        origin=origin,
        hardware_class=hardware_class,
        signature=signature,
        file_name=table.file_name,
    )


def _no_fallback(shipped: PresetTable, component: str) -> PresetError:
    return PresetError(
        f"{shipped.file_name} machine {GENERIC} {component}",
        found="nothing",
        legal="the shipped table falls back to it for what no file knows",
    )
