"""How does a recording become one file, the same bytes for the same run?

Owns the container: a zip of a header and of the events, one to a line, with every date and mode
fixed. A file is written beside its place and moved there when it is whole; what is read is refused
unless every byte of it is accounted for. Does not know what events mean.
Source: spec RCD-1, RCD-2, BAD-1.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ninfer_lab.contract.errors import NinferLabError
from ninfer_lab.contract.events import Event
from ninfer_lab.lab.recording.codec import Codec, Codecs, MalformedValue
from ninfer_lab.lab.recording.run_facts import RunFacts

FORMAT = "ninfer-lab recording 2"
_HEADER, _EVENTS = "header.json", "events.ndjson"
_DATE = (1980, 1, 1, 0, 0, 0)
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OverflowError,
)
"""What the standard library raises for bytes that are no such file."""


class RecordingError(NinferLabError):
    """A file that is no recording, a damaged one, or a question it cannot answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContent:
    """Everything a file holds."""

    facts: RunFacts
    lost_events_count: int
    events: tuple[Event, ...]


def write(path: Path, content: FileContent) -> None:
    """Writes a whole file or none.

    Raises:
        OSError: The folder cannot be written; what stood at `path` still does.
    """
    codecs, event_codec = _codecs()
    header = {
        "events": len(content.events),
        "facts": codecs.of(RunFacts).encode(content.facts),
        "format": FORMAT,
        "lost_events": content.lost_events_count,
        "schema": codecs.schema,
    }
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with zipfile.ZipFile(part, "w") as archive:
            with archive.open(_entry(_HEADER), "w") as out:
                out.write(_line(header))
            with archive.open(_entry(_EVENTS), "w", force_zip64=True) as out:
                for event in content.events:
                    out.write(_line(event_codec.encode(event)))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def read(path: Path) -> FileContent:
    """Reads and checks a whole file.

    Raises:
        RecordingError: Naming the file, the line where there is one, what was found, and what is
            expected.
    """
    codecs, event_codec = _codecs()
    with _refusing_damage(path), zipfile.ZipFile(path) as archive:
        names = sorted(archive.namelist())
        if names != sorted((_HEADER, _EVENTS)):
            raise RecordingError(
                str(path), found=f"entries {names}", legal=f"a recording: {_HEADER}, {_EVENTS}"
            )
        header = _header(path, archive.read(_HEADER), codecs)
        with _naming(f"{path}: {_HEADER}"):
            facts = codecs.of(RunFacts).decode(header.facts)
        assert isinstance(facts, RunFacts)
        events = tuple(_events(path, archive, event_codec))
    if len(events) != header.events_count:
        raise RecordingError(
            f"{path}: {_EVENTS}", found=f"{len(events)} events", legal=f"{header.events_count}"
        )
    return FileContent(facts=facts, lost_events_count=header.lost_events_count, events=events)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Header:
    """The header's parts, their types checked."""

    events_count: int
    lost_events_count: int
    facts: object


def _header(path: Path, text: bytes, codecs: Codecs) -> _Header:
    what = f"{path}: {_HEADER}"
    value: object = json.loads(text)
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        found = value.get("format") if isinstance(value, dict) else type(value).__name__
        raise RecordingError(
            what,
            found=f"format {found!r}",
            legal=f"{FORMAT!r}; if another version of this package made it, run the world again",
        )
    _require_schema(what, value.get("schema"), codecs)
    counts = (value.get("events"), value.get("lost_events"))
    events_count, lost_events_count = counts
    if not (type(events_count) is int and type(lost_events_count) is int):
        raise RecordingError(what, found=f"counts {counts}", legal="two integers")
    return _Header(
        events_count=events_count,
        lost_events_count=lost_events_count,
        facts=value.get("facts"),
    )


def _require_schema(what: str, found: object, codecs: Codecs) -> None:
    """Events of another version of the package are not guessed at."""
    expected = {name: list(fields) for name, fields in codecs.schema.items()}
    if found == expected:
        return
    theirs = found if isinstance(found, dict) else {}
    names = sorted(expected.keys() | theirs.keys())
    differing = next((name for name in names if theirs.get(name) != expected.get(name)), "schema")
    raise RecordingError(
        f"{what}: {differing}",
        found=f"fields {theirs.get(differing)}",
        legal=f"fields {expected.get(differing)}: made by another version of this package,"
        " run the world again",
    )


def _events(path: Path, archive: zipfile.ZipFile, codec: Codec) -> Iterator[Event]:
    with archive.open(_EVENTS) as lines:
        for number, line in enumerate(lines, 1):
            with _naming(f"{path}: {_EVENTS}:{number}"):
                event = codec.decode(json.loads(line))
            assert isinstance(event, Event)
            yield event


@contextmanager
def _naming(where: str) -> Iterator[None]:
    try:
        yield
    except MalformedValue as error:
        what = f"{where}: {error.what}" if error.what else where
        raise RecordingError(what, found=error.found, legal=error.legal) from error
    except json.JSONDecodeError as error:
        raise RecordingError(where, found=str(error), legal="a line of JSON") from error


@contextmanager
def _refusing_damage(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise RecordingError(str(path), found="no such file", legal="a recording") from error
    except OSError as error:
        raise RecordingError(str(path), found=str(error), legal="a readable file") from error
    except _DAMAGE as error:
        raise RecordingError(
            str(path),
            found=f"damaged, cut short or no recording ({type(error).__name__}: {error})",
            legal="a file that Recording.save wrote, whole",
        ) from error


def _codecs() -> tuple[Codecs, Codec]:
    """Codecs with everything a file holds met, so that the schema is complete."""
    codecs = Codecs()
    codecs.of(RunFacts)
    return codecs, codecs.of(Event)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, date_time=_DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3  # the same on every system
    entry.external_attr = 0o644 << 16
    return entry


def _line(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode() + b"\n"
