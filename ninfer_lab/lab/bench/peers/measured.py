"""What did the other engines say, when, and in which versions?

Owns the values and their file, which people read too: named fields, one line for each run's counts.
A file that is none, or that measured other streams than those of today, is refused or told apart.
Does not know how anything is measured.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from dataclasses import fields as dataclass_fields
from datetime import date
from pathlib import Path

from ninfer_lab.contract.errors import NinferLabError
from ninfer_lab.lab.bench.peers.runs import LlamaCppSettings, Peer, PeerRun, VllmSettings
from ninfer_lab.lab.bench.peers.streams import stream_named

FORMAT = "ninfer-lab peers 1"

Fact = bool | int | float | str
_SETTINGS = {Peer.VLLM: VllmSettings, Peer.LLAMA_CPP: LlamaCppSettings}


class MeasuredError(NinferLabError):
    """A file that holds no measurements of other engines, or damaged ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRun:
    """What one engine said on one stream.

    Attributes:
        digest: Of the stream that was sent.
        facts: What the engine made of its settings: sizes, modes, defaults.
        cached_tokens: Of each prompt, by the engine's own count.
        first_tokens: Drawn for each prompt.
    """

    run: PeerRun
    digest: str
    facts: Mapping[str, Fact]
    cached_tokens: tuple[int, ...]
    first_tokens: tuple[int, ...]

    @property
    def is_of_today(self) -> bool:
        """Whether the stream of that name is still the one that was sent."""
        return stream_named(self.run.stream).digest == self.digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurements:
    """One whole measurement.

    Attributes:
        day: On which it was finished.
        machine: Processor, cores and system.
        versions: By the name of the engine.
        own_first_tokens: What this engine draws on the stream `first-tokens`.
    """

    day: date
    machine: str
    versions: Mapping[str, str]
    own_first_tokens: tuple[int, ...]
    runs: tuple[MeasuredRun, ...]

    def write(self, path: Path) -> None:
        """Replaces the file in one step."""
        document = {
            "format": FORMAT,
            "day": self.day.isoformat(),
            "machine": self.machine,
            "versions": dict(self.versions),
            "own_first_tokens": list(self.own_first_tokens),
            "runs": [_written(run) for run in self.runs],
        }
        draft = path.with_name(f".{path.name}.draft")
        try:
            draft.write_text(_readable(document) + "\n", encoding="utf-8")
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)


def read_measurements(path: Path) -> Measurements:
    """Reads what `Measurements.write` wrote.

    Raises:
        MeasuredError: No such file, not JSON, or a field that is missing or of another kind.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise MeasuredError(str(path), found=error, legal="a JSON file") from None
    fields = _Fields(document, path.name)
    if fields.text("format") != FORMAT:
        raise MeasuredError(path.name, found=fields.text("format"), legal=FORMAT)
    versions = fields.inner("versions")
    return Measurements(
        day=date.fromisoformat(fields.text("day")),
        machine=fields.text("machine"),
        versions={name: versions.text(name) for name in versions.names},
        own_first_tokens=fields.numbers("own_first_tokens"),
        runs=tuple(_read(inner) for inner in fields.inners("runs")),
    )


def _written(measured: MeasuredRun) -> dict[str, object]:
    settings = measured.run.settings
    return {
        "peer": measured.run.peer.value,
        "settings": asdict(settings),
        "stream": measured.run.stream,
        "digest": measured.digest,
        "facts": dict(measured.facts),
        "cached_tokens": list(measured.cached_tokens),
        "first_tokens": list(measured.first_tokens),
    }


def _read(fields: _Fields) -> MeasuredRun:
    found = fields.text("peer")
    peers = {peer.value: peer for peer in Peer}
    if found not in peers:
        raise fields.wrong("peer", found, " or ".join(peers))
    settings = fields.inner("settings")
    kind = _SETTINGS[peers[found]]
    legal = [field.name for field in dataclass_fields(kind)]
    if set(settings.names) != set(legal):
        raise fields.wrong("settings", settings.names, ", ".join(legal))
    run = PeerRun(
        settings=kind(**{name: settings.number(name) for name in settings.names}),
        stream=fields.text("stream"),
    )
    facts = fields.inner("facts")
    return MeasuredRun(
        run=run,
        digest=fields.text("digest"),
        facts={name: facts.fact(name) for name in facts.names},
        cached_tokens=fields.numbers("cached_tokens"),
        first_tokens=fields.numbers("first_tokens"),
    )


class _Fields:
    """An object of the file; whatever it lacks is refused by the way to it."""

    def __init__(self, found: object, name: str) -> None:
        if not isinstance(found, dict):
            raise MeasuredError(name, found=type(found).__name__, legal="a JSON object")
        self._fields: dict[str, object] = found
        self._name = name

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._fields)

    def wrong(self, key: str, found: object, legal: str) -> MeasuredError:
        return MeasuredError(f"{self._name} {key}", found=found, legal=legal)

    def text(self, key: str) -> str:
        found = self._fields.get(key)
        if not isinstance(found, str):
            raise self.wrong(key, found, "a text")
        return found

    def number(self, key: str) -> int:
        found = self._fields.get(key)
        if not isinstance(found, int) or isinstance(found, bool) or found < 0:
            raise self.wrong(key, found, "a whole number from 0 on")
        return found

    def numbers(self, key: str) -> tuple[int, ...]:
        items = self._list(key)
        inner = _Fields({str(i): item for i, item in enumerate(items)}, f"{self._name} {key}")
        return tuple(inner.number(name) for name in inner.names)

    def fact(self, key: str) -> Fact:
        found = self._fields.get(key)
        if not isinstance(found, bool | int | float | str):
            raise self.wrong(key, found, "a number, a text, true or false")
        return found

    def inner(self, key: str) -> _Fields:
        return _Fields(self._fields.get(key), f"{self._name} {key}")

    def inners(self, key: str) -> tuple[_Fields, ...]:
        items = self._list(key)
        return tuple(_Fields(item, f"{self._name} {key} {i}") for i, item in enumerate(items))

    def _list(self, key: str) -> list[object]:
        found = self._fields.get(key)
        if not isinstance(found, list):
            raise self.wrong(key, found, "a list")
        return found


def _readable(value: object, indent: str = "") -> str:
    """JSON with one member a line, and lists of numbers in one."""
    deeper = indent + "  "
    if isinstance(value, dict) and value:
        members = [f"{deeper}{json.dumps(k)}: {_readable(v, deeper)}" for k, v in value.items()]
        return "{\n" + ",\n".join(members) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        items = [deeper + _readable(item, deeper) for item in value]
        return "[\n" + ",\n".join(items) + f"\n{indent}]"
    return json.dumps(value, ensure_ascii=False)
