"""What is in a preset file, exactly?

Owns the format: strict reading that names file and field, writing that replaces the old file only
by a whole and readable new one (BAD-1). Unknown members are refused, for a misspelt coefficient
would otherwise be a silent zero.
Does not know which entry will be used (`presets`).
Source: layout of the original engine's preset files, schema 3, keyed by prefill signature; the
generic machine and `name:` signatures are ours.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, fields
from pathlib import Path
from typing import TypeVar

import ninfer_lab
from ninfer_lab.contract.device_timing import PrefillTiming, TransferTiming, TransferTimings
from ninfer_lab.contract.fixed_point import U64_MAX
from ninfer_lab.cost.presets import (
    MachinePresets,
    PrefillPreset,
    PresetError,
    PresetTable,
    Provenance,
)

SCHEMA_VERSION = 3
ARTIFACT_TYPE = "ninfer_context_cost_presets"
SHIPPED_FILE = "datasets/cost_presets/cost_presets.json"

_HARDWARE_CLASS = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_SIGNATURE = re.compile(r"[0-9a-f]{32}|generic|name:[a-z0-9]+([.-][a-z0-9]+)*")

Coefficients = TypeVar("Coefficients", TransferTiming, PrefillTiming)


def read_presets(path: Path) -> PresetTable:
    """Reads a preset file.

    Raises:
        PresetError: No such file, not JSON (with its line), or a field that the format does not
            know, lacks or cannot have.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        found = "no such file" if isinstance(error, FileNotFoundError) else str(error)
        raise PresetError(str(path), found=found, legal="a JSON file in UTF-8") from None
    return parse_presets(text, file_name=path.name)


