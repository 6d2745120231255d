"""What stands on the lines of a trace, and where does it break its format?

Owns opening (plain or gzip), line numbers, and the fields of a JSON line. Everything that cannot be
read is refused with file, line, field, what was found and what is legal (BAD-1). Does not know
which fields a format has.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn, TypeGuard, cast

from ninfer_lab.lab.traces.trace import TraceError

MAX_COUNT = 2**31 - 1
"""No prompt is longer."""

MAX_ID = 2**63 - 1
"""Ids are hashes of 64 bits at most, as the public traces have them."""

MAX_MOMENT_S = 2**33
"""Seconds since any start that people use; beyond, a unit was mistaken."""

_SHOWN_CHARACTERS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A line of a file, for errors."""

    file_name: str
    line: int

    def refuse(self, field: str, *, found: object, legal: str) -> NoReturn:
        """Raises the error for what was found here."""
        shown = found if isinstance(found, str) else json.dumps(found, default=str)
        if len(shown) > _SHOWN_CHARACTERS:
            shown = f"{shown[:_SHOWN_CHARACTERS]}…"
        where = f"{self.file_name}, line {self.line}"
        raise TraceError(f"{where}, {field}" if field else where, found=shown, legal=legal)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A JSON object.

    Attributes:
        within: Where in the line it stands, as `requests[3].`; empty for the line itself.
    """

    place: Place
    values: dict[str, object]
    within: str = ""

    @classmethod
    def of_line(cls, place: Place, text: str) -> Record:
        """The object that a line is."""
        try:
            found: object = json.loads(text)
        except (ValueError, RecursionError):  # also of a number with too many digits
            place.refuse("", found=text.strip() or "nothing", legal="one JSON object")
        if not isinstance(found, dict):
            place.refuse("", found=found, legal="one JSON object")
        return cls(place=place, values=found)

    def refuse(self, field: str, legal: str, *, found: object = None) -> NoReturn:
        """Raises the error for a field of it."""
        value = self.values.get(field, "nothing") if found is None else found
        self.place.refuse(self.within + field, found=value, legal=legal)

    def count(self, field: str, *, least: int = 0, most: int = MAX_COUNT) -> int:
        """A whole number."""
        found = self.values.get(field)
        if not _is_whole(found) or not least <= found <= most:
            self.refuse(field, f"a whole number in [{least}, {most}]")
        return found

    def moment_ns(self, field: str, *, unit_ns: int) -> int:
        """A time in some unit, as a number from 0 on."""
        found = self.values.get(field)
        legal = "a number of seconds" if unit_ns == 10**9 else "a number of milliseconds"
        if isinstance(found, bool) or not isinstance(found, int | float):
            self.refuse(field, legal)
        end = MAX_MOMENT_S * 10**9 // unit_ns
        if not 0 <= found < end:  # which no NaN is
            self.refuse(field, f"{legal} in [0, {end})")
        return found * unit_ns if isinstance(found, int) else round(found * unit_ns)

    def text(self, field: str) -> str:
        """A text that is not empty."""
        found = self.values.get(field)
        if not isinstance(found, str) or not found:
            self.refuse(field, "a text")
        return found

    def ids(self, field: str, *, most: int = MAX_ID) -> Sequence[int]:
        """A list of whole numbers."""
        found = self.values.get(field)
        legal = f"a list of whole numbers in [0, {most}]"
        if not isinstance(found, list):
            self.refuse(field, legal)
        for ordinal, each in enumerate(found):
            if not _is_whole(each) or not 0 <= each <= most:
                self.refuse(f"{field}[{ordinal}]", legal, found=each)
        return cast("list[int]", found)

    def records(self, field: str) -> Iterator[Record]:
        """A list of objects."""
        found = self.values.get(field)
        if not isinstance(found, list):
            self.refuse(field, "a list of objects")
        for ordinal, each in enumerate(found):
            if not isinstance(each, dict):
                self.refuse(f"{field}[{ordinal}]", "an object", found=each)
            within = f"{self.within}{field}[{ordinal}]."
            yield Record(place=self.place, values=each, within=within)


def numbered_lines(path: Path) -> Iterator[tuple[Place, str]]:
    """The lines of a plain or gzip file that are not blank, each with its place.

    Raises:
        TraceError: No such file, not UTF-8, or a damaged gzip file.
    """
    number = 0
    try:
        with _opened(path) as file:
            for number, text in enumerate(file, 1):
                if text.strip():
                    yield Place(file_name=path.name, line=number), text
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        where = Place(file_name=path.name, line=number + 1)
        where.refuse("", found=str(error), legal="UTF-8 text, plain or as a whole gzip file")
    except OSError as error:
        found = error.strerror or type(error).__name__
        raise TraceError(str(path), found=found, legal="a file that can be read") from error


def _opened(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")


def _is_whole(found: object) -> TypeGuard[int]:
    return isinstance(found, int) and not isinstance(found, bool)