def parse_presets(text: str, *, file_name: str) -> PresetTable:
    """The table that a file's text says.

    Raises:
        PresetError: As `read_presets`.
    """

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        # json would keep the last of two members of one name, and nobody would see the first.
        names = [name for name, _ in pairs]
        for name in names:
            if names.count(name) > 1:
                raise PresetError(
                    f"{file_name} member {name}", found="given twice in one object", legal="once"
                )
        return dict(pairs)

    try:
        document = json.loads(text, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        # ValueError without a line: an integer of thousands of digits.
        line = f" line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise PresetError(f"{file_name}{line}", found=str(error), legal="a JSON object") from None
    return _table(_object(document, file_name), file_name)


def shipped_presets() -> PresetTable:
    """The presets of the project.

    Raises:
        PresetError: The project is not run from its checkout.
    """
    return read_presets(Path(ninfer_lab.__file__).parents[1] / SHIPPED_FILE)


def write_presets(table: PresetTable, path: Path) -> None:
    """Writes a preset file; the old one stays untouched until the new one is whole.

    Raises:
        PresetError: A table that could not be read back.
        OSError: The folder cannot be written.
    """
    text = text_of_presets(table)
    parse_presets(text, file_name=path.name)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def text_of_presets(table: PresetTable) -> str:
    """The text of the file; equal tables give equal texts."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "artifact_type": ARTIFACT_TYPE,
        "machines": [_machine_document(machine) for machine in table.machines],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _table(document: dict[str, object], file_name: str) -> PresetTable:
    _check_members(document, file_name, ("schema_version", "artifact_type", "machines"))
    for name, legal in (("schema_version", SCHEMA_VERSION), ("artifact_type", ARTIFACT_TYPE)):
        # `is` for the type: 3.0 and true would compare equal to integers.
        if type(document[name]) is not type(legal) or document[name] != legal:
            raise PresetError(f"{file_name} {name}", found=document[name], legal=str(legal))
    where = f"{file_name} machines"
    machines = tuple(
        _machine(_object(item, f"{where}[{i}]"), f"{where}[{i}]")
        for i, item in enumerate(_list(document["machines"], where))
    )
    _check_unique(where, "hardware_class", [machine.hardware_class for machine in machines])
    return PresetTable(file_name=file_name, machines=machines)


def _machine(document: dict[str, object], where: str) -> MachinePresets:
    _check_members(
        document, where, ("hardware_class", "transfer", "prefill"), ("transfer_provenance",)
    )
    entries = tuple(
        _prefill(_object(item, f"{where}.prefill[{i}]"), f"{where}.prefill[{i}]")
        for i, item in enumerate(_list(document["prefill"], f"{where}.prefill"))
    )
    _check_unique(f"{where}.prefill", "signature", [entry.signature for entry in entries])
    transfer = document["transfer"]
    return MachinePresets(
        hardware_class=_text(
            document["hardware_class"],
            f"{where}.hardware_class",
            _HARDWARE_CLASS,
            "lower-case words and digits, joined by -",
        ),
        transfer=None if transfer is None else _transfers(transfer, f"{where}.transfer"),
        prefill=entries,
        transfer_provenance=_provenance(document, "transfer_provenance", where),
    )


def _transfers(value: object, where: str) -> TransferTimings:
    document = _object(value, where)
    _check_members(document, where, ("d2h", "h2d", "d2d"))
    return TransferTimings(
        d2h=_direction(document["d2h"], f"{where}.d2h"),
        h2d=_direction(document["h2d"], f"{where}.h2d"),
        d2d=_direction(document["d2d"], f"{where}.d2d"),
    )


def _direction(value: object, where: str) -> TransferTiming:
    timing = _coefficients(value, where, TransferTiming)
    if not any(asdict(timing).values()):
        raise PresetError(where, found="all zero", legal="a copy that takes time")
    return timing


def _prefill(document: dict[str, object], where: str) -> PrefillPreset:
    _check_members(document, where, ("signature", "coefficients"), ("provenance",))
    timing = _coefficients(document["coefficients"], f"{where}.coefficients", PrefillTiming)
    if not (timing.chunk_ns or timing.token_ns_q32 or timing.attention_pair_ns_q32):
        raise PresetError(
            f"{where}.coefficients",
            found="chunk_ns, token_ns_q32 and attention_pair_ns_q32 all zero",
            legal="a text prefill that takes time",
        )
    return PrefillPreset(
        signature=_text(
            document["signature"],
            f"{where}.signature",
            _SIGNATURE,
            "32 hexadecimal digits, generic, or name: and a lower-case name",
        ),
        coefficients=timing,
        provenance=_provenance(document, "provenance", where),
    )


def _coefficients(value: object, where: str, kind: type[Coefficients]) -> Coefficients:
    document = _object(value, where)
    names = tuple(field.name for field in fields(kind))
    _check_members(document, where, names)
    return kind(**{name: _coefficient(document[name], f"{where}.{name}") for name in names})


def _coefficient(value: object, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= U64_MAX:
        raise PresetError(where, found=json.dumps(value), legal="an integer, 0 to 2**64 - 1")
    return value


def _provenance(document: dict[str, object], name: str, where: str) -> Provenance | None:
    if name not in document:
        return None
    where = f"{where}.{name}"
    inner = _object(document[name], where)
    known = tuple(field.name for field in fields(Provenance))
    _check_members(inner, where, known[:1], known[1:])
    anything = re.compile(r".*\S.*", re.DOTALL)
    texts = {
        member: _text(value, f"{where}.{member}", anything, "some text")
        for member, value in inner.items()
    }
    return Provenance(**texts)


def _object(value: object, where: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise PresetError(where, found=json.dumps(value), legal="an object")
    return value


def _list(value: object, where: str) -> list[object]:
    if not isinstance(value, list):
        raise PresetError(where, found=json.dumps(value), legal="a list")
    return value


def _text(value: object, where: str, pattern: re.Pattern[str], legal: str) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise PresetError(where, found=json.dumps(value), legal=legal)
    return value


def _check_members(
    document: dict[str, object],
    where: str,
    required: tuple[str, ...],
    optional: tuple[str, ...] = (),
) -> None:
    for name in required:
        if name not in document:
            raise PresetError(f"{where}.{name}", found="nothing", legal="it must be given")
    for name in document:
        if name not in (*required, *optional):
            legal = f"only {', '.join((*required, *optional))}"
            raise PresetError(f"{where}.{name}", found="an unknown member", legal=legal)


def _check_unique(where: str, name: str, values: list[str]) -> None:
    for i, value in enumerate(values):
        if value in values[:i]:
            raise PresetError(f"{where}[{i}].{name}", found=f"{value} again", legal="each once")


def _machine_document(machine: MachinePresets) -> dict[str, object]:
    document: dict[str, object] = {
        "hardware_class": machine.hardware_class,
        "transfer": None if machine.transfer is None else asdict(machine.transfer),
    }
    if machine.transfer_provenance is not None:
        document["transfer_provenance"] = _provenance_document(machine.transfer_provenance)
    document["prefill"] = [_prefill_document(entry) for entry in machine.prefill]
    return document


def _prefill_document(entry: PrefillPreset) -> dict[str, object]:
    document: dict[str, object] = {
        "signature": entry.signature,
        "coefficients": asdict(entry.coefficients),
    }
    if entry.provenance is not None:
        document["provenance"] = _provenance_document(entry.provenance)
    return document


def _provenance_document(provenance: Provenance) -> dict[str, str]:
    return {name: text for name, text in asdict(provenance).items() if text is not None}
